//! The groups that a program makes below its job's own and moves processes into, as containerd, runc and a kubelet do.
//! They are the job's: listed, killed and removed with it.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::cgroup;

/// How many links a group has that has none below it: its name and its own dot. Each group below adds one.
const CHILDLESS: u64 = 2;

/// How long the kernel may say "busy" of a group that nobody is inside.
const IDLE: Duration = Duration::from_secs(5);

/// Every group below this one, parents before their children.
pub(crate) fn below(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = children(dir)?;
    let mut next = 0;
    // Not by recursion: how deep it goes is the program's choice, and who waits for its end has a small stack.
    while let Some(group) = found.get(next) {
        let more = children(group)?;
        found.extend(more);
        next += 1;
    }
    Ok(found)
}

fn children(dir: &Path) -> io::Result<Vec<PathBuf>> {
    listed(dir).or_else(|error| match error.kind() {
        // Removed while we look, and so after all that was below it.
        io::ErrorKind::NotFound => Ok(Vec::new()),
        kind => Err(io::Error::new(kind, format!("list cgroup {}: {error}", dir.display()))),
    })
}

/// Next to no job has any, and this is asked often: the number of links tells it without reading the directory.
fn listed(dir: &Path) -> io::Result<Vec<PathBuf>> {
    if std::fs::symlink_metadata(dir)?.nlink() == CHILDLESS {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// The processes of a group and of all below it.
pub(crate) fn processes(dir: &Path) -> io::Result<Vec<u32>> {
    let mut found = members(dir)?;
    for group in below(dir)? {
        match members(&group) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => found.extend(other?),
        }
    }
    Ok(found)
}

/// A group of version 2 that was made one for threads lists no processes. Whoever signals a thread by its number hits
/// its process.
fn members(dir: &Path) -> io::Result<Vec<u32>> {
    let list = match cgroup::read(dir, "cgroup.procs") {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => cgroup::read(dir, "cgroup.threads"),
        other => other,
    };
    Ok(list?.lines().filter_map(|line| line.parse().ok()).collect())
}

/// Removes a group with all below it. The kernel answers "busy" while there are some, and for a moment after the last
/// process has gone.
pub(crate) fn remove(dir: &Path) -> io::Result<()> {
    let deadline = Instant::now() + IDLE;
    loop {
        match std::fs::remove_dir(dir) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && Instant::now() < deadline => {
                if !remove_below(dir)? {
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
            Err(error) => {
                let text = format!("remove cgroup {}: {error}", dir.display());
                return Err(io::Error::new(error.kind(), text));
            }
        }
    }
}

/// Whether anything went. What did not is met again.
fn remove_below(dir: &Path) -> io::Result<bool> {
    let groups = below(dir)?;
    Ok(groups.iter().rev().filter(|group| std::fs::remove_dir(group).is_ok()).count() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_come_before_their_children_and_files_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        ["a/deep/deeper", "b"].iter().for_each(|name| std::fs::create_dir_all(at(name)).unwrap());
        std::fs::write(at("a/cgroup.procs"), "").unwrap();
        let mut found = below(dir.path()).unwrap();
        assert!(found.is_sorted_by_key(|path| path.components().count()), "{found:?}");
        found.sort();
        assert_eq!(found, [at("a"), at("a/deep"), at("a/deep/deeper"), at("b")]);
    }

    #[test]
    fn a_group_that_is_gone_has_nothing_below_it_and_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(below(&dir.path().join("gone")).unwrap(), [] as [PathBuf; 0]);
        remove(&dir.path().join("gone")).unwrap();
    }
}
