//! Bytes of a layer on their way to the files: read and decompressed in one thread, hashed there or, where a core is to
//! spare, in a second, used in the caller's. A few buffers go round, so memory is bounded and a slow step holds the
//! others up.

use std::io::{self, BufRead, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

use super::compression::Compression;
use super::crowd::Crowd;
use super::error::UnpackError;

const BUFFERS: usize = 6;
const BUFFER: usize = 256 * 1024;

struct Chunk {
    bytes: Box<[u8]>,
    length: usize,
}

type Filled = io::Result<Chunk>;

/// The decompressed bytes, read straight out of the buffers they were decompressed into.
pub(super) struct Stream {
    filled: Receiver<Filled>,
    emptied: Sender<Chunk>,
    now: Option<Chunk>,
    at: usize,
    taken: u64,
}

/// The hash of all chunks in their order, whoever adds one.
struct Hashing<'c> {
    hash: Mutex<Sha256>,
    /// Chunks at the helper: as long as there are any, what follows goes there too.
    away: AtomicUsize,
    crowd: &'c Crowd,
}

/// Lets `use_it` read the layer. Returns its answer and the digest of what the stream held, complete if all was read.
pub(super) fn run<T>(
    layer: impl Read + Send,
    compression: Compression,
    limit: u64,
    crowd: &Crowd,
    use_it: impl FnOnce(&mut Stream) -> T,
) -> (T, String) {
    let hashing = Hashing { hash: Mutex::default(), away: AtomicUsize::new(0), crowd };
    let answer = std::thread::scope(|scope| {
        let hashing = &hashing;
        let (to_helper, helping) = sync_channel(BUFFERS);
        let (to_user, filled) = sync_channel(BUFFERS);
        let (emptied, empty) = channel();
        for _ in 0..BUFFERS {
            // The receiver is a local of this function.
            drop(emptied.send(Chunk { bytes: vec![0; BUFFER].into(), length: 0 }));
        }
        let way = Way { hashing, to_helper, to_user: to_user.clone() };
        scope.spawn(move || decompress(layer, compression, limit, &empty, &way));
        scope.spawn(move || hashing.help(&helping, &to_user));
        let mut stream = Stream { filled, emptied, now: None, at: 0, taken: 0 };
        // Afterwards nobody listens any more: both threads end, also when the layer has not.
        use_it(&mut stream)
    });
    (answer, hashing.digest())
}

/// From the thread that decompresses to the user.
struct Way<'h, 'c> {
    hashing: &'h Hashing<'c>,
    to_helper: SyncSender<Filled>,
    to_user: SyncSender<Filled>,
}

fn decompress(
    layer: impl Read + Send,
    compression: Compression,
    limit: u64,
    empty: &Receiver<Chunk>,
    way: &Way<'_, '_>,
) {
    let ended = compression.decoder(layer).and_then(|mut from| {
        let mut left = limit;
        while let Ok(mut chunk) = empty.recv() {
            fill(&mut from, &mut chunk)?;
            let too_large = || UnpackError::Bytes { limit }.into_io();
            left = left.checked_sub(chunk.length as u64).ok_or_else(too_large)?;
            if chunk.length == 0 || !way.go(Ok(chunk)) {
                break;
            }
        }
        Ok(())
    });
    if let Err(error) = ended {
        // Nobody listens if the user has given up before.
        way.go(Err(error));
    }
}

fn fill(from: &mut impl Read, chunk: &mut Chunk) -> io::Result<()> {
    chunk.length = 0;
    while chunk.length < chunk.bytes.len() {
        match from.read(&mut chunk.bytes[chunk.length..]) {
            Ok(0) => break,
            Ok(read) => chunk.length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

// === impl Way ===

impl Way<'_, '_> {
    /// False if nobody wants it.
    fn go(&self, chunk: Filled) -> bool {
        let Hashing { away, crowd, .. } = self.hashing;
        // Only this thread adds to them, and none of them is after this one.
        if away.load(Ordering::Acquire) == 0 && crowd.is_full() {
            self.hashing.add(&chunk);
            return self.to_user.send(chunk).is_ok();
        }
        away.fetch_add(1, Ordering::Relaxed);
        self.to_helper.send(chunk).is_ok()
    }
}

// === impl Hashing ===

impl Hashing<'_> {
    fn add(&self, chunk: &Filled) {
        if let Ok(chunk) = chunk {
            let mut hash = self.hash.lock().unwrap_or_else(PoisonError::into_inner);
            hash.update(&chunk.bytes[..chunk.length]);
        }
    }

    fn help(&self, helping: &Receiver<Filled>, to_user: &SyncSender<Filled>) {
        while let Ok(chunk) = helping.recv() {
            self.add(&chunk);
            if to_user.send(chunk).is_err() {
                break;
            }
            // The user has it: the next one may pass by.
            self.away.fetch_sub(1, Ordering::Release);
        }
    }

    fn digest(self) -> String {
        let hash = self.hash.into_inner().unwrap_or_else(PoisonError::into_inner).finalize();
        hash.iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
    }
}

// === impl Stream ===

impl Stream {
    /// Reads to the end and says how many bytes there were in all.
    pub(super) fn drain(&mut self) -> io::Result<u64> {
        loop {
            let length = self.fill_buf()?.len();
            if length == 0 {
                return Ok(self.taken);
            }
            self.consume(length);
        }
    }
}

impl BufRead for Stream {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.now.as_ref().is_some_and(|chunk| self.at == chunk.length)
            && let Some(chunk) = self.now.take()
        {
            // The other side has ended if it does not take it back.
            drop(self.emptied.send(chunk));
        }
        if self.now.is_none() {
            self.at = 0;
            self.now = self.filled.recv().ok().transpose()?;
        }
        Ok(self.now.as_ref().map_or(&[], |chunk| &chunk.bytes[self.at..chunk.length]))
    }

    fn consume(&mut self, amount: usize) {
        self.at += amount;
        self.taken += amount as u64;
    }
}

/// What a buffered reader is as a plain one.
pub(super) fn read_filled(from: &mut impl BufRead, buffer: &mut [u8]) -> io::Result<usize> {
    let filled = from.fill_buf()?;
    let amount = filled.len().min(buffer.len());
    buffer[..amount].copy_from_slice(&filled[..amount]);
    from.consume(amount);
    Ok(amount)
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        read_filled(self, buffer)
    }
}
