//! One line of a log, as CRI clients read it.

use super::Stream;

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
