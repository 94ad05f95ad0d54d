//! The registry that all sides pull from: `distribution` on one core, over plain HTTP on loopback.
//!
//! Not [`testbed::registry`]: its proxy is there to misbehave and would be what is measured.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use testbed::guard::Guard;
use testbed::process::{Daemon, wait_for};
use testbed::tools::{go_tool, progress};

const PATIENCE: Duration = Duration::from_secs(30);
const CORE: &str = "0";

#[derive(Debug)]
pub(super) struct Registry {
    daemon: Daemon,
    address: SocketAddr,
    // After the program whose files it removes.
    guard: Guard,
}

// === impl Registry ===

impl Registry {
    pub(super) fn start() -> Result<Self> {
        let guard = Guard::new("bench-registry")?;
        let address = free_address()?;
        let config = guard.dir().join("registry.yaml");
        let storage = guard.dir().join("storage");
        let text = format!(
            "version: 0.1\nlog: {{level: error, accesslog: {{disabled: true}}}}\n\
             storage: {{filesystem: {{rootdirectory: '{}', maxthreads: 1000}}}}\n\
             http: {{addr: '{address}', secret: bench}}\n",
            storage.display()
        );
        fs::write(&config, text).with_context(|| format!("write {}", config.display()))?;
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", CORE]).arg(go_tool("registry")?).arg("serve").arg(&config);
        command.env("OTEL_TRACES_EXPORTER", "none");
        let mut daemon = Daemon::spawn(&guard, "registry", &mut command, guard.dir())?;
        wait_for("the registry", PATIENCE, || {
            daemon.check()?;
            Ok(TcpStream::connect(address).ok())
        })?;
        Ok(Self { daemon, address, guard })
    }

    pub(super) fn pid(&self) -> u32 {
        self.daemon.pid()
    }

    /// What an image of ours is called there.
    pub(super) fn reference(&self, name: &str) -> String {
        format!("{}/bench/{name}:1", self.address)
    }

    /// Puts the image of an OCI layout in, by a program that is not ours.
    pub(super) fn push(&self, layout: &Path, name: &str) -> Result<()> {
        let from = format!("oci:{}:{name}", layout.display());
        let to = format!("docker://{}", self.reference(name));
        let mut skopeo = Command::new("skopeo");
        skopeo.args(["copy", "--quiet", "--dest-tls-verify=false", &from, &to]);
        progress::run(self.guard.mark(&mut skopeo)).map(drop)
    }

    /// How many bytes it has sent, logged and stored so far; while nobody pushes, that is what it has sent.
    pub(super) fn written(&self) -> Result<u64> {
        let path = format!("/proc/{}/io", self.pid());
        let text = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
        let value = text.lines().find_map(|line| line.strip_prefix("wchar: "));
        value.and_then(|value| value.parse().ok()).with_context(|| format!("{path} has no wchar"))
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        if let Err(error) = self.guard.teardown() {
            eprintln!("the registry of the bench did not end cleanly: {error:#}");
        }
        self.daemon.reap();
    }
}

fn free_address() -> Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).context("a free port")
}
