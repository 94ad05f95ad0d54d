//! Names of one file: Windows', and the host's.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

pub(super) fn to_windows(prefix: &Path, unix: &Path) -> String {
    let (drive, rest) = match unix.strip_prefix(prefix.join("drive_c")) {
        Ok(rest) => ("C:", rest),
        Err(_) => ("Z:", unix.strip_prefix("/").unwrap_or(unix)),
    };
    format!(r"{drive}\{}", rest.to_string_lossy().replace('/', r"\"))
}

/// `root` is the machine's root as outside sees it.
pub(super) fn to_host(root: &Path, prefix: &Path, windows: &str) -> Result<PathBuf> {
    let (drive, rest) = windows.split_at_checked(2).unwrap_or((windows, ""));
    let inside = match drive {
        "C:" | "c:" => prefix.join("drive_c"),
        "Z:" | "z:" => "/".into(),
        _ => bail!("{windows} is on no drive that Wine has here (C: and Z:)"),
    };
    let start = root.join(inside.strip_prefix("/").unwrap_or(&inside));
    let parts = rest.split(['\\', '/']).filter(|part| !part.is_empty());
    Ok(parts.fold(start, |dir, part| in_any_case(&dir, part)))
}

fn in_any_case(dir: &Path, name: &str) -> PathBuf {
    let exact = dir.join(name);
    if exact.symlink_metadata().is_ok() {
        return exact;
    }
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let same =
        |found: &std::ffi::OsString| found.to_str().is_some_and(|found| found.eq_ignore_ascii_case(name));
    entries.map(|entry| entry.file_name()).find(same).map_or(exact, |found| dir.join(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_is_drive_c_and_the_rest_drive_z() {
        let prefix = Path::new("/p");
        assert_eq!(to_windows(prefix, Path::new("/p/drive_c/a b/c.exe")), r"C:\a b\c.exe");
        assert_eq!(to_windows(prefix, Path::new("/tmp/x.exe")), r"Z:\tmp\x.exe");
        assert_eq!(to_windows(prefix, Path::new("/")), r"Z:\");
    }

    #[test]
    fn case_does_not_matter_for_what_exists() {
        let root = tempfile::tempdir().expect("made");
        std::fs::create_dir_all(root.path().join("p/drive_c/ProgramData/Porthole")).expect("made");
        let found = to_host(root.path(), Path::new("/p"), r"c:\programdata\PORTHOLE\new").expect("path");
        assert_eq!(found, root.path().join("p/drive_c/ProgramData/Porthole/new"));
        assert_eq!(
            to_host(root.path(), Path::new("/p"), r"Z:\p/drive_c").expect("path"),
            root.path().join("p/drive_c")
        );
        to_host(root.path(), Path::new("/p"), r"D:\x").expect_err("no such drive");
    }
}
