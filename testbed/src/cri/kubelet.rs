//! The stock kubelet in a world, alone with static pods or as a node of a cluster.

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context, Result};

use super::{Runtime, World};
use crate::control_plane::ControlPlane;
use crate::process::{Daemon, wait_for};
use crate::tools::go_tool;

/// Where a kubelet of ours looks for static pods.
pub const MANIFESTS: &str = "kubelet/manifests";
const PATIENCE: Duration = Duration::from_secs(120);
/// What a kubelet sets in the kernel. There is only one kernel, so it finds files that say so already.
const TUNABLES: &[(&str, &str)] = &[
    ("vm/overcommit_memory", "1"),
    ("vm/panic_on_oom", "0"),
    ("kernel/panic", "10"),
    ("kernel/panic_on_oops", "1"),
    ("kernel/keys/root_maxkeys", "1000000"),
    ("kernel/keys/root_maxbytes", "25000000"),
];

/// A kubelet that runs until it is stopped or its world ends.
#[derive(Debug)]
pub struct Kubelet {
    daemon: Daemon,
}

// === impl Kubelet ===

impl Kubelet {
    /// Without a cluster: it runs what is in [`MANIFESTS`] and lets anybody inside ask.
    pub fn standalone(world: &World, runtime: &Runtime) -> Result<Self> {
        let access = "authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}\n\
                      authorization: {mode: AlwaysAllow}\n";
        Self::start(world, runtime, "standalone", access, &[])
    }

    /// A node of a cluster, by the bootstrap token and a certificate that the cluster signs.
    pub fn joined(
        world: &World,
        runtime: &Runtime,
        cluster: &ControlPlane,
        address: Ipv4Addr,
    ) -> Result<Self> {
        let pki = cluster.kubeconfig().with_file_name("pki");
        let ca = std::fs::read_to_string(pki.join("ca.crt")).context("read the cluster's CA")?;
        let ca = world.write("kubelet/ca.crt", &ca)?;
        let bootstrap = world.write("kubelet/bootstrap.conf", &bootstrap(cluster, &ca))?;
        let access = format!(
            "authentication: {{anonymous: {{enabled: false}}, webhook: {{enabled: true}}, x509: {{clientCAFile: {ca}}}}}\n\
             authorization: {{mode: Webhook}}\n"
        );
        let flags = [
            format!("--bootstrap-kubeconfig={bootstrap}"),
            "--kubeconfig=/var/lib/kubelet/kubelet.conf".to_owned(),
            format!("--node-ip={address}"),
        ];
        Self::start(world, runtime, "joined", &access, &flags)
    }

    fn start(world: &World, runtime: &Runtime, name: &str, access: &str, flags: &[String]) -> Result<Self> {
        world.says(&spare_the_kernel())?;
        std::fs::create_dir_all(world.machine.var_lib().join(MANIFESTS))
            .context("make the manifests' place")?;
        let config = world.write(&format!("kubelet/{name}.yaml"), &config(&runtime.endpoint, access))?;
        let mut command = world.command(go_tool("kubelet")?);
        command.args([&format!("--config={config}"), "--root-dir=/var/lib/kubelet", "--v=1"]);
        command.args([
            "--cert-dir=/var/lib/kubelet/pki",
            &format!("--hostname-override={}", world.machine.name()),
        ]);
        command.args(flags);
        let mut daemon = world.daemon(&format!("kubelet-{name}"), &mut command)?;
        let healthy = "curl --silent --fail http://127.0.0.1:10248/healthz";
        wait_for("the kubelet to be healthy", PATIENCE, || {
            daemon.check()?;
            Ok(world.says(healthy).ok().filter(|said| said == "ok"))
        })
        .with_context(|| daemon.tail())?;
        Ok(Self { daemon })
    }

    /// Fails, with the end of its log, if it has ended.
    pub fn check(&mut self) -> Result<()> {
        self.daemon.check()
    }

    pub fn log_tail(&self) -> String {
        self.daemon.tail()
    }

    /// Ends it as a service manager does, and waits.
    pub fn stop(mut self, world: &World) -> Result<()> {
        world.says("pkill -TERM -x kubelet")?;
        self.daemon.reap();
        Ok(())
    }
}

fn spare_the_kernel() -> String {
    let one = |(path, value): &(&str, &str)| {
        format!(
            "if ! findmnt --mountpoint /proc/sys/{path} > /dev/null; then mkdir -p \"/run/kernel/$(dirname {path})\"; \
             echo {value} > /run/kernel/{path}; mount --bind /run/kernel/{path} /proc/sys/{path}; fi; "
        )
    };
    TUNABLES.iter().map(one).collect::<String>() + "true"
}

/// Cgroups of version 1 are allowed, since a host may have no others; nothing is evicted for a full disk of the host.
fn config(endpoint: &str, access: &str) -> String {
    format!(
        "apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: {endpoint}
staticPodPath: /var/lib/{MANIFESTS}
volumePluginDir: /var/lib/kubelet/volume-plugins
failCgroupV1: false
failSwapOn: false
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
evictionHard: {{memory.available: \"1Ki\", nodefs.available: \"0%\", imagefs.available: \"0%\"}}
imageGCHighThresholdPercent: 100
syncFrequency: 5s
fileCheckFrequency: 2s
nodeStatusUpdateFrequency: 5s
{access}"
    )
}

fn bootstrap(cluster: &ControlPlane, ca: &str) -> String {
    let (address, token) = (cluster.address(), cluster.bootstrap_token());
    format!(
        "apiVersion: v1
kind: Config
clusters: [{{name: cluster, cluster: {{server: \"https://{address}\", certificate-authority: {ca}}}}}]
users: [{{name: bootstrap, user: {{token: {token}}}}}]
contexts: [{{name: bootstrap, context: {{cluster: cluster, user: bootstrap}}}}]
current-context: bootstrap
"
    )
}
