//! The cluster's network: a bridge in a namespace, with the host and the machines as its neighbours.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};

use crate::guard::{Guard, Resource};
use crate::net::{Netns, Subnet};
use crate::tools::progress::run;

const HOST: u8 = 1;
const API_SERVER: u8 = 2;
const MACHINES: std::ops::RangeInclusive<u8> = 3..=14;

/// Namespace, bridge and addresses.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) netns: Netns,
    subnet: Arc<Subnet>,
    taken: Arc<Mutex<Vec<u8>>>,
}

/// A machine's place in the network; its address is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Cable {
    netns: Netns,
    subnet: Arc<Subnet>,
    taken: Arc<Mutex<Vec<u8>>>,
    place: u8,
    address: Ipv4Addr,
}

// === impl Network ===

impl Network {
    pub(super) fn create(guard: &Guard) -> Result<Self> {
        let subnet = Arc::new(Subnet::claim()?);
        let netns = Netns::create(guard, "net")?;
        let network = Self { netns, subnet, taken: Arc::default() };
        network.plug_host(guard)?;
        Ok(network)
    }

    fn plug_host(&self, guard: &Guard) -> Result<()> {
        let link = format!("ph-{}", guard.id());
        guard.register(&Resource::Link(link.clone()))?;
        add_veth(&mut Command::new("ip"), &link, "host", self.netns.path())?;
        let netns = &self.netns;
        // A bridge without an address of its own takes the lowest of its ports', a new one whenever those change.
        netns.ip(&format!("link add cluster address {} type bridge", hardware_address(API_SERVER)))?;
        netns.ip("link set host master cluster up")?;
        netns.ip(&format!("address add {}/{} dev cluster", self.api_server()?, Subnet::PREFIX))?;
        netns.ip("link set cluster up")?;
        // kube-apiserver refuses to start where nothing is a default route.
        netns.ip(&format!("route add default via {}", self.subnet.address(HOST)?))?;
        let address = format!("{}/{}", self.subnet.address(HOST)?, Subnet::PREFIX);
        run(Command::new("ip").args(["address", "add", &address, "dev", &link]))?;
        run(Command::new("ip").args(["link", "set", &link, "up"]))?;
        Ok(())
    }

    pub(super) fn api_server(&self) -> Result<Ipv4Addr> {
        self.subnet.address(API_SERVER)
    }

    pub(super) fn host(&self) -> Ipv4Addr {
        self.subnet.address(HOST).unwrap_or(Ipv4Addr::LOCALHOST)
    }

    pub(super) fn cable(&self) -> Result<Cable> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let place = MACHINES.into_iter().find(|place| !taken.contains(place));
        let place = place.context("the cluster's network has no place for another machine")?;
        let address = self.subnet.address(place)?;
        taken.push(place);
        Ok(Cable {
            netns: self.netns.clone(),
            subnet: Arc::clone(&self.subnet),
            taken: Arc::clone(&self.taken),
            place,
            address,
        })
    }
}

// === impl Cable ===

impl Cable {
    pub(crate) fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Connects a machine's namespace, which may be a new one after a reboot.
    pub(crate) fn plug(&self, machine: &Netns) -> Result<()> {
        let port = format!("machine{}", self.place);
        // The kernel removes the old link some time after its namespace; a new one cannot wait for that.
        let _ = self.netns.ip(&format!("link delete {port}"));
        add_veth(&mut self.netns.command("ip"), &port, "eth0", machine.path())?;
        self.netns.ip(&format!("link set {port} master cluster up"))?;
        // After a reboot the neighbours still know it: with a new address they would send to nobody for a while.
        machine.ip(&format!("link set eth0 address {}", hardware_address(self.place)))?;
        machine.ip(&format!("address add {}/{} dev eth0", self.address, Subnet::PREFIX))?;
        machine.ip("link set eth0 up")?;
        machine.ip(&format!("route add default via {}", self.subnet.address(API_SERVER)?))
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.retain(|place| *place != self.place);
    }
}

/// The same for the same place, always: locally administered, and each network is a bridge of its own.
fn hardware_address(place: u8) -> String {
    format!("02:70:6f:72:74:{place:02x}")
}

fn add_veth(ip: &mut Command, near: &str, far: &str, namespace: &Path) -> Result<()> {
    ip.args(["link", "add", near, "type", "veth", "peer", "name", far, "netns"]).arg(namespace);
    run(ip)?;
    Ok(())
}
