//! Whether a mount hears of what is mounted elsewhere, as the kernel's table tells it.

use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

use crate::view::Peers;

pub(crate) fn peers(path: &Path) -> io::Result<Peers> {
    let mount = mount_of(path)?;
    let table = std::fs::read("/proc/self/mountinfo")?;
    let told = told(&String::from_utf8_lossy(&table), mount);
    // Without root a job has users of its own, and the kernel lets its copies hear but not tell.
    Ok(if told == Peers::Shares && !crate::elevated() { Peers::Hears } else { told })
}

/// The number of the mount; of the nearest directory above if there is nothing yet.
fn mount_of(path: &Path) -> io::Result<u64> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for place in path.ancestors().filter(|place| !place.as_os_str().is_empty()) {
        match statx(CWD, place, AtFlags::empty(), StatxFlags::MNT_ID).map_err(io::Error::from) {
            Ok(seen) if seen.stx_mask & StatxFlags::MNT_ID.bits() != 0 => return Ok(seen.stx_mnt_id),
            Ok(_) => return Err(io::Error::new(io::ErrorKind::Unsupported, "this kernel numbers no mounts")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// `ID PARENT DEVICE ROOT PLACE OPTIONS [TAG…] - KIND SOURCE OPTIONS`, a line for each mount.
fn told(table: &str, mount: u64) -> Peers {
    let line = table.lines().find(|line| line.split(' ').next() == Some(&mount.to_string()));
    let tags = line.into_iter().flat_map(|line| line.split(' ').skip(6)).take_while(|tag| *tag != "-");
    tags.fold(Peers::None, |known, tag| match (known, tag.split(':').next()) {
        (Peers::Shares, _) | (_, Some("shared")) => Peers::Shares,
        (_, Some("master")) => Peers::Hears,
        _ => known,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_table_is_read_by_the_number_of_the_mount() {
        let table = "\
21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
22 21 0:5 / /shared:1 rw,relatime shared:7 - tmpfs t rw
23 21 0:6 / /heard rw master:7 - tmpfs shared:1 rw
24 21 0:7 / /both rw master:7 shared:9 - tmpfs t rw
25 21 0:8 / /other rw propagate_from:3 unbindable - tmpfs t rw
";
        let found = [21, 22, 23, 24, 25, 2].map(|mount| told(table, mount));
        let expected = [Peers::None, Peers::Shares, Peers::Hears, Peers::Shares, Peers::None, Peers::None];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_not_there_yet_is_on_the_mount_above() {
        let dir = tempfile::tempdir().unwrap();
        let there = mount_of(dir.path()).unwrap();
        assert_eq!(mount_of(&dir.path().join("not/yet")).unwrap(), there);
        assert_ne!(mount_of(Path::new("/proc/self")).unwrap(), there);
    }
}
