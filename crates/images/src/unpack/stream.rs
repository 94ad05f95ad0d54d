//! Bytes of a layer on their way to the files: read and decompressed in one thread, hashed in a second, used in the
//! caller's. A few buffers go round, so memory is bounded and a slow step holds the others up.

use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use sha2::{Digest, Sha256};

use super::compression::Compression;
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

/// Lets `use_it` read the layer. Returns its answer and the digest of what the stream held, complete if all was read.
pub(super) fn run<T>(
    layer: impl Read + Send,
    compression: Compression,
    limit: u64,
    use_it: impl FnOnce(&mut Stream) -> T,
) -> (T, String) {
    std::thread::scope(|scope| {
        let (to_hash, hashing) = sync_channel(BUFFERS);
        let (to_user, filled) = sync_channel(BUFFERS);
        let (emptied, empty) = channel();
        for _ in 0..BUFFERS {
            // The receiver is a local of this function.
            drop(emptied.send(Chunk { bytes: vec![0; BUFFER].into(), length: 0 }));
        }
        scope.spawn(move || decompress(layer, compression, limit, &empty, &to_hash));
        let hash = scope.spawn(move || hash(&hashing, &to_user));
        let mut stream = Stream { filled, emptied, now: None, at: 0, taken: 0 };
        let answer = use_it(&mut stream);
        // Nobody listens any more: both threads end, also when the layer has not.
        drop(stream);
        let digest = hash.join().unwrap_or_default();
        (answer, digest)
    })
}

fn decompress(
    layer: impl Read + Send,
    compression: Compression,
    limit: u64,
    empty: &Receiver<Chunk>,
    to_hash: &SyncSender<Filled>,
) {
    let ended = compression.decoder(layer).and_then(|mut from| {
        let mut left = limit;
        while let Ok(mut chunk) = empty.recv() {
            fill(&mut from, &mut chunk)?;
            let too_large = || UnpackError::Bytes { limit }.into_io();
            left = left.checked_sub(chunk.length as u64).ok_or_else(too_large)?;
            if chunk.length == 0 || to_hash.send(Ok(chunk)).is_err() {
                break;
            }
        }
        Ok(())
    });
    if let Err(error) = ended {
        // Nobody listens if the user has given up before.
        drop(to_hash.send(Err(error)));
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

fn hash(hashing: &Receiver<Filled>, to_user: &SyncSender<Filled>) -> String {
    let mut hash = Sha256::new();
    while let Ok(chunk) = hashing.recv() {
        if let Ok(chunk) = &chunk {
            hash.update(&chunk.bytes[..chunk.length]);
        }
        if to_user.send(chunk).is_err() {
            break;
        }
    }
    hash.finalize().iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
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
