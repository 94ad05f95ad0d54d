//! Mounts that are made while a job runs: who sees them, on a host that shares them.

use std::process::Command;

use crate::keeper::{Keeper, fixture_for_all};
use crate::support::{eventually, unique};
use crate::world::World;

/// A keeper whose world has one shared mount, and its program's process.
fn keep(world: &World, option: &str) -> (Keeper, String) {
    let script =
        r#"mount -t tmpfs t "$0" && mount --make-shared "$0" && mkdir "$0/in" "$0/out" && exec "$@""#;
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "--", "sh", "-c", script]);
    command.arg(world.path("source")).arg(fixture_for_all());
    let options = [format!("{option}={}|{}", world.text("source"), world.text("target"))];
    let mut keeper = Keeper::start(command, &unique(), &options, &["pause"]);
    let program = keeper.expect("held");
    keeper.expect("out ready");
    (keeper, program)
}

fn mount(process: &str, place: &str) {
    let mut command = Command::new("nsenter");
    command.args(["--target", process, "--mount", "--", "mount", "-t", "tmpfs", "later", place]);
    assert!(command.status().unwrap().success(), "{place}");
}

fn sees(process: &str, place: &str) -> bool {
    let table = std::fs::read_to_string(format!("/proc/{process}/mountinfo")).unwrap();
    table.contains(&format!(" {place} "))
}

#[test]
fn mounts_that_come_later_are_passed_on_as_far_as_was_asked_for() {
    for (option, comes_in, goes_out) in
        [("bind", false, false), ("slave", true, false), ("shared", true, true)]
    {
        let world = World::new(&["source", "target"]);
        let (mut keeper, program) = keep(&world, option);
        let host = keeper.id().to_string();
        mount(&host, &world.text("source/in"));
        assert_eq!(sees(&program, &world.text("target/in")), comes_in, "{option}: from the host");
        mount(&program, &world.text("target/out"));
        assert_eq!(sees(&host, &world.text("source/out")), goes_out, "{option}: to the host");
        keeper.tell("terminate");
        keeper.expect("empty true");
        // What was mounted there is the host's now; the job's own mounts never were.
        let left = std::fs::read_to_string(format!("/proc/{host}/mountinfo"));
        if let Ok(left) = left.map(|table| table.contains(&world.text("target"))) {
            assert!(!left, "{option}");
        }
    }
}

#[test]
fn what_the_host_unmounts_is_gone_from_those_who_hear_of_it() {
    let world = World::new(&["source", "target"]);
    let (keeper, program) = keep(&world, "slave");
    let host = keeper.id().to_string();
    mount(&host, &world.text("source/in"));
    assert!(sees(&program, &world.text("target/in")));
    let unmount = ["--target", &host, "--mount", "--", "umount", &world.text("source/in")];
    assert!(Command::new("nsenter").args(unmount).status().unwrap().success());
    eventually("it is gone", || !sees(&program, &world.text("target/in")));
}

/// The one that is read-only as a whole is in `view`.
#[test]
fn a_volume_can_be_read_only_without_what_is_mounted_below_it() {
    let world = World::new(&["source/sub", "target"]);
    let command = || {
        let mut command = Command::new("unshare");
        let script = r#"mount -t tmpfs t "$0" && exec "$@""#;
        command.args(["--mount", "--propagation", "private", "--", "sh", "-c", script]);
        command.arg(world.path("source/sub")).arg(fixture_for_all());
        command
    };
    let options = [format!("shallow={}|{}", world.text("source"), world.text("target"))];
    for (name, expected) in [("target/new", "2 None"), ("target/sub/new", "0 None")] {
        let write = ["write", &world.text(name), "x"];
        assert_eq!(Keeper::start(command(), &unique(), &options, &write).expect("ended"), expected, "{name}");
    }
    assert_eq!(world.names("source"), ["sub"]);
}
