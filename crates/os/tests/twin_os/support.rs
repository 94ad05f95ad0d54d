//! What the tests of this crate share: unique names, the program to run, and waiting for a condition.

use std::fs::File;
use std::io::{BufRead, BufReader, Lines};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use os::job::{Job, JobName};
use os::process::{Child, Exit, Spawn};

/// Long enough for a loaded machine, short enough to notice.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The program that containers run in tests; found beside the test itself, because under Wine paths differ from
/// those at build time.
pub(crate) fn fixture() -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.push(format!("os-fixture{}", std::env::consts::EXE_SUFFIX));
    assert!(path.exists(), "{} is not built", path.display());
    path
}

/// A job name that no other test, run or process uses.
pub(crate) fn unique() -> JobName {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    JobName { parent: "porthole-os-test".into(), id: format!("t{}-{number}", std::process::id()) }
}

pub(crate) fn request(args: &[&str]) -> Spawn {
    let program = fixture();
    let argv: Vec<String> =
        [program.display().to_string()].into_iter().chain(args.iter().map(|arg| (*arg).to_owned())).collect();
    let command_line = argv.iter().map(|arg| format!("\"{arg}\"")).collect::<Vec<_>>().join(" ");
    let env = std::env::vars().filter(|(name, _)| !name.starts_with('=')).collect();
    Spawn { program, argv, command_line, env, cwd: std::env::temp_dir(), ..Spawn::default() }
}

pub(crate) fn lines(output: &mut Option<File>) -> Lines<BufReader<File>> {
    BufReader::new(output.take().expect("a pipe")).lines()
}

/// Runs a verb of the fixture to its end in a job of its own: output, errors, exit.
pub(crate) fn run(args: &[&str]) -> (String, String, Exit) {
    run_in(&Job::create(&unique()).unwrap(), &request(args))
}

pub(crate) fn run_in(job: &Job, request: &Spawn) -> (String, String, Exit) {
    let mut child = job.spawn(request).unwrap();
    let errors = child.stderr.take().unwrap();
    let errors = std::thread::spawn(move || std::io::read_to_string(errors).unwrap());
    let output = std::io::read_to_string(child.stdout.take().unwrap()).unwrap();
    let exit = child.waiter().unwrap().wait().unwrap();
    let clean = |text: String| text.replace("\r\n", "\n");
    (clean(output), clean(errors.join().unwrap()), exit)
}

/// The exit, or a failure when it does not come.
pub(crate) fn exit_of(child: &Child) -> Exit {
    let waiter = child.waiter().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(waiter.wait()));
    receiver.recv_timeout(PATIENCE).expect("the process did not end").unwrap()
}

pub(crate) fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
