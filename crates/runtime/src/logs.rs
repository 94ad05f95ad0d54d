//! A container's log, from its start or as it grows.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use holder::log::{Entry, Stream, files};

/// A place in a log. Reading goes on where it ended, however the log grew meanwhile and whatever its files are called
/// now: a full one gets another name and a new one follows it.
#[derive(Debug)]
pub struct LogReader {
    path: PathBuf,
    place: Option<Place>,
}

/// A place in one file of a log. Open, because a name says nothing about which file it will be.
#[derive(Debug)]
struct Place {
    file: File,
    id: (u64, u64),
    position: u64,
}

/// How much is read in one go.
const CHUNK: u64 = 256 * 1024;

// === impl LogReader ===

impl LogReader {
    /// From the oldest line that is still there.
    pub fn new(path: &Path) -> LogReader {
        LogReader { path: path.to_owned(), place: None }
    }

    /// From now on: what is there already is passed over.
    pub fn at_end(path: &Path) -> io::Result<LogReader> {
        let mut place = Place::start(path)?;
        place.position = place.file.metadata()?.len();
        Ok(LogReader { path: path.to_owned(), place: Some(place) })
    }

    /// Gives every entry that is there and was not given yet. A log that does not exist yet has none.
    ///
    /// What is written meanwhile is for the next time, or who writes faster than we read would keep us here for ever.
    /// Lines that are no entries are passed over: a power cut may have torn one. What was removed before it was read
    /// (only so many files of a log are kept) is passed over as well.
    pub fn read(&mut self, mut give: impl FnMut(&Entry<'_>) -> io::Result<()>) -> io::Result<()> {
        let newest = identity_at(&self.path)?;
        if self.place.is_none() {
            self.place = following(&self.path, None)?;
        }
        while let Some(place) = &mut self.place {
            // Asked before reading: what is not the newest file by then gets nothing any more.
            let is_last = newest == Some(place.id) || is_newest(&self.path, place.id)?;
            place.read(&mut give)?;
            if is_last {
                return Ok(());
            }
            match following(&self.path, Some(place.id))? {
                Some(next) => *place = next,
                None => return Ok(()),
            }
        }
        Ok(())
    }
}

/// Between a rename and the new file there is none: the known one is the newest then.
fn is_newest(log: &Path, id: (u64, u64)) -> io::Result<bool> {
    Ok(identity_at(log)?.is_none_or(|newest| newest == id))
}

fn identity_at(path: &Path) -> io::Result<Option<(u64, u64)>> {
    match File::open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        other => Ok(Some(os::file::identity(&other?)?)),
    }
}

/// The beginning of the file after the known one; of the oldest, if that was removed or none is known.
fn following(log: &Path, known: Option<(u64, u64)>) -> io::Result<Option<Place>> {
    loop {
        let Some(path) = name_after(log, known)? else { return Ok(None) };
        let place = match Place::start(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            other => other?,
        };
        // The file may have got another name since it was looked for, and another file its name.
        let still = name_after(log, known)?.map(|path| identity_at(&path)).transpose()?;
        if still == Some(Some(place.id)) {
            return Ok(Some(place));
        }
    }
}

fn name_after(log: &Path, known: Option<(u64, u64)>) -> io::Result<Option<PathBuf>> {
    let mut files = files(log)?;
    if known.is_some() {
        for (at, path) in files.iter().enumerate().rev() {
            if identity_at(path)? == known {
                files.drain(..=at);
                break;
            }
        }
    }
    Ok(files.into_iter().next())
}

// === impl Place ===

impl Place {
    fn start(path: &Path) -> io::Result<Place> {
        let file = File::open(path)?;
        let id = os::file::identity(&file)?;
        Ok(Place { file, id, position: 0 })
    }

