//! The name/value block of SYN_STREAM, SYN_REPLY and HEADERS, and the zlib stream that carries all of a direction's.

use bytes::{BufMut, BytesMut};
use flate2::{Decompress, FlushDecompress, Status};

use super::dictionary;
use super::frame::{LONGEST_HEADERS, SpdyError};

/// Pairs of name and value in the order in which they came; names are lower-case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Headers(pub Vec<(String, String)>);

/// One direction's blocks, to be read: each builds on the bytes of those before.
#[derive(Debug, Default)]
pub(super) struct Inflater {
    /// Made with the first block: a connection that is refused needs none of its 40 KiB.
    zlib: Option<Decompress>,
}

/// One direction's blocks, to be written.
///
/// They are stored, not squeezed: every inflater reads that, a compressor's quarter of a megabyte per connection is
/// saved, and what a server says in headers is four zeros.
#[derive(Debug, Default)]
pub(super) struct Deflater {
    begun: bool,
}

/// The zlib head of a 32 KiB window with a dictionary, whose number follows.
const ZLIB_HEAD: [u8; 2] = [0x78, 0xbb];
/// An empty stored block. Readers hand out what came before it without waiting for more.
const FLUSH: [u8; 5] = [0, 0, 0, 0xff, 0xff];
/// A stored block's length has 16 bits.
const LONGEST_STORED: usize = 0xffff;
const PIECE: usize = 4096;

// === impl Headers ===

impl Headers {
    pub fn new<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Headers {
        Headers(
            pairs.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect(),
        )
    }

    /// A header's value, or nothing; an empty value is nothing too. The name is given in lower case.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
        found.filter(|value| !value.is_empty())
    }

    fn parse(mut block: &[u8]) -> Result<Headers, SpdyError> {
        let count = number(&mut block)?;
        let mut headers = Headers::default();
        for _ in 0..count {
            let name = text(&mut block)?;
            let value = text(&mut block)?;
            let upper = name.bytes().any(|byte| byte.is_ascii_uppercase());
            if name.is_empty() || upper || headers.0.iter().any(|(n, _)| *n == name) {
                return Err(SpdyError::HeaderName);
            }
            headers.0.push((name, value));
        }
        if block.is_empty() { Ok(headers) } else { Err(SpdyError::HeaderBlock) }
    }

    fn write(&self) -> BytesMut {
        let mut block = BytesMut::new();
        put_number(&mut block, self.0.len());
        for text in self.0.iter().flat_map(|(name, value)| [name, value]) {
            put_number(&mut block, text.len());
            block.put_slice(text.as_bytes());
        }
        block
    }
}

fn number(block: &mut &[u8]) -> Result<usize, SpdyError> {
    let (bytes, rest) = block.split_first_chunk::<4>().ok_or(SpdyError::HeaderBlock)?;
    *block = rest;
    usize::try_from(u32::from_be_bytes(*bytes)).map_err(|_| SpdyError::HeaderBlock)
}

fn text(block: &mut &[u8]) -> Result<String, SpdyError> {
    let length = number(block)?;
    let (bytes, rest) = block.split_at_checked(length).ok_or(SpdyError::HeaderBlock)?;
    *block = rest;
    String::from_utf8(bytes.to_vec()).map_err(|_| SpdyError::HeaderText)
}

fn put_number(block: &mut BytesMut, number: usize) {
    block.put_u32(u32::try_from(number).unwrap_or(u32::MAX));
}

// === impl Inflater ===

impl Inflater {
    pub(super) fn read(&mut self, compressed: &[u8]) -> Result<Headers, SpdyError> {
        let mut block = Vec::new();
        self.inflate(compressed, &mut block)?;
        Headers::parse(&block)
    }

    fn inflate(&mut self, mut input: &[u8], block: &mut Vec<u8>) -> Result<(), SpdyError> {
        let zlib = self.zlib.get_or_insert_with(|| Decompress::new(true));
        let mut piece = [0; PIECE];
        loop {
            let (before_in, before_out) = (zlib.total_in(), zlib.total_out());
            let result = zlib.decompress(input, &mut piece, FlushDecompress::Sync);
            let (taken, given) = (zlib.total_in() - before_in, zlib.total_out() - before_out);
            input = &input[usize::try_from(taken).unwrap_or(input.len()).min(input.len())..];
            block.extend_from_slice(&piece[..usize::try_from(given).unwrap_or(PIECE).min(PIECE)]);
            if block.len() > LONGEST_HEADERS {
                return Err(SpdyError::HeadersTooLong);
            }
            match result {
                Err(e) if e.needs_dictionary() == Some(dictionary::ID) => set_dictionary(zlib)?,
                Err(e) => return Err(SpdyError::Deflate(e.to_string())),
                Ok(Status::StreamEnd) => return Err(SpdyError::Deflate("the stream has ended".to_owned())),
                Ok(_) if taken == 0 && given == 0 => break,
                Ok(_) => {}
            }
        }
        if input.is_empty() { Ok(()) } else { Err(SpdyError::HeaderBlock) }
    }
}

fn set_dictionary(zlib: &mut Decompress) -> Result<(), SpdyError> {
    zlib.set_dictionary(dictionary::bytes()).map(|_| ()).map_err(|e| SpdyError::Deflate(e.to_string()))
}

// === impl Deflater ===

impl Deflater {
    pub(super) fn write(&mut self, headers: &Headers) -> BytesMut {
        let mut out = BytesMut::new();
        if !self.begun {
            self.begun = true;
            out.put_slice(&ZLIB_HEAD);
            out.put_u32(dictionary::ID);
        }
        for stored in headers.write().chunks(LONGEST_STORED) {
            let length = u16::try_from(stored.len()).unwrap_or(u16::MAX);
            out.put_u8(0);
            out.put_u16_le(length);
            out.put_u16_le(!length);
            out.put_slice(stored);
        }
        out.put_slice(&FLUSH);
        out
    }
}

#[cfg(test)]
mod tests;
