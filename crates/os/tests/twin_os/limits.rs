//! Limits that bite, and the processor time they are measured by. Wine accepts limits and enforces none, and does
//! not tell one process another's processor time, so these are Linux only.

use std::path::Path;
use std::time::{Duration, Instant};

use os::job::{Job, JobLimits};
use os::process::is_running;

use crate::support::{eventually, exit_of, lines, request, run_in, unique};

fn limited(limits: &JobLimits) -> Job {
    let job = Job::create(&unique()).unwrap();
    job.set_limits(limits).unwrap();
    job
}

// proves: HP-08 twin
#[test]
fn programs_that_are_each_below_the_limit_and_together_above_it_are_noticed() {
    let job = limited(&JobLimits { memory_bytes: Some(64 << 20), ..JobLimits::default() });
    let mut first = job.spawn(&request(&["eat", "40"])).unwrap();
    assert_eq!(lines(&mut first.stdout).next().unwrap().unwrap(), "ate 40 MiB");
    assert_eq!(job.memory_limit_hits().unwrap(), 0);
    let second = job.spawn(&request(&["eat", "40"])).unwrap();
    eventually("the limit struck", || job.memory_limit_hits().unwrap() >= 1);
    // Whom of the two the kernel takes is its choice.
    eventually("one of them is gone", || !is_running(first.id()) || !is_running(second.id()));
    let stats = job.stats().unwrap();
    assert!(stats.memory_peak_bytes <= 64 << 20, "{stats:?}");
    assert_eq!(stats.memory_limit_bytes, Some(64 << 20));
    job.terminate(137).unwrap();
    exit_of(&first);
    exit_of(&second);
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
    assert!((48 << 20..=stats.memory_bytes).contains(&stats.working_set_bytes), "{stats:?}");
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

fn processor_time(job: &Job) -> Duration {
    let stats = job.stats().unwrap();
    Duration::from_nanos(stats.cpu_user_ns + stats.cpu_kernel_ns)
}

/// How much of a processor the job gets, over at least so long.
fn rate(job: &Job, over: Duration) -> f64 {
    let (began, before) = (Instant::now(), processor_time(job));
    eventually("the time is over", || began.elapsed() >= over);
    (processor_time(job) - before).as_secs_f64() / began.elapsed().as_secs_f64()
}

// proves: HP-08 twin
#[test]
fn two_spinning_programs_together_get_no_more_than_their_job() {
    let job = limited(&JobLimits { cpu_millis: Some(300), ..JobLimits::default() });
    let children = [(); 2].map(|()| job.spawn(&request(&["spin"])).unwrap());
    eventually("they were held back", || job.stats().unwrap().throttled_ns > 0);
    let rate = rate(&job, Duration::from_secs(1));
    // The kernel may be late by a slice per processor in each period.
    assert!(rate < 0.4, "{rate}");
    job.terminate(137).unwrap();
    for child in &children {
        exit_of(child);
    }
}

// proves: RT-14 twin
#[test]
fn a_processor_limit_takes_hold_and_lets_go_while_the_program_runs() {
    let job = Job::create(&unique()).unwrap();
    let child = job.spawn(&request(&["spin"])).unwrap();
    let throttled = || job.stats().unwrap().throttled_ns;
    assert_eq!(throttled(), 0);
    job.set_limits(&JobLimits { cpu_millis: Some(50), ..JobLimits::default() }).unwrap();
    eventually("it is held back", || throttled() > 0);
    let slow = rate(&job, Duration::from_secs(1));
    assert!(slow < 0.15, "{slow}");
    job.set_limits(&JobLimits::default()).unwrap();
    let before = processor_time(&job);
    eventually("it runs freely", || processor_time(&job) - before > Duration::from_millis(500));
    job.terminate(137).unwrap();
    exit_of(&child);
}

// proves: RT-14 twin
#[test]
fn a_memory_limit_rises_and_sinks_while_the_program_runs() {
    let memory = |mib: u64| JobLimits { memory_bytes: Some(mib << 20), ..JobLimits::default() };
    let job = limited(&memory(32));
    let mut child = job.spawn(&request(&["pause"])).unwrap();
    assert_eq!(lines(&mut child.stdout).next().unwrap().unwrap(), "ready");
    job.set_limits(&memory(128)).unwrap();
    let mut eater = job.spawn(&request(&["eat", "64"])).unwrap();
    assert_eq!(lines(&mut eater.stdout).next().unwrap().unwrap(), "ate 64 MiB");
    job.set_limits(&memory(96)).unwrap();
    assert_eq!(job.stats().unwrap().memory_limit_bytes, Some(96 << 20));
    let second = job.spawn(&request(&["eat", "64"])).unwrap();
    eventually("the lower limit struck", || job.memory_limit_hits().unwrap() >= 1);
    job.terminate(137).unwrap();
    for child in [&child, &eater, &second] {
        exit_of(child);
    }
}

/// The newer cgroups kill for it, which is noticed as well.
#[test]
fn a_memory_limit_below_what_is_used_is_refused_or_strikes() {
    let job = Job::create(&unique()).unwrap();
    let mut child = job.spawn(&request(&["eat", "48"])).unwrap();
    assert_eq!(lines(&mut child.stdout).next().unwrap().unwrap(), "ate 48 MiB");
    match job.set_limits(&JobLimits { memory_bytes: Some(16 << 20), ..JobLimits::default() }) {
        Ok(()) => eventually("the limit struck", || job.memory_limit_hits().unwrap() >= 1),
        Err(error) => {
            assert_eq!(error.kind(), std::io::ErrorKind::ResourceBusy, "{error}");
            assert!(is_running(child.id()));
            assert_eq!(job.stats().unwrap().memory_limit_bytes, None);
        }
    }
    job.terminate(137).unwrap();
    exit_of(&child);
}

#[test]
fn a_family_may_grow_when_its_limit_does() {
    let job = limited(&JobLimits { processes: Some(2), ..JobLimits::default() });
    let first = job.spawn(&request(&["sleep", "600"])).unwrap();
    assert_eq!(run_in(&job, &request(&["generations", "2"])).2.code, 2);
    job.set_limits(&JobLimits { processes: Some(3), ..JobLimits::default() }).unwrap();
    let mut second = job.spawn(&request(&["generations", "2"])).unwrap();
    assert!(lines(&mut second.stdout).nth(1).unwrap().unwrap().starts_with("generation 2"));
    job.terminate(137).unwrap();
    for child in [&first, &second] {
        exit_of(child);
    }
}

#[test]
fn a_weight_is_told_to_the_kernel() {
    let name = unique();
    let job = Job::create(&name).unwrap();
    let told = |file: &str| {
        let roots = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"].map(Path::new);
        let paths = roots.map(|root| root.join(&name.parent).join(&name.id).join(file));
        paths.iter().find_map(|path| std::fs::read_to_string(path).ok()).map(|text| text.trim().to_owned())
    };
    for (cpu_weight, shares, weight) in [(Some(50), "512", "50"), (None, "1024", "100")] {
        job.set_limits(&JobLimits { cpu_weight, ..JobLimits::default() }).unwrap();
        match told("cpu.shares") {
            Some(told) => assert_eq!(told, shares),
            None => assert_eq!(told("cpu.weight").as_deref(), Some(weight)),
        }
    }
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
