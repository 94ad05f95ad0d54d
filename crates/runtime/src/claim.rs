//! Whether a directory may become a node's root: what it holds is closed to other accounts from then on.

use std::io;

use crate::layout::Layout;

/// What may be there before the first pod: images, and how to get them; and `pods`, which another agent may be making.
const OURS: [&str; 7] = ["bin", "certs.d", "hpc", "hpc-images", "images", "pods", "run"];
/// What a new disk has, on Linux and on Windows, which does not mind capitals.
const NEW_DISK: [&str; 3] = ["lost+found", "$recycle.bin", "system volume information"];

/// A directory that shows that the root is somebody else's.
pub(crate) fn stranger(layout: &Layout) -> io::Result<Option<String>> {
    if layout.pods().exists() {
        return Ok(None);
    }
    let entries = match std::fs::read_dir(layout.root()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() && !is_known(&name) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

fn is_known(name: &str) -> bool {
    OURS.contains(&name) || NEW_DISK.contains(&name.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_nobodys_or_ours_becomes_a_root() {
        let dir = tempfile::tempdir().unwrap();
        let found = |path: &str| stranger(&Layout::new(&dir.path().join(path))).unwrap();
        let make = |path: &str| std::fs::create_dir_all(dir.path().join(path)).unwrap();
        assert_eq!(found("new"), None);
        make("images/images/blobs");
        make("images/certs.d");
        std::fs::write(dir.path().join("images/cri.yaml"), "").unwrap();
        assert_eq!(found("images"), None);
        make("images/letters");
        assert_eq!(found("images"), Some("letters".to_owned()));
        // A node that was a node stays one, whatever somebody put there.
        make("images/pods");
        assert_eq!(found("images"), None);
        for name in ["lost+found", "$RECYCLE.BIN", "System Volume Information", "letters"] {
            let disk = format!("disk-{name}");
            make(&format!("{disk}/{name}"));
            assert_eq!(found(&disk).is_some(), name == "letters", "{name}");
        }
    }

    /// Two agents on one new root: who finds what the other just made has found no stranger, and meets its lock.
    #[test]
    fn what_another_agent_is_making_is_no_stranger() {
        assert!(["pods", "run", "images", "bin"].into_iter().all(is_known));
        assert!(!is_known("letters") && !is_known("Pods"));
    }
}
