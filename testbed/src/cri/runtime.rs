//! The runtimes that are judged: porthole, and containerd beside it.

use std::path::Path;

use anyhow::{Context, Result};

use super::stand_ins::PAUSE;
use super::{SHORT, World, mirror};
use crate::process::{Daemon, wait_for};
use crate::tools::{debian, go_tool};

/// The handler that asks for a HostProcess sandbox where no field can (a Linux kubelet has none for it).
pub const HOSTPROCESS: &str = "hostprocess";
const CNI: &str = r#"{
  "cniVersion": "1.0.0", "name": "pods", "plugins": [
    {"type": "bridge", "bridge": "pods0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
     "ipam": {"type": "host-local", "ranges": [[{"subnet": "198.19.1.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
"#;

/// A runtime that runs in a world, until it is stopped or the world ends.
#[derive(Debug)]
pub struct Runtime {
    pub name: &'static str,
    /// Its socket, as clients inside write it.
    pub endpoint: String,
    /// The handler that judges are to ask for; empty for the runtime's own choice.
    pub handler: &'static str,
    daemon: Daemon,
}

// === impl Runtime ===

impl Runtime {
    /// `porthole cri` with its state in `/var/lib/porthole`.
    pub fn porthole(world: &World, program: &Path) -> Result<Self> {
        world.write("porthole/certs.d/_default/hosts.toml", &mirror())?;
        let socket = "/run/porthole/cri.sock";
        world.says("mkdir -p /run/porthole")?;
        let mut command = world.command(program);
        command.args(["cri", "--root", "/var/lib/porthole"]).args(["--listen", &endpoint(socket)]);
        Self::start(world, "porthole", HOSTPROCESS, socket, &mut command)
    }

    /// containerd with runc, a bridge for its pods and the same registry.
    pub fn containerd(world: &World) -> Result<Self> {
        debian::ensure(&["runc", "containernetworking-plugins", "iptables"])?;
        world.write("containerd/certs.d/_default/hosts.toml", &mirror())?;
        world.write("containerd/cni/10-pods.conflist", CNI)?;
        let config = world.write("containerd/config.toml", &containerd_config())?;
        let (containerd, shim) = (go_tool("containerd")?, go_tool("containerd-shim-runc-v2")?);
        let shims = shim.parent().context("a program has a directory")?.display();
        let mut command = world.command(&containerd);
        command.args(["--config", &config]).env("PATH", format!("{shims}:{}", super::PATH));
        Self::start(world, "containerd", "", "/run/containerd/containerd.sock", &mut command)
    }

    fn start(
        world: &World,
        name: &'static str,
        handler: &'static str,
        socket: &str,
        command: &mut std::process::Command,
    ) -> Result<Self> {
        let mut daemon = world.daemon(name, command)?;
        world.wait_for_socket(&mut daemon, socket)?;
        let mut runtime = Self { name, endpoint: endpoint(socket), handler, daemon };
        // The socket may be one that a killed runtime left.
        wait_for(&format!("{name} to answer"), SHORT, || {
            runtime.daemon.check()?;
            Ok(runtime.crictl(world, &["version"]).ok())
        })
        .with_context(|| runtime.daemon.tail())?;
        Ok(runtime)
    }

    /// Runs crictl inside on this runtime and gives what it says.
    pub fn crictl(&self, world: &World, words: &[&str]) -> Result<String> {
        let mut command = world.command(go_tool("crictl")?);
        command.args(["--runtime-endpoint", &self.endpoint, "--image-endpoint", &self.endpoint]).args(words);
        crate::tools::progress::text_of(&mut command)
    }

    /// Ends porthole without asking it.
    pub fn kill(&mut self, world: &World) -> Result<()> {
        world.says("pkill -KILL --full '^[^ ]*porthole cri '")?;
        self.daemon.reap();
        Ok(())
    }

    /// Fails, with the end of its log, if the runtime has ended.
    pub fn check(&mut self) -> Result<()> {
        self.daemon.check()
    }

    pub fn log_tail(&self) -> String {
        self.daemon.tail()
    }
}

fn endpoint(socket: &str) -> String {
    format!("unix://{socket}")
}

/// oom_score_adj cannot be lowered where a capability is missing, which is no matter here.
fn containerd_config() -> String {
    format!(
        "version = 3
root = '/var/lib/containerd/root'
state = '/run/containerd'
[grpc]
address = '/run/containerd/containerd.sock'
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = '{PAUSE}'
[plugins.'io.containerd.cri.v1.images'.registry]
config_path = '/var/lib/containerd/certs.d'
[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ['/usr/lib/cni']
conf_dir = '/var/lib/containerd/cni'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = 'io.containerd.runc.v2'
"
    )
}
