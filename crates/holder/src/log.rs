//! Container logs in the format every CRI client reads: `TIME STREAM F|P TEXT`.
//!
//! `F` ends a line, `P` is a part of one that was longer than [`LONGEST_PART`] or that a flush cut. Text is
//! kept byte for byte, so the carriage returns of a Windows program or of a terminal stay where they were.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::clock;
use crate::protocol::Rotate;
pub use entry::{Entry, EntryError};
use lines::LineBuffer;
pub use rotate::files;

mod entry;
mod lines;
mod rotate;

/// The part size that container runtimes agree on.
pub const LONGEST_PART: usize = 16 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// One container's log, written by the readers of both its streams.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    rotate: Option<Rotate>,
    written: Mutex<Written>,
}

/// The file that is written now.
#[derive(Debug)]
struct Written {
    file: File,
    size: u64,
    /// Beyond this size it gets another name.
    full: u64,
}

// === impl Stream ===

impl Stream {
    pub fn name(self) -> &'static str {
        match self {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        }
    }
}

// === impl Log ===

impl Log {
    /// Opens the log for appending. Others may read, rename and delete it meanwhile, on Windows too.
    pub fn open(path: &Path, rotate: Option<Rotate>) -> io::Result<Log> {
        let written = Written::open(path, rotate)?;
        Ok(Log { path: path.to_owned(), rotate, written: Mutex::new(written) })
    }

    /// Goes on in a file of the old name, which is a new one if somebody renamed the old.
    pub fn reopen(&self) -> io::Result<()> {
        // Opened with the lock held: who sees the new file knows that the old one gets nothing any more.
        let mut written = self.written();
        *written = Written::open(&self.path, self.rotate)?;
        Ok(())
    }

    /// Copies a stream to the log and to `besides` until its end. A log that cannot be written must not stop the
    /// container: the stream is drained to its end and the first error returned.
    pub fn copy(
        &self,
        stream: Stream,
        from: &mut impl Read,
        mut besides: impl FnMut(&[u8]),
    ) -> io::Result<()> {
        let mut lines = LineBuffer::default();
        let mut chunk = [0; 4096];
        let mut failed = None;
        loop {
            let read = match from.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) if e.kind() == io::ErrorKind::BrokenPipe || os::terminal::is_hangup(&e) => break,
                Err(e) => {
                    failed.get_or_insert(e);
                    break;
                }
            };
            // First: who comes after something is in the log must not see it once more.
            besides(&chunk[..read]);
            lines.push(&chunk[..read], |text, partial| {
                keep_first(&mut failed, self.append(stream, partial, text))
            });
        }
        lines.finish(|text, partial| keep_first(&mut failed, self.append(stream, partial, text)));
        failed.map_or(Ok(()), Err)
    }

    /// One entry, in one write, so that readers never see half of it.
    fn append(&self, stream: Stream, partial: bool, text: &[u8]) -> io::Result<()> {
        let mut line = Vec::with_capacity(text.len() + 48);
        let tag = if partial { 'P' } else { 'F' };
        write!(line, "{} {} {tag} ", clock::now(), stream.name())?;
        line.extend_from_slice(text);
        line.push(b'\n');
        let mut written = self.written();
        if written.is_full_for(line.len()) {
            self.turn(&mut written);
        }
        written.file.write_all(&line)?;
        written.size += line.len() as u64;
        Ok(())
    }

    /// Gives the full file another name and goes on in a new one. If that cannot be done the log goes on as it is, and
    /// it is tried again when as much has come once more.
    fn turn(&self, written: &mut Written) {
        let Some(rotate) = self.rotate else { return };
        let turned = rotate::set_aside(&self.path, rotate.files)
            .and_then(|()| Written::open(&self.path, self.rotate))
            .map(|new| *written = new);
        if let Err(e) = turned {
            written.full = written.size.saturating_add(rotate.max_bytes);
            crate::note(format_args!("rotate {}: {e}", self.path.display()));
        }
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        // Whoever panicked left at worst a line without its end, which readers pass over.
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn keep_first(first: &mut Option<io::Error>, result: io::Result<()>) {
    if let Err(e) = result {
        first.get_or_insert(e);
    }
}

// === impl Written ===

impl Written {
    fn open(path: &Path, rotate: Option<Rotate>) -> io::Result<Written> {
        let file = File::options().append(true).create(true).open(path)?;
        let size = file.metadata()?.len();
        Ok(Written { file, size, full: rotate.map_or(u64::MAX, |rotate| rotate.max_bytes) })
    }

    /// An entry longer than a whole file stands in one of its own.
    fn is_full_for(&self, more: usize) -> bool {
        self.size > 0 && self.size.saturating_add(more as u64) > self.full
    }
}

#[cfg(test)]
mod tests;
