//! A real Kubernetes control plane for a test: etcd, kube-apiserver, kube-controller-manager and kube-scheduler,
//! in a network namespace of their own, with certificates, token and configuration as kubeadm makes them.
//!
//! The network is a bridge in that namespace. The host has the subnet's first address, the API server the second,
//! and each [`Machine`](crate::machine::Machine) that is attached gets one of the rest.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result};

use crate::guard::{Guard, MARK};
use crate::process::{Daemon, tail};
use crate::tools::go_tool;

mod ask;
pub mod dev;
mod kubeadm;
mod layout;
mod network;
mod options;
mod start;

pub(crate) use network::Cable;
pub use options::Options;

use layout::{Layout, PORT};
use network::Network;

/// A control plane that runs until it is dropped (or its process ends in whatever way).
///
/// ```no_run
/// use testbed::control_plane::{ControlPlane, Options};
///
/// let control_plane = ControlPlane::start(Options::default())?;
/// let output = control_plane.kubectl(["get", "namespaces"])?;
/// assert!(output.status.success());
/// println!("join it with: {}", control_plane.join_command());
/// control_plane.stop()?;
/// # anyhow::Ok(())
/// ```
#[derive(Debug)]
pub struct ControlPlane {
    layout: Layout,
    ca_hash: String,
    daemons: Vec<Daemon>,
    network: Network,
    guard: Guard,
}

// === impl ControlPlane ===

impl ControlPlane {
    /// Starts one and waits until nodes could join it. The programs are built on first use.
    pub fn start(options: Options) -> Result<Self> {
        start::start(&options)
    }

    /// Where the API server is reached, from the host and from attached machines.
    pub fn address(&self) -> SocketAddr {
        SocketAddrV4::new(self.layout.address, PORT).into()
    }

    /// The host's own address in the cluster's network: where the API server finds a webhook of a test.
    pub fn host_address(&self) -> Ipv4Addr {
        self.network.host()
    }

    /// The kubeconfig of a member of `system:masters`, whom no rule can lock out.
    pub fn kubeconfig(&self) -> PathBuf {
        self.layout.kubeconfig("super-admin")
    }

    /// The kubeconfig that kubeadm hands to administrators: cluster-admin by a role binding.
    pub fn admin_kubeconfig(&self) -> PathBuf {
        self.layout.kubeconfig("admin")
    }

    pub fn bootstrap_token(&self) -> &str {
        &self.layout.token
    }

    /// A kubeconfig for a node of this name, for one that cannot join by the token.
    pub fn node_kubeconfig(&self, node: &str) -> Result<String> {
        kubeadm::node_kubeconfig(&self.layout, node)
    }

    /// `sha256:…` of the CA's public key, as `--discovery-token-ca-cert-hash` takes it.
    pub fn ca_hash(&self) -> &str {
        &self.ca_hash
    }

    /// The line that a user would paste to make a machine a node.
    pub fn join_command(&self) -> String {
        let (address, token, hash) = (self.address(), self.bootstrap_token(), self.ca_hash());
        format!("kubeadm join {address} --token {token} --discovery-token-ca-cert-hash {hash}")
    }

    /// A directory with one log file per program.
    pub fn logs_dir(&self) -> PathBuf {
        self.layout.logs()
    }

    /// The last lines a program (`kube-apiserver`, …) logged.
    pub fn log_tail(&self, program: &str) -> String {
        tail(&self.layout.logs().join(format!("{program}.log")))
    }

    /// `kubectl` as super-admin, run to its end.
    pub fn kubectl<S: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<Output> {
        self.kubectl_command()?.args(args).output().context("start kubectl")
    }

    /// `kubectl` as super-admin, to be given arguments, input and output.
    pub fn kubectl_command(&self) -> Result<Command> {
        kubectl(&self.layout)
    }

    /// Stops all programs and removes everything; an error names what could not be removed.
    pub fn stop(mut self) -> Result<()> {
        self.end()
    }

    /// The guard's id and directory, with which [`guard::traces`](crate::guard::traces) looks for left-overs.
    pub fn guard(&self) -> (&str, &Path) {
        (self.guard.id(), self.guard.dir())
    }

    /// Lets everything run on after this process.
    fn stay(mut self) -> Result<()> {
        self.daemons.clear();
        self.guard.release()
    }

    /// A place in the cluster's network for a machine.
    pub(crate) fn cable(&self) -> Result<Cable> {
        self.network.cable()
    }

    fn end(&mut self) -> Result<()> {
        let result = self.guard.teardown();
        self.daemons.iter_mut().for_each(Daemon::reap);
        result.context("stop the control plane")
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("{error:#}");
        }
    }
}

/// A kubectl that reads and writes nothing of the user's own (`~/.kube`).
fn kubectl(layout: &Layout) -> Result<Command> {
    let mut command = Command::new(go_tool("kubectl")?);
    command.env("KUBECONFIG", layout.kubeconfig("super-admin")).env("HOME", &layout.dir);
    command.env(MARK, &layout.guard);
    Ok(command)
}
