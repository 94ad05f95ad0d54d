//! A directory in the cache that is there completely or not at all, made once however many processes ask.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::{cache_dir, may_install, progress};

/// One cached thing: `place` is its directory below [`cache_dir`], `title` what a user reads while it is made.
#[derive(Debug, Clone)]
pub struct Entry {
    pub place: PathBuf,
    pub title: String,
}

// === impl Entry ===

impl Entry {
    pub fn new(place: impl Into<PathBuf>, title: impl Into<String>) -> Self {
        Self { place: place.into(), title: title.into() }
    }

    pub fn is_there(&self) -> bool {
        cache_dir().join(&self.place).is_dir()
    }

    /// The directory, made by `make` if it is not there. `make` fills the directory it is given, which is renamed
    /// into place afterwards: a half-made one is never seen, also after a crash.
    pub fn provide(&self, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        self.provide_in(&cache_dir(), may_install(), make)
    }

    fn provide_in(
        &self,
        cache: &Path,
        may_install: bool,
        make: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<PathBuf> {
        let dir = cache.join(&self.place);
        if dir.is_dir() {
            return Ok(dir);
        }
        if !may_install {
            bail!("missing: {} ({}); PORTHOLE_NO_INSTALL forbids making it", self.title, dir.display());
        }
        let _lock = lock(&dir)?;
        // Someone else may have made it while we waited for the lock.
        if !dir.is_dir() {
            progress::step(&self.title, || fill(&dir, make))?;
        }
        Ok(dir)
    }
}

fn lock(dir: &Path) -> Result<File> {
    let parent = dir.parent().context("a cache entry has a parent")?;
    fs::create_dir_all(parent).with_context(|| format!("create {}", parent.display()))?;
    let path = beside(dir, ".lock");
    let file = File::create(&path).with_context(|| format!("create {}", path.display()))?;
    file.lock().with_context(|| format!("lock {}", path.display()))?;
    Ok(file)
}

fn fill(dir: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let half = beside(dir, ".half");
    if half.exists() {
        fs::remove_dir_all(&half).with_context(|| format!("remove {}", half.display()))?;
    }
    fs::create_dir_all(&half).with_context(|| format!("create {}", half.display()))?;
    make(&half)?;
    fs::rename(&half, dir).with_context(|| format!("rename {} to {}", half.display(), dir.display()))
}

fn beside(dir: &Path, suffix: &str) -> PathBuf {
    let mut name = dir.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("porthole-cache-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        dir
    }

    #[test]
    fn many_ask_and_one_makes() {
        let cache = scratch("many");
        let made = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let entry = Entry::new("a/b", "thing");
                    let make = |dir: &Path| {
                        made.fetch_add(1, Ordering::SeqCst);
                        Ok(fs::write(dir.join("file"), "x")?)
                    };
                    let dir = entry.provide_in(&cache, true, make).expect("made");
                    assert!(dir.join("file").is_file());
                });
            }
        });
        assert_eq!(made.load(Ordering::SeqCst), 1);
        fs::remove_dir_all(cache).expect("removed");
    }

    #[test]
    fn a_failure_leaves_nothing_that_looks_made() {
        let cache = scratch("failure");
        let entry = Entry::new("thing", "thing");
        let fail = |dir: &Path| {
            fs::write(dir.join("left over"), "x")?;
            bail!("no")
        };
        entry.provide_in(&cache, true, fail).expect_err("fails");
        assert!(!cache.join("thing").exists());
        let dir = entry.provide_in(&cache, true, |_| Ok(())).expect("second try");
        assert_eq!(fs::read_dir(dir).expect("readable").count(), 0);
        fs::remove_dir_all(cache).expect("removed");
    }

    #[test]
    fn no_install_names_what_is_missing() {
        let cache = scratch("missing");
        let error =
            Entry::new("thing", "etcd 3").provide_in(&cache, false, |_| Ok(())).expect_err("forbidden");
        assert!(error.to_string().starts_with("missing: etcd 3"), "{error}");
        assert!(!cache.exists());
    }
}
