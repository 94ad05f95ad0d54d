//! Limits that strike, and limits that change while a container runs.

use std::time::Duration;

use holder::exit::ExitReason;
use os::job::JobLimits;
use runtime::RuntimeError;

use crate::world::{World, eventually};

const MIB: u64 = 1 << 20;

fn memory(mib: u64) -> JobLimits {
    JobLimits { memory_bytes: Some(mib * MIB), ..JobLimits::default() }
}

// proves: HP-08 twin
#[test]
fn memory_is_limited_for_all_processes_together_and_the_reason_is_told() {
    let world = World::new();
    let pod = world.pod("p");
    let mut config = world.config("main", &[]);
    // Each stays below the limit, both together do not: one of them is killed, which the shell tells.
    let script = "./fixture eat 40 & a=$!; ./fixture eat 40 & b=$!; i=0; \
                  while kill -0 $a && kill -0 $b && test $i -lt 200; do sleep 0.1; i=$((i + 1)); done; \
                  test $i -eq 200 || exit 9";
    config.command = ["sh", "-c", script].map(str::to_owned).to_vec();
    config.limits = memory(64);
    let id = world.start(&pod, config);
    let exit = world.runtime().wait(&id).unwrap();
    assert_eq!(exit.code, 9, "{exit:?}");
    assert_eq!(exit.reason, ExitReason::OomKilled, "{exit:?}");
    let mut config = world.config("enough", &["eat", "40"]);
    config.limits = memory(64);
    let id = world.start(&pod, config);
    world.says(&id, "ate 40 MiB");
    world.end();
}

// proves: HP-08 twin
// proves: RT-14 twin
#[test]
fn a_limit_that_changes_takes_hold_of_what_runs() {
    let world = World::new();
    let pod = world.pod("p");
    let runtime = world.runtime();
    let mut config = world.config("main", &["spin"]);
    config.limits = JobLimits { cpu_millis: Some(1000), ..JobLimits::default() };
    let id = world.start(&pod, config);
    world.says(&id, "spinning");
    let used = || {
        let stats = runtime.stats(&id).unwrap().job;
        stats.cpu_user_ns + stats.cpu_kernel_ns
    };
    let rate = |time: Duration| {
        let (before, begun) = (used(), std::time::Instant::now());
        std::thread::sleep(time);
        (used() - before) as f64 / begun.elapsed().as_nanos() as f64
    };
    let limits = JobLimits { cpu_millis: Some(100), ..JobLimits::default() };
    runtime.update(&id, limits.clone()).unwrap();
    let slow = rate(Duration::from_secs(2));
    assert!(slow < 0.25, "a tenth of a processor was {slow}");
    assert_eq!(runtime.status(&id).unwrap().config.limits, limits, "and it is written down");
    // A machine that is busy gives less than the limit, never more: only the ratio says something.
    runtime.update(&id, JobLimits::default()).unwrap();
    eventually("it gets more again", || (rate(Duration::from_secs(1)) > slow * 1.5).then_some(()));
    for wrong in [memory(0), JobLimits { cpu_weight: Some(10_001), ..JobLimits::default() }] {
        let error = runtime.update(&id, wrong).unwrap_err();
        assert!(matches!(error, RuntimeError::Refused { .. }), "{error}");
    }
    world.end();
}

// proves: RT-14 twin
#[test]
fn memory_can_be_taken_from_what_runs() {
    let world = World::new();
    let pod = world.pod("p");
    let mut config = world.config("main", &[]);
    let script = "./fixture eat 20 & while ! test -e /proc/1/never; do sleep 0.1; done";
    config.command = ["sh", "-c", script].map(str::to_owned).to_vec();
    config.limits = memory(200);
    let id = world.start(&pod, config);
    world.says(&id, "ate 20 MiB");
    world.runtime().update(&id, memory(60)).unwrap();
    let argv = ["./fixture", "eat", "100"].map(str::to_owned);
    let output = world.runtime().exec_sync(&id, &argv, Some(Duration::from_secs(20))).unwrap();
    assert!(!output.timed_out && output.code != 0, "{output:?}");
    world.end();
}

// proves: HP-08 twin
#[test]
fn stats_are_those_of_the_containers_own_processes() {
    let world = World::new();
    let (one, two) = (world.pod("one"), world.pod("two"));
    let eats = world.start(&one, world.config("eats", &["eat", "50"]));
    let idle = world.start(&one, world.config("idle", &["pause"]));
    let writes = {
        let mut config = world.config("writes", &[]);
        config.command = ["sh", "-c", "head -c 3000000 /dev/zero > big; echo done; exec sleep 600"]
            .map(str::to_owned)
            .to_vec();
        world.start(&two, config)
    };
    world.says(&eats, "ate 50 MiB");
    world.says(&idle, "ready");
    world.says(&writes, "done");
    let runtime = world.runtime();
    let [big, small] = [&eats, &idle].map(|id| runtime.stats(id).unwrap().job);
    assert!(big.working_set_bytes > 50 * MIB && small.working_set_bytes < 20 * MIB, "{big:?} {small:?}");
    assert!(big.processes == 1 && big.cpu_user_ns + big.cpu_kernel_ns > 0, "{big:?}");
    let all = runtime.all_stats();
    assert_eq!(all.iter().map(|pod| pod.containers.len()).collect::<Vec<_>>(), [2, 1]);
    assert!(all[0].working_set_bytes() > 50 * MIB && all[0].processes() >= 2, "{all:?}");
    let usage = eventually("what was written is measured", || runtime.stats(&writes).unwrap().writable);
    assert!(usage.bytes >= 3_000_000, "{usage:?}");
    runtime.stop(&eats, Duration::ZERO).unwrap();
    assert_eq!(runtime.pod_stats(&one).unwrap().containers.len(), 1);
    world.end();
}
