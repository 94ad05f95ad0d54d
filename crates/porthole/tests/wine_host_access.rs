//! What a HostProcess container may do on its host, by porthole.exe: one container for each kind of access, each effect
//! looked at from outside after the pod is gone. Both mount modes: links as Wine has no bind filter, and binds as the
//! simulated filter grants them. HNS is not here: Wine has none.

#[expect(dead_code, reason = "each kind of stage is used by its own tests")]
mod stage;

mod host_access;

use std::sync::LazyLock;

use host_access::{Guest, Meeting, Visit, visit, words};
use stage::{PATIENCE, Stage};

/// A visit, and what was found outside when it was over.
struct Seen {
    visit: Visit,
    file: String,
    registry: String,
    service: String,
    hostname: String,
}

static LINKED: LazyLock<Seen> = LazyLock::new(|| see(&Stage::wine(), "symlink"));
static BOUND: LazyLock<Seen> = LazyLock::new(|| see(&Stage::simulated().0, "bind"));

fn both() -> [&'static Seen; 2] {
    [&LINKED, &BOUND]
}

fn guests(address: &str) -> Vec<Guest<'static>> {
    vec![
        ("file-read", words(["./fixture", "read", r"C:\visit\in.txt"])),
        ("file-write", words(["./fixture", "write", r"C:\visit\out.txt", "by a container"])),
        ("root", words(["./fixture", "list", r"C:\"])),
        ("registry-read", words(["reg", "query", r"HKLM\SOFTWARE\Visit", "/v", "Word"])),
        (
            "registry-write",
            words(["reg", "add", r"HKLM\SOFTWARE\Visit\Made", "/v", "Word", "/d", "by a container", "/f"]),
        ),
        ("service", words(["sc", "create", "visitor", "binPath=", r"C:\visit\service.exe"])),
        ("process", words(["taskkill", "/F", "/IM", "neighbour.exe"])),
        ("pipe-out", words(["./fixture", "connect", r"\\.\pipe\visit-outside"])),
        ("pipe-in", words(["./fixture", "serve", r"\\.\pipe\visit-inside"])),
        ("listen", words(["./fixture", "listen", "127.0.0.1:0"])),
        ("dial", words(["./fixture", "dial", address])),
        ("hostname", words(["hostname"])),
        ("environment", words(["./fixture", "env", "SystemRoot"])),
    ]
}

fn see(stage: &Stage, mode: &'static str) -> Seen {
    let wine = stage.host.wine();
    let outside = |program: &str, arguments: &[&str]| {
        let output = wine.run(program, arguments, PATIENCE).unwrap();
        format!("{}{}", output.stdout, output.stderr)
    };
    let dir = wine.host_path(r"C:\visit").unwrap();
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("in.txt"), "by the host").unwrap();
    outside("reg", &["add", r"HKLM\SOFTWARE\Visit", "/v", "Word", "/d", "by the host", "/f"]);
    let meeting = Meeting {
        endpoints: [r"\\.\pipe\visit-outside".into(), r"\\.\pipe\visit-inside".into()],
        neighbour: stage.dir().join("neighbour.exe"),
    };
    let visit = visit(stage, mode, &meeting, guests);
    Seen {
        visit,
        file: std::fs::read_to_string(dir.join("out.txt")).unwrap_or_default(),
        registry: outside("reg", &["query", r"HKLM\SOFTWARE\Visit\Made", "/v", "Word"]),
        service: outside(
            "reg",
            &["query", r"HKLM\SYSTEM\CurrentControlSet\Services\visitor", "/v", "ImagePath"],
        ),
        hostname: outside("hostname", &[]).trim().to_owned(),
    }
}

// proves: HP-28 wine
// proves: HP-28 sim
#[test]
fn it_reads_and_writes_files_of_the_host() {
    for seen in both() {
        seen.visit.assert_says("file-read", "by the host");
        seen.visit.assert_good("file-write");
        assert_eq!(seen.file, "by a container", "{}", seen.visit.mode);
    }
}

// proves: HP-28 wine
// proves: HP-28 sim
#[test]
fn it_sees_the_root_of_the_drive_and_not_one_of_its_own() {
    for seen in both() {
        seen.visit.assert_says("root", "visit");
        seen.visit.assert_says("root", "windows");
    }
}

// proves: HP-28 wine
// proves: HP-28 sim
#[test]
fn it_reads_and_writes_the_registry() {
    for seen in both() {
        seen.visit.assert_says("registry-read", "by the host");
        seen.visit.assert_good("registry-write");
        assert!(seen.registry.contains("by a container"), "{}: {}", seen.visit.mode, seen.registry);
    }
}

// proves: HP-28 wine
// proves: HP-28 sim
#[test]
fn it_makes_a_service_that_outlives_it() {
    for seen in both() {
        seen.visit.assert_good("service");
        assert!(seen.service.contains(r"C:\visit\service.exe"), "{}: {}", seen.visit.mode, seen.service);
    }
}

// proves: HP-28 wine
// proves: HP-28 sim
#[test]
fn it_ends_a_process_of_the_host() {
    for seen in both() {
        seen.visit.assert_good("process");
        assert!(!seen.visit.neighbour_lives, "{}", seen.visit.mode);
    }
}

// proves: HP-28 wine
// proves: HP-28 sim
#[test]
fn it_meets_others_at_named_pipes_of_the_host() {
    for seen in both() {
        seen.visit.assert_says("pipe-out", "heard hello");
        seen.visit.assert_good("pipe-in");
        assert_eq!(seen.visit.heard[1], "heard hello", "{}", seen.visit.mode);
    }
}

// proves: HP-28 wine
// proves: HP-28 sim
#[test]
fn it_listens_and_dials_on_the_network_of_the_host() {
    for seen in both() {
        seen.visit.assert_good("listen");
        assert_eq!(seen.visit.heard[0], "heard hello", "{}", seen.visit.mode);
        seen.visit.assert_says("dial", "outside heard hello");
    }
}

// proves: HP-28 wine
// proves: HP-28 sim
#[test]
fn its_name_and_variables_are_the_hosts() {
    for seen in both() {
        assert!(!seen.hostname.is_empty());
        seen.visit.assert_says("hostname", &seen.hostname);
        seen.visit.assert_good("environment");
        let root = seen.visit.said_by("environment").join("").to_lowercase();
        assert_eq!(root, r"c:\windows", "{}", seen.visit.mode);
    }
}
