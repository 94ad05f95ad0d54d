//! Holds a control plane or a machine until it is killed or told to panic, for tests of what such an owner leaves behind.

use std::io;
use std::path::Path;

use anyhow::{Context, Result, bail};
use testbed::control_plane::dev::DevCluster;
use testbed::control_plane::{ControlPlane, Options};
use testbed::machine::{self, Machine};

fn main() -> Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("control-plane") => {
            let plane = ControlPlane::start(Options::default())?;
            hold(plane.guard())?;
        }
        Some("machine") => {
            let machine = Machine::start("held", machine::Options::default())?;
            hold(machine.guard())?;
        }
        Some("dev-cluster") => {
            let dir = std::env::args_os().nth(2).context("a directory")?;
            DevCluster::at(Path::new(&dir)).up()?;
        }
        other => bail!("usage: testbed-hold control-plane|machine|dev-cluster DIR, not {other:?}"),
    }
    Ok(())
}

/// Says what to look for once this process is gone, and waits for that.
fn hold((id, dir): (&str, &Path)) -> Result<()> {
    println!("{id} {}", dir.display());
    let mut told = String::new();
    io::stdin().read_line(&mut told).context("read what to do")?;
    if told == "panic\n" {
        panic!("as it was told");
    }
    loop {
        std::thread::park();
    }
}
