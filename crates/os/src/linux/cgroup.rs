//! Which cgroup trees this machine has, read once from the mount table.
//!
//! Three worlds exist: everything in v2, everything in v1, and hybrids where v2 is mounted but holds no controller
//! worth having. What counts is where memory, cpu and pids are, not what is mounted.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The controllers a job needs for its limits and stats.
const NEEDED: [&str; 3] = ["memory", "cpu", "pids"];

/// More than any of the files has that are read often.
const USUAL: usize = 2048;

/// Where jobs are made on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tree {
    V1(V1Mounts),
    V2(PathBuf),
}

/// The mount point of each controller; several controllers may share one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct V1Mounts {
    pub(crate) memory: PathBuf,
    pub(crate) cpu: PathBuf,
    pub(crate) cpuacct: Option<PathBuf>,
    pub(crate) pids: PathBuf,
    pub(crate) freezer: Option<PathBuf>,
}

/// The tree jobs go into, or why there is none.
pub(crate) fn tree() -> &'static Result<Tree, String> {
    static TREE: OnceLock<Result<Tree, String>> = OnceLock::new();
    TREE.get_or_init(|| find().map_err(|error| error.to_string()).and_then(|found| found.ok_or_else(nothing)))
}

fn nothing() -> String {
    format!("no cgroup tree with the controllers {}", NEEDED.join(", "))
}

fn find() -> io::Result<Option<Tree>> {
    let mountinfo = std::fs::read_to_string("/proc/self/mountinfo")?;
    if let Some(root) = v2_mount(&mountinfo) {
        let controllers = std::fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default();
        if has_needed(&controllers) {
            return Ok(Some(Tree::V2(root)));
        }
    }
    Ok(v1_mounts(&mountinfo).map(Tree::V1))
}

fn has_needed(controllers: &str) -> bool {
    NEEDED.iter().all(|needed| controllers.split_whitespace().any(|it| it == *needed))
}

/// The v2 mount point, whichever controllers it has.
pub(crate) fn v2_mount(mountinfo: &str) -> Option<PathBuf> {
    mounts(mountinfo).find(|mount| mount.kind == "cgroup2").map(|mount| mount.path())
}

pub(crate) fn v1_mounts(mountinfo: &str) -> Option<V1Mounts> {
    let of = |controller: &str| {
        mounts(mountinfo)
            .find(|mount| {
                mount.kind == "cgroup" && mount.options.split(',').any(|option| option == controller)
            })
            .map(|mount| mount.path())
    };
    Some(V1Mounts {
        memory: of("memory")?,
        cpu: of("cpu")?,
        cpuacct: of("cpuacct"),
        pids: of("pids")?,
        freezer: of("freezer"),
    })
}

struct Mount<'a> {
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl Mount<'_> {
    /// The kernel writes a space in a path as `\040`.
    fn path(&self) -> PathBuf {
        PathBuf::from(self.point.replace("\\040", " "))
    }
}

fn mounts(mountinfo: &str) -> impl Iterator<Item = Mount<'_>> {
    mountinfo.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut after = after.split(' ');
        Some(Mount { point: before.split(' ').nth(4)?, kind: after.next()?, options: after.nth(1)? })
    })
}

/// Writes a cgroup file and names it when the kernel refuses: "invalid argument" alone helps nobody.
pub(crate) fn write(dir: &Path, file: &str, value: &str) -> io::Result<()> {
    let path = dir.join(file);
    std::fs::write(&path, value).map_err(|error| {
        io::Error::new(error.kind(), format!("write {value} to {}: {error}", path.display()))
    })
}

pub(crate) fn read(dir: &Path, file: &str) -> io::Result<String> {
    let path = dir.join(file);
    whole(&path).map_err(|error| {
        // What a file that was opened in time says of a directory that is removed before it is read.
        let removed = error.raw_os_error() == Some(libc::ENODEV);
        let kind = if removed { io::ErrorKind::NotFound } else { error.kind() };
        io::Error::new(kind, format!("read {}: {error}", path.display()))
    })
}

/// These files say that they are empty, so that a reader without a guess of its own begins with a few bytes and asks
/// eight times for what fits into one answer.
fn whole(path: &Path) -> io::Result<String> {
    let mut text = String::with_capacity(USUAL);
    File::open(path)?.take(u64::MAX).read_to_string(&mut text)?;
    Ok(text)
}

pub(crate) fn read_number(dir: &Path, file: &str) -> io::Result<u64> {
    let text = read(dir, file)?;
    text.trim()
        .parse()
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, format!("{file} holds {text:?}")))
}

/// The value of `key` in a file of `key value` lines, 0 if there is none.
pub(crate) fn keyed(text: &str, key: &str) -> u64 {
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

/// What a weight of 1 to 10000 is measured by: that of a job that was given none.
const WEIGHT: u64 = 100;
/// The same in the units of v1, and what it may be there.
const SHARES: u64 = 1024;
const SHARES_RANGE: std::ops::RangeInclusive<u64> = 2..=262_144;

/// The scale of v2 is ours.
pub(crate) fn weight(weight: Option<u32>) -> u64 {
    weight.map_or(WEIGHT, u64::from)
}

pub(crate) fn shares(given: Option<u32>) -> u64 {
    (weight(given) * SHARES / WEIGHT).clamp(*SHARES_RANGE.start(), *SHARES_RANGE.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
25 20 0:22 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
26 25 0:23 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
27 25 0:24 / /sys/fs/cgroup/memory rw,relatime shared:3 - cgroup cgroup rw,memory
28 25 0:25 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
29 25 0:26 / /sys/fs/cgroup/uni\\040fied rw,relatime - cgroup2 cgroup2 rw
";

    #[test]
    fn controllers_that_share_a_mount_are_found() {
        let found = v1_mounts(HYBRID).unwrap();
        assert_eq!(found.cpu, Path::new("/sys/fs/cgroup/cpu,cpuacct"));
        assert_eq!(found.cpuacct.as_deref(), Some(found.cpu.as_path()));
        assert_eq!(found.freezer, None);
    }

    #[test]
    fn a_missing_pids_controller_means_no_v1_tree() {
        let without: String =
            HYBRID.lines().filter(|line| !line.ends_with("pids")).collect::<Vec<_>>().join("\n");
        assert_eq!(v1_mounts(&without), None);
    }

    #[test]
    fn the_v2_mount_is_found_by_type_and_unescaped() {
        assert_eq!(v2_mount(HYBRID).unwrap(), Path::new("/sys/fs/cgroup/uni fied"));
    }

    #[test]
    fn a_v2_tree_counts_only_with_all_controllers() {
        assert!(has_needed("cpuset cpu io memory hugetlb pids"));
        assert!(!has_needed("hugetlb"));
        assert!(!has_needed("cpuset memory pids"));
    }

    #[test]
    fn weights_keep_their_proportions_in_both_versions() {
        assert_eq!((weight(None), shares(None)), (100, 1024));
        assert_eq!((weight(Some(200)), shares(Some(200))), (200, 2048));
        assert_eq!((shares(Some(1)), shares(Some(10_000))), (10, 102_400));
    }

    #[test]
    fn keyed_lines_do_not_match_by_prefix() {
        let text = "inactive_file_total 9\ninactive_file 7\n";
        assert_eq!(keyed(text, "inactive_file"), 7);
        assert_eq!(keyed(text, "oom_kill"), 0);
    }
}
