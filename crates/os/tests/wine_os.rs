//! The shelf's Windows half under Wine: its own tests, and what can only be seen from outside.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use testbed::tools::{cargo, progress, windows};
use testbed::wine::{Process, Running, Wine};

const PATIENCE: Duration = Duration::from_secs(60);

/// The test programs and the fixture, built for Windows.
struct Programs {
    tests: Vec<PathBuf>,
    fixture: PathBuf,
}

static PROGRAMS: LazyLock<Programs> = LazyLock::new(|| {
    let target = windows::toolchain().expect("a toolchain for Windows");
    let mut command = target.cargo("test").expect("cargo");
    command.args(["--no-run", "--package", "os", "--lib", "--test", "twin_os"]);
    let output = progress::step("build the tests of os for Windows", || progress::run(&mut command));
    let built = cargo::built(&output.expect("built").stdout).expect("cargo's report");
    let tests = built.iter().filter(|it| it.is_test).map(|it| it.path.clone()).collect();
    let fixture = built.iter().find(|it| !it.is_test && it.name == "os-fixture").expect("the fixture");
    Programs { tests, fixture: fixture.path.clone() }
});

fn machine() -> Wine {
    let dir = PROGRAMS.fixture.parent().expect("a directory");
    Wine::builder().bind(dir).start().expect("a Wine machine")
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// How many tests libtest says have passed.
fn passed(output: &str) -> usize {
    let summary =
        output.lines().find_map(|line| line.strip_prefix("test result: ok. ")).unwrap_or("0 passed");
    summary.split_once(" passed").and_then(|(count, _)| count.parse().ok()).unwrap_or(0)
}

// proves: HP-07 wine
#[test]
fn the_tests_of_the_shelf_pass_as_windows_programs() {
    let wine = machine();
    assert_eq!(PROGRAMS.tests.len(), 2, "{:?}", PROGRAMS.tests);
    for test in &PROGRAMS.tests {
        let output = wine.run(test, ["--test-threads", "2"], 4 * PATIENCE).expect("ran");
        assert_eq!(output.code, 0, "{}\n{}", output.stdout, output.stderr);
        assert!(passed(&output.stdout) >= 10, "{}", output.stdout);
    }
}

/// `fixture hold`: a holder in small, and what it says.
struct Keeper {
    _running: Running,
    stdin: ChildStdin,
    said: Lines<BufReader<ChildStdout>>,
    /// Said before it was asked for: output and news come from different threads.
    early: Vec<String>,
}

impl Keeper {
    fn start(wine: &Wine, program: &[&str]) -> Self {
        let fixture = &PROGRAMS.fixture;
        let inner = wine.windows_path(fixture);
        let command =
            wine.command(fixture).args(["hold", "porthole-os-wine", "one", "--", &inner]).args(program);
        let mut running = command.spawn().expect("started");
        let stdin = running.stdin.take().expect("a pipe");
        let said = BufReader::new(running.stdout.take().expect("a pipe")).lines();
        Self { _running: running, stdin, said, early: Vec::new() }
    }

    fn expect(&mut self, start: &str) -> String {
        let rest = |line: &String| line.strip_prefix(start).map(|rest| rest.trim().to_owned());
        if let Some(at) = self.early.iter().position(|line| line.starts_with(start)) {
            return rest(&self.early.remove(at)).expect("found above");
        }
        for line in self.said.by_ref() {
            let line = line.expect("text");
            if let Some(rest) = rest(&line) {
                return rest;
            }
            self.early.push(line);
        }
        panic!("the keeper ended without saying {start:?}, but {:?}", self.early)
    }
}

/// How many processes of ours the kernel knows, whatever Wine believes.
fn alive(wine: &Wine) -> usize {
    let name = PROGRAMS.fixture.file_name().and_then(|name| name.to_str()).expect("a name");
    wine.programs().expect("a list").iter().filter(|process| process.name == name).count()
}

// proves: HP-07 wine
#[test]
fn three_generations_are_gone_with_the_exit_code_as_seen_from_outside() {
    let dir = PROGRAMS.fixture.parent().expect("a directory");
    let builder = Wine::builder().bind(dir).with_bystander().expect("a bystander");
    let wine = builder.start().expect("a Wine machine");
    let mut keeper = Keeper::start(&wine, &["generations", "3"]);
    let pids: Vec<u32> = (1..=3)
        .map(|number| keeper.expect(&format!("out generation {number} pid")).parse().expect("a number"))
        .collect();
    assert_eq!(alive(&wine), 4, "the keeper and three generations");
    let exits = wine.watch_exits(&pids).expect("a bystander watches");
    writeln!(keeper.stdin, "terminate").expect("told");
    assert_eq!(keeper.expect("ended"), "137 None");
    assert_eq!(keeper.expect("empty"), "true");
    eventually("nothing is left", || alive(&wine) == 0);
    let codes = exits.codes().expect("told");
    assert_eq!(codes, pids.into_iter().map(|pid| (pid, 137)).collect::<Vec<_>>());
}

// proves: HP-07 wine
#[test]
fn a_killed_keeper_takes_all_generations_along() {
    let wine = machine();
    let mut keeper = Keeper::start(&wine, &["generations", "3"]);
    keeper.expect("out generation 3 pid");
    assert_eq!(alive(&wine), 4, "the keeper and three generations");
    let holds = |process: &Process| process.command_line.iter().any(|word| word == "hold");
    wine.programs().expect("a list").into_iter().find(holds).expect("the keeper").kill().expect("killed");
    eventually("nothing is left", || alive(&wine) == 0);
}

// proves: HP-07 wine
#[test]
fn a_stop_request_reaches_the_program() {
    let wine = machine();
    let mut keeper = Keeper::start(&wine, &["graceful", "goodbye"]);
    keeper.expect("out ready");
    writeln!(keeper.stdin, "stop").expect("told");
    keeper.expect("out goodbye");
    assert_eq!(keeper.expect("ended"), "0 None");
}

// proves: HP-30 wine
#[test]
fn the_machine_says_what_it_is_and_what_it_cannot_do() {
    let wine = machine();
    let told = wine.run(&PROGRAMS.fixture, ["host"], PATIENCE).expect("ran").stdout;
    let expected =
        ["fact account S-1-", "fact emulator wine 10", "found windows-build 10.0.", "found job-objects"];
    let missing = ["missing silo", "missing bind-filter bindfltapi.dll: ", "missing job-cpu-rate"];
    for start in expected.iter().chain(&missing) {
        assert!(told.lines().any(|line| line.starts_with(start)), "{start}: {told}");
    }
}

#[test]
fn a_count_is_read_from_libtests_summary() {
    assert_eq!(passed("x\ntest result: ok. 28 passed; 0 failed; 0 ignored\n"), 28);
    assert_eq!(passed("test result: FAILED. 27 passed; 1 failed"), 0);
    assert!(Path::new(&PROGRAMS.fixture).exists());
}

/// The sweep at the start of the agent: a list that cannot be had would keep it from starting.
#[test]
fn a_machine_without_temporary_users_lists_none() {
    let wine = machine();
    let output = wine.run(&PROGRAMS.fixture, ["user", "list"], PATIENCE).expect("ran");
    assert_eq!((output.stdout.trim(), output.code), ("", 0), "{}", output.stderr);
}
