//! `porthole up` for somebody who is not root: the same containers in user and pid namespaces, or a clear no.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use runtime::failure::FailureMode;

/// Nobody: an account that every system has and that owns nothing.
const NOBODY: u32 = 65534;
const PATIENCE: Duration = Duration::from_secs(30);

/// Programs that everybody may run, and a directory for nobody's state.
#[derive(Debug)]
struct World {
    dir: tempfile::TempDir,
}

// === impl World ===

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let world = World { dir };
        let fixture = std::env::var_os("PORTHOLE_FIXTURE").expect("PORTHOLE_FIXTURE is not set");
        fs::create_dir(world.path("app")).unwrap();
        world.program(Path::new(env!("CARGO_BIN_EXE_porthole")), "porthole");
        world.program(Path::new(&fixture), "app/fixture");
        fs::create_dir(world.path("state")).unwrap();
        chown(world.path("state"), Some(NOBODY), Some(NOBODY)).unwrap();
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn program(&self, from: &Path, name: &str) {
        fs::copy(from, self.path(name)).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Writes a pod of one container that runs the fixture.
    fn pod(&self, arguments: &str, container: &str) -> PathBuf {
        let text = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec:\n  hostNetwork: true\n\
             \x20 restartPolicy: Never\n  terminationGracePeriodSeconds: 10\n\
             \x20 securityContext: {{windowsOptions: {{hostProcess: true}}}}\n\
             \x20 containers:\n  - name: main\n    image: dir:app\n    command: [./fixture, {arguments}]\n{container}"
        );
        let file = self.path("pod.yaml");
        fs::write(&file, text).unwrap();
        file
    }

    /// The words of a command line that is nobody's `porthole up`.
    fn up(&self, file: &Path) -> Vec<String> {
        let words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"].map(str::to_owned);
        let (porthole, root) = (self.path("porthole"), self.path("state/root"));
        let porthole =
            [porthole.to_str(), Some("up"), Some("--once"), Some("--root"), root.to_str(), file.to_str()];
        words.into_iter().chain(porthole.into_iter().flatten().map(str::to_owned)).collect()
    }

    fn start(&self, file: &Path) -> std::process::Child {
        self.start_with(file, &[])
    }

    fn start_with(&self, file: &Path, more: &[&str]) -> std::process::Child {
        let words = self.up(file);
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Processes whose program lies, or lay, in this world: their numbers and names.
    fn processes(&self) -> Vec<(u32, String)> {
        let pids = fs::read_dir("/proc").unwrap();
        let pids = pids.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        pids.filter_map(|pid| {
            let program = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
            let name = program.file_name()?.to_str()?.to_owned();
            program.starts_with(self.dir.path()).then_some((pid, name))
        })
        .collect()
    }

    fn holder(&self) -> Option<u32> {
        self.processes().into_iter().find(|(_, name)| name.starts_with("hold-")).map(|(pid, _)| pid)
    }

    fn family(&self) -> Vec<u32> {
        let family = self.processes().into_iter().filter(|(_, name)| name.starts_with("fixture"));
        family.map(|(pid, _)| pid).collect()
    }

    fn wait_for_family(&self) {
        eventually("three generations run", || self.family().len() == 3);
        let owners =
            self.family().into_iter().map(|pid| fs::read_to_string(format!("/proc/{pid}/status")).unwrap());
        for status in owners {
            assert!(status.contains("\nUid:\t65534\t65534\t65534\t65534\n"), "{status}");
        }
    }

    fn assert_nothing_left(&self) {
        eventually("no process is left", || self.processes().is_empty());
        for dir in ["pods", "run"] {
            let left: Vec<_> =
                fs::read_dir(self.path("state/root").join(dir)).unwrap().map(|e| e.unwrap().path()).collect();
            assert!(left.is_empty(), "left in {dir}: {left:?}");
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(self.dir.path().to_str().unwrap()), "{mounts}");
    }
}

fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "not in {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

fn text(output: &Output) -> (String, String) {
    let [out, err] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    (out, err)
}

/// The one warning, and nothing else said as an error.
fn assert_one_warning(stderr: &str) {
    let warnings = stderr.lines().filter(|line| line.contains("warning: not root"));
    assert_eq!(warnings.count(), 1, "{stderr}");
}

#[test]
fn a_pod_runs_without_root_and_says_so_once() {
    let world = World::new();
    let file = world.pod("print, it ran", "");
    let output = world.start(&file).wait_with_output().unwrap();
    let (out, err) = text(&output);
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    assert!(out.contains("default/web/main | it ran"), "{out}");
    assert_one_warning(&err);
    assert_eq!(err.lines().count(), 1, "{err}");
    world.assert_nothing_left();
}

#[test]
fn limits_are_left_out_without_root() {
    let world = World::new();
    let file = world.pod("exit, \"7\"", "    resources: {limits: {cpu: 500m, memory: 64Mi}}\n");
    let output = world.start(&file).wait_with_output().unwrap();
    let (out, err) = text(&output);
    assert_eq!(output.status.code(), Some(7), "{out}{err}");
    assert_one_warning(&err);
    world.assert_nothing_left();
}

#[test]
fn a_stop_ends_three_generations_without_root() {
    let world = World::new();
    let up = world.start(&world.pod("generations, \"3\"", ""));
    world.wait_for_family();
    signal("-INT", up.id());
    let output = up.wait_with_output().unwrap();
    let (out, err) = text(&output);
    assert!(out.contains("default/web/main ended with code 143"), "{out}{err}");
    assert_one_warning(&err);
    world.assert_nothing_left();
}

