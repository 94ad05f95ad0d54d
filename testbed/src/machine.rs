//! A node's world on this host: own processes, mounts, network, host name, cgroups and boot id.
//!
//! Several nodes run on one host without seeing each other, and a reboot inside one ends everything in it and starts
//! it again, as on hardware. The host's root file system is visible inside, except where a machine has its own:
//!
//! | path | inside | after a reboot |
//! |---|---|---|
//! | `/run`, `/tmp`, `/dev/shm` | empty at first | empty |
//! | `/var/lib`, `/var/log` | empty at first | kept |
//! | `/etc` | the host's, changes are the machine's own | changes kept |
//! | `/proc`, `/sys`, `/sys/fs/cgroup` | of the machine's namespaces | new |

use std::ffi::OsStr;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::control_plane::ControlPlane;
use crate::guard::Guard;
use crate::process::prepare_host;

mod cgroups;
mod options;
mod power;
mod world;

pub use options::Options;

use power::{Power, State};
use world::World;

/// A machine that is up until it is dropped, powered off or its owner dies.
///
/// ```no_run
/// use std::time::Duration;
/// use testbed::machine::{Machine, Options};
///
/// let machine = Machine::start("node-1", Options::default())?;
/// assert!(machine.command("hostname").status()?.success());
/// let before = machine.boot_id()?;
/// machine.command("reboot").status()?; // the system call, from inside
/// machine.wait_booted(2, Duration::from_secs(10))?;
/// assert_ne!(machine.boot_id()?, before);
/// # anyhow::Ok(())
/// ```
#[derive(Debug)]
pub struct Machine {
    world: Arc<World>,
    power: Arc<Power>,
    supervisor: Option<JoinHandle<()>>,
    guard: Guard,
}

// === impl Machine ===

impl Machine {
    /// Makes a machine of this host name and boots it.
    pub fn start(name: &str, options: Options) -> Result<Self> {
        prepare_host(&[("ip", "iproute2"), ("perl", "perl-base")])?;
        let guard = Guard::new("machine")?;
        let world = Arc::new(World::create(name, options, &guard)?);
        let (power, supervisor) = Power::on(&world)?;
        Ok(Self { world, power, supervisor: Some(supervisor), guard })
    }

    pub fn name(&self) -> &str {
        &self.world.name
    }

    /// The number of the present boot, from 1.
    pub fn generation(&self) -> u32 {
        self.power.state().1
    }

    /// What `/proc/sys/kernel/random/boot_id` says inside.
    pub fn boot_id(&self) -> Result<String> {
        Ok(self.up()?.1)
    }

    /// The host's pid of process 1.
    pub fn init_pid(&self) -> Result<u32> {
        Ok(self.up()?.0)
    }

    /// A command that runs inside, in an environment of its own (`PATH` and `HOME`) and in `/`.
    ///
    /// The child that this gives is a parent on the host: killing it kills the program inside, and so does the
    /// machine's end. For other signals run `kill` inside. If the machine is not up, running it fails.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        // No process has the pid 0: nsenter then says so, and the caller sees the failure it must expect anyway,
        // as the machine may go down between this line and the start.
        let init = self.init_pid().unwrap_or(0);
        self.world.command(init, program.as_ref())
    }

    /// Starts this command at every later boot, as [`Options::on_boot`] does from the first on.
    pub fn on_boot<S: Into<String>>(&self, program: impl Into<String>, args: impl IntoIterator<Item = S>) {
        world::lock(&self.world.on_boot).push(options::words(program, args));
    }

    /// Pulls the plug and boots again, like a reset button; returns when the machine is up.
    /// For an orderly restart run `reboot` inside.
    pub fn reboot(&self) -> Result<u32> {
        let generation = self.power.reset()?;
        self.wait_booted(generation, Duration::from_secs(60))?;
        Ok(generation)
    }

    /// Waits until boot number `generation`, or a later one, is up.
    pub fn wait_booted(&self, generation: u32, limit: Duration) -> Result<()> {
        let booted = self.power.wait_booted(generation, limit);
        booted.with_context(|| format!("boot {generation} of machine {}", self.name()))
    }

    /// Pulls the plug. The machine's disk stays until it is dropped.
    pub fn power_off(&self) -> Result<()> {
        self.power.off().with_context(|| format!("power off machine {}", self.name()))
    }

    /// Whether the machine is off, by us or by `poweroff` inside.
    pub fn is_off(&self) -> bool {
        self.power.state().0 == State::Off
    }

    /// Connects the machine to a cluster's network, now and at every boot: it reaches the API server and the other
    /// machines there, and they and the host reach it at the address returned.
    pub fn attach(&self, control_plane: &ControlPlane) -> Result<Ipv4Addr> {
        let cable = control_plane.cable()?;
        let address = cable.address();
        self.world.attach(cable).with_context(|| format!("attach machine {}", self.name()))?;
        Ok(address)
    }

    /// The host's path of the machine's `/var/lib`.
    pub fn var_lib(&self) -> PathBuf {
        self.world.dir.join("fs/var-lib")
    }

    /// The guard's id and directory, with which [`guard::traces`](crate::guard::traces) looks for left-overs.
    pub fn guard(&self) -> (&str, &Path) {
        (self.guard.id(), self.guard.dir())
    }

    /// Ends the machine and removes everything of it; an error names what could not be removed.
    pub fn stop(mut self) -> Result<()> {
        self.end()
    }

    fn up(&self) -> Result<(u32, String)> {
        match self.power.state() {
            (State::Up { init, boot_id }, _) => Ok((init, boot_id)),
            (state, _) => bail!("machine {} is not up: {state:?}", self.name()),
        }
    }

    fn end(&mut self) -> Result<()> {
        let Some(supervisor) = self.supervisor.take() else { return Ok(()) };
        let off = self.power_off();
        // What could not be ended politely ends here; only then does the supervisor surely return.
        let removed = self.guard.teardown();
        let _ = supervisor.join();
        off.and(removed)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            eprintln!("{error:#}");
        }
    }
}
