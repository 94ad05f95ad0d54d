//! Limits that strike, limits that change, and what is counted.

use std::time::{Duration, Instant};

use holder::exit::ExitReason;
use holder::protocol::{Launch, Refusal};
use os::job::JobLimits;

use crate::support::{World, eventually, hear_all, refusal, shell_in};

/// Fills memory with about that many MiB and says so.
fn filling(mib: u32) -> String {
    format!("x=$(head -c {mib}M /dev/zero | tr '\\0' x); echo full ${{#x}}")
}

fn memory(mib: u64) -> JobLimits {
    JobLimits { memory_bytes: Some(mib << 20), ..JobLimits::default() }
}

// proves: HP-08 twin
#[test]
fn a_container_beyond_its_memory_is_ended_for_that_reason() {
    let world = World::lasting();
    let mut client = world.client();
    let launch = Launch { limits: memory(32), ..world.shell("a", &format!("{}; sleep 600", filling(200))) };
    client.start(launch).unwrap();
    let record = client.wait("a").unwrap();
    assert_eq!((record.code, record.reason), (137, ExitReason::OomKilled), "{record:?}");
    assert_eq!(world.record("a"), Some(record));
    // The same without a limit in its way, and one that is killed for another reason.
    client.start(world.shell("b", &filling(50))).unwrap();
    assert_eq!(client.wait("b").unwrap().reason, ExitReason::Completed);
    client.start(Launch { limits: memory(64), ..world.shell("c", "kill -KILL $$") }).unwrap();
    let record = client.wait("c").unwrap();
    assert_eq!((record.code, record.reason), (137, ExitReason::Error));
}

// proves: HP-08 twin
#[test]
fn an_exec_counts_towards_the_memory_of_its_container() {
    let world = World::lasting();
    let mut client = world.client();
    client.start(Launch { limits: memory(32), ..world.shell("a", "echo on; sleep 600; exit 0") }).unwrap();
    eventually("it runs", || world.log("a").contains("F on"));
    let all = hear_all(world.exec(shell_in("a", &filling(200))).split().0);
    assert_ne!(all.end.code, 0, "{all:?}");
    // Init goes on, and an end that is all right later is not called anything else.
    client.stop("a", Duration::from_secs(5)).unwrap();
    let record = client.wait("a").unwrap();
    assert_eq!(record.code, 143);
}

// proves: RT-14 twin
#[test]
fn limits_change_while_the_container_runs() {
    let world = World::lasting();
    let mut client = world.client();
    client.start(Launch { limits: memory(32), ..world.shell("a", "echo on; exec sleep 600") }).unwrap();
    eventually("it runs", || world.log("a").contains("F on"));
    let fill = || hear_all(world.exec(shell_in("a", &filling(100))).split().0);
    assert_ne!(fill().end.code, 0);
    client.update("a", memory(1024)).unwrap();
    assert_eq!(client.stats("a").unwrap().memory_limit_bytes, Some(1 << 30));
    let all = fill();
    assert_eq!((all.end.code, all.stdout.as_str()), (0, "full 104857600\n"));
    client.update("a", memory(32)).unwrap();
    assert_ne!(fill().end.code, 0);
    client.update("a", JobLimits::default()).unwrap();
    assert_eq!(fill().end.code, 0);
    assert_eq!(refusal(client.update("b", memory(1))), Refusal::Unknown);
    let wrong = JobLimits { cpu_weight: Some(0), ..JobLimits::default() };
    assert_eq!(refusal(client.update("a", wrong)), Refusal::System);
    world.end("a");
    assert_eq!(refusal(client.update("a", memory(1))), Refusal::State);
}

// proves: RT-14 twin
#[test]
fn a_processor_limit_takes_hold_of_what_runs_already() {
    let world = World::lasting();
    let mut client = world.client();
    client.start(world.shell("a", "echo on; while :; do :; done")).unwrap();
    eventually("it runs", || world.log("a").contains("F on"));
    let share = |client: &mut holder::client::Client| {
        let used = |client: &mut holder::client::Client| {
            let stats = client.stats("a").unwrap();
            stats.cpu_user_ns + stats.cpu_kernel_ns
        };
        let (before, began) = (used(client), Instant::now());
        // A rate needs a while to be one: ten of the scheduler's periods.
        std::thread::sleep(Duration::from_secs(1));
        (used(client) - before) as f64 / began.elapsed().as_nanos() as f64
    };
    client.update("a", JobLimits { cpu_millis: Some(100), ..JobLimits::default() }).unwrap();
    let limited = share(&mut client);
    assert!(limited < 0.2, "{limited} of a processor, and 0.1 were allowed");
    client.update("a", JobLimits::default()).unwrap();
    let free = share(&mut client);
    assert!(free > 2.0 * limited, "{free} of a processor after {limited}");
    world.end("a");
}

#[test]
fn the_counters_of_all_come_at_once() {
    let world = World::lasting();
    let mut client = world.client();
    assert_eq!(client.all_stats().unwrap(), []);
    world.resting("a");
    world.resting("b");
    client.start(world.shell("c", "exit 0")).unwrap();
    client.wait("c").unwrap();
    let all = client.all_stats().unwrap();
    assert_eq!(
        all.iter().map(|(id, stats)| (id.as_str(), stats.processes)).collect::<Vec<_>>(),
        [("a", 1), ("b", 1)]
    );
    for id in ["a", "b"] {
        world.end(id);
    }
}
