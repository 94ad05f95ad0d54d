//! One runtime in a machine of its own, from no pod to a full node.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use testbed::cri::stand_ins::{BUSYBOX, PAUSE};
use testbed::cri::{Runtime, World};
use testbed::tools::{debian, go_tool};

use super::driver::Driver;
use super::figures::{Memory, STREAMS, Taken};
use super::{BATCH, EXECS, IN_FLIGHT, MIB, MORE, ONE_BY_ONE};
use crate::bench::{memory, released_porthole, start};
use crate::gate::suite::static_fixture;

/// Where porthole keeps its holders' program, inside.
const HOLDERS: &str = "/var/lib/porthole/bin";
/// A port of the machine, whose network the pods have.
const PORT: u16 = 18080;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Porthole,
    Containerd,
}

#[derive(Debug)]
pub(super) struct Programs {
    fixture: PathBuf,
    porthole: PathBuf,
    driver: PathBuf,
    containerd: PathBuf,
    shim: PathBuf,
}

/// A runtime that is being measured. The client ends first, the machine last.
struct Node<'a> {
    driver: Driver,
    runtime: Runtime,
    init: u32,
    agent: &'a Path,
    holders: &'a Path,
    _world: World,
}

// === impl Side ===

impl Side {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Porthole => "porthole",
            Self::Containerd => "containerd",
        }
    }

    /// containerd refuses the tunnel through a WebSocket, by which newer clients forward ports.
    fn has(self, stream: &str) -> bool {
        self == Self::Porthole || !matches!(stream, "forward out websocket" | "forward in websocket")
    }
}

// === impl Programs ===

impl Programs {
    pub(super) fn provide() -> Result<Self> {
        debian::ensure(&["runc"])?;
        Ok(Self {
            fixture: static_fixture()?,
            porthole: released_porthole()?,
            driver: start::built("drive", &["--release", "--package", "cri", "--example", "drive"])?,
            containerd: go_tool("containerd")?,
            shim: go_tool("containerd-shim-runc-v2")?,
        })
    }

    /// In a machine that nothing ran in before.
    pub(super) fn measure(&self, side: Side) -> Result<Taken> {
        let world =
            World::start(&format!("cri-{}", side.name()), &self.fixture, &[&self.porthole, &self.driver])?;
        let (runtime, agent, holders) = match side {
            Side::Porthole => {
                (Runtime::porthole(&world, &self.porthole)?, &*self.porthole, Path::new(HOLDERS))
            }
            Side::Containerd => (Runtime::containerd(&world)?, &*self.containerd, &*self.shim),
        };
        let driver = Driver::start(&world, &runtime, &self.driver)?;
        let init = world.machine.init_pid()?;
        let mut node = Node { driver, runtime, init, agent, holders, _world: world };
        node.measure(side)
            .with_context(|| format!("{}'s log ends:\n{}", side.name(), node.runtime.log_tail()))
    }
}

// === impl Node ===

impl Node<'_> {
    fn measure(&mut self, side: Side) -> Result<Taken> {
        for image in [BUSYBOX, PAUSE] {
            self.driver.ask(&format!("pull {image}"))?;
        }
        let (one_by_one, mut memory) = self.one_by_one()?;
        self.driver.ask(&format!("remove {IN_FLIGHT}"))?;
        let batch = self.driver.ask(&format!("start {BATCH} {IN_FLIGHT}"))?;
        memory.insert(BATCH, self.memory(BATCH)?);
        let on_full_node = self.driver.ask(&format!("start {MORE} 1"))?.ms;
        let exec_sync = self.driver.ask(&format!("exec-sync {EXECS}"))?.ms;
        let streams = self.streams(side)?;
        Ok(Taken {
            one_by_one,
            on_full_node,
            batch: batch.ms,
            batch_seconds: batch.seconds,
            memory,
            exec_sync,
            streams,
        })
    }

    /// Memory is looked at on the way.
    fn one_by_one(&mut self) -> Result<(Vec<f64>, BTreeMap<usize, Memory>)> {
        let (mut ms, mut memory) = (Vec::new(), BTreeMap::new());
        for pods in ONE_BY_ONE {
            let more = pods - ms.len();
            ms.extend(self.driver.ask(&format!("start {more} 1"))?.ms);
            if pods <= 10 {
                memory.insert(pods, self.memory(pods)?);
            }
        }
        Ok((ms, memory))
    }

    fn memory(&self, pods: usize) -> Result<Memory> {
        let look = || memory::running_beside(self.init, |exe| exe.starts_with(self.holders));
        let holder = memory::mean_of_settled("programs that hold pods", pods, look)?;
        let agents = memory::running_beside(self.init, |exe| exe == self.agent)?;
        let agent = agents.first().with_context(|| format!("{} does not run", self.agent.display()))?;
        Ok(Memory { agent: memory::mib(*agent)?, holder })
    }

    /// MB/s of each.
    fn streams(&mut self, side: Side) -> Result<BTreeMap<&'static str, f64>> {
        self.driver.ask(&format!("serve {PORT}"))?;
        let mut rates = BTreeMap::new();
        for (words, name) in STREAMS.iter().filter(|(words, _)| side.has(words)) {
            let seconds = self.driver.ask(&format!("{words} {MIB}"))?.seconds;
            rates.insert(*name, f64::from(MIB) * 1.048_576 / seconds);
        }
        Ok(rates)
    }
}
