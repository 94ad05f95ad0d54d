use proptest::prelude::*;
use proptest::sample::select;

use super::*;

const OWN: &str = "is the runtime's own: its pipes and sockets are never mounted into pods";

fn verdict(path: &str) -> Option<&'static str> {
    reason(&path::normal(path), false)
}

#[test]
fn what_is_refused_in_every_pod() {
    for path in [
        r"\\.\pipe\porthole-cri",
        r"\\.\pipe\porthole-0a1b-admin",
        r"\\?\pipe\Porthole-cri",
        r"\\.\pipe",
        r"\\.\pipe\ProtectedPrefix",
        r"\\.\pipe\protectedprefix\administrators\anything",
        r"\\host\pipe\porthole-cri",
        r"\\?\UNC\host\pipe\porthole-cri",
        r"\\.\GLOBALROOT\Device\NamedPipe\porthole-cri",
        r"\\.\GLOBALROOT\Device\NamedPipe",
        "/var/lib/porthole",
        "/var/lib/porthole/run",
        "/var/lib/porthole/run/cri.sock",
        "/proc/1/root/var/lib/porthole/run",
        r"C:\ProgramData\Porthole",
        r"D:\ProgramData\Porthole\RUN",
        r"C:\PROGRA~3\Porthole\run",
        r"C:\ProgramData.\Porthole \run..",
        r"C:\ProgramData::$INDEX_ALLOCATION\Porthole:s\run:x\y",
        r"\\?\Volume{1}\ProgramData\Porthole\run",
    ] {
        assert_eq!(verdict(path), Some(OWN), "{path}");
        assert_eq!(reason(&path::normal(path), true), Some(OWN), "{path}");
    }
    for path in [r"C:\a\..\b", "/..", "..", r"C:\ .\x", r"\\.\pipe\x\..\porthole-cri", "/a/.../b"] {
        let refused = reason(&path::normal(path), true);
        assert!(refused.is_some_and(|why| why.starts_with("climbs")), "{path}: {refused:?}");
    }
}

#[test]
fn what_is_refused_in_ordinary_pods() {
    for path in [
        "/",
        "/var",
        "/var/lib/",
        "C:",
        r"C:\",
        r"d:\programdata",
        r"C:\PROGRA~3",
        r"C:\ProgramData. ",
        r"\\?\Volume{1}",
        r"\\?\Volume{1}\ProgramData",
        r"\\?\GLOBALROOT",
        r"\\?\GLOBALROOT\Device",
        r"\\?\GLOBALROOT\Device\HarddiskVolume3\ProgramData",
        r"\\host\c$",
        r"\\?\UNC\host\c$\ProgramData",
        r"\\.\",
        "",
        ".",
    ] {
        assert_eq!(verdict(path), Some("has the runtime's own sockets below it"), "{path}");
        assert_eq!(reason(&path::normal(path), true), None, "{path}");
    }
}

#[test]
fn what_is_left_to_others() {
    for path in [
        "/var/log",
        "/var/lib/kubelet",
        "/var/lib/porthole/images",
        "/var/lib/porthole-2/run",
        "/xvar/lib/porthole/runs",
        r"C:\ProgramData\docker",
        r"C:\ProgramData\Porthole\runs",
        r"C:\pipe\porthole-cri",
        r"\\.\pipe\containerd-containerd",
        r"\\.\pipes\porthole",
        r"\\host\share\ProgramData",
        r"\\host\share",
        "/etc/...hidden",
        r"C:\var\library",
    ] {
        assert_eq!(verdict(path), None, "{path}");
    }
}

proptest! {
    #[test]
    fn no_spelling_hides_the_socket(
        drive in select(vec!["", "c:", "C:", r"\\?\C:", r"\\.\d:", r"\\?\Volume{7}", r"\\h\c$"]),
        data in select(vec!["ProgramData", "PROGRAMDATA", "programdata.", "PROGRA~3", "ProgramData::$x"]),
        slashes in proptest::collection::vec(select(vec!["/", r"\", r"\\", r"\.\", "/./"]), 4),
        end in select(vec!["", "/", r"\.", "/cri.sock"]),
    ) {
        let [a, b, c, _] = slashes.as_slice() else { unreachable!("four") };
        // Two slashes at the front of everything would begin a share.
        let first = if drive.is_empty() { "/" } else { a };
        let path = format!("{drive}{first}{data}{b}Porthole{c}run{end}");
        prop_assert_eq!(verdict(&path), Some(OWN), "{}", path);
    }
}