    /// As far as the file reaches now.
    fn read(&mut self, give: &mut impl FnMut(&Entry<'_>) -> io::Result<()>) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        loop {
            let mut chunk = Vec::new();
            self.file.seek(SeekFrom::Start(self.position))?;
            let left = length.saturating_sub(self.position);
            (&mut self.file).take(left.min(CHUNK)).read_to_end(&mut chunk)?;
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

    fn append(path: &Path, text: &str) {
        let mut file = File::options().append(true).create(true).open(path).unwrap();
        io::Write::write_all(&mut file, format!("t stdout F {text}\n").as_bytes()).unwrap();
    }

    #[test]
    fn reading_goes_on_across_files_that_got_another_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0.log");
        let aside = |second: u32| dir.path().join(format!("0.log.20261115-1342{second:02}"));
        let mut reader = LogReader::new(&path);
        append(&path, "one");
        assert_eq!(texts(&mut reader), ["one"]);
        append(&path, "two");
        std::fs::rename(&path, aside(1)).unwrap();
        // Somebody still has the old one open.
        append(&aside(1), "three");
        assert_eq!(texts(&mut reader), ["two", "three"]);
        append(&path, "four");
        std::fs::rename(&path, aside(2)).unwrap();
        append(&path, "five");
        assert_eq!(texts(&mut reader), ["four", "five"]);
        assert_eq!(texts(&mut reader), [""; 0]);
        assert_eq!(texts(&mut LogReader::new(&path)), ["one", "two", "three", "four", "five"]);
        let mut from_now_on = LogReader::at_end(&path).unwrap();
        append(&path, "six");
        std::fs::rename(&path, aside(3)).unwrap();
        append(&path, "seven");
        assert_eq!(texts(&mut from_now_on), ["six", "seven"]);
        // Three more files come and go before anybody reads again: what is left follows.
        for second in 1..=3 {
            std::fs::remove_file(aside(second)).unwrap();
        }
        std::fs::rename(&path, aside(4)).unwrap();
        append(&aside(4), "eight");
        append(&path, "nine");
        assert_eq!(texts(&mut reader), ["six", "seven", "eight", "nine"]);
    }

    /// Whoever writes as fast as we read must not keep us: `up` would hear no Ctrl-C.
    #[test]
    fn a_log_that_grows_while_it_is_read_is_read_to_where_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0.log");
        append(&path, "first");
        let mut reader = LogReader::new(&path);
        let mut given = Vec::new();
        for _ in 0..3 {
            reader
                .read(|entry| {
                    given.push(String::from_utf8_lossy(entry.text).into_owned());
                    append(&path, &format!("after {}", given.len()));
                    assert!(given.len() < 10, "the reader never comes back");
                    Ok(())
                })
                .unwrap();
        }
        assert_eq!(given, ["first", "after 1", "after 2"]);
        // And though it is turned over at every line.
        for _ in 0..3 {
            reader
                .read(|entry| {
                    given.push(String::from_utf8_lossy(entry.text).into_owned());
                    std::fs::rename(&path, dir.path().join(format!("0.log.20261115-1342{:02}", given.len())))
                        .unwrap();
                    append(&path, &format!("after {}", given.len()));
                    assert!(given.len() < 10, "the reader never comes back");
                    Ok(())
                })
                .unwrap();
        }
        assert_eq!(given[3..], ["after 3", "after 4", "after 5"]);
    }

    /// A writer that turns its log over all the time, and a reader that follows: nothing twice, nothing missed.
    #[test]
    fn a_reader_that_follows_misses_nothing_while_the_log_turns() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("0.log");
        let rotate = holder::protocol::Rotate { max_bytes: 2000, files: 10_000 };
        let log = holder::log::Log::open(&path, Some(rotate)).unwrap();
        let writer = std::thread::spawn(move || {
            let input: String = (0..10_000).map(|i| format!("{i}\n")).collect();
            log.copy(Stream::Stdout, &mut input.as_bytes(), |_| {}).unwrap();
        });
        let mut reader = LogReader::new(&path);
        let mut all = Vec::new();
        while !writer.is_finished() {
            all.extend(texts(&mut reader));
        }
        all.extend(texts(&mut reader));
        writer.join().unwrap();
        assert_eq!(all, (0..10_000).map(|i| i.to_string()).collect::<Vec<_>>());
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
