//! A node of a real cluster, seen through its API server.

use std::cell::RefCell;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use testbed::api::Api;
use testbed::control_plane::ControlPlane;
use testbed::cri::{Runtime, World};
use testbed::process::wait_for;

use super::{Check, pods};

pub(super) const PATIENCE: Duration = Duration::from_secs(180);

/// A control plane and a machine whose kubelet is its node.
pub(super) struct Cluster {
    pub(super) plane: ControlPlane,
    pub(super) world: World,
    pub(super) runtime: RefCell<Runtime>,
    program: PathBuf,
    /// What a check found and a later one compares.
    pub(super) before: RefCell<String>,
}

pub(super) const CHECKS: &[Check<Cluster>] = &[
    Check { name: "the node is Ready", run: ready },
    Check { name: "get nodes shows porthole as its runtime", run: runtime },
    Check { name: "a pod of class hostprocess runs", run: runs },
    Check { name: "logs, and logs that follow", run: logs },
    Check { name: "a pod that crashes is restarted and backs off", run: crashes },
    Check { name: "logs of the container before", run: previous },
    Check { name: "a termination message reaches the status", run: message },
    Check { name: "stats/summary knows the pod's processor time and memory", run: stats },
];

/// After the streams, which need the pods.
pub(super) const LAST_CHECKS: &[Check<Cluster>] =
    &[Check { name: "deletion leaves nothing", run: nothing_left }];

fn ready(cluster: &Cluster) -> Result<()> {
    let path = "{.status.conditions[?(@.type==\"Ready\")].status}";
    cluster
        .plane
        .wait_for_field("the node to be Ready", &["node", cluster.node()], path, |said| said == "True")
}

fn runtime(cluster: &Cluster) -> Result<()> {
    let said = cluster.kubectl(&["get", "nodes", "-o", "wide"])?;
    ensure!(said.contains("porthole://"), "it says {said}");
    Ok(())
}

fn runs(cluster: &Cluster) -> Result<()> {
    cluster.apply(&pods::runtime_class())?;
    cluster.apply(&pods::classed(pods::shell(
        "steady",
        "echo begun; n=0; while sleep 1; do n=$((n+1)); echo tick $n; done",
    )))?;
    cluster.wait_running("steady")
}

fn logs(cluster: &Cluster) -> Result<()> {
    let first = |said: String| said.lines().next() == Some("begun");
    wait_for("the log's first line", PATIENCE, || {
        Ok(cluster.kubectl(&["logs", "steady"]).ok().is_some_and(first).then_some(()))
    })?;
    let mut follow = cluster.command()?;
    follow.args(["logs", "--follow", "--tail=1", "steady"]).stdout(Stdio::piped());
    let mut follow = follow.spawn().context("start kubectl")?;
    let output = follow.stdout.take().context("kubectl has a stdout")?;
    let lines = std::io::BufRead::lines(std::io::BufReader::new(output)).take(3);
    let lines = lines.collect::<std::io::Result<Vec<_>>>();
    follow.kill().and_then(|()| follow.wait().map(drop)).context("end kubectl")?;
    let lines = lines?;
    // The first may be of before.
    let ticks = lines.iter().skip(1).all(|line| line.starts_with("tick "));
    ensure!(lines.len() == 3 && ticks, "it said {lines:?}");
    Ok(())
}

fn crashes(cluster: &Cluster) -> Result<()> {
    cluster.apply(&pods::classed(pods::shell("crashing", "echo crash; exit 3")))?;
    let pod = ["pod", "crashing"];
    let count = "{.status.containerStatuses[0].restartCount}";
    cluster.plane.wait_for_field("two restarts", &pod, count, |said| {
        said.parse().is_ok_and(|count: u32| count >= 2)
    })?;
    let code = "{.status.containerStatuses[0].lastState.terminated.exitCode}";
    cluster.plane.wait_for_field("the exit code", &pod, code, |said| said == "3")?;
    let waiting = "{.status.containerStatuses[0].state.waiting.reason}";
    cluster.plane.wait_for_field("the back-off", &pod, waiting, |said| said == "CrashLoopBackOff")
}

fn previous(cluster: &Cluster) -> Result<()> {
    let said = cluster.kubectl(&["logs", "--previous", "crashing"])?;
    ensure!(said == "crash", "it said {said:?}");
    Ok(())
}

