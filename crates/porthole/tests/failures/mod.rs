//! Known ways to fail, as a user of `porthole up` meets them: the error, the hint, and the counter in the metrics file.

use std::path::Path;

use runtime::failure::FailureMode;
use serde_json::{Value, json};

use crate::stage::Stage;

const METRICS: &str = "failures.prom";
/// What no HostProcess container can have mounted, on either host.
const PIPE: &str = r"\\.\pipe\docker_engine";

/// What one `up` said and counted.
#[derive(Debug)]
pub(crate) struct Failed {
    said: String,
    metrics: String,
}

/// `porthole up --once` of these containers, in this mode.
pub(crate) fn run(stage: &Stage, mode: &str, containers: &[Value]) -> Failed {
    let file = stage.file("fails.yaml", &pod(mode, containers));
    let metrics = stage.host.path(&stage.dir().join(METRICS));
    let (_, said) = stage.up(&file, &["--once", "--metrics-file", &metrics]).wait();
    Failed::read(stage, said.join("\n"))
}

/// The same through a program that runs porthole in another world.
pub(crate) fn run_through(stage: &Stage, program: &Path, mode: &str, containers: &[Value]) -> Failed {
    let file = stage.file("fails.yaml", &pod(mode, containers));
    let text = |path: &Path| stage.host.path(path);
    let (porthole, _) = stage.host.programs();
    let words = ["up".to_owned(), text(&file), "--once".to_owned(), "--root".to_owned(), text(&stage.root())];
    let metrics = ["--metrics-file".to_owned(), text(&stage.dir().join(METRICS))];
    let words: Vec<String> = std::iter::once(text(&porthole)).chain(words).chain(metrics).collect();
    let output = stage.host.run(program, &words);
    Failed::read(stage, output.stdout + &output.stderr)
}

/// A pod whose holder is killed while its container runs.
pub(crate) fn lose_the_holder(stage: &Stage) -> Failed {
    let waits = container("waits", |it| it["command"] = json!(["./fixture", "generations", "1"]));
    let file = stage.file("fails.yaml", &pod("symlink", &[waits]));
    let metrics = stage.host.path(&stage.dir().join(METRICS));
    let up = stage.up(&file, &["--once", "--metrics-file", &metrics]);
    up.wait_for("generation 1");
    stage.holder().kill();
    let (_, said) = up.wait();
    Failed::read(stage, said.join("\n"))
}

/// A porthole that is killed while its container runs, and the next one, which is asked to end. What that said; one
/// after it has nothing to say.
pub(crate) fn lose_the_agent(stage: &Stage) -> Failed {
    let waits = container("waits", |it| it["command"] = json!(["./fixture", "generations", "1"]));
    let file = stage.file("fails.yaml", &pod("symlink", &[waits]));
    let metrics = stage.host.path(&stage.dir().join(METRICS));
    let up = || stage.up(&file, &["--metrics-file", &metrics]);
    let first = up();
    first.wait_for("generation 1");
    let worker = stage.workers();
    first.kill();
    let second = up();
    second.wait_for("RuntimeDown");
    let ran_on = |seen: &[_]| seen == worker;
    crate::stage::eventually("the container ran on", || ran_on(&stage.workers()).then_some(()));
    second.interrupt();
    let failed = Failed::read(stage, second.wait().1.join("\n"));
    let third = up();
    third.wait_for("generation 1");
    third.interrupt();
    let well = Failed::read(stage, third.wait().1.join("\n"));
    assert!(well.metrics.contains("{mode=\"RuntimeDown\"} 0\n"), "{well:?}");
    assert!(!well.said.contains("RuntimeDown"), "{well:?}");
    failed
}

fn pod(mode: &str, containers: &[Value]) -> String {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "fails", "annotations": {"porthole.dev/hostprocess-mode": mode}},
        "spec": {
            "hostNetwork": true, "restartPolicy": "Never",
            "volumes": [{"name": "token", "emptyDir": {}}, {"name": "pipe", "hostPath": {"path": PIPE}}],
            "securityContext": {"windowsOptions": {"hostProcess": true}}, "containers": containers,
        }
    })
    .to_string()
}

/// A container that would print a word, with something about it changed.
pub(crate) fn container(name: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut container =
        json!({"name": name, "image": "dir:app", "command": ["./fixture", "print", "it ran"]});
    change(&mut container);
    container
}

pub(crate) fn run_as(account: &str) -> Value {
    json!({"windowsOptions": {"runAsUserName": account}})
}

// === impl Failed ===

impl Failed {
    fn read(stage: &Stage, said: String) -> Failed {
        let metrics = std::fs::read_to_string(stage.dir().join(METRICS));
        Failed { metrics: metrics.unwrap_or_else(|e| panic!("{e}: {said}")), said }
    }

    /// The mode was met so often, and its words and its hint were shown.
    pub(crate) fn assert_met(&self, mode: FailureMode, times: u64) {
        let known = mode.known();
        let line = format!("porthole_runtime_failures_total{{mode=\"{}\"}} {times}\n", known.code);
        assert!(self.metrics.contains(&line), "{line} is not in\n{}\n{}", self.metrics, self.said);
        assert!(known.reads.iter().any(|words| self.said.contains(words)), "{known:?}: {}", self.said);
        assert!(self.said.contains(&format!("{}: {}", known.code, known.hint)), "{known:?}: {}", self.said);
    }

    pub(crate) fn assert_ended(&self, container: &str, code: i32) {
        let line = format!("default/fails/{container} ended with code {code} ");
        assert!(self.said.contains(&line), "{line}: {}", self.said);
    }
}
