//! What a HostProcess container may do on its host, on the twin: one container for each kind of access, in both mount
//! modes, each effect looked at from outside after the pod is gone.

#[expect(dead_code, reason = "each kind of stage is used by its own tests")]
mod stage;

mod host_access;

use std::sync::LazyLock;

use host_access::{Guest, Meeting, Visit, visit, words};
use stage::Stage;

/// A visit, and what was found outside when it was over.
struct Seen {
    visit: Visit,
    file: String,
    hostname: String,
}

static LINKED: LazyLock<Seen> = LazyLock::new(|| see(&Stage::twin(), "symlink"));
static BOUND: LazyLock<Seen> = LazyLock::new(|| see(&Stage::twin(), "bind"));

fn both() -> [&'static Seen; 2] {
    [&LINKED, &BOUND]
}

fn see(stage: &Stage, mode: &'static str) -> Seen {
    let dir = stage.dir().to_owned();
    std::fs::write(dir.join("in.txt"), "by the host").unwrap();
    let path = |name: &str| dir.join(name).display().to_string();
    let meeting =
        Meeting { endpoints: [path("outside.sock"), path("inside.sock")], neighbour: dir.join("neighbour") };
    let inside = |address: &str| -> Vec<Guest<'static>> {
        vec![
            ("file-read", words(["./fixture", "read", &path("in.txt")])),
            ("file-write", words(["./fixture", "write", &path("out.txt"), "by a container"])),
            ("root", words(["./fixture", "list", "/"])),
            ("device", words(["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=3"])),
            ("process", words(["sh", "-c", &format!("pkill -9 -f '^{} sleep'", path("neighbour"))])),
            ("socket-out", words(["./fixture", "connect", &path("outside.sock")])),
            ("socket-in", words(["./fixture", "serve", &path("inside.sock")])),
            ("listen", words(["./fixture", "listen", "127.0.0.1:0"])),
            ("dial", words(["./fixture", "dial", address])),
            ("hostname", words(["uname", "-n"])),
        ]
    };
    let visit = visit(stage, mode, &meeting, inside);
    let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned();
    Seen { visit, file: std::fs::read_to_string(dir.join("out.txt")).unwrap_or_default(), hostname }
}

// proves: HP-28 twin
#[test]
fn it_reads_and_writes_files_and_devices_of_the_host() {
    for seen in both() {
        seen.visit.assert_says("file-read", "by the host");
        seen.visit.assert_good("file-write");
        assert_eq!(seen.file, "by a container", "{}", seen.visit.mode);
        seen.visit.assert_good("device");
        seen.visit.assert_says("root", "proc");
    }
}

// proves: HP-28 twin
#[test]
fn it_ends_a_process_of_the_host() {
    for seen in both() {
        seen.visit.assert_good("process");
        assert!(!seen.visit.neighbour_lives, "{}", seen.visit.mode);
    }
}

// proves: HP-28 twin
#[test]
fn it_meets_others_at_sockets_of_the_host_and_on_its_network() {
    for seen in both() {
        seen.visit.assert_says("socket-out", "heard hello");
        seen.visit.assert_good("socket-in");
        seen.visit.assert_good("listen");
        assert_eq!(seen.visit.heard, ["heard hello", "heard hello"], "{}", seen.visit.mode);
        seen.visit.assert_says("dial", "outside heard hello");
    }
}

// proves: HP-28 twin
#[test]
fn its_name_is_the_hosts() {
    for seen in both() {
        seen.visit.assert_says("hostname", &seen.hostname);
    }
}
