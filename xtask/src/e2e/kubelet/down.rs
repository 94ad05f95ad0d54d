//! A runtime that is down for a while (HP-25): the cluster knows and says why, and containers do not notice.

use anyhow::{Context, Result, ensure};

use super::cluster::Cluster;
use super::{Check, pods};

pub(super) const CHECKS: &[Check<Cluster>] = &[
    Check { name: "with its runtime killed the node is NotReady and says why", run: not_ready },
    Check { name: "pods say why, and run on", run: pods_say_why },
    Check { name: "with a new runtime the node is Ready and its containers are the same", run: back },
    Check { name: "the new runtime tells that there was none, with hint and counter", run: told },
];

const READY: &str = "{.status.conditions[?(@.type==\"Ready\")].status}";
const WHY: &str = "{.status.conditions[?(@.type==\"Ready\")].message}";
const CONTAINER: &str =
    "{.status.containerStatuses[0].containerID} {.status.containerStatuses[0].restartCount}";

fn not_ready(cluster: &Cluster) -> Result<()> {
    cluster.before.replace(steady(cluster)?);
    cluster.runtime.borrow_mut().kill(&cluster.world)?;
    let node = ["node", cluster.node()];
    cluster.plane.wait_for_field("the node to be NotReady", &node, READY, |said| said == "False")?;
    let runtime_is_down = |said: &str| said.contains("container runtime is down");
    cluster.plane.wait_for_field("the reason", &node, WHY, runtime_is_down)
}

/// One that runs, when it is asked for something; one that is new, before it is anywhere.
fn pods_say_why(cluster: &Cluster) -> Result<()> {
    let output =
        cluster.command()?.args(["exec", "steady", "--", "true"]).output().context("start kubectl")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(!output.status.success() && said.contains("/run/porthole/cri.sock"), "exec said {said}");
    let mut pod = pods::classed(pods::shell("waiting", "exec sleep 100000"));
    pod["spec"]["tolerations"].take();
    cluster.apply(&pod)?;
    let why = "{.status.conditions[?(@.type==\"PodScheduled\")].message}";
    let tainted = |said: &str| said.contains("untolerated taint");
    cluster.plane.wait_for_field("the pod to say why it waits", &["pod", "waiting"], why, tainted)?;
    let taints = "{.spec.taints[*].key}";
    let named = |said: &str| said == "node.kubernetes.io/not-ready";
    cluster.plane.wait_for_field("the taint's name", &["node", cluster.node()], taints, named)?;
    let (before, now) = (cluster.before.borrow(), steady(cluster)?);
    ensure!(*before == now, "it was {before}, it is {now}");
    Ok(())
}

fn back(cluster: &Cluster) -> Result<()> {
    cluster.restart_runtime()?;
    let node = ["node", cluster.node()];
    cluster.plane.wait_for_field("the node to be Ready", &node, READY, |said| said == "True")?;
    cluster.wait_running("steady")?;
    cluster.wait_running("waiting")?;
    let (before, now) = (cluster.before.borrow(), steady(cluster)?);
    ensure!(*before == now, "it was {before}, it is {now}");
    Ok(())
}

fn told(cluster: &Cluster) -> Result<()> {
    let runtime = cluster.runtime.borrow();
    let log = runtime.log_tail();
    ensure!(log.contains("ended without being asked to"), "it said {log}");
    ensure!(log.contains("RuntimeDown: look in the system's log"), "it said {log}");
    let info = runtime.crictl(&cluster.world, &["info"])?;
    let counted = "porthole_runtime_failures_total{mode=\\\"RuntimeDown\\\"} 1";
    ensure!(info.contains(counted), "its status is {info}");
    Ok(())
}

/// Its container, how often it was started, and the process of it.
fn steady(cluster: &Cluster) -> Result<String> {
    let known = cluster.kubectl(&["get", "pod", "steady", "-o", &format!("jsonpath={CONTAINER}")])?;
    let process = cluster.world.says("pgrep --oldest --full '^sh -c echo [b]egun'");
    Ok(format!("{known} {}", process.context("the container's process is gone")?))
}
