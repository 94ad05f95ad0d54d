//! Files that change under a running program: the policy, the certificate.
//!
//! Contents are compared, not times or events: a ConfigMap or Secret is a chain of links that the kubelet turns over,
//! and a pair of files may be seen while only one of them is new.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often files are looked at.
pub(crate) const PERIOD: Duration = Duration::from_millis(500);
/// No policy or certificate is larger.
const LARGEST: u64 = 4 << 20;

/// What was read: the files' contents in order, or why not.
pub(crate) type Reading = Result<Vec<Vec<u8>>, String>;

/// What is known of some files that belong together.
#[derive(Debug)]
pub(crate) struct Follower {
    paths: Vec<PathBuf>,
    /// What is in use.
    good: Vec<Vec<u8>>,
    /// What was last found unfit, and whether that was told.
    bad: Option<(Reading, bool)>,
}

/// What a look at the files came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step<T> {
    Same,
    New(T),
    /// Seen twice, so it is no half-done change. Told once.
    Unfit(String),
}

// === impl Follower ===

impl Follower {
    pub(crate) fn new(paths: Vec<PathBuf>, good: Vec<Vec<u8>>) -> Self {
        Self { paths, good, bad: None }
    }

    /// Looks at the files; runs on a thread that may block.
    pub(crate) fn look(&self) -> impl FnOnce() -> Reading + Send + 'static {
        let paths = self.paths.clone();
        move || read(&paths)
    }

    pub(crate) fn step<T, E: std::error::Error>(
        &mut self,
        reading: Reading,
        parse: impl FnOnce(&[Vec<u8>]) -> Result<T, E>,
    ) -> Step<T> {
        if reading.as_ref() == Ok(&self.good) {
            self.bad = None;
            return Step::Same;
        }
        let known = self.bad.as_ref().is_some_and(|(bad, _)| *bad == reading);
        if known && self.bad.as_ref().is_some_and(|(_, told)| *told) {
            return Step::Same;
        }
        let why = match &reading {
            Ok(contents) => match parse(contents) {
                Ok(value) => {
                    (self.good, self.bad) = (contents.clone(), None);
                    return Step::New(value);
                }
                Err(error) => chain(&error),
            },
            Err(why) => why.clone(),
        };
        self.bad = Some((reading, known));
        if known { Step::Unfit(why) } else { Step::Same }
    }
}

/// Reads all of them.
pub(crate) fn read(paths: &[PathBuf]) -> Reading {
    paths.iter().map(|path| bounded(path).map_err(|e| format!("read {}: {e}", path.display()))).collect()
}

fn bounded(path: &Path) -> io::Result<Vec<u8>> {
    let size = std::fs::metadata(path)?.len();
    if size > LARGEST {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("{size} bytes are more than {LARGEST}"),
        ));
    }
    std::fs::read(path)
}

/// An error and its causes on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.ends_with(&cause) { text } else { format!("{text}: {cause}") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(follower: &mut Follower, reading: Reading) -> Step<i32> {
        follower.step(reading, |contents| String::from_utf8_lossy(&contents[0]).parse::<i32>())
    }

    fn text(text: &str) -> Reading {
        Ok(vec![text.as_bytes().to_vec()])
    }

    #[test]
    fn a_new_content_is_taken_at_once_and_a_bad_one_told_once() {
        let mut follower = Follower::new(vec![], vec![b"1".to_vec()]);
        assert_eq!(step(&mut follower, text("1")), Step::Same);
        assert_eq!(step(&mut follower, text("2")), Step::New(2));
        assert_eq!(step(&mut follower, text("x")), Step::Same, "it may be half written");
        assert_eq!(step(&mut follower, text("x")), Step::Unfit("invalid digit found in string".into()));
        assert_eq!(step(&mut follower, text("x")), Step::Same);
        assert_eq!(step(&mut follower, Err("gone".into())), Step::Same);
        assert_eq!(step(&mut follower, Err("gone".into())), Step::Unfit("gone".into()));
        assert_eq!(step(&mut follower, text("2")), Step::Same, "what is in use is back");
        assert_eq!(step(&mut follower, text("x")), Step::Same, "and the bad one is new again");
        assert_eq!(step(&mut follower, text("3")), Step::New(3));
    }

    #[test]
    fn a_file_has_a_greatest_size() {
        let dir = tempfile::tempdir().expect("directory");
        let path = dir.path().join("big");
        std::fs::File::create(&path).and_then(|file| file.set_len(LARGEST + 1)).expect("file");
        assert!(read(&[path]).expect_err("too large").contains("more than"));
        assert!(read(&[dir.path().join("none")]).expect_err("not there").contains("none"));
    }
}
