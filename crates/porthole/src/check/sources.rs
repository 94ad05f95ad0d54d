//! From what the user names to bytes: files, directories, standard input, none of them without an end.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// No manifest that a person wrote is larger.
pub(super) const LARGEST: u64 = 16 << 20;
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

#[derive(Debug, Error)]
pub(super) enum SourceError {
    #[error("read {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{}: more than the {LARGEST} bytes that a file of manifests may have", path.display())]
    TooLarge { path: PathBuf },
    #[error("{}: no .yaml, .yml or .json file in it", path.display())]
    Empty { path: PathBuf },
}

/// The files that a path stands for: itself, or what is under it, sorted. Each is either there or an error.
pub(super) fn expand(path: &Path) -> Vec<Result<PathBuf, SourceError>> {
    if is_standard_input(path) || !path.is_dir() {
        return vec![Ok(path.to_owned())];
    }
    let mut found = Vec::new();
    walk(path, &mut HashSet::new(), &mut found);
    if found.is_empty() {
        found.push(Err(SourceError::Empty { path: path.to_owned() }));
    }
    found
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, SourceError> {
    let unreadable = |source| SourceError::Unreadable { path: path.to_owned(), source };
    if is_standard_input(path) {
        return bounded(path, io::stdin().lock(), 0);
    }
    let file = File::open(path).map_err(unreadable)?;
    let size = file.metadata().map_err(unreadable)?.len();
    bounded(path, file, size)
}

fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// A pipe does not say how long it is: it is read to one byte past the limit at most.
fn bounded(path: &Path, from: impl Read, size: u64) -> Result<Vec<u8>, SourceError> {
    let too_large = || SourceError::TooLarge { path: path.to_owned() };
    if size > LARGEST {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    let unreadable = |source| SourceError::Unreadable { path: path.to_owned(), source };
    let read = from.take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if u64::try_from(read).is_ok_and(|read| read <= LARGEST) { Ok(bytes) } else { Err(too_large()) }
}

/// Every directory once, however many links lead to it. What is no file (a pipe could block) is left out.
fn walk(dir: &Path, seen: &mut HashSet<PathBuf>, found: &mut Vec<Result<PathBuf, SourceError>>) {
    let entries = fs::canonicalize(dir).and_then(|real| Ok((real, entries(dir)?)));
    let (real, entries) = match entries {
        Ok(found) => found,
        Err(source) => return found.push(Err(SourceError::Unreadable { path: dir.to_owned(), source })),
    };
    if !seen.insert(real) {
        return;
    }
    for path in entries {
        if path.is_dir() {
            walk(&path, seen, found);
        } else if is_manifest(&path) {
            found.push(Ok(path));
        }
    }
}

fn entries(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    // A dangling link is an error of the user's, not a file to skip.
    extension.is_some_and(|e| EXTENSIONS.contains(&e))
        && fs::metadata(path).map_or(true, |file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_its_manifests_sorted() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("b/c")).unwrap();
        for name in ["z.yaml", "b/a.yml", "b/c/d.json", "a.txt", "README"] {
            fs::write(at(name), "").unwrap();
        }
        let found: Vec<_> = expand(dir.path()).into_iter().map(Result::unwrap).collect();
        assert_eq!(found, [at("b/a.yml"), at("b/c/d.json"), at("z.yaml")]);
        fs::remove_dir_all(at("b")).unwrap();
        fs::remove_file(at("z.yaml")).unwrap();
        assert!(matches!(expand(dir.path())[..], [Err(SourceError::Empty { .. })]));
    }

    #[test]
    fn what_is_no_directory_is_itself() {
        let missing = Path::new("not-there.yaml");
        assert!(matches!(&expand(missing)[..], [Ok(path)] if path == missing));
        assert!(matches!(read(missing), Err(SourceError::Unreadable { .. })));
    }

    #[test]
    fn a_stream_without_end_is_left() {
        let error = bounded(Path::new("-"), io::repeat(b'a'), 0).unwrap_err();
        assert_eq!(error.to_string(), "-: more than the 16777216 bytes that a file of manifests may have");
        assert_eq!(bounded(Path::new("-"), &b"abc"[..], 0).unwrap(), b"abc");
    }

    #[test]
    fn a_large_file_is_not_read() {
        struct Never;
        impl Read for Never {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                panic!("read")
            }
        }
        assert!(matches!(bounded(Path::new("f"), Never, LARGEST + 1), Err(SourceError::TooLarge { .. })));
    }
}
