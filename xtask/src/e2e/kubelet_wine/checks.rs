//! What is looked at, mostly through the API server.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use testbed::control_plane::ControlPlane;
use testbed::cri::windows::WindowsNode;
use testbed::process::wait_for;
use testbed::tools::{progress, repo_root};

use super::super::checks::Check;
use super::super::directory;
use super::pods;
use super::told::{is_named, uses};

const PATIENCE: Duration = Duration::from_secs(180);
const DECISION: &str = "docs/decisions/0009-a-kubelet-under-wine.md";

/// A cluster and its Windows node.
pub(super) struct Node {
    pub(super) plane: ControlPlane,
    pub(super) machine: WindowsNode,
    /// The fixture's, as pods name it.
    pub(super) image: String,
}

pub(super) const CHECKS: &[Check<Node>] = &[
    Check { name: "kubelet.exe is healthy", run: healthy },
    Check { name: "the node registers as a Windows one on porthole", run: registers },
    Check { name: "the node is Ready", run: ready },
    Check { name: "a static HostProcess pod runs and is mirrored", run: runs },
    Check { name: "logs, and logs that follow", run: logs },
    Check { name: "exec tells output and exit code (SPDY)", run: |node| exec(node, "false") },
    Check { name: "exec tells output and exit code (WebSocket)", run: |node| exec(node, "true") },
    Check { name: "a container that crashes is restarted and backs off", run: crashes },
    Check { name: "stats/summary knows the pod's processor time and memory", run: stats },
    Check { name: "a scheduled HostProcess pod runs", run: scheduled },
    Check { name: "the annotation alone grants nothing", run: annotated },
    Check { name: "what is taken away leaves no program", run: goes },
    Check { name: "every simulated call is named in the decision", run: named },
];

fn healthy(node: &Node) -> Result<()> {
    let url = node.machine.health();
    wait_for("the kubelet to be healthy", PATIENCE, || {
        let mut curl = Command::new("curl");
        Ok(progress::text_of(curl.args(["--silent", "--fail", &url])).ok().filter(|said| said == "ok"))
    })
    .map(drop)
}

fn registers(node: &Node) -> Result<()> {
    let path = "{.status.nodeInfo.operatingSystem} {.metadata.labels.kubernetes\\.io/os} \
                {.status.nodeInfo.containerRuntimeVersion}";
    node.wait_for_node("the node", path, |said| said.starts_with("windows windows porthole://"))
}

fn ready(node: &Node) -> Result<()> {
    let path = "{.status.conditions[?(@.type==\"Ready\")].status}";
    node.wait_for_node("the node to be Ready", path, |said| said == "True")
}

fn runs(node: &Node) -> Result<()> {
    node.give("steady", &["lines", "0", "1000"])?;
    let path = "{.status.phase} {.status.containerStatuses[0].ready} \
                {.metadata.annotations.kubernetes\\.io/config\\.source}";
    node.wait_for_pod("steady", path, |said| said == "Running true file")
}

fn logs(node: &Node) -> Result<()> {
    let pod = mirror("steady");
    wait_for("the log's first line", PATIENCE, || {
        let said = node.plane.says(&["logs", &pod]).unwrap_or_default();
        Ok(said.lines().next().is_some_and(|line| line.ends_with('1')).then_some(()))
    })?;
    let mut follow = node.plane.kubectl_command()?;
    follow.args(["logs", "--follow", "--tail=1", &pod]).stdout(Stdio::piped());
    let mut follow = follow.spawn().context("start kubectl")?;
    let output = follow.stdout.take().context("kubectl has a stdout")?;
    let lines = std::io::BufRead::lines(std::io::BufReader::new(output)).take(3);
    let lines = lines.collect::<std::io::Result<Vec<_>>>();
    follow.kill().and_then(|()| follow.wait().map(drop)).context("end kubectl")?;
    ensure!(lines?.len() == 3, "the log ends");
    Ok(())
}

fn exec(node: &Node, websockets: &str) -> Result<()> {
    let mut kubectl = node.plane.kubectl_command()?;
    kubectl.env("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", websockets);
    let line = ["cmd", "/c", "echo out& echo err>&2& exit 7"];
    let output = kubectl.args(["exec", &mirror("steady"), "--"]).args(line).output()?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.code() == Some(7), "it ended with {}: {err}", output.status);
    ensure!(out.trim_end() == "out" && err.starts_with("err"), "it said {out:?} and {err:?}");
    Ok(())
}

