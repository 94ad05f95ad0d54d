//! Jobs with real processes.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support::{PATIENCE, eventually, exit_of, lines, request, run, unique};
use os::job::{Job, holds_processes, sweep};
use os::process::{SpawnStep, is_running};

#[test]
fn a_program_is_in_its_job_from_the_start() {
    let job = Job::create(&unique()).unwrap();
    let child = job.spawn(&request(&["sleep", "600"])).unwrap();
    assert!(job.processes().unwrap().contains(&child.id()));
    assert!(!job.wait_empty(Duration::from_millis(50)).unwrap());
    job.terminate(137).unwrap();
    exit_of(&child);
}

/// What a program does first it does in its job: nobody moves it there afterwards.
#[cfg(target_os = "linux")]
#[test]
fn a_program_finds_itself_in_its_job_however_soon_it_looks() {
    for _ in 0..50 {
        let name = unique();
        let job = Job::create(&name).unwrap();
        let (groups, errors, _) = crate::support::run_in(&job, &request(&["read", "/proc/self/cgroup"]));
        let own = format!("/{}/{}", name.parent, name.id);
        assert!(groups.lines().any(|line| line.ends_with(&own)), "no {own} in {groups}{errors}");
    }
}

// proves: HP-07 twin
#[test]
fn three_generations_are_killed_as_one() {
    let job = Job::create(&unique()).unwrap();
    let mut child = job.spawn(&request(&["generations", "3"])).unwrap();
    let pids: Vec<u32> = lines(&mut child.stdout)
        .take(3)
        .map(|line| line.unwrap().trim_end().rsplit_once("pid ").unwrap().1.parse().unwrap())
        .collect();
    let members = job.processes().unwrap();
    assert!(pids.iter().all(|pid| members.contains(pid)), "{pids:?} in {members:?}");
    job.terminate(137).unwrap();
    assert_eq!(exit_of(&child).code, 137);
    assert!(job.wait_empty(PATIENCE).unwrap());
    assert_eq!(job.processes().unwrap(), [0; 0]);
    for pid in pids {
        eventually("the generation is gone", || !is_running(pid));
    }
}

#[test]
fn a_process_is_ended_with_what_it_started_and_the_job_lives_on() {
    let job = Job::create(&unique()).unwrap();
    let init = job.spawn(&request(&["sleep", "600"])).unwrap();
    let mut exec = job.spawn(&request(&["generations", "3"])).unwrap();
    let pids: Vec<u32> = lines(&mut exec.stdout)
        .take(3)
        .map(|line| line.unwrap().trim_end().rsplit_once("pid ").unwrap().1.parse().unwrap())
        .collect();
    exec.kill_session(&job).unwrap();
    assert_eq!(exit_of(&exec).code, 137);
    for pid in pids {
        eventually("the generation is gone", || !is_running(pid));
    }
    assert!(is_running(init.id()) && job.processes().unwrap().contains(&init.id()));
    job.terminate(137).unwrap();
    exit_of(&init);
}

#[test]
fn closing_a_job_ends_what_is_inside() {
    let job = Job::create(&unique()).unwrap();
    let child = job.spawn(&request(&["generations", "2"])).unwrap();
    job.close().unwrap();
    exit_of(&child);
    assert!(!is_running(child.id()));
}

