//! Small JSON files, read once and then only looked at.
//!
//! A hundred pods that start at once ask for the same names, records and notes. Other processes may replace the files
//! meanwhile, always by rename: as long as a path leads to the same file, what was read of it holds.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use os::file::Stamp;
use serde::de::DeserializeOwned;

use super::error::if_there;
use super::{At, DepotError};

#[derive(Debug)]
pub(crate) struct Cache<T>(Mutex<HashMap<PathBuf, (Stamp, Arc<T>)>>);

/// Clocks of file systems tick slowly: of a file this young, another version could have the same stamp.
const SETTLED: Duration = Duration::from_millis(200);

// === impl Cache ===

impl<T> Default for Cache<T> {
    fn default() -> Cache<T> {
        Cache(Mutex::new(HashMap::new()))
    }
}

impl<T: DeserializeOwned> Cache<T> {
    /// What the file says; `None` if there is no file.
    pub(crate) fn read(&self, path: &Path) -> Result<Option<Arc<T>>, DepotError> {
        let Some(stamp) = if_there(os::file::stamp(path)).at("look at", path)? else {
            self.entries().remove(path);
            return Ok(None);
        };
        if let Some((known, value)) = self.entries().get(path)
            && *known == stamp
        {
            return Ok(Some(value.clone()));
        }
        // Read after it was looked at: a version that came in between is read again next time.
        let Some(bytes) = if_there(std::fs::read(path)).at("read", path)? else { return Ok(None) };
        let value: Arc<T> = Arc::new(
            serde_json::from_slice(&bytes)
                .map_err(|source| DepotError::Json { path: path.to_owned(), source })?,
        );
        if SystemTime::now().duration_since(stamp.modified).is_ok_and(|age| age > SETTLED) {
            self.entries().insert(path.to_owned(), (stamp, value.clone()));
        }
        Ok(Some(value))
    }

    /// A file that is gone and that nobody will ask for again.
    pub(crate) fn forget(&self, path: &Path) {
        self.entries().remove(path);
    }

    fn entries(&self) -> std::sync::MutexGuard<'_, HashMap<PathBuf, (Stamp, Arc<T>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn old(path: &Path) {
        let long_ago = SystemTime::now() - Duration::from_secs(60);
        std::fs::File::options().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
    }

    #[test]
    fn a_file_is_read_once_until_it_is_replaced_or_goes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.json");
        let cache = Cache::<u32>::default();
        assert!(cache.read(&path).unwrap().is_none());
        os::file::write_durable(&path, b"1").unwrap();
        old(&path);
        let first = cache.read(&path).unwrap().unwrap();
        assert!(Arc::ptr_eq(&first, &cache.read(&path).unwrap().unwrap()));
        os::file::write_durable(&path, b"2").unwrap();
        assert_eq!(*cache.read(&path).unwrap().unwrap(), 2);
        std::fs::remove_file(&path).unwrap();
        assert!(cache.read(&path).unwrap().is_none());
    }

    #[test]
    fn a_young_file_is_read_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.json");
        let cache = Cache::<u32>::default();
        std::fs::write(&path, "1").unwrap();
        let first = cache.read(&path).unwrap().unwrap();
        assert!(!Arc::ptr_eq(&first, &cache.read(&path).unwrap().unwrap()));
    }

    #[test]
    fn what_is_no_json_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.json");
        std::fs::write(&path, "{").unwrap();
        let said = Cache::<u32>::default().read(&path).unwrap_err().to_string();
        assert!(said.contains("x.json") && said.contains("fsck"), "{said}");
    }
}
