//! What earlier versions left in the directory of images: whole images by the digest of their configuration, in
//! directories `sha256-…`, and work that did not become one. Nothing reads them any more.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use crate::build::site::{self, State};

pub(super) fn sweep(store: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(store)? {
        let entry = entry?;
        // A build, of this version too, works here.
        if site::state(&entry) == Some(State::Left) || is_left(&entry.file_name()) {
            os::file::remove_tree(&entry.path())?;
        }
    }
    Ok(())
}

fn is_left(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    if let Some(hex) = name.strip_prefix("sha256-") {
        return hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    let Some(rest) = name.strip_prefix("unfinished-") else { return false };
    // Earlier versions worked in `unfinished-PID-SERIAL`.
    let pid = rest.split('-').next().unwrap_or_default();
    pid.parse().is_ok_and(|pid: u32| !os::process::is_running(pid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_reads_or_writes_goes() {
        let dir = tempfile::tempdir().unwrap();
        let (hex, ours) = ("0f".repeat(32), std::process::id());
        let gone =
            [format!("sha256-{hex}"), "unfinished-4294967295-0".into(), "unfinished-build-4294967295".into()];
        let kept =
            ["blobs".into(), format!("unfinished-build-{ours}"), "sha256-x".into(), "names.json".into()];
        for name in gone.iter().chain(&kept) {
            std::fs::create_dir_all(dir.path().join(name).join("deep")).unwrap();
        }
        sweep(dir.path()).unwrap();
        assert!(gone.iter().all(|name| !dir.path().join(name).exists()));
        assert!(kept.iter().all(|name: &String| dir.path().join(name).exists()));
    }
}