fn crashes(node: &Node) -> Result<()> {
    node.give("crashing", &["exit", "3"])?;
    let path = "{.status.containerStatuses[0].restartCount} {.status.containerStatuses[0].lastState.terminated.exitCode} \
                {.status.containerStatuses[0].state.waiting.reason}";
    let end = node.wait_for_pod("crashing", path, |said| match said.split(' ').collect::<Vec<_>>()[..] {
        [count, "3", "CrashLoopBackOff"] => count.parse().is_ok_and(|count: u32| count >= 2),
        _ => false,
    });
    node.machine.remove_manifest("crashing")?;
    end
}

fn stats(node: &Node) -> Result<()> {
    let path = format!("/api/v1/nodes/{}/proxy/stats/summary", WindowsNode::NAME);
    let mut last = String::new();
    let known = wait_for("the pod's figures", PATIENCE, || {
        last = node.plane.says(&["get", "--raw", &path])?;
        let summary: Value = serde_json::from_str(&last).context("the summary")?;
        Ok(uses(&summary, &mirror("steady")).then_some(()))
    });
    known.with_context(|| format!("the summary is {}", last.chars().take(2000).collect::<String>()))
}

/// By its system, as people place Windows pods.
fn scheduled(node: &Node) -> Result<()> {
    let file = directory()?.join("kubelet-wine-pod.json");
    let pod = pods::scheduled("scheduled", &node.image, &["lines", "0", "1000"]);
    std::fs::write(&file, pod.to_string()).with_context(|| format!("write {}", file.display()))?;
    node.plane.says(&["apply", "--filename", &file.display().to_string()])?;
    let path = "{.status.phase} {.status.containerStatuses[0].ready} {.spec.nodeName}";
    let is_so = |said: &str| said == format!("Running true {}", WindowsNode::NAME);
    node.plane.wait_for_field("the pod to run", &["pod", "scheduled"], path, is_so)
}

fn annotated(node: &Node) -> Result<()> {
    node.machine.write_manifest("annotated", &pods::annotated("annotated", &node.image).to_string())?;
    let selector = format!("involvedObject.name={},reason=FailedCreatePodSandBox", mirror("annotated"));
    let events = ["events", "--field-selector", &selector];
    let refused = node.plane.wait_for_field("the refusal", &events, "{.items[*].message}", |said| {
        said.contains("PermissionDenied") && said.contains("microsoft.com/hostprocess-container")
    });
    node.machine.remove_manifest("annotated")?;
    refused
}

/// A manifest, and a pod of the cluster.
fn goes(node: &Node) -> Result<()> {
    node.machine.remove_manifest("steady")?;
    node.plane.says(&["delete", "pod", "scheduled", "--ignore-not-found", "--timeout=120s"])?;
    wait_for("the mirrors to go", PATIENCE, || {
        Ok(node.plane.says(&["get", "pods", "-o", "name"])?.is_empty().then_some(()))
    })?;
    let mut left = Vec::new();
    let gone = wait_for("the programs to end", PATIENCE, || {
        left = node.machine.wine.programs()?.into_iter().map(|program| program.name).collect();
        left.retain(|name| !["porthole.exe", "kubelet.exe"].contains(&name.as_str()));
        Ok(left.is_empty().then_some(()))
    });
    gone.with_context(|| format!("left: {left:?}"))
}

/// The page tells no less than was simulated.
fn named(node: &Node) -> Result<()> {
    let calls = node.machine.wine.sim()?.calls();
    ensure!(!calls.is_empty(), "nothing simulated was called");
    let page = repo_root()?.join(DECISION);
    let page = std::fs::read_to_string(&page).with_context(|| format!("read {}", page.display()))?;
    let unnamed: Vec<&String> = calls.iter().filter(|call| !is_named(&page, call)).collect();
    ensure!(unnamed.is_empty(), "{DECISION} does not name {unnamed:?}");
    Ok(())
}

/// What a static pod is called in the cluster.
fn mirror(pod: &str) -> String {
    format!("{pod}-{}", WindowsNode::NAME)
}

// === impl Node ===

impl Node {
    fn give(&self, name: &str, words: &[&str]) -> Result<()> {
        self.machine.write_manifest(name, &pods::fixture(name, &self.image, words).to_string())
    }

    fn wait_for_node(&self, what: &str, path: &str, is_so: impl Fn(&str) -> bool) -> Result<()> {
        self.plane.wait_for_field(what, &["node", WindowsNode::NAME], path, is_so)
    }

    fn wait_for_pod(&self, name: &str, path: &str, is_so: impl Fn(&str) -> bool) -> Result<()> {
        self.plane.wait_for_field(name, &["pod", &mirror(name)], path, is_so)
    }
}
