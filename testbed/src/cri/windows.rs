//! A node that is a Windows machine of Wine's making: porthole.exe as its runtime, and a stock kubelet.exe.
//!
//! Both are in the host's network. The kubelet serves at the host's address in the cluster's network, which is this
//! cluster's alone, so that its usual ports are free there.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::control_plane::ControlPlane;
use crate::process::{tail, wait_for};
use crate::tools::windows_go_tool;
use crate::wine::{Running, Wine};
use settings::{FLAGS, as_a_host, config};

mod settings;

/// How clients name the runtime's pipe.
pub const PIPE: &str = "npipe:////./pipe/porthole-cri";
const PATIENCE: Duration = Duration::from_secs(180);

/// A Windows node, until it is dropped.
#[derive(Debug)]
pub struct WindowsNode {
    pub wine: Wine,
    address: Ipv4Addr,
    programs: Vec<Program>,
}

#[derive(Debug)]
struct Program {
    log: PathBuf,
    running: Running,
}

// === impl WindowsNode ===

impl WindowsNode {
    /// What the node is called in its cluster.
    pub const NAME: &'static str = "wine";

    /// Starts the runtime and the kubelet; what they say goes to `porthole.exe.log` and `kubelet.exe.log` in `logs`.
    pub fn start(plane: &ControlPlane, porthole: &Path, logs: &Path) -> Result<Self> {
        let kubelet = windows_go_tool("kubelet")?;
        let builder = Wine::builder().bind(directory(porthole)?).bind(directory(&kubelet)?);
        let wine = as_a_host(builder.simulated_for_kubelet()?).start()?;
        wine.sim()?;
        let mut node = Self { wine, address: plane.host_address(), programs: Vec::new() };
        node.runtime(porthole, logs)?;
        node.kubelet(&kubelet, plane, logs)?;
        Ok(node)
    }

    /// Puts a static pod in its place.
    pub fn write_manifest(&self, name: &str, text: &str) -> Result<()> {
        self.write(&format!("manifests/{name}.json"), text)
    }

    pub fn remove_manifest(&self, name: &str) -> Result<()> {
        let path = self.place().join(format!("manifests/{name}.json"));
        fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))
    }

    /// Where the kubelet says that it is well.
    pub fn health(&self) -> String {
        format!("http://{}:10248/healthz", self.address)
    }

    /// Fails, with the end of its log, if one of the two has ended.
    pub fn check(&mut self) -> Result<()> {
        self.programs.iter_mut().try_for_each(Program::check)
    }

    fn runtime(&mut self, porthole: &Path, logs: &Path) -> Result<()> {
        let log = fresh(logs, "porthole.exe")?;
        let command = self.wine.command(porthole).args(["cri", "--root", r"C:\porthole", "--listen", PIPE]);
        let command = command.args(["--node-ip", &self.address.to_string()]);
        let running = command.current_dir(self.drive()).logged(&log)?;
        self.programs.push(Program { log: log.clone(), running });
        wait_for("porthole.exe to listen", PATIENCE, || {
            self.check()?;
            Ok(fs::read_to_string(&log).is_ok_and(|said| said.contains("listening on")).then_some(()))
        })
    }

    fn kubelet(&mut self, kubelet: &Path, plane: &ControlPlane, logs: &Path) -> Result<()> {
        let pki = plane.kubeconfig().with_file_name("pki");
        let ca = fs::read_to_string(pki.join("ca.crt")).context("read the cluster's CA")?;
        self.write("ca.crt", &ca)?;
        self.write("kubelet.conf", &plane.node_kubeconfig(Self::NAME)?)?;
        self.write("kubelet.yaml", &config(self.address))?;
        fs::create_dir_all(self.place().join("manifests")).context("make the manifests' place")?;
        let log = fresh(logs, "kubelet.exe")?;
        let node_ip = format!("--node-ip={}", self.address);
        let name = format!("--hostname-override={}", Self::NAME);
        let command = self.wine.command(kubelet).args(FLAGS).args([node_ip, name]);
        let running = command.current_dir(self.drive()).logged(&log)?;
        self.programs.push(Program { log, running });
        Ok(())
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.place().join(name);
        let parent = path.parent().with_context(|| format!("{name} has no directory"))?;
        fs::create_dir_all(parent).with_context(|| format!("create {}", parent.display()))?;
        // A kubelet reads what it finds at once: half a manifest is an error in its log.
        let half = path.with_extension("half");
        fs::write(&half, text)
            .and_then(|()| fs::rename(&half, &path))
            .with_context(|| format!("write {}", path.display()))
    }

    /// `C:\node`, seen from outside.
    fn place(&self) -> PathBuf {
        self.drive().join("node")
    }

    /// Where services start, seen from outside: a kubelet says paths without a drive and means its own.
    fn drive(&self) -> PathBuf {
        self.wine.prefix().join("drive_c")
    }
}

// === impl Program ===

impl Program {
    fn check(&mut self) -> Result<()> {
        match self.running.try_wait()? {
            None => Ok(()),
            Some(code) => bail!("{} ended with {code}: {}", self.log.display(), tail(&self.log)),
        }
    }
}

fn directory(program: &Path) -> Result<PathBuf> {
    let parent = program.parent().with_context(|| format!("{} has no directory", program.display()))?;
    Ok(parent.to_owned())
}

/// A log without what an earlier run said.
fn fresh(logs: &Path, program: &str) -> Result<PathBuf> {
    let log = logs.join(format!("{program}.log"));
    fs::write(&log, "").with_context(|| format!("empty {}", log.display()))?;
    Ok(log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_starts_empty() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("x.exe.log"), "of before").expect("written");
        let log = fresh(dir.path(), "x.exe").expect("emptied");
        assert_eq!(fs::read_to_string(log).expect("read"), "");
    }
}