#[test]
fn a_killed_holder_takes_three_generations_along_without_root() {
    let world = World::new();
    let up = world.start(&world.pod("generations, \"3\"", ""));
    world.wait_for_family();
    signal("-KILL", world.holder().expect("a holder runs"));
    eventually("the family ends", || world.family().is_empty());
    let output = up.wait_with_output().unwrap();
    let (out, err) = text(&output);
    assert_eq!(output.status.code(), Some(137), "{out}{err}");
    assert!(out.contains("ended with code 137 (HolderDied)"), "{out}{err}");
    world.assert_nothing_left();
}

/// … and with nobody else there to notice: the kernel does it.
#[test]
fn a_killed_holder_takes_three_generations_along_without_root_and_without_an_agent() {
    let world = World::new();
    let file = world.pod("generations, \"3\"", "");
    let mut up = world.start(&file);
    world.wait_for_family();
    up.kill().unwrap();
    up.wait().unwrap();
    assert_eq!(world.family().len(), 3, "the agent's death is no reason to end");
    signal("-KILL", world.holder().expect("a holder runs"));
    eventually("the family ends", || world.family().is_empty());
    let output = world.start(&file).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(137), "{:?}", text(&output));
    world.assert_nothing_left();
}

/// The twin's denied logon: what an agent that is not LocalSystem meets on Windows.
// proves: HP-25 twin
#[test]
fn without_root_nobody_else_can_be_had_with_an_error_a_hint_and_a_counter() {
    let known = FailureMode::LogonDenied.known();
    for account in ["NT AUTHORITY\\Local Service", "daemon"] {
        let world = World::new();
        let options = format!("    securityContext: {{windowsOptions: {{runAsUserName: '{account}'}}}}\n");
        let file = world.pod("print, it ran", &options);
        let metrics = world.path("state/failures.prom");
        let up = world.start_with(&file, &["--metrics-file", metrics.to_str().unwrap()]);
        let output = up.wait_with_output().unwrap();
        let (out, err) = text(&output);
        assert_eq!(output.status.code(), Some(128), "{account}: {out}{err}");
        assert!(!out.contains("| it ran"), "{account}: {out}");
        assert!(known.reads.iter().any(|words| out.contains(words)), "{account}: {out}{err}");
        let hint = format!("{}: {}", known.code, known.hint);
        assert!(format!("{out}{err}").contains(&hint), "{account}: {out}{err}");
        let counted = fs::read_to_string(&metrics).unwrap();
        assert!(counted.contains("failures_total{mode=\"LogonDenied\"} 1\n"), "{account}: {counted}");
        world.assert_nothing_left();
    }
}

/// A user namespace whose own root forbids further ones, as some distributions do for everybody.
#[test]
fn where_user_namespaces_are_forbidden_the_answer_is_3_with_the_sudo_line() {
    let world = World::new();
    let file = world.path("it's my pod.yaml");
    fs::rename(world.pod("print, it ran", ""), &file).unwrap();
    // The second shell has the capabilities that the first, started before the mapping, does not.
    let script = "read go; exec sh -c 'echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"' sh \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "sh", "-c", script, "sh"]).args(world.up(&file));
    // A variable that sudo would not hand on.
    command.env("PORTHOLE_ROOT", "/some where");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/user")).unwrap();
    let pid = child.id().to_string();
    eventually("it is in a namespace of its own", || namespace(&pid) != namespace("self"));
    for map in ["uid_map", "gid_map"] {
        fs::write(format!("/proc/{pid}/{map}"), "0 0 65536").unwrap();
    }
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let (out, err) = text(&output);
    assert_eq!(output.status.code(), Some(3), "{out}{err}");
    assert!(err.contains("not root, and this host does not allow you: user-namespace"), "{err}");
    let (_, line) = err.trim_end().split_once("run: sudo ").expect(&err);
    let words = Command::new("sh").args(["-c", &format!("printf '%s\\n' {line}")]).output().unwrap();
    let up = &world.up(&file)[4..];
    let expected = ["env", "PORTHOLE_ROOT=/some where"].into_iter().chain(up.iter().map(String::as_str));
    assert_eq!(text(&words).0.lines().collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{err}");
    assert!(!out.contains("it ran") && !world.path("state/root").exists(), "{out}");
}

/// As in a container of somebody else's: root, but no cgroups to make and no user namespaces to be had.
#[test]
fn root_without_cgroups_needs_no_user_namespaces() {
    let world = World::new();
    let file = world.pod("print, it ran", "");
    let script = "grep -- ' - cgroup' /proc/self/mountinfo | cut -d' ' -f5 | while read -r dir; do
                      mount -t tmpfs none \"$dir\"
                  done 2> /dev/null
                  echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]);
    command.args([world.path("porthole").as_path(), Path::new("up"), Path::new("--once")]);
    command.arg("--root").arg(world.path("own")).arg(&file);
    let output = command.output().unwrap();
    let (out, err) = text(&output);
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    assert!(out.contains("default/web/main | it ran"), "{out}");
    assert!(err.contains("without limits") && !err.contains("not root"), "{err}");
    eventually("no process is left", || world.processes().is_empty());
}
