//! Silos and the bind filter.

use crate::support::Machine;

// proves: HP-11 sim
#[test]
fn an_image_and_volumes_are_bound_in_the_containers_own_silo_before_its_first_process() {
    let machine = Machine::new();
    for dir in [r"C:\images\one", r"C:\volumes\data", r"C:\volumes\secret"] {
        machine.directory(dir);
    }
    let binds = [
        r"bind=C:\hpc=C:\images\one",
        r"bind=C:\data=C:\volumes\data",
        r"bind=C:\secret=C:\volumes\secret,ro",
    ];
    let mut started = machine.start("one", &binds, &["print", "hello"]);
    started.expect_output("hello");
    assert_eq!(started.end(), "0");
    let calls = machine.sim.calls();
    let expected = [
        r"CreateSilo job=porthole-start-one kill-on-close=true inside=0 size=0 -> 0x0",
        r"BfSetupFilter job=porthole-start-one silo=true flags=0x4 root=C:\hpc target=C:\images\one exceptions=0 -> 0x0",
        r"BfSetupFilter job=porthole-start-one silo=true flags=0x4 root=C:\data target=C:\volumes\data exceptions=0 -> 0x0",
        r"BfSetupFilter job=porthole-start-one silo=true flags=0x5 root=C:\secret target=C:\volumes\secret exceptions=0 -> 0x0",
    ];
    let made: Vec<&String> =
        calls.iter().filter(|call| call.starts_with("CreateSilo ") || call.starts_with("Bf")).collect();
    assert_eq!(made, expected, "{calls:#?}");
}

// proves: HP-11 sim
#[test]
fn two_containers_have_different_things_at_one_path() {
    let machine = Machine::new();
    for dir in [r"C:\volumes\of-one", r"C:\volumes\of-two"] {
        machine.directory(dir);
    }
    let one = machine.start("one", &[r"bind=C:\data=C:\volumes\of-one"], &["print", "x"]);
    let two = machine.start("two", &[r"bind=C:\data=C:\volumes\of-two"], &["print", "x"]);
    assert_eq!((one.end(), two.end()), ("0".to_owned(), "0".to_owned()));
    let mut calls = machine.sim.calls_of("BfSetupFilter");
    calls.sort();
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(
        calls[0]
            .contains(r"job=porthole-start-one silo=true flags=0x4 root=C:\data target=C:\volumes\of-one")
    );
    assert!(
        calls[1]
            .contains(r"job=porthole-start-two silo=true flags=0x4 root=C:\data target=C:\volumes\of-two")
    );
}

// proves: RT-06 sim
#[test]
fn a_single_file_is_bound_by_its_own_path() {
    let machine = Machine::new();
    machine.directory(r"C:\volumes\conf");
    machine.directory(r"C:\etc");
    let bind = r"bind=C:\etc\app.conf=C:\volumes\conf\file,file,ro";
    assert_eq!(machine.start("file", &[bind], &["print", "x"]).end(), "0");
    let calls = machine.sim.calls_of("BfSetupFilter");
    assert_eq!(
        calls,
        [
            r"BfSetupFilter job=porthole-start-file silo=true flags=0x5 root=C:\etc\app.conf target=C:\volumes\conf\file exceptions=0 -> 0x0"
        ]
    );
}

// proves: HP-11 sim
#[test]
fn a_volume_is_named_with_its_backslash() {
    let machine = Machine::new();
    let volume = r"\\?\Volume{0a1b2c3d-0000-0000-0000-100000000000}";
    let bind = format!(r"bind=C:\hpc={volume}");
    assert_eq!(machine.start("volume", &[&bind], &["print", "x"]).end(), "0");
    let calls = machine.sim.calls_of("BfSetupFilter");
    assert!(calls[0].contains(&format!(r"root=C:\hpc target={volume}\ exceptions=0 -> 0x0")), "{calls:?}");
}

// proves: HP-11 sim
#[test]
fn what_is_started_later_joins_the_silo_as_it_is() {
    let machine = Machine::new();
    machine.directory(r"C:\volumes\data");
    let mut started = machine.start("exec", &[r"bind=C:\data=C:\volumes\data"], &["sleep", "600"]);
    started.expect("started");
    started.tell("again");
    started.expect("again");
    started.tell("terminate");
    assert_eq!(started.end(), "137");
    assert_eq!(machine.sim.calls_of("CreateSilo").len(), 1);
    assert_eq!(machine.sim.calls_of("BfSetupFilter").len(), 1);
}

#[test]
fn a_refused_mount_says_why_and_starts_nothing() {
    let machine = Machine::new();
    for dir in [r"C:\fuse", r"C:\plain"] {
        machine.directory(dir);
    }
    let refused = |job: &str, binds: &[&str]| machine.start(job, binds, &["print", "x"]).expect("refused ");
    machine.sim.fault("BfSetupFilter", r"target=C:\fuse", 0x801F_000F).expect("told");
    assert_eq!(
        refused("filter", &[r"bind=C:\mnt=C:\fuse"]),
        r"mount the volumes: cannot show C:\fuse at C:\mnt: the volume takes no filter; it can only be mounted in symlink mode (0x801f000f)"
    );
    let twice = refused("twice", &[r"bind=C:\mnt=C:\plain", r"bind=c:\MNT\=C:\plain"]);
    assert!(twice.contains("is mapped already") && twice.ends_with("(0x80070057)"), "{twice}");
    let missing = refused("missing", &[r"bind=C:\mnt=C:\no-such"]);
    assert!(
        missing.contains(r"cannot show C:\no-such at C:\mnt") && missing.contains("does not exist"),
        "{missing}"
    );
    machine.sim.fault("BfSetupFilter", r"target=C:\plain", 0x8007_0005).expect("told");
    let denied = refused("denied", &[r"bind=C:\mnt=C:\plain"]);
    assert!(denied.contains("access is denied; the runtime must run as LocalSystem"), "{denied}");
}

#[test]
fn a_job_that_cannot_become_a_silo_is_an_error_and_binds_nothing() {
    let machine = Machine::new();
    machine.directory(r"C:\plain");
    machine.sim.fault("CreateSilo", "job=porthole-start-no", 5).expect("told");
    let said = machine.start("no", &[r"bind=C:\mnt=C:\plain"], &["print", "x"]).expect("refused ");
    assert!(said.starts_with("mount the volumes: the job cannot become a silo: "), "{said}");
    assert_eq!(machine.sim.calls_of("BfSetupFilter"), [""; 0]);
}

// proves: HP-11 sim
#[test]
fn whether_binds_work_is_tried_once_and_leaves_nothing() {
    let machine = Machine::new();
    let told = machine.say(&["host"]);
    assert!(told.contains("found bind-filter a directory was shown at another path"), "{told}");
    assert!(told.contains("found silo made one"), "{told}");
    assert_eq!(machine.sim.calls_of("BfSetupFilter").len(), 1);
    machine.sim.fault("BfSetupFilter", "porthole-bind-", 0x801F_0013).expect("told");
    let told = machine.say(&["host"]);
    let line = told.lines().find(|line| line.starts_with("missing bind-filter ")).unwrap_or(&told);
    assert!(line.contains("the bind filter driver (bindflt) does not run (0x801f0013)"), "{line}");
    let mut find = std::process::Command::new("find");
    let found = find.arg(machine.wine.prefix()).args(["-name", "porthole-bind-*"]).output().expect("ran");
    assert_eq!((String::from_utf8_lossy(&found.stdout).as_ref(), found.status.code()), ("", Some(0)));
}
