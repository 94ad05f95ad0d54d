//! Probes for days on end: what the holder keeps of an exec is nothing.

use std::time::Instant;

use crate::support::{Program, eventually, hear_all, shell_in};

/// How many execs in the gate. `PORTHOLE_SOAK_EXECS=20000` for the whole of it.
const EXECS: u32 = 500;
const VARIABLE: &str = "PORTHOLE_SOAK_EXECS";
/// After so many everything that is allocated once has been.
const WARM: u32 = 100;
/// A thread's stack and arena, once more.
const CHANCE_KIB: u32 = 96;

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
    let settled = || {
        // The threads of the last exec may be on their way out.
        eventually("no thread is left", || used(pid).threads <= at_rest.threads);
        used(pid)
    };
    (0..WARM).for_each(probe);
    let before = settled();
    let begun = Instant::now();
    let mut seen = Vec::new();
    for tenth in 0..10 {
        (execs * tenth / 10..execs * (tenth + 1) / 10).for_each(probe);
        seen.push(settled());
    }
    println!(
        "{execs} execs in {:.1} s: {before:?}, and after each tenth {seen:?}",
        begun.elapsed().as_secs_f32()
    );
    eventually("nothing is left open", || used(pid).descriptors <= before.descriptors);
    // The allocator keeps a few stacks and arenas, as many as ever were in use at once: they come early, or by chance.
    let most = |part: &[Use]| part.iter().map(|used| used.resident_kib).max().unwrap();
    let (early, late) = (most(&seen[..5]), most(&seen[5..]));
    assert!(late <= early + CHANCE_KIB, "{early} KiB became {late} KiB: {seen:?}");
    assert!(late <= before.resident_kib + 2 * CHANCE_KIB, "{before:?} became {seen:?}");
    world.end("a");
}
