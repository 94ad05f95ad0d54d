//! Probes for days on end: what the holder keeps of an exec is nothing.

use std::time::Instant;

use crate::support::{Program, eventually, hear_all, shell_in};

/// How many execs in the gate. `PORTHOLE_SOAK_EXECS=20000` for the whole of it.
const EXECS: u32 = 500;
const VARIABLE: &str = "PORTHOLE_SOAK_EXECS";
/// After so many everything that is allocated once has been.
const WARM: u32 = 100;

/// What a process has of the system.
#[derive(Debug, Clone, Copy)]
struct Use {
    threads: u32,
    descriptors: usize,
    resident_kib: u32,
}

fn used(pid: u32) -> Use {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse::<u32>().unwrap()
    };
    Use {
        threads: number("Threads:"),
        descriptors: std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count(),
        // What is the process's own: code that is dropped and read again says nothing.
        resident_kib: number("RssAnon:"),
    }
}

#[test]
fn many_execs_leave_no_thread_no_descriptor_and_no_memory() {
    let execs = std::env::var(VARIABLE).map_or(EXECS, |text| text.parse().unwrap());
    let program = Program::start();
    let (world, pid) = (&program.world, program.child.id());
    world.resting("a");
    let probe = |number: u32| {
        let stream = world.exec(shell_in("a", &format!("echo {number}; exit 3")));
        let all = hear_all(stream.split().0);
        assert_eq!((all.stdout, all.end.code), (format!("{number}\n"), 3));
    };
    let at_rest = used(pid);
    (0..WARM).for_each(probe);
    // The threads of the last exec may be on their way out.
    eventually("it is at rest", || used(pid).threads <= at_rest.threads);
    let before = used(pid);
    let begun = Instant::now();
    (0..execs).for_each(probe);
    eventually("it is at rest again", || used(pid).threads <= at_rest.threads);
    eventually("nothing is left open", || used(pid).descriptors <= before.descriptors);
    let after = used(pid);
    println!("{execs} execs in {:.1} s: {before:?} before, {after:?} after", begun.elapsed().as_secs_f32());
    assert!(after.resident_kib <= before.resident_kib + 64, "{before:?} became {after:?}");
    world.end("a");
}
