//! Container logs in the format every CRI client reads: `TIME STREAM F|P TEXT`.
//!
//! `F` ends a line, `P` is a part of one that was longer than [`LONGEST_PART`] or that a flush cut. Text is
//! kept byte for byte, so a Windows program's carriage returns stay where they were.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Mutex;

use crate::clock;

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
    file: Mutex<File>,
}

/// One line of a log file, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    pub time: &'a str,
    pub stream: Stream,
    /// The text goes on in the next entry of the same stream.
    pub partial: bool,
    pub text: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    #[error("a log line needs a time, a stream, a tag and a text")]
    Short,
    #[error("the time of a log line is not text")]
    Time,
    #[error("the stream of a log line is neither stdout nor stderr")]
    Stream,
    #[error("the tag of a log line is neither F nor P")]
    Tag,
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
    pub fn open(path: &Path) -> io::Result<Log> {
        let file = File::options().append(true).create(true).open(path)?;
        Ok(Log { file: Mutex::new(file) })
    }

    /// Copies a stream to the log until its end. A log that cannot be written must not stop the container:
    /// the stream is drained to its end and the first error returned.
    pub fn copy(&self, stream: Stream, from: &mut impl Read) -> io::Result<()> {
        let mut lines = LineBuffer::default();
        let mut chunk = [0; 4096];
        let mut failed = None;
        loop {
            let read = match from.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) if e.kind() == io::ErrorKind::BrokenPipe => break,
                Err(e) => {
                    failed.get_or_insert(e);
                    break;
                }
            };
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
        self.file.lock().map_err(|_| io::Error::other("a log writer panicked"))?.write_all(&line)
    }
}

fn keep_first(first: &mut Option<io::Error>, result: io::Result<()>) {
    if let Err(e) = result {
        first.get_or_insert(e);
    }
}

/// Cuts a stream into log entries: whole lines, or parts of [`LONGEST_PART`] bytes.
#[derive(Debug, Default)]
struct LineBuffer {
    pending: Vec<u8>,
}

impl LineBuffer {
    fn push(&mut self, mut bytes: &[u8], mut emit: impl FnMut(&[u8], bool)) {
        while !bytes.is_empty() {
            let room = LONGEST_PART - self.pending.len();
            let window = &bytes[..bytes.len().min(room)];
            if let Some(end) = window.iter().position(|b| *b == b'\n') {
                self.pending.extend_from_slice(&window[..end]);
                bytes = &bytes[end + 1..];
                self.emit(&mut emit, false);
            } else {
                self.pending.extend_from_slice(window);
                bytes = &bytes[window.len()..];
                if self.pending.len() == LONGEST_PART {
                    self.emit(&mut emit, true);
                }
            }
        }
    }

    /// What stands without a line end when the stream ends is a part, as readers expect.
    fn finish(&mut self, mut emit: impl FnMut(&[u8], bool)) {
        if !self.pending.is_empty() {
            self.emit(&mut emit, true);
        }
    }

    fn emit(&mut self, emit: &mut impl FnMut(&[u8], bool), partial: bool) {
        emit(&self.pending, partial);
        self.pending.clear();
        // A burst of long lines must not stay in the holder's memory for ever.
        self.pending.shrink_to(1024);
    }
}

// === impl Entry ===

impl<'a> Entry<'a> {
    /// Takes one line apart; the line end may be there or not.
    pub fn parse(line: &'a [u8]) -> Result<Entry<'a>, EntryError> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let mut fields = line.splitn(4, |b| *b == b' ');
        let mut field = || fields.next().ok_or(EntryError::Short);
        let (time, stream, tag, text) = (field()?, field()?, field()?, field()?);
        let stream = match stream {
            b"stdout" => Stream::Stdout,
            b"stderr" => Stream::Stderr,
            _ => return Err(EntryError::Stream),
        };
        // Tags may be joined by colons; the first one says whether the line goes on.
        let partial = match tag.split(|b| *b == b':').next() {
            Some(b"P") => true,
            Some(b"F") => false,
            _ => return Err(EntryError::Tag),
        };
        let time = std::str::from_utf8(time).map_err(|_| EntryError::Time)?;
        Ok(Entry { time, stream, partial, text })
    }
}

#[cfg(test)]
mod tests;
