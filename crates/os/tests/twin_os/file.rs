//! Files on the real file system.

use std::path::Path;

use os::file::{Lock, disk, make_private_dir, remove, remove_tree, stamp, write_durable};

fn entries(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_durable_write_replaces_the_whole_file_and_leaves_nothing_beside() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("state.json");
    write_durable(&file, b"a long first version").unwrap();
    write_durable(&file, b"second").unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), b"second");
    assert_eq!(entries(dir.path()), ["state.json"]);
}

#[test]
fn a_durable_write_that_fails_leaves_nothing_beside() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("taken/inside")).unwrap();
    assert!(write_durable(&dir.path().join("taken"), b"x").is_err());
    assert_eq!(entries(dir.path()), ["taken"]);
}

#[test]
fn a_lock_is_had_by_one_and_names_its_owner() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lock");
    let first = Lock::try_acquire(&path).unwrap().expect("free");
    assert!(Lock::try_acquire(&path).unwrap().is_none());
    assert_eq!(Lock::owner(&path), Some(std::process::id()));
    drop(first);
    assert_eq!(Lock::owner(&path), None);
    assert!(Lock::try_acquire(&path).unwrap().is_some());
}

#[test]
fn a_file_goes_while_it_is_open_and_its_name_is_free_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    std::fs::write(&path, "first").unwrap();
    let mut open = std::fs::File::open(&path).unwrap();
    remove(&path).unwrap();
    remove(&path).unwrap();
    std::fs::write(&path, "second").unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut open, &mut text).unwrap();
    assert_eq!((text.as_str(), entries(dir.path())), ("first", vec!["file".to_owned()]));
}

#[test]
fn a_stamp_tells_a_replaced_file_from_an_untouched_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    write_durable(&path, b"one").unwrap();
    let first = stamp(&path).unwrap();
    assert_eq!(stamp(&path).unwrap(), first);
    write_durable(&path, b"two").unwrap();
    assert_ne!(stamp(&path).unwrap(), first);
}

#[test]
fn a_disk_has_room_for_what_it_says() {
    let dir = tempfile::tempdir().unwrap();
    let found = disk(dir.path()).unwrap();
    assert!(found.available > 0 && found.available <= found.total, "{found:?}");
}

#[test]
fn a_tree_goes_with_its_read_only_files() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    std::fs::create_dir_all(tree.join("a/b")).unwrap();
    let file = tree.join("a/b/file");
    std::fs::write(&file, "x").unwrap();
    let mut permissions = std::fs::metadata(&file).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&file, permissions).unwrap();
    remove_tree(&tree).unwrap();
    assert!(!tree.exists());
    remove_tree(&tree).unwrap();
}

/// As an image's files are when its last container is still looking at them.
#[test]
fn a_tree_goes_while_its_files_are_open() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    std::fs::create_dir_all(tree.join("a")).unwrap();
    std::fs::write(tree.join("a/file"), "still readable").unwrap();
    let mut open = std::fs::File::open(tree.join("a/file")).unwrap();
    remove_tree(&tree).unwrap();
    assert!(!tree.exists());
    let mut text = String::new();
    std::io::Read::read_to_string(&mut open, &mut text).unwrap();
    assert_eq!(text, "still readable");
}

