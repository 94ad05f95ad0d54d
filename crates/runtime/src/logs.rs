//! A container's log, from its start or as it grows.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use holder::log::{Entry, Stream};

/// A place in a log file. Reading goes on where it ended, however the file grew meanwhile.
#[derive(Debug)]
pub struct LogReader {
    path: PathBuf,
    position: u64,
}

/// How much is read in one go.
const CHUNK: u64 = 256 * 1024;

// === impl LogReader ===

impl LogReader {
    pub fn new(path: &Path) -> LogReader {
        LogReader { path: path.to_owned(), position: 0 }
    }

    /// From now on: what is there already is passed over.
    pub fn at_end(path: &Path) -> io::Result<LogReader> {
        Ok(LogReader { path: path.to_owned(), position: std::fs::metadata(path)?.len() })
    }

    /// Gives every entry that is there and was not given yet. A log that does not exist yet has none.
    ///
    /// Lines that are no entries are passed over: a power cut may have torn one.
    pub fn read(&mut self, mut give: impl FnMut(&Entry<'_>) -> io::Result<()>) -> io::Result<()> {
        let mut file = match File::open(&self.path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        loop {
            let mut chunk = Vec::new();
            file.seek(SeekFrom::Start(self.position))?;
            (&mut file).take(CHUNK).read_to_end(&mut chunk)?;
            let Some(end) = chunk.iter().rposition(|b| *b == b'\n') else { return Ok(()) };
            for line in chunk[..=end].split_inclusive(|b| *b == b'\n') {
                if let Ok(entry) = Entry::parse(line) {
                    give(&entry)?;
                }
            }
            self.position += end as u64 + 1;
        }
    }
}

/// Puts the text of entries together again: parts without a line end, whole lines with one.
pub fn write_text(
    entry: &Entry<'_>,
    stdout: &mut impl io::Write,
    stderr: &mut impl io::Write,
) -> io::Result<()> {
    let mut text = entry.text.to_vec();
    if !entry.partial {
        text.push(b'\n');
    }
    match entry.stream {
        Stream::Stdout => stdout.write_all(&text),
        Stream::Stderr => stderr.write_all(&text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(reader: &mut LogReader) -> Vec<String> {
        let mut all = Vec::new();
        reader
            .read(|entry| {
                all.push(String::from_utf8_lossy(entry.text).into_owned());
                Ok(())
            })
            .unwrap();
        all
    }

    #[test]
    fn reading_goes_on_where_it_ended() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0.log");
        let mut reader = LogReader::new(&path);
        assert_eq!(texts(&mut reader), [""; 0]);
        std::fs::write(&path, "t stdout F one\ngarbage\nt stderr F two\nt stdout F thr").unwrap();
        assert_eq!(texts(&mut reader), ["one", "two"]);
        assert_eq!(texts(&mut reader), [""; 0]);
        let whole = std::fs::read_to_string(&path).unwrap() + "ee\n";
        std::fs::write(&path, whole).unwrap();
        assert_eq!(texts(&mut reader), ["three"]);
        assert_eq!(texts(&mut LogReader::at_end(&path).unwrap()), [""; 0]);
    }

    #[test]
    fn a_log_longer_than_a_chunk_is_read_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0.log");
        let lines: String = (0..20_000).map(|i| format!("t stdout F line number {i}\n")).collect();
        assert!(lines.len() as u64 > 2 * CHUNK);
        std::fs::write(&path, lines).unwrap();
        let all = texts(&mut LogReader::new(&path));
        assert_eq!((all.len(), all[19_999].as_str()), (20_000, "line number 19999"));
    }

    #[test]
    fn text_comes_out_as_it_went_in() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        for line in [&b"t stdout P ab"[..], b"t stdout F c", b"t stderr F x"] {
            write_text(&Entry::parse(line).unwrap(), &mut out, &mut err).unwrap();
        }
        assert_eq!((out.as_slice(), err.as_slice()), (&b"abc\n"[..], &b"x\n"[..]));
    }
}
