//! Gzip around raw deflate.
//!
//! flate2's own reader sums up with zlib-rs's portable checksum, a sixth of the time of inflating; here it is the
//! processor's. What is refused is the same: strangers after the last member, wrong checksums, reserved flags.

use std::io::{self, BufRead, Read};

use crc32fast::Hasher;
use flate2::{Decompress, FlushDecompress, Status};

const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
/// Magic, flags, time, hints and system.
const FIXED: usize = 10;

const HAS_SUM: u8 = 1 << 1;
const HAS_EXTRA: u8 = 1 << 2;
const HAS_NAME: u8 = 1 << 3;
const HAS_COMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;

/// The content of all members, one after the other, as gzip itself hands it out.
pub(super) struct Gzip<R> {
    from: R,
    inflate: Decompress,
    sum: Hasher,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before a member, of which there must be one.
    First,
    /// After a member: another one, or the end.
    Between,
    Inside,
    Ended,
}

// === impl Gzip ===

impl<R: BufRead> Gzip<R> {
    pub(super) fn new(from: R) -> Gzip<R> {
        Gzip { from, inflate: Decompress::new(false), sum: Hasher::new(), state: State::First }
    }

    fn begin(&mut self) -> io::Result<()> {
        if self.state == State::Between && self.from.fill_buf()?.is_empty() {
            self.state = State::Ended;
            return Ok(());
        }
        header(&mut self.from)?;
        self.inflate.reset(false);
        self.sum = Hasher::new();
        self.state = State::Inside;
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        let mut trailer = [0; 8];
        self.from.read_exact(&mut trailer)?;
        let [a, b, c, d, length @ ..] = trailer;
        let sum = u32::from_le_bytes([a, b, c, d]);
        // The length is kept modulo 2³².
        let low = self.inflate.total_out().to_le_bytes();
        if sum != self.sum.clone().finalize() || low[..4] != length {
            return Err(bad("the gzip checksum is wrong"));
        }
        self.state = State::Between;
        Ok(())
    }

    fn inside(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let packed = self.from.fill_buf()?;
        let ended = packed.is_empty();
        let (taken, given) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self.inflate.decompress(packed, buffer, FlushDecompress::None);
        let status = status.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        let length = |now: u64, before: u64| usize::try_from(now - before).unwrap_or(usize::MAX);
        let (taken, given) =
            (length(self.inflate.total_in(), taken), length(self.inflate.total_out(), given));
        self.from.consume(taken);
        self.sum.update(&buffer[..given]);
        match status {
            Status::StreamEnd => self.end()?,
            _ if taken == 0 && given == 0 && ended => return Err(io::ErrorKind::UnexpectedEof.into()),
            _ if taken == 0 && given == 0 => return Err(bad("the gzip stream does not go on")),
            _ => {}
        }
        Ok(given)
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !buffer.is_empty() {
            match self.state {
                State::Ended => break,
                State::First | State::Between => self.begin()?,
                State::Inside => match self.inside(buffer)? {
                    // Headers and empty members give nothing and are not the end.
                    0 => {}
                    given => return Ok(given),
                },
            }
        }
        Ok(0)
    }
}

/// Passes over a header. Its name and comment may be of any length: they are not kept.
fn header(from: &mut impl BufRead) -> io::Result<()> {
    let mut from = Summed { from, sum: Hasher::new() };
    let fixed: [u8; FIXED] = from.bytes()?;
    let flags = fixed[3];
    if fixed[..3] != MAGIC || flags & RESERVED != 0 {
        return Err(bad("not a gzip header"));
    }
    if flags & HAS_EXTRA != 0 {
        for _ in 0..u16::from_le_bytes(from.bytes()?) {
            from.bytes::<1>()?;
        }
    }
    for text in [HAS_NAME, HAS_COMMENT] {
        while flags & text != 0 && from.bytes()? != [0] {}
    }
    if flags & HAS_SUM != 0 {
        let low = from.sum.clone().finalize().to_le_bytes();
        if from.bytes()? != [low[0], low[1]] {
            return Err(bad("the checksum of the gzip header is wrong"));
        }
    }
    Ok(())
}

fn bad(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Headers may carry a checksum of themselves.
struct Summed<'r, R> {
    from: &'r mut R,
    sum: Hasher,
}

// === impl Summed ===

impl<R: BufRead> Summed<'_, R> {
    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes)?;
        self.sum.update(&bytes);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests;
