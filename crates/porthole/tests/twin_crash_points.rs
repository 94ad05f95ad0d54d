//! The agent dies at every fail point of the runtime; the next one goes on, and nothing is left in the end.

#[expect(dead_code, reason = "each kind of stage is used by its own tests")]
mod stage;

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use runtime::fail;
use stage::{Stage, eventually};

const SIGABRT: i32 = 6;
/// What `up` has no need of; the runtime's own matrix has them all.
const NOT_BY_UP: [&str; 4] = ["limits-told", "source-made", "sweep-renamed", "termination-made"];

/// Pods that come by every point: a temporary user and a mount point, links in links, one that ends by itself.
fn pods(stage: &Stage) -> PathBuf {
    // The temporary user gets to its image.
    fs::set_permissions(stage.dir(), PermissionsExt::from_mode(0o755)).unwrap();
    for volume in ["outer", "inner"] {
        fs::create_dir(stage.dir().join(volume)).unwrap();
    }
    let volume = |name: &str| {
        format!("  - {{name: {name}, hostPath: {{path: \"{}\"}}}}\n", stage.dir().join(name).display())
    };
    let volumes = format!("  volumes:\n{}{}", volume("outer"), volume("inner"));
    let made = stage.dir().join("made/for/it");
    let bound = format!("    volumeMounts: [{{name: outer, mountPath: \"{}\"}}]\n", made.display());
    let linked = "    volumeMounts: [{name: outer, mountPath: /v}, {name: inner, mountPath: /v/deep}]\n";
    let text = |name: &str, arguments: &[&str], spec: &str| {
        fs::read_to_string(stage.pod_with(name, arguments, spec)).unwrap()
    };
    let group = text("group", &["graceful", "bye"], &volumes) + &bound;
    let group = group.replace("hostProcess: true}", "hostProcess: true, runAsUserName: games}");
    let links = text("links", &["graceful", "bye"], &volumes) + linked;
    let mode = "metadata: {name: links, annotations: {porthole.dev/hostprocess-mode: symlink}}";
    let links = links.replace("metadata: {name: links}", mode);
    let ends = text("ends", &["exit", "0"], "  restartPolicy: Never\n");
    stage.file("all.yaml", &[group, links, ends].join("---\n"))
}

/// A run that nobody disturbs tells which points there are on the way; the rest must be known not to be.
fn points_of_up(stage: &Stage, file: &Path) -> Vec<&'static str> {
    let (status, said) = end(stage, up(stage, file, None));
    assert_eq!(status.code(), Some(0), "{said}");
    let trace = fs::read_to_string(stage.dir().join("trace")).unwrap();
    let passed = |name: &str| trace.lines().any(|line| line.split(' ').nth(1) == Some(name));
    let (on_the_way, others): (Vec<_>, Vec<_>) =
        fail::POINTS.iter().map(|point| point.name).partition(|name| passed(name));
    let unknown: Vec<_> = others.into_iter().filter(|name| !NOT_BY_UP.contains(name)).collect();
    assert_eq!(unknown, [""; 0], "nothing comes by");
    on_the_way
}

fn up(stage: &Stage, file: &Path, point: Option<&str>) -> Child {
    let mut command = Command::new(stage.host.programs().0);
    command.arg("up").arg("--root").arg(stage.root()).arg(file).arg("--plain");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.env(failpoint::TRACE, stage.dir().join("trace"));
    if let Some(point) = point {
        command.env(failpoint::VARIABLE, failpoint::setting(point, 1));
    }
    command.spawn().unwrap()
}

fn interrupt(child: &Child) {
    // It may have died meanwhile.
    drop(Command::new("kill").args(["-INT", &child.id().to_string()]).stderr(Stdio::null()).status());
}

/// Whether the two lasting containers run and the third one has ended.
fn settled(stage: &Stage) -> bool {
    let ps = stage.ps();
    let states: Vec<_> =
        ps.as_array().unwrap().iter().map(|pod| pod["containers"][0]["state"].clone()).collect();
    let count = |state: &str| states.iter().filter(|found| *found == state).count();
    count("Running") == 2 && count("Exited") == 1
}

/// Whether it has the node: before that it may not have heard that interrupts are meant for it, and the containers of the
/// agent before may look settled.
fn is_at_work(stage: &Stage, child: &Child) -> bool {
    let layout = runtime::layout::Layout::new(&stage.root());
    os::file::Lock::owner(&layout.lock()) == Some(child.id())
}

/// Waits for the end; whoever has settled is interrupted.
fn end(stage: &Stage, mut child: Child) -> (ExitStatus, String) {
    let mut interrupted = false;
    let status = eventually("porthole ends", || {
        if !interrupted && is_at_work(stage, &child) && settled(stage) {
            interrupt(&child);
            interrupted = true;
        }
        child.try_wait().unwrap()
    });
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (status, said)
}

#[test]
fn an_agent_that_dies_at_any_point_is_followed_by_one_that_leaves_nothing() {
    let stage = Stage::twin();
    let file = pods(&stage);
    let layout = runtime::layout::Layout::new(&stage.root());
    for point in points_of_up(&stage, &file) {
        let (status, said) = end(&stage, up(&stage, &file, Some(point)));
        assert_eq!(status.signal(), Some(SIGABRT), "nothing comes by {point}: {said}");
        assert!(stage.ps().is_array(), "after {point}");
        let (status, said) = end(&stage, up(&stage, &file, None));
        assert_eq!(status.code(), Some(0), "after {point}: {said}");
        stage.assert_nothing_left();
        let users = os::user::temporary().unwrap();
        assert!(!users.iter().any(|user| layout.is_temporary_user(user)), "after {point}: {users:?}");
        assert!(!stage.dir().join("made").exists(), "after {point}");
        assert_eq!(fs::read_dir(stage.dir().join("outer")).unwrap().count(), 0, "after {point}");
        assert_eq!(fs::read_dir(stage.root().join("hpc")).unwrap().count(), 0, "after {point}");
    }
}

#[test]
fn every_point_is_listed() {
    let stage = Stage::twin();
    let words = ["debug", "failpoints", "-o", "json"].map(str::to_owned);
    let listed: serde_json::Value = serde_json::from_str(&stage.run(&words).stdout).unwrap();
    let names: Vec<_> =
        listed.as_array().unwrap().iter().map(|point| point["name"].as_str().unwrap()).collect();
    let runtime = fail::POINTS.iter().map(|point| point.name);
    let images = images::fail::POINTS.iter().map(|point| point.name);
    assert!(runtime.chain(images).all(|name| names.contains(&name)), "{names:?}");
    let table = stage.run(&words[..2]).stdout;
    assert!(table.lines().count() == names.len() + 1 && table.contains("container-recorded"), "{table}");
}
