//! The Wine machine itself: what it promises to the tests that use it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testbed::tools;
use testbed::wine::{Process, Wine, WineBuilder};

const PATIENCE: Duration = Duration::from_secs(60);

struct Programs {
    dir: TempDir,
}

// === impl Programs ===

impl Programs {
    fn build() -> Self {
        tools::debian::ensure(&["gcc-mingw-w64-x86-64"]).expect("a compiler for Windows");
        let dir = tempfile::tempdir().expect("a directory");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wine_testbed_program.c");
        compile(&[&source], &dir.path().join("program.exe"), &[]);
        let library = dir.path().join("library.c");
        std::fs::write(&library, "__declspec(dllexport) int TestbedAnswer(void) { return 42; }")
            .expect("written");
        // Not beside the program, where Windows looks first. Wine has a pdh.dll of its own, and knows nothing of the
        // other.
        std::fs::create_dir(dir.path().join("dlls")).expect("made");
        for name in ["pdh.dll", "computecore.dll"] {
            compile(&[&library], &dir.path().join("dlls").join(name), &["-shared"]);
        }
        Self { dir }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

static PROGRAMS: LazyLock<Programs> = LazyLock::new(Programs::build);

fn compile(sources: &[&Path], output: &Path, flags: &[&str]) {
    let mut gcc = Command::new("x86_64-w64-mingw32-gcc");
    tools::progress::run(gcc.args(flags).arg("-o").arg(output).args(sources)).expect("compiled");
}

fn machine() -> Wine {
    Wine::builder().bind(PROGRAMS.dir.path()).start().expect("a Wine machine")
}

fn exe() -> PathBuf {
    PROGRAMS.file("program.exe")
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn named(processes: Vec<Process>, name: &str) -> Vec<Process> {
    processes.into_iter().filter(|process| process.name == name).collect()
}

#[test]
fn a_program_gets_its_words_and_gives_its_output_and_code() {
    let wine = machine();
    let output = wine.run(exe(), ["say", "a b", r#"q"x\"#, ""], PATIENCE).expect("ran");
    assert_eq!(output.stdout, "[say]\r\n[a b]\r\n[q\"x\\]\r\n[]\r\n");
    assert_eq!((output.stderr.as_str(), output.code), ("4 words\r\n", 0));
    assert_eq!(wine.run(exe(), ["exit", "7"], PATIENCE).expect("ran").code, 7);
}

#[test]
fn the_whole_exit_code_can_be_seen() {
    let wine = machine();
    let code = |word: &str| wine.command(exe()).args(["exit", word]).exit_code(PATIENCE).expect("ran").0;
    assert_eq!(code("0xC000013A"), 0xC000_013A);
    assert_eq!(code("256"), 256);
    assert_eq!(code("0"), 0);
    let (code, output) = wine.command(exe()).args(["100% \"sure\"", r"a\"]).exit_code(PATIENCE).expect("ran");
    assert_eq!((code, output.stdout.as_str()), (0, "[100% \"sure\"]\r\n[a\\]\r\n"));
}

#[test]
fn a_program_that_takes_too_long_is_killed() {
    let wine = machine();
    let begun = Instant::now();
    let error = wine.run(exe(), ["sleep", "600"], Duration::from_secs(3)).expect_err("too long");
    assert!(error.to_string().contains("still ran after 3s"), "{error:#}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(wine.programs().expect("listed"), []);
}

#[test]
fn environment_working_directory_and_paths_reach_the_program() {
    let wine = Wine::builder().bind(PROGRAMS.dir.path()).env("FROM_BUILDER", "one").start().expect("started");
    let env =
        |name: &str| wine.command(exe()).args(["env", name]).env("FROM_COMMAND", "two").output(PATIENCE);
    assert_eq!(env("FROM_BUILDER").expect("ran").stdout, "one\r\n");
    assert_eq!(env("FROM_COMMAND").expect("ran").stdout, "two\r\n");
    assert_eq!(env("CARGO_MANIFEST_DIR").expect("ran").stdout, "unset\r\n");
    let dir = PROGRAMS.dir.path();
    let output = wine.command("cmd").args(["/c", "cd"]).current_dir(dir).output(PATIENCE).expect("ran");
    assert_eq!(output.stdout.trim(), wine.windows_path(dir));
}

#[test]
fn what_is_not_bound_is_named_in_the_error() {
    let wine = Wine::new().expect("started");
    let error = wine.run(exe(), ["exit", "0"], PATIENCE).expect_err("not bound");
    assert!(error.to_string().contains("program.exe is not visible inside"), "{error:#}");
    Wine::builder().bind("/no/such/directory").start().expect_err("nothing to bind");
}

#[test]
fn registry_values_are_there_for_the_first_program() {
    let key = r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion";
    let wine =
        Wine::builder().registry(key, "UBR", 4046).registry(r"HKCU\Try", "Said", r#"C:\a "b""#).start();
    let wine = wine.expect("started");
    let query =
        |key: &str, name: &str| wine.run("reg", ["query", key, "/v", name], PATIENCE).expect("ran").stdout;
    assert!(query(key, "UBR").contains("0xfce"), "{}", query(key, "UBR"));
    assert!(query(r"HKCU\Try", "Said").contains(r#"C:\a "b""#), "{}", query(r"HKCU\Try", "Said"));
}

#[test]
fn a_dll_of_ours_wins_over_wines_own() {
    let libraries = ["pdh.dll", "computecore.dll"];
    let builder = Wine::builder().bind(PROGRAMS.dir.path());
    let with = |builder: WineBuilder, name: &&str| builder.dll(PROGRAMS.file("dlls").join(name));
    let wine = libraries.iter().fold(builder, with).start().expect("started");
    for library in libraries {
        assert_eq!(wine.run(exe(), ["call", library], PATIENCE).expect("ran").code, 42, "{library}");
    }
    assert_eq!(machine().run(exe(), ["call", "pdh.dll"], PATIENCE).expect("ran").code, 8);
}

#[test]
fn files_of_drive_c_can_be_seen_from_outside() {
    let wine = Wine::new().expect("started");
    let line = r"echo hello>C:\ProgramData\x.txt&&mkdir C:\windows\Mine";
    assert_eq!(wine.run("cmd", ["/c", line], PATIENCE).expect("ran").code, 0);
    let file = wine.host_path(r"c:\programdata\X.TXT").expect("a path");
    assert_eq!(std::fs::read_to_string(file).expect("read"), "hello\r\n");
    assert!(wine.host_path(r"C:\windows\mine").expect("a path").is_dir());
    let template = tools::wine::ensure_prefix().expect("there");
    assert!(!template.join("drive_c/windows/Mine").exists(), "the template was written to");
}

#[test]
fn what_a_program_leaves_behind_lives_on_until_it_is_killed() {
    let wine = machine();
    assert_eq!(wine.run(exe(), ["leave-behind", "600"], PATIENCE).expect("ran").code, 0);
    eventually("the child runs", || wine.programs().expect("listed").len() == 1);
    assert_eq!(wine.run("cmd", ["/c", "echo still here"], PATIENCE).expect("ran").stdout, "still here\r\n");
    let left = wine.programs().expect("listed");
    assert_eq!(left.len(), 1);
    assert_eq!(
        (left[0].name.as_str(), left[0].command_line.last().map(String::as_str)),
        ("program.exe", Some("600"))
    );
    left[0].kill().expect("killed");
    eventually("the child is gone", || wine.programs().expect("listed").is_empty());
    assert!(!left[0].is_alive());
}

#[test]
fn a_spawned_program_has_streams_a_pid_and_can_be_killed() {
    let wine = machine();
    let mut running = wine.command(exe()).args(["sleep", "600"]).spawn().expect("started");
    eventually("it is listed", || !named(wine.programs().expect("listed"), "program.exe").is_empty());
    let listed = named(wine.programs().expect("listed"), "program.exe");
    assert_eq!(running.pid(), Some(listed[0].pid));
    assert_eq!(running.wait(Duration::ZERO).expect("asked"), None);
    running.kill().expect("killed");
    assert_eq!(running.wait(Duration::ZERO).expect("asked"), Some(128 + 9));
    assert!(wine.programs().expect("listed").is_empty());
}

#[test]
fn two_machines_do_not_see_each_other() {
    let (one, two) = (machine(), machine());
    let mut running = one.command(exe()).args(["sleep", "600"]).spawn().expect("started");
    eventually("it is listed", || !one.programs().expect("listed").is_empty());
    assert_eq!(two.programs().expect("listed"), []);
    let tasks = |wine: &Wine| wine.run("tasklist", [""; 0], PATIENCE).expect("ran").stdout;
    assert!(tasks(&one).contains("program.exe"), "{}", tasks(&one));
    assert!(!tasks(&two).contains("program.exe"), "{}", tasks(&two));
    two.shutdown().expect("off");
    assert_eq!(running.wait(Duration::ZERO).expect("asked"), None, "the other machine's shutdown ended it");
}

#[test]
fn a_shutdown_ends_everything_and_files_stay() {
    let wine = machine();
    wine.run(exe(), ["leave-behind", "600"], PATIENCE).expect("ran");
    wine.run("reg", ["add", r"HKCU\Kept", "/v", "Word", "/d", "stayed"], PATIENCE).expect("ran");
    assert!(!wine.processes().expect("listed").is_empty());
    wine.shutdown().expect("off");
    assert_eq!(wine.processes().expect("listed"), []);
    wine.shutdown().expect("off already");
    let kept = wine.run("reg", ["query", r"HKCU\Kept", "/v", "Word"], PATIENCE).expect("ran").stdout;
    assert!(kept.contains("stayed"), "{kept}");
}

#[test]
fn nothing_is_left_after_drop() {
    let wine = machine();
    wine.run(exe(), ["leave-behind", "600"], PATIENCE).expect("ran");
    let processes = wine.processes().expect("listed");
    assert!(processes.iter().any(|process| process.name == "services.exe"), "{processes:?}");
    let prefix = wine.prefix().to_owned();
    assert!(prefix.is_dir());
    drop(wine);
    let alive: Vec<_> = processes.iter().filter(|process| process.is_alive()).collect();
    assert!(alive.is_empty(), "{alive:?}");
    assert!(!prefix.exists());
}

#[test]
fn nothing_is_left_when_the_test_process_is_killed() {
    if let Some(report) = std::env::var_os("WINE_TESTBED_REPORT") {
        return wait_to_be_killed(Path::new(&report));
    }
    let dir = tempfile::tempdir().expect("a directory");
    let report = dir.path().join("report");
    let mut other = Command::new(std::env::current_exe().expect("known"))
        .args(["--exact", "nothing_is_left_when_the_test_process_is_killed"])
        .env("WINE_TESTBED_REPORT", &report)
        .spawn()
        .expect("started");
    eventually("the other process has its machine", || report.exists());
    let prefix = std::fs::read_to_string(&report).expect("read");
    assert!(Path::new(&prefix).is_dir());
    assert!(!with_prefix(&prefix).is_empty());
    other.kill().expect("killed");
    other.wait().expect("waited");
    eventually("its prefix is gone", || !Path::new(&prefix).exists());
    eventually("its processes are gone", || with_prefix(&prefix).is_empty());
}

/// What the test above does in the process that it kills.
fn wait_to_be_killed(report: &Path) {
    let wine = machine();
    wine.run(exe(), ["leave-behind", "600"], PATIENCE).expect("ran");
    let half = report.with_extension("half");
    std::fs::write(&half, wine.prefix().as_os_str().as_encoded_bytes()).expect("written");
    std::fs::rename(half, report).expect("renamed");
    std::thread::sleep(PATIENCE);
    panic!("nobody killed this process");
}

/// The processes of this host whose environment names the prefix.
fn with_prefix(prefix: &str) -> Vec<u32> {
    let wanted = format!("WINEPREFIX={prefix}\0");
    let names = std::fs::read_dir("/proc").expect("read").flatten().map(|entry| entry.file_name());
    let pids = names.filter_map(|name| name.to_str()?.parse::<u32>().ok());
    let has = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.windows(wanted.len()).any(|part| part == wanted.as_bytes())
    };
    pids.filter(has).collect()
}
