//! Static pods of a kubelet that has no cluster.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use testbed::cri::kubelet::MANIFESTS;
use testbed::cri::{Runtime, World};
use testbed::process::wait_for;

use super::{Check, pods};

const PATIENCE: Duration = Duration::from_secs(180);

/// A world with a runtime and a kubelet.
pub(super) struct Standalone {
    pub(super) world: World,
    pub(super) runtime: Runtime,
}

pub(super) const CHECKS: &[Check<Standalone>] = &[
    Check { name: "a static pod runs", run: runs },
    Check { name: "its output is in its log", run: logs },
    Check { name: "crictl execs into it", run: execs },
    Check { name: "a static pod that crashes is restarted and backs off", run: crashes },
    Check { name: "a manifest that goes takes its pod with it", run: goes },
];

fn runs(alone: &Standalone) -> Result<()> {
    alone.write("steady", &pods::shell("steady", "echo begun; exec sleep 100000"))?;
    alone.wait("the pod to run", |pod| {
        pod["status"]["phase"] == "Running" && pod["status"]["containerStatuses"][0]["ready"] == true
    })
}

fn logs(alone: &Standalone) -> Result<()> {
    let path = "containerLogs/default/steady-kubelet-alone/main";
    wait_for("the log's line", PATIENCE, || Ok(alone.ask(path).ok().filter(|said| said == "begun"))).map(drop)
}

fn execs(alone: &Standalone) -> Result<()> {
    let id = alone.runtime.crictl(&alone.world, &["ps", "--quiet", "--name", "main"])?;
    let id = id.lines().next().context("crictl lists no container")?;
    for transport in ["spdy", "websocket"] {
        let said =
            alone.runtime.crictl(&alone.world, &["exec", "--transport", transport, id, "echo", "hello"])?;
        ensure!(said == "hello", "over {transport} it said {said:?}");
    }
    Ok(())
}

fn crashes(alone: &Standalone) -> Result<()> {
    alone.write("crashing", &pods::shell("crashing", "echo crash; exit 3"))?;
    let end = alone.wait("the restarts", |pod| {
        let status = &pod["status"]["containerStatuses"][0];
        pod["metadata"]["name"].as_str().is_some_and(|name| name.starts_with("crashing"))
            && status["restartCount"].as_u64() >= Some(2)
            && status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
            && status["lastState"]["terminated"]["exitCode"] == 3
    });
    alone.remove("crashing")?;
    end
}

fn goes(alone: &Standalone) -> Result<()> {
    alone.remove("steady")?;
    wait_for("the runtime to be empty", PATIENCE, || {
        let sandboxes = alone.runtime.crictl(&alone.world, &["pods", "--quiet"])?;
        let containers = alone.runtime.crictl(&alone.world, &["ps", "--all", "--quiet"])?;
        Ok((sandboxes.is_empty() && containers.is_empty()).then_some(()))
    })
}

// === impl Standalone ===

impl Standalone {
    fn write(&self, name: &str, pod: &Value) -> Result<()> {
        self.world.write(&format!("{MANIFESTS}/{name}.json"), &pod.to_string()).map(drop)
    }

    fn remove(&self, name: &str) -> Result<()> {
        let path = self.world.machine.var_lib().join(MANIFESTS).join(format!("{name}.json"));
        fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))
    }

    /// What the kubelet's own API says.
    fn ask(&self, path: &str) -> Result<String> {
        self.world.says(&format!("curl --silent --fail --insecure https://127.0.0.1:10250/{path}"))
    }

    /// Waits until one of its pods is so.
    fn wait(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Result<()> {
        let mut last = Value::Null;
        let end = wait_for(what, PATIENCE, || {
            let Ok(said) = self.ask("pods") else { return Ok(None) };
            last = serde_json::from_str(&said).context("the kubelet's pods")?;
            Ok(last["items"].as_array().is_some_and(|pods| pods.iter().any(&is_so)).then_some(()))
        });
        end.with_context(|| format!("its pods are {}", statuses(&last)))
    }
}

fn statuses(pods: &Value) -> String {
    let items = pods["items"].as_array().into_iter().flatten();
    items.map(|pod| pod["status"].to_string()).collect::<Vec<_>>().join("; ")
}
