//! Limits that bite, and the processor time they are measured by. Wine accepts limits and enforces none, and does
//! not tell one process another's processor time, so these are Linux only.

use std::time::{Duration, Instant};

use os::job::{Job, JobLimits};

use crate::support::{eventually, exit_of, lines, request, unique};

fn limited(limits: &JobLimits) -> Job {
    let job = Job::create(&unique()).unwrap();
    job.set_limits(limits).unwrap();
    job
}

#[test]
fn a_program_over_its_memory_limit_is_killed() {
    let job = limited(&JobLimits { memory_bytes: Some(32 << 20), ..JobLimits::default() });
    let child = job.spawn(&request(&["eat", "256"])).unwrap();
    let exit = exit_of(&child);
    assert_eq!((exit.code, exit.signal), (137, Some(9)));
    assert!(job.memory_limit_hits().unwrap() >= 1);
    assert!(job.stats().unwrap().memory_peak_bytes <= 32 << 20);
}

#[test]
fn memory_below_the_limit_is_counted_and_left_alone() {
    let job = limited(&JobLimits { memory_bytes: Some(128 << 20), ..JobLimits::default() });
    let mut child = job.spawn(&request(&["eat", "48"])).unwrap();
    assert_eq!(lines(&mut child.stdout).next().unwrap().unwrap(), "ate 48 MiB");
    let stats = job.stats().unwrap();
    assert!(stats.memory_bytes >= 48 << 20 && stats.memory_peak_bytes >= stats.memory_bytes, "{stats:?}");
    assert_eq!(job.memory_limit_hits().unwrap(), 0);
    job.terminate(137).unwrap();
    exit_of(&child);
}

#[test]
fn a_spinning_program_gets_its_share_of_a_processor() {
    let job = limited(&JobLimits { cpu_millis: Some(100), ..JobLimits::default() });
    let child = job.spawn(&request(&["spin"])).unwrap();
    let used = || {
        let stats = job.stats().unwrap();
        stats.cpu_user_ns + stats.cpu_kernel_ns
    };
    let started = Instant::now();
    eventually("it has used 150 ms", || used() >= 150_000_000);
    // A tenth of a processor needs more than a second for that; unlimited it takes 150 ms.
    assert!(started.elapsed() > Duration::from_millis(800), "{:?}", started.elapsed());
    job.terminate(137).unwrap();
    exit_of(&child);
}

#[test]
fn processor_time_is_counted_also_of_those_who_have_ended() {
    let job = Job::create(&unique()).unwrap();
    let child = job.spawn(&request(&["spin"])).unwrap();
    let used = || job.stats().unwrap().cpu_user_ns;
    eventually("processor time shows", || used() > 50_000_000);
    assert_eq!(job.stats().unwrap().processes, 1);
    job.terminate(1).unwrap();
    exit_of(&child);
    assert!(used() > 50_000_000);
}

#[test]
fn limits_change_while_the_program_runs() {
    let job = limited(&JobLimits { memory_bytes: Some(64 << 20), ..JobLimits::default() });
    job.set_limits(&JobLimits { memory_bytes: Some(256 << 20), ..JobLimits::default() }).unwrap();
    let mut child = job.spawn(&request(&["eat", "100"])).unwrap();
    assert_eq!(lines(&mut child.stdout).next().unwrap().unwrap(), "ate 100 MiB");
    job.set_limits(&JobLimits::default()).unwrap();
    job.terminate(137).unwrap();
    exit_of(&child);
}

#[test]
fn a_family_cannot_grow_beyond_its_limit() {
    let job = limited(&JobLimits { processes: Some(2), ..JobLimits::default() });
    let mut child = job.spawn(&request(&["generations", "3"])).unwrap();
    let mut said = lines(&mut child.stdout);
    assert!(said.next().unwrap().unwrap().starts_with("generation 1"));
    assert!(said.next().unwrap().unwrap().starts_with("generation 2"));
    let mut errors = lines(&mut child.stderr);
    assert!(errors.next().unwrap().unwrap().contains("generations:"));
    job.terminate(137).unwrap();
    exit_of(&child);
}
