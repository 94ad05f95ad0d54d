//! Users that exist only as long as a container does: a name, and a number that nobody else has.
//!
//! A user needs no entry in `/etc/passwd` to run and to own files, only a number of its own. Each is a link in one
//! directory, from its name to its number: a link is made and removed as a whole, so no crash leaves half of one.
//! The directory is gone with the next boot, as is every process that ran as one of them.

use std::io;
use std::path::{Path, PathBuf};

use super::accounts::Accounts;
use crate::lock::{Held, Mode};

/// Numbers that distributions, name services and user namespaces leave alone, and that fit where others use signed ones.
const FIRST: u32 = 2_000_000_000;
const COUNT: u32 = 100_000_000;

#[derive(Debug)]
pub(crate) struct Records {
    dir: PathBuf,
}

impl Records {
    pub(crate) fn of_the_host() -> Self {
        Self { dir: "/run/porthole-users".into() }
    }

    /// The number of that user, now its own.
    pub(crate) fn make(&self, name: &str, accounts: &Accounts) -> io::Result<u32> {
        if !is_name(name) {
            let text = format!("{name:?} cannot be a user: wanted letters, digits, dots, _ and -");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        crate::file::make_private_dir(&self.dir)?;
        let _lock = Held::take(&self.dir.join(".lock"), Mode::Exclusive)?;
        let known = self.all()?;
        if let Some((_, uid)) = known.iter().find(|(known, _)| known == name) {
            return Ok(*uid);
        }
        let taken =
            |uid: &u32| known.iter().any(|(_, known)| known == uid) || accounts.user_of(*uid).is_some();
        let uid = candidates(name).find(|uid| !taken(uid)).ok_or(io::ErrorKind::StorageFull)?;
        std::os::unix::fs::symlink(uid.to_string(), self.dir.join(name))?;
        Ok(uid)
    }

    /// A name that none can have is gone as well.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        if !is_name(name) {
            return Ok(());
        }
        match std::fs::remove_file(self.dir.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.all()?.into_iter().map(|(name, _)| name).collect())
    }

    pub(crate) fn name_of(&self, uid: u32) -> Option<String> {
        let all = self.all().unwrap_or_default();
        all.into_iter().find(|(_, known)| *known == uid).map(|(name, _)| name)
    }

    fn all(&self) -> io::Result<Vec<(String, u32)>> {
        let entries = match std::fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let mut all = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().into_string().ok().filter(|name| is_name(name));
            all.extend(name.zip(number(&entry.path())));
        }
        all.sort();
        Ok(all)
    }
}

fn number(link: &Path) -> Option<u32> {
    std::fs::read_link(link).ok()?.to_str()?.parse().ok()
}

/// One component of a path, and nothing that a shell or a list could read as something else.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    (1..=64).contains(&name.len()) && !name.starts_with(['.', '-']) && name.chars().all(plain)
}

/// Every number of the range, from one that depends on the name: names that come and go do not meet each other's files.
fn candidates(name: &str) -> impl Iterator<Item = u32> {
    // FNV-1a: short, and the same in every build of this program.
    let hash =
        name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (0..COUNT).map(move |step| FIRST + (hash % COUNT + step) % COUNT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> (tempfile::TempDir, Records) {
        let dir = tempfile::tempdir().unwrap();
        let records = Records { dir: dir.path().join("users") };
        (dir, records)
    }

    #[test]
    fn a_user_has_one_number_until_it_is_removed() {
        let (_dir, records) = records();
        let nobody = Accounts::default();
        assert_eq!(records.names().unwrap(), [""; 0]);
        let uid = records.make("abc", &nobody).unwrap();
        assert!((FIRST..FIRST + COUNT).contains(&uid), "{uid}");
        assert_eq!(records.make("abc", &nobody).unwrap(), uid);
        assert_eq!(
            (records.names().unwrap(), records.name_of(uid)),
            (vec!["abc".to_owned()], Some("abc".to_owned()))
        );
        records.remove("abc").unwrap();
        records.remove("abc").unwrap();
        assert_eq!((records.names().unwrap(), records.name_of(uid)), (vec![], None));
    }

    #[test]
    fn a_number_that_somebody_has_is_not_given_again() {
        let (_dir, records) = records();
        let first = candidates("abc").next().unwrap();
        let users = format!("old:x:{first}:1::/:/\n");
        let accounts = Accounts { users, ..Accounts::default() };
        let second = records.make("abc", &accounts).unwrap();
        assert_eq!(second, first + 1);
        let third = candidates("abc").nth(2).unwrap();
        std::fs::remove_file(records.dir.join("abc")).unwrap();
        std::os::unix::fs::symlink(second.to_string(), records.dir.join("other")).unwrap();
        assert_eq!(records.make("abc", &accounts).unwrap(), third);
    }

    #[test]
    fn the_range_wraps_and_ends() {
        let first = candidates("x").next().unwrap();
        let to_the_end = usize::try_from(FIRST + COUNT - first).unwrap();
        assert_eq!(candidates("x").nth(to_the_end - 1), Some(FIRST + COUNT - 1));
        assert_eq!(candidates("x").nth(to_the_end), Some(FIRST));
        assert_eq!(candidates("x").size_hint().1, usize::try_from(COUNT).ok());
    }

    #[test]
    fn names_that_are_more_than_a_name_are_refused_and_removed_without_harm() {
        let (dir, records) = records();
        let precious = dir.path().join("precious");
        std::fs::write(&precious, "x").unwrap();
        for bad in ["../precious", "", ".lock", "a/b", "a b", "-x", "a\n"] {
            let error = records.make(bad, &Accounts::default()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{bad:?}");
            records.remove(bad).unwrap();
        }
        assert!(precious.exists());
    }
}
