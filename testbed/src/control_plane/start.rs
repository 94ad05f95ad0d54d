//! From nothing to a cluster that nodes can join, as fast as two cores allow.

use std::fs;
use std::net::{SocketAddrV4, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use super::layout::{Layout, PORT};
use super::network::Network;
use super::{ControlPlane, Options, kubeadm, kubectl};
use crate::guard::Guard;
use crate::process::{Daemon, prepare_host, wait_for};
use crate::tools::go_tool;
use crate::tools::progress::run;

/// Each step's own limit; a whole start takes a fraction of it.
const PATIENCE: Duration = Duration::from_secs(90);

/// The programs, looked up before anything is made: the first use may build for minutes.
struct Programs {
    etcd: PathBuf,
    apiserver: PathBuf,
    controller_manager: PathBuf,
    scheduler: PathBuf,
}

pub(super) fn start(options: &Options) -> Result<ControlPlane> {
    prepare_host(&[("ip", "iproute2"), ("openssl", "openssl")])?;
    let programs = Programs::find()?;
    let guard = match &options.dir {
        Some(dir) => Guard::at(dir)?,
        None => Guard::new("control-plane")?,
    };
    let network = Network::create(&guard)?;
    let layout = Layout {
        dir: guard.dir().to_owned(),
        address: network.api_server()?,
        token: kubeadm::fresh_token()?,
        guard: guard.id().to_owned(),
    };
    fs::create_dir(layout.logs()).context("create the log directory")?;
    let mut plane = ControlPlane { layout, ca_hash: String::new(), daemons: Vec::new(), network, guard };
    plane.raise(&programs, options)?;
    Ok(plane)
}

// === impl Programs ===

impl Programs {
    fn find() -> Result<Self> {
        for later in ["kubeadm", "kubectl"] {
            go_tool(later)?;
        }
        Ok(Self {
            etcd: go_tool("etcd")?,
            apiserver: go_tool("kube-apiserver")?,
            controller_manager: go_tool("kube-controller-manager")?,
            scheduler: go_tool("kube-scheduler")?,
        })
    }
}

// === impl ControlPlane ===

impl ControlPlane {
    fn raise(&mut self, programs: &Programs, options: &Options) -> Result<()> {
        self.run("etcd", &programs.etcd, self.layout.etcd())?;
        kubeadm::credentials(&self.layout)?;
        self.ca_hash = kubeadm::ca_hash(&self.layout.pki("ca.key"))?;
        self.run("kube-apiserver", &programs.apiserver, self.layout.apiserver(&options.apiserver_args))?;
        self.wait_listening()?;
        // Both give up soon when there is no server, so not earlier.
        let manager = self.layout.controller_manager();
        self.run("kube-controller-manager", &programs.controller_manager, manager)?;
        self.run("kube-scheduler", &programs.scheduler, self.layout.scheduler())?;
        self.wait_kubectl("the API server to be ready", &["get", "--raw", "/readyz"])?;
        self.furnish()?;
        self.wait_joinable()
    }

    fn run(&mut self, name: &str, program: &Path, args: Vec<String>) -> Result<()> {
        let mut command = self.network.netns.command(program);
        command.args(args).current_dir(self.guard.dir());
        let daemon = Daemon::spawn(&self.guard, name, &mut command, &self.layout.logs())?;
        self.daemons.push(daemon);
        Ok(())
    }

    fn wait_listening(&mut self) -> Result<()> {
        let address = SocketAddrV4::new(self.layout.address, PORT).into();
        self.wait("the API server to listen", || {
            TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
        })
    }

    /// What kubeadm and we ourselves put into the new cluster; the parts do not depend on each other.
    fn furnish(&self) -> Result<()> {
        let layout = &self.layout;
        thread::scope(|scope| {
            let kubeadm = scope.spawn(|| kubeadm::furnish(layout));
            bind_administrators(layout)?;
            kubeadm.join().map_err(|_| anyhow!("kubeadm's thread panicked"))?
        })
    }

    fn wait_joinable(&mut self) -> Result<()> {
        self.wait_kubectl("the default service account", &["get", "serviceaccount", "default"])?;
        let jws = format!("jws-kubeconfig-{}", self.layout.token_id());
        let template = format!("-ojsonpath={{.data.{jws}}}");
        let layout = self.layout.clone();
        self.wait("the signature in cluster-info", || {
            let args = ["get", "configmap", "cluster-info", "-n", "kube-public", &template];
            kubectl_says(&layout, &args).is_some_and(|said| !said.is_empty())
        })
    }

    fn wait_kubectl(&mut self, what: &str, args: &[&str]) -> Result<()> {
        let layout = self.layout.clone();
        self.wait(what, || kubectl_says(&layout, args).is_some())
    }

    /// Waits for a condition as long as every program runs; the error quotes the one that matters.
    fn wait(&mut self, what: &str, mut condition: impl FnMut() -> bool) -> Result<()> {
        let daemons = &mut self.daemons;
        let waited = wait_for(what, PATIENCE, || {
            daemons.iter_mut().try_for_each(Daemon::check)?;
            Ok(condition().then_some(()))
        });
        waited.with_context(|| {
            format!("start a control plane; kube-apiserver's log ends:\n{}", self.log_tail("kube-apiserver"))
        })
    }
}

/// admin.conf is a member of this group, to which `kubeadm init` gives its rights outside of its phases.
fn bind_administrators(layout: &Layout) -> Result<()> {
    let words = "create clusterrolebinding kubeadm:cluster-admins --clusterrole=cluster-admin --group=kubeadm:cluster-admins";
    run(kubectl(layout)?.args(words.split(' ')))?;
    Ok(())
}

fn kubectl_says(layout: &Layout, args: &[&str]) -> Option<Vec<u8>> {
    let output = kubectl(layout).ok()?.args(args).output().ok()?;
    output.status.success().then_some(output.stdout)
}
