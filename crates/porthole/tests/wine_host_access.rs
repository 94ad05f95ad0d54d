//! What a HostProcess container may do on its host, by porthole.exe: one container for each kind of access, each effect
//! looked at from outside after the pod is gone. Both mount modes: links as Wine has no bind filter, and binds as the
//! simulated filter grants them. Devices are those that Wine has: serial ports and disks. The host network service it
//! has not; a simulated one shows that a container loads the library of its host and is heard.

#[expect(dead_code, reason = "each kind of stage is used by its own tests")]
mod stage;

mod host_access;

#[path = "host_access/port.rs"]
mod port;

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use host_access::{Guest, Meeting, Visit, pod, visit, words};
use port::Port;
use stage::{PATIENCE, Stage};
use testbed::tools;

/// A visit, and what was found outside when it was over.
struct Seen {
    visit: Visit,
    file: String,
    registry: String,
    service: String,
    hostname: String,
    /// What came through the serial port.
    port: String,
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
        ("port", words(["./fixture", "port", r"\\.\COM2", "hello"])),
        ("disk", words(["./fixture", "sector", r"\\.\E:"])),
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
    // Before the first program: Wine boots with it.
    let port = lay_devices(stage);
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
        port: port.heard(),
    }
}

/// A second serial port, and a disk as drive E.
fn lay_devices(stage: &Stage) -> Port {
    let devices = stage.host.wine().prefix().join("dosdevices");
    let port = Port::open();
    symlink(port.device(), devices.join("com2")).unwrap();
    let disk = stage.dir().join("disk");
    std::fs::write(&disk, [b"written on the disk".as_slice(), &[0; 4096]].concat()).unwrap();
    symlink(&disk, devices.join("e::")).unwrap();
    port
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

// proves: HP-28 wine
// proves: HP-28 sim
#[test]
fn it_uses_devices_of_the_host_by_their_names() {
    for seen in both() {
        seen.visit.assert_says("port", "heard hello");
        assert_eq!(seen.port, "hello", "{}", seen.visit.mode);
        seen.visit.assert_says("disk", "written on the disk");
    }
}

const NETWORK: &str = "0b1ea7ab-0000-4000-8000-000000000001";
const OF_THE_HOST: &str = "0b1ea7ab-0000-4000-8000-000000000002";
const OF_A_CONTAINER: &str = "0b1ea7ab-0000-4000-8000-000000000003";

/// A program in the image that talks to the host network service.
fn compile_hns(stage: &Stage) -> PathBuf {
    tools::debian::ensure(&["gcc-mingw-w64-x86-64"]).unwrap();
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/host_access/hns.c");
    let program = stage.dir().join("app/hns.exe");
    let mut gcc = Command::new("x86_64-w64-mingw32-gcc");
    let gcc = gcc.args(["-municode", "-D_WIN32_WINNT=0x0A00", "-o"]).arg(&program).arg(source);
    tools::progress::run(gcc.args(["-lcomputenetwork", "-lole32"])).unwrap();
    program
}

// proves: HP-28 sim
#[test]
fn it_sees_makes_and_removes_what_the_host_network_service_has() {
    for mode in ["symlink", "bind"] {
        let (stage, sim) = Stage::simulated();
        let program = compile_hns(&stage);
        sim.network(NETWORK).unwrap();
        let outside = stage.host.run(&program, &["make".to_owned(), format!("{{{OF_THE_HOST}}}")]);
        assert_eq!((outside.code, sim.namespaces()), (0, vec![OF_THE_HOST.to_owned()]), "{outside:?}");
        let guests: [Guest<'_>; 3] = [
            ("networks", words(["./hns", "networks"])),
            ("make", words(["./hns", "make", &format!("{{{OF_A_CONTAINER}}}")])),
            ("remove", words(["./hns", "remove", &format!("{{{OF_THE_HOST}}}")])),
        ];
        let (code, said) = stage.up(&stage.file("visit.yaml", &pod(mode, &guests)), &["--once"]).wait();
        assert_eq!(code, 0, "{mode}: {said:#?}");
        for words in [
            format!("visit/networks | [\"{NETWORK}\"]"),
            format!("visit/make | {{\"ID\":\"{OF_A_CONTAINER}\""),
        ] {
            assert!(said.iter().any(|line| line.contains(&words)), "{mode}: {words}: {said:#?}");
        }
        stage.assert_nothing_left();
        let outside = stage.host.run(&program, &["namespaces".to_owned()]);
        assert_eq!(outside.stdout.trim(), format!("[\"{OF_A_CONTAINER}\"]"), "{mode}: {outside:?}");
    }
}