#[test]
fn a_private_directory_is_made_with_its_parents_and_may_exist() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("a/b");
    make_private_dir(&inner).unwrap();
    make_private_dir(&inner).unwrap();
    std::fs::write(inner.join("file"), "ours").unwrap();
    assert_eq!(std::fs::read_to_string(inner.join("file")).unwrap(), "ours");
}

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use os::file::{Kind, kind, make_passable_dir};

    use crate::keeper::{Keeper, as_root};
    use crate::support::unique;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn private_means_closed_to_others() {
        let dir = tempfile::tempdir().unwrap();
        let (new, old) = (dir.path().join("new"), dir.path().join("old"));
        make_private_dir(&new).unwrap();
        std::fs::create_dir(&old).unwrap();
        std::fs::set_permissions(&old, PermissionsExt::from_mode(0o755)).unwrap();
        make_private_dir(&old).unwrap();
        write_durable(&new.join("secret"), b"x").unwrap();
        assert_eq!((mode(&new), mode(&old), mode(&new.join("secret"))), (0o700, 0o700, 0o600));
    }

    #[test]
    fn somebody_elses_directory_or_a_link_is_not_taken() {
        let dir = tempfile::tempdir().unwrap();
        let theirs = dir.path().join("theirs");
        std::fs::create_dir(&theirs).unwrap();
        std::os::unix::fs::chown(&theirs, Some(65534), Some(65534)).unwrap();
        assert!(make_private_dir(&theirs).is_err());
        symlink(&theirs, dir.path().join("link")).unwrap();
        assert!(make_private_dir(&dir.path().join("link")).is_err());
    }

    #[test]
    fn links_are_removed_and_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (tree, outside) = (dir.path().join("tree"), dir.path().join("outside"));
        std::fs::create_dir(&tree).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("kept"), "x").unwrap();
        symlink(&outside, tree.join("link")).unwrap();
        remove_tree(&tree).unwrap();
        assert!(!tree.exists() && outside.join("kept").exists());
    }

    /// A bind mount of the same file system has the same device number, which is how a tree once gets emptied.
    #[test]
    fn a_mount_inside_a_tree_is_an_error_and_stays_whole() {
        let dir = tempfile::tempdir().unwrap();
        let script = format!(
            "set -e; cd {}; mkdir -p tree/mnt outside; echo x > outside/kept; mount --bind outside tree/mnt; \
             if {} remove-tree {}/tree; then exit 9; fi; test -e outside/kept",
            dir.path().display(),
            crate::keeper::fixture_for_all(),
            dir.path().display(),
        );
        let status =
            std::process::Command::new("unshare").args(["-m", "sh", "-c", &script]).status().unwrap();
        assert!(status.success(), "{status}");
    }

    #[test]
    fn a_lock_goes_with_the_process_that_had_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let program = ["lock", path.to_str().unwrap()];
        let mut keeper = Keeper::start(as_root(), &unique(), &[], &program);
        keeper.expect("out locked");
        assert!(Lock::try_acquire(&path).unwrap().is_none());
        keeper.tell("terminate");
        keeper.expect("empty");
        assert!(Lock::try_acquire(&path).unwrap().is_some());
    }

    /// Whoever can open a file can lock it, and a root may be passed by everybody.
    #[test]
    fn another_account_cannot_have_a_lock_of_ours() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o711)).unwrap();
        let (new, old) = (dir.path().join("new"), dir.path().join("old"));
        std::fs::write(&old, "").unwrap();
        std::fs::set_permissions(&old, PermissionsExt::from_mode(0o644)).unwrap();
        assert!(has_nobody_locked(&old), "as an earlier porthole left it");
        for path in [new, old] {
            drop(Lock::try_acquire(&path).unwrap().expect("free"));
            assert!(!has_nobody_locked(&path), "{}", path.display());
            let _held = Lock::try_acquire(&path).unwrap().expect("free");
            assert_eq!((mode(&path), mode(&path.with_extension("pid"))), (0o600, 0o600));
        }
    }

    #[test]
    fn a_lock_that_is_somebody_elses_is_not_taken() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        std::fs::write(&path, "").unwrap();
        std::os::unix::fs::chown(&path, Some(65534), Some(65534)).unwrap();
        assert!(Lock::try_acquire(&path).unwrap_err().to_string().contains("not a file of ours"));
    }

    /// The account that owns nothing tries, with a program that needs no more than the right to read.
    fn has_nobody_locked(path: &Path) -> bool {
        let mut command = std::process::Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "flock", "--nonblock"]);
        let output = command.arg(path).arg("true").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() || said.contains("Permission denied"), "{said}");
        output.status.success()
    }

    #[test]
    fn what_stands_at_a_path_is_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "").unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for (name, to) in [("to-socket", "socket"), ("to-nothing", "nothing")] {
            symlink(to, at(name)).unwrap();
        }
        for (name, expected) in [
            ("", Kind::Directory),
            ("file", Kind::File),
            ("file/below", Kind::Missing),
            ("socket", Kind::Socket),
            ("to-socket", Kind::Socket),
            ("to-nothing", Kind::Missing),
        ] {
            assert_eq!(kind(&at(name)).unwrap(), expected, "{name}");
        }
        assert_eq!(kind(Path::new("/dev/null")).unwrap(), Kind::Other);
    }

    #[test]
    fn a_passable_directory_can_be_passed_and_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("one/two");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        make_passable_dir(&path).unwrap();
        assert_eq!((mode(&path), mode(&dir.path().join("one"))), (0o711, 0o700));
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        make_passable_dir(&path).unwrap();
        assert_eq!(mode(&path), 0o711);
    }
}
