use std::process::{Command, Stdio};

use super::*;

const SOON: std::time::Duration = std::time::Duration::from_secs(20);

fn sleeper(guard: &Guard) -> Child {
    // Two generations: the mark is inherited, and the inner one outlives the outer.
    let script = "setsid sleep 600 & setsid sleep 600";
    guard.mark(Command::new("sh").args(["-c", script])).spawn().expect("sh")
}

#[test]
fn teardown_ends_processes_and_removes_directories() {
    let mut guard = Guard::new("unit").expect("guard");
    let (id, dir) = (guard.id().to_owned(), guard.dir().to_owned());
    let other = std::env::temp_dir().join(format!("porthole-guard-{id}"));
    guard.register(&Resource::Directory(other.clone())).expect("registered");
    fs::create_dir_all(other.join("below")).expect("made");
    let mut child = sleeper(&guard);
    // A program that was just started has no environment yet, for an instant.
    let is_seen = || traces(&id, &dir).iter().any(|line| line.starts_with("process"));
    crate::process::wait_for("the sleeper", SOON, || Ok(is_seen().then_some(()))).expect("it runs");
    guard.teardown().expect("clean");
    assert_eq!(traces(&id, &dir), Vec::<String>::new());
    assert!(!other.exists());
    child.wait().expect("reaped");
}

#[test]
fn a_pid_with_another_start_time_is_left_alone() {
    let mut guard = Guard::new("unit").expect("guard");
    let mut stranger = Command::new("sleep").arg("600").spawn().expect("sleep");
    let pid = stranger.id();
    guard.register(&Resource::Process { pid, start: 1 }).expect("registered");
    guard.teardown().expect("clean");
    assert_eq!(stranger.try_wait().expect("waited"), None, "it still runs");
    stranger.kill().expect("killed");
    stranger.wait().expect("reaped");
}

#[test]
fn a_registered_process_ends() {
    let mut guard = Guard::new("unit").expect("guard");
    let mut child = Command::new("sleep").arg("600").spawn().expect("sleep");
    guard.register(&Resource::process(child.id()).expect("stat")).expect("registered");
    guard.teardown().expect("clean");
    assert!(child.try_wait().expect("waited").is_some(), "it has ended");
}

/// Of the second hierarchy where there is one, or of the freezer's own.
fn freezer() -> Option<(PathBuf, &'static str, &'static str)> {
    let roots =
        [("/sys/fs/cgroup/freezer", "freezer.state", "FROZEN"), ("/sys/fs/cgroup", "cgroup.freeze", "1")];
    roots.into_iter().find_map(|(root, file, word)| {
        let dir = Path::new(root).join(format!("porthole-guard-{}", std::process::id()));
        fs::create_dir(&dir).ok().filter(|()| dir.join(file).exists()).map(|()| (dir, file, word))
    })
}

#[test]
fn a_frozen_process_ends() {
    let Some((cgroup, file, word)) = freezer() else {
        crate::skip!("cgroups cannot be made here");
    };
    let mut guard = Guard::new("unit").expect("guard");
    guard.register(&Resource::Cgroup(cgroup.clone())).expect("registered");
    let mut child = guard.mark(Command::new("sleep").arg("600")).spawn().expect("sleep");
    fs::write(cgroup.join("cgroup.procs"), child.id().to_string()).expect("joined");
    fs::write(cgroup.join(file), word).expect("frozen");
    guard.teardown().expect("clean");
    assert!(!cgroup.exists());
    child.wait().expect("reaped");
}

#[test]
fn what_cannot_be_removed_is_said_and_the_journal_stays() {
    let mut guard = Guard::new("unit").expect("guard");
    let dir = guard.dir().to_owned();
    guard.register(&Resource::Link("lo".into())).expect("registered");
    let error = guard.teardown().expect_err("the loopback link cannot be removed").to_string();
    assert!(error.contains("link lo: "), "{error}");
    assert!(dir.join(JOURNAL).exists());
    fs::remove_dir_all(dir).expect("removed");
}

#[test]
fn a_killed_guard_is_replaced_by_its_owner() {
    let mut guard = Guard::new("unit").expect("guard");
    let (id, dir) = (guard.id().to_owned(), guard.dir().to_owned());
    let mut child = sleeper(&guard);
    guard.keeper.as_mut().expect("guarded").0.kill().expect("killed");
    guard.teardown().expect("clean");
    assert_eq!(traces(&id, &dir), Vec::<String>::new());
    child.wait().expect("reaped");
}

#[test]
fn what_is_released_stays_until_undone() {
    let place = std::env::temp_dir().join(format!("porthole-released-{}", std::process::id()));
    let mut guard = Guard::at(&place).expect("guard");
    let (id, dir) = (guard.id().to_owned(), guard.dir().to_owned());
    let mut child = guard.mark(Command::new("sleep").arg("600").stdin(Stdio::null())).spawn().expect("sleep");
    guard.release().expect("released");
    drop(guard);
    assert_eq!(child.try_wait().expect("waited"), None, "it still runs");
    undo(&dir).expect("clean");
    assert_eq!(traces(&id, &dir), Vec::<String>::new());
    child.wait().expect("reaped");
}

#[test]
fn the_start_time_is_found_behind_a_hostile_name() {
    let stat = "42 (a ) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20 21";
    assert_eq!(start_time(stat), Some(777));
    assert_eq!(start_time(&stat.replace(" S ", " Z ")), None, "a zombie has ended");
}
