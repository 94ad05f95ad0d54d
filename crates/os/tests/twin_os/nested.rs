//! Groups that a program makes below its job's, as an engine of containers does: what is in there is the job's too.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use os::job::{Job, JobLimits, JobName, holds_processes, sweep};
use os::process::is_running;
use testbed::cgroup;

use crate::keeper::{Keeper, as_root};
use crate::support::{PATIENCE, eventually, exit_of, lines, request, unique};

/// Below this the kernel was not asked in vain: who removes a group with others below it is told "busy" for 5 seconds.
const AT_ONCE: Duration = Duration::from_secs(2);

/// Runs a verb in a group below the job's and ends; the pid of what is left.
fn nest(job: &Job, verb: &[&str]) -> u32 {
    let mut child = job.spawn(&request(&[&["nest"], verb].concat())).unwrap();
    let said = lines(&mut child.stdout).next().unwrap().unwrap();
    assert_eq!(exit_of(&child).code, 0);
    said.strip_prefix("nested pid ").unwrap().parse().unwrap()
}

fn groups(name: &JobName) -> Vec<PathBuf> {
    cgroup::groups(&format!("{}/{}", name.parent, name.id)).unwrap()
}

// proves: HP-07 twin
#[test]
fn what_was_moved_into_a_group_below_is_in_the_job_and_ends_with_it() {
    let name = unique();
    let job = Job::create(&name).unwrap();
    let pid = nest(&job, &["sleep", "600"]);
    assert_eq!(job.processes().unwrap(), [pid]);
    assert!(holds_processes(&name).unwrap());
    assert!(!job.wait_empty(Duration::from_millis(20)).unwrap());
    job.terminate(137).unwrap();
    assert!(job.wait_empty(PATIENCE).unwrap());
    assert!(!is_running(pid));
    assert!(!groups(&name).is_empty());
    let begun = Instant::now();
    job.close().unwrap();
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    assert_eq!(groups(&name), [] as [PathBuf; 0]);
}

#[test]
fn a_job_is_removed_with_the_empty_groups_below_it() {
    let name = unique();
    let job = Job::create(&name).unwrap();
    let pid = nest(&job, &["exit", "0"]);
    eventually("it has ended", || !is_running(pid));
    let begun = Instant::now();
    job.close().unwrap();
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    assert_eq!(groups(&name), [] as [PathBuf; 0]);
}

/// As the agent does after a holder that was killed.
#[test]
fn a_sweep_ends_what_is_in_groups_below() {
    let name = unique();
    let mut keeper = Keeper::start(as_root(), &name, &[], &["nest", "sleep", "600"]);
    let pid: u32 = keeper.expect("out nested pid").parse().unwrap();
    keeper.kill();
    eventually("the keeper is gone", || !is_running(keeper.id()));
    assert!(is_running(pid) && holds_processes(&name).unwrap());
    let begun = Instant::now();
    assert!(sweep(&name).unwrap());
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    assert!(!is_running(pid) && !holds_processes(&name).unwrap());
    assert_eq!(groups(&name), [] as [PathBuf; 0]);
}

/// An engine that pauses its containers: in version 1 they cannot die before somebody lets them go on.
#[test]
fn what_a_program_has_frozen_below_is_ended_as_well() {
    let name = unique();
    let job = Job::create(&name).unwrap();
    let pid = nest(&job, &["sleep", "600"]);
    let freezers = ["freezer.state", "cgroup.freeze"].into_iter().zip(["FROZEN", "1"]);
    let deep = groups(&name).into_iter().map(|group| group.join("nested/deep"));
    let frozen = deep.flat_map(|group| freezers.clone().map(move |(file, word)| (group.join(file), word)));
    let frozen: Vec<_> = frozen.filter(|(file, _)| file.exists()).collect();
    assert!(!frozen.is_empty(), "nothing freezes here");
    frozen.iter().for_each(|(file, word)| fs::write(file, word).unwrap());
    job.terminate(137).unwrap();
    assert!(job.wait_empty(AT_ONCE).unwrap());
    assert!(!is_running(pid));
}

// proves: HP-08 twin
#[test]
fn a_memory_limit_that_strikes_in_a_group_below_is_noticed() {
    let job = Job::create(&unique()).unwrap();
    job.set_limits(&JobLimits { memory_bytes: Some(32 << 20), ..JobLimits::default() }).unwrap();
    let pid = nest(&job, &["eat", "256"]);
    eventually("the limit struck", || !is_running(pid));
    eventually("it is counted", || job.memory_limit_hits().unwrap() >= 1);
}