fn message(cluster: &Cluster) -> Result<()> {
    let mut pod = pods::classed(pods::shell("last-words", "echo farewell; exit 4"));
    pod["spec"]["restartPolicy"] = "Never".into();
    pod["spec"]["containers"][0]["terminationMessagePolicy"] = "FallbackToLogsOnError".into();
    cluster.apply(&pod)?;
    let path = "{.status.containerStatuses[0].state.terminated.message}";
    cluster
        .plane
        .wait_for_field("the message", &["pod", "last-words"], path, |said| said.trim() == "farewell")
}

fn stats(cluster: &Cluster) -> Result<()> {
    let path = format!("/api/v1/nodes/{}/proxy/stats/summary", cluster.node());
    let mut last = String::new();
    let known = wait_for("the pod's figures", PATIENCE, || {
        last = cluster.kubectl(&["get", "--raw", &path])?;
        let summary: Value = serde_json::from_str(&last).context("the summary")?;
        let pods = summary["pods"].as_array().into_iter().flatten();
        let containers =
            pods.filter(|pod| pod["podRef"]["name"] == "steady").map(|pod| &pod["containers"][0]);
        let used = |container: &Value| {
            container["cpu"]["usageCoreNanoSeconds"].as_u64() > Some(0)
                && container["memory"]["workingSetBytes"].as_u64() > Some(0)
        };
        Ok(containers.into_iter().any(used).then_some(()))
    });
    known.with_context(|| format!("the summary is {}", last.chars().take(2000).collect::<String>()))
}

/// The brackets keep the shell that looks for holders from finding itself.
fn nothing_left(cluster: &Cluster) -> Result<()> {
    cluster.kubectl(&["delete", "pods", "--all", "--timeout=120s"])?;
    wait_for("the runtime to be empty", PATIENCE, || {
        let sandboxes = cluster.runtime.borrow().crictl(&cluster.world, &["pods", "--quiet"])?;
        let containers = cluster.runtime.borrow().crictl(&cluster.world, &["ps", "--all", "--quiet"])?;
        Ok((sandboxes.is_empty() && containers.is_empty()).then_some(()))
    })?;
    let left = "ls /var/lib/porthole/pods 2> /dev/null; grep -h /var/lib/porthole/hpc /proc/self/mounts; \
                pgrep -f '^/var/lib/porthole/bin/[h]old-'; \
                ls -d /sys/fs/cgroup/porthole-*/* /sys/fs/cgroup/*/porthole-*/* 2> /dev/null | grep -v '\\.'; \
                ls /var/log/pods; true";
    let mut last = String::new();
    let gone = wait_for("the host to be as before", PATIENCE, || {
        last = cluster.world.says(left)?;
        Ok(last.is_empty().then_some(()))
    });
    gone.with_context(|| format!("left: {last}"))
}

// === impl Cluster ===

impl Cluster {
    /// `program` is what the runtime was started with.
    pub(super) fn new(plane: ControlPlane, world: World, runtime: Runtime, program: PathBuf) -> Result<Self> {
        Api::connect(&plane.kubeconfig())?.wait_for_account("default")?;
        let runtime = RefCell::new(runtime);
        Ok(Self { plane, world, runtime, program, before: RefCell::default() })
    }

    pub(super) fn restart_runtime(&self) -> Result<()> {
        self.runtime.replace(Runtime::porthole(&self.world, &self.program)?);
        Ok(())
    }

    pub(super) fn node(&self) -> &str {
        self.world.machine.name()
    }

    pub(super) fn command(&self) -> Result<Command> {
        self.plane.kubectl_command()
    }

    /// What kubectl says when it succeeds.
    pub(super) fn kubectl(&self, words: &[&str]) -> Result<String> {
        self.plane.says(words)
    }

    pub(super) fn apply(&self, object: &Value) -> Result<()> {
        let mut command = self.command()?;
        command.args(["apply", "--filename", "-"]);
        let output = fed(&mut command, &object.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "kubectl apply: {said}");
        Ok(())
    }

    pub(super) fn wait_running(&self, pod: &str) -> Result<()> {
        let path = "{.status.phase} {.status.containerStatuses[0].ready}";
        self.plane
            .wait_for_field(&format!("{pod} to run"), &["pod", pod], path, |said| said == "Running true")
    }
}

/// Runs a command with this input.
pub(super) fn fed(command: &mut Command, input: &str) -> Result<Output> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("start kubectl")?;
    let mut stdin = child.stdin.take().context("kubectl has a stdin")?;
    // One that has ended already says why itself.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().context("wait for kubectl")
}
