//! Keepers of jobs: what happens when one dies, and what one can do without root. Each is a process of its own,
//! because a test cannot kill itself or give up root.

use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use os::job::{JobName, sweep};
use os::process::is_running;

use crate::support::{eventually, fixture, unique};

/// `fixture hold …` with its two streams.
pub(crate) struct Keeper {
    name: JobName,
    process: Child,
    stdin: ChildStdin,
    said: Lines<BufReader<ChildStdout>>,
    /// Said before it was asked for: output and news come from different threads.
    early: Vec<String>,
}

impl Keeper {
    pub(crate) fn start(mut command: Command, name: &JobName, overlay: &[String], program: &[&str]) -> Self {
        let inner = fixture_for_all();
        command.args(["hold", &name.parent, &name.id]).args(overlay).arg("--").arg(&inner).args(program);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdin = process.stdin.take().unwrap();
        let said = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { name: name.clone(), process, stdin, said, early: Vec::new() }
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
    }

    pub(crate) fn tell(&mut self, command: &str) {
        writeln!(self.stdin, "{command}").unwrap();
    }

    /// The rest of the first line that begins so and was not asked for yet.
    pub(crate) fn expect(&mut self, start: &str) -> String {
        let rest = |line: &String| line.strip_prefix(start).map(|rest| rest.trim().to_owned());
        if let Some(at) = self.early.iter().position(|line| line.starts_with(start)) {
            return rest(&self.early.remove(at)).unwrap();
        }
        for line in self.said.by_ref() {
            let line = line.unwrap();
            if let Some(rest) = rest(&line) {
                return rest;
            }
            self.early.push(line);
        }
        panic!("the keeper ended without saying {start:?}, but {:?}", self.early)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
        let swept = sweep(&self.name);
        // A second panic would hide what the first has to say.
        if !std::thread::panicking() {
            swept.unwrap();
        }
    }
}

/// A copy that any account may run: the build directory may be closed to others.
pub(crate) fn fixture_for_all() -> String {
    static COPY: std::sync::OnceLock<(tempfile::TempDir, String)> = std::sync::OnceLock::new();
    let (_, path) = COPY.get_or_init(|| {
        let dir = tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o755)).tempdir().unwrap();
        let copy = dir.path().join("fixture");
        // Open for writing in this process it would be so in every child another test has just forked, and a program
        // that somebody may write to is not started.
        assert!(Command::new("cp").arg(fixture()).arg(&copy).status().unwrap().success());
        let path = copy.display().to_string();
        (dir, path)
    });
    path.clone()
}

pub(crate) fn as_root() -> Command {
    Command::new(fixture_for_all())
}

pub(crate) fn as_nobody() -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]).arg(fixture_for_all());
    command.current_dir("/");
    command
}

fn cgroup_of(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap()
}

#[test]
fn the_kernel_says_that_the_program_is_in_the_jobs_cgroup() {
    let name = unique();
    let mut keeper = Keeper::start(as_root(), &name, &[], &["pause"]);
    let pid = keeper.expect("held").parse().unwrap();
    assert!(cgroup_of(pid).contains(&format!("/{}/{}", name.parent, name.id)), "{}", cgroup_of(pid));
}

#[test]
fn a_killed_keeper_takes_the_program_along_and_a_sweep_takes_the_rest() {
    let name = unique();
    let mut keeper = Keeper::start(as_root(), &name, &[], &["generations", "3"]);
    let first: u32 = keeper.expect("held").parse().unwrap();
    let third: u32 = keeper.expect("out generation 3 pid").parse().unwrap();
    keeper.process.kill().unwrap();
    eventually("the first generation died with its keeper", || !is_running(first));
    assert!(sweep(&name).unwrap());
    assert!(!is_running(third));
    assert!(!sweep(&name).unwrap());
}

#[test]
fn without_root_all_generations_are_killed_as_one() {
    let mut keeper = Keeper::start(as_nobody(), &unique(), &[], &["generations", "3"]);
    let init: u32 = keeper.expect("held").parse().unwrap();
    keeper.expect("out generation 3 pid");
    keeper.tell("processes");
    let listed: Vec<u32> = numbers(&keeper.expect("processes"));
    assert_eq!(listed.len(), 4, "our init and three generations: {listed:?}");
    assert!(listed.contains(&init));
    keeper.tell("terminate");
    assert_eq!(keeper.expect("ended"), "137 Some(9)");
    assert_eq!(keeper.expect("empty"), "true");
    assert!(listed.into_iter().all(|pid| !is_running(pid)));
}