#[test]
fn a_job_that_exists_is_not_taken_over() {
    let name = unique();
    let first = Job::create(&name).unwrap();
    assert_eq!(Job::create(&name).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    first.close().unwrap();
    Job::create(&name).unwrap().close().unwrap();
}

#[test]
fn a_job_is_empty_when_its_programs_have_ended() {
    let job = Job::create(&unique()).unwrap();
    assert!(job.wait_empty(Duration::ZERO).unwrap());
    let child = job.spawn(&request(&["print", "x"])).unwrap();
    assert_eq!(exit_of(&child).code, 0);
    assert!(job.wait_empty(PATIENCE).unwrap());
}

#[test]
fn the_living_are_counted_with_their_memory() {
    let job = Job::create(&unique()).unwrap();
    let mut child = job.spawn(&request(&["eat", "32"])).unwrap();
    assert_eq!(lines(&mut child.stdout).next().unwrap().unwrap().trim_end(), "ate 32 MiB");
    let stats = job.stats().unwrap();
    assert!(stats.processes >= 1 && stats.memory_bytes >= 32 << 20, "{stats:?}");
    assert!(stats.memory_peak_bytes >= stats.memory_bytes, "{stats:?}");
    job.terminate(1).unwrap();
    exit_of(&child);
}

#[test]
fn a_program_asked_to_stop_says_goodbye() {
    let job = Job::create(&unique()).unwrap();
    let mut child = job.spawn(&request(&["graceful", "goodbye"])).unwrap();
    let mut said = lines(&mut child.stdout);
    assert_eq!(said.next().unwrap().unwrap().trim_end(), "ready");
    child.request_stop().unwrap();
    assert_eq!(said.next().unwrap().unwrap().trim_end(), "goodbye");
    assert_eq!(exit_of(&child).code, 0);
    child.request_stop().unwrap();
}

#[test]
fn a_stubborn_program_outlives_the_request_and_not_the_kill() {
    let job = Job::create(&unique()).unwrap();
    let mut child = job.spawn(&request(&["stubborn"])).unwrap();
    let mut said = lines(&mut child.stdout);
    assert_eq!(said.next().unwrap().unwrap().trim_end(), "ready");
    child.request_stop().unwrap();
    assert_eq!(said.next().unwrap().unwrap().trim_end(), "ignored terminate");
    assert!(is_running(child.id()));
    child.kill().unwrap();
    exit_of(&child);
    assert!(job.wait_empty(PATIENCE).unwrap());
}

#[test]
fn output_errors_and_exit_codes_arrive() {
    assert_eq!(run(&["print", "a b", "c"]).0, "a b c\n");
    assert_eq!(run(&["stderr", "oops"]).1, "oops\n");
    assert_eq!(run(&["exit", "3"]).2.code, 3);
    let (counted, _, exit) = run(&["lines", "1000"]);
    assert_eq!((counted.lines().count(), exit.code), (1000, 0));
}

#[test]
fn stdin_is_a_pipe_when_asked_for_and_empty_otherwise() {
    assert_eq!(run(&["echo"]).0, "");
    let job = Job::create(&unique()).unwrap();
    let mut child = job.spawn(&os::process::Spawn { stdin: true, ..request(&["echo"]) }).unwrap();
    io::Write::write_all(&mut child.stdin.take().unwrap(), b"one\ntwo\n").unwrap();
    let said: Vec<String> =
        lines(&mut child.stdout).map(|line| line.unwrap().trim_end().to_owned()).collect();
    assert_eq!(said, ["one", "two"]);
}

#[test]
fn environment_and_directory_are_the_requested_ones() {
    let place = tempfile::tempdir().unwrap();
    let job = Job::create(&unique()).unwrap();
    let mut wanted = request(&["env", "PORTHOLE_GREETING"]);
    wanted.env.push(("PORTHOLE_GREETING".into(), "grüß dich".into()));
    let mut child = job.spawn(&wanted).unwrap();
    assert_eq!(lines(&mut child.stdout).next().unwrap().unwrap().trim_end(), "grüß dich");
    let mut wanted = request(&["write", "here", "text"]);
    wanted.cwd = place.path().to_owned();
    let child = job.spawn(&wanted).unwrap();
    assert_eq!(exit_of(&child).code, 0);
    assert_eq!(std::fs::read_to_string(place.path().join("here")).unwrap(), "text");
}

#[test]
fn what_cannot_start_says_at_which_step() {
    let job = Job::create(&unique()).unwrap();
    let mut wanted = request(&[]);
    wanted.program = std::env::temp_dir().join("no-such-program");
    let error = job.spawn(&wanted).unwrap_err();
    assert_eq!((error.step, error.source.kind()), (SpawnStep::Exec, io::ErrorKind::NotFound));
    let mut wanted = request(&["print", "x"]);
    wanted.cwd = std::env::temp_dir().join("no-such-directory");
    let error = job.spawn(&wanted).unwrap_err();
    assert!(matches!(error.step, SpawnStep::Chdir | SpawnStep::Exec), "{error}");
    assert_eq!(job.processes().unwrap(), [0; 0]);
}

/// The agent asks while the holder removes: the answer is yes or no, never an error.
#[test]
fn a_job_that_is_removed_while_somebody_asks_is_gone() {
    let name = unique();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                assert!(!holds_processes(&name).unwrap());
            }
        });
        for _ in 0..200 {
            Job::create(&name).unwrap().close().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn sweeping_nothing_finds_nothing() {
    assert!(!sweep(&unique()).unwrap());
}

#[test]
fn waiting_for_one_program_does_not_wait_for_another() {
    let job = Job::create(&unique()).unwrap();
    let first = job.spawn(&request(&["sleep", "600"])).unwrap();
    let second = job.spawn(&request(&["exit", "7"])).unwrap();
    let started = Instant::now();
    assert_eq!(exit_of(&second).code, 7);
    assert!(started.elapsed() < PATIENCE);
    first.kill().unwrap();
    exit_of(&first);
}

/// Forking beside other threads is where a child can inherit a locked lock and hang before its exec.
#[test]
fn many_threads_start_programs_at_once() {
    let threads: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(|| {
                for number in 0..10 {
                    let (said, _, exit) = run(&["print", "x"]);
                    assert_eq!((said.as_str(), exit.code), ("x\n", 0), "start {number}");
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
