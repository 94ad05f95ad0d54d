//! Known ways to fail, as a user of `porthole up` meets them: the error, the hint, and the counter in the metrics file.

use runtime::failure::FailureMode;
use serde_json::{Value, json};

use crate::stage::Stage;

/// What one `up` said and counted.
#[derive(Debug)]
pub(crate) struct Failed {
    said: String,
    metrics: String,
}

/// `porthole up --once` of these containers, in this mode.
pub(crate) fn run(stage: &Stage, mode: &str, containers: &[Value]) -> Failed {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "fails", "annotations": {"porthole.dev/hostprocess-mode": mode}},
        "spec": {
            "hostNetwork": true, "restartPolicy": "Never", "volumes": [{"name": "token", "emptyDir": {}}],
            "securityContext": {"windowsOptions": {"hostProcess": true}}, "containers": containers,
        }
    });
    let metrics = stage.dir().join("failures.prom");
    let file = stage.file("fails.yaml", &pod.to_string());
    let (_, said) = stage.up(&file, &["--once", "--metrics-file", &stage.host.path(&metrics)]).wait();
    let metrics = std::fs::read_to_string(&metrics).unwrap_or_else(|e| panic!("{e}: {said:#?}"));
    Failed { said: said.join("\n"), metrics }
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
    /// The mode was met so often, and its words and its hint were shown.
    pub(crate) fn assert_met(&self, mode: FailureMode, times: u64) {
        let known = mode.known();
        let line = format!("porthole_runtime_failures_total{{mode=\"{}\"}} {times}\n", known.code);
        assert!(self.metrics.contains(&line), "{line} is not in\n{}\n{}", self.metrics, self.said);
        assert!(known.reads.iter().any(|words| self.said.contains(words)), "{known:?}: {}", self.said);
        assert!(self.said.contains(&format!("{}: {}", known.code, known.hint)), "{known:?}: {}", self.said);
    }
}