#[test]
fn without_root_a_killed_keeper_takes_everything_along() {
    let mut keeper = Keeper::start(as_nobody(), &unique(), &[], &["generations", "3"]);
    keeper.expect("out generation 3 pid");
    keeper.tell("processes");
    let listed = numbers(&keeper.expect("processes"));
    keeper.process.kill().unwrap();
    for pid in listed {
        eventually("it is gone", || !is_running(pid));
    }
}

#[test]
fn without_root_a_stop_request_reaches_the_program_and_its_exit_comes_back() {
    let mut keeper = Keeper::start(as_nobody(), &unique(), &[], &["graceful", "goodbye"]);
    keeper.expect("out ready");
    keeper.tell("stop");
    keeper.expect("out goodbye");
    assert_eq!(keeper.expect("ended"), "0 None");
    let mut keeper = Keeper::start(as_nobody(), &unique(), &[], &["exit", "42"]);
    assert_eq!(keeper.expect("ended"), "42 None");
}

#[test]
fn without_root_usage_is_summed_up() {
    let mut keeper = Keeper::start(as_nobody(), &unique(), &[], &["eat", "32"]);
    keeper.expect("out ate");
    keeper.tell("stats");
    let stats = keeper.expect("JobStats");
    let memory: u64 =
        stats.split("memory_bytes: ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    assert!(memory >= 32 << 20, "{stats}");
}

/// A probe that is a command starts one every few seconds for as long as its container lives.
#[test]
fn without_root_programs_that_have_ended_keep_no_descriptors() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o777)).unwrap();
    // The first one has the lock for as long as it lives, so all others end at once.
    let lock = dir.path().join("lock").display().to_string();
    let mut keeper = Keeper::start(as_nobody(), &unique(), &[], &["lock", &lock]);
    let first: u32 = keeper.expect("held").parse().unwrap();
    keeper.expect("out locked");
    let open = format!("/proc/{}/fd", keeper.id());
    let descriptors = || std::fs::read_dir(&open).unwrap().count();
    let before = descriptors();
    for _ in 0..300 {
        keeper.tell("again");
        let pid = keeper.expect("again").parse().unwrap();
        eventually("it has ended", || !is_running(pid));
    }
    eventually("few descriptors are open", || descriptors() < before + 10);
    // And the one that lives on is not forgotten.
    keeper.tell("processes");
    assert!(numbers(&keeper.expect("processes")).contains(&first));
    keeper.tell("terminate");
    assert_eq!(keeper.expect("ended"), "137 Some(9)");
    assert_eq!(keeper.expect("empty"), "true");
}

fn numbers(list: &str) -> Vec<u32> {
    list.trim_matches(['[', ']']).split(", ").map(|it| it.parse().unwrap()).collect()
}

/// What one that was killed while it tried to make a group leaves.
#[test]
fn who_tries_to_make_groups_removes_what_a_killed_one_left() {
    let roots = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"].map(Path::new);
    let Some(root) = roots.into_iter().find(|root| root.join("cgroup.procs").exists()) else {
        testbed::skip!("needs cgroups where they usually are");
    };
    let mut ended = Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let mut alive = Command::new("sleep").arg("600").spawn().unwrap();
    let [left, used] = [ended.id(), alive.id()].map(|pid| root.join(format!("porthole-probe-{pid}")));
    [&left, &used].iter().for_each(|dir| std::fs::create_dir_all(dir.join("try")).unwrap());
    let tried = as_root().arg("host").output().unwrap();
    let (swept, kept) = (!left.exists(), used.exists());
    alive.kill().unwrap();
    alive.wait().unwrap();
    for dir in [left, used].iter().flat_map(|dir| [dir.join("try"), dir.clone()]) {
        std::fs::remove_dir(dir).ok();
    }
    assert!(tried.status.success() && swept && kept, "swept {swept}, kept {kept}");
}

#[test]
fn nothing_of_these_tests_is_left_in_the_cgroup_tree() {
    let name = unique();
    let mut keeper = Keeper::start(as_root(), &name, &[], &["exit", "0"]);
    keeper.expect("empty");
    keeper.process.wait().unwrap();
    let left = testbed::cgroup::groups(&format!("{}/{}", name.parent, name.id)).unwrap();
    assert_eq!(left, [] as [PathBuf; 0]);
}
