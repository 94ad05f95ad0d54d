//! Networks that exist only for a test: namespaces bound to files of ours and small subnets nobody else uses.
//!
//! `ip netns` is not used: it leaves a mount at /run/netns behind and its names are the whole host's.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context, Result, anyhow, bail, ensure};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::guard::{Guard, Resource};
use crate::tools::progress::run;

/// Of each network that the RFCs set aside for documentation (5737), which no host should have.
const NETWORKS: [Ipv4Addr; 3] =
    [Ipv4Addr::new(192, 0, 2, 0), Ipv4Addr::new(198, 51, 100, 0), Ipv4Addr::new(203, 0, 113, 0)];
/// Locks are the whole host's, whichever cache a test uses.
const LOCKS: &str = "/run/porthole-testbed";

/// A network namespace that lives as long as its file is mounted.
///
/// ```no_run
/// let guard = testbed::guard::Guard::new("example")?;
/// let netns = testbed::net::Netns::create(&guard, "net")?;
/// let output = netns.command("ip").args(["-brief", "address"]).output()?;
/// # anyhow::Ok(())
/// ```
#[derive(Debug, Clone)]
pub struct Netns {
    path: PathBuf,
}

/// A subnet of 14 addresses, this process's alone until dropped.
#[derive(Debug)]
pub struct Subnet {
    base: Ipv4Addr,
    _lock: File,
}

/// Listens in another network: `namespace` is a `/proc/PID/ns/net` or a file that one is bound to. A socket stays in the
/// network it was made in, so only a thread that ends at once goes there.
pub fn listen_in(namespace: &Path, address: SocketAddr) -> Result<TcpListener> {
    let file = File::open(namespace).with_context(|| format!("open {}", namespace.display()))?;
    let listening = thread::spawn(move || {
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).context("enter it")?;
        TcpListener::bind(address).with_context(|| format!("listen at {address}"))
    });
    let listening = listening.join().map_err(|_| anyhow!("the thread that listens panicked"))?;
    listening.with_context(|| format!("in the network of {}", namespace.display()))
}

// === impl Netns ===

impl Netns {
    /// Makes a namespace with its loopback up, bound to the file `name` in the guard's directory.
    pub fn create(guard: &Guard, name: &str) -> Result<Self> {
        let netns = Self { path: guard.dir().join(name) };
        guard.register(&Resource::Mount(netns.path.clone()))?;
        netns.make()?;
        Ok(netns)
    }

    /// Replaces the namespace by a new one under the same name; the guard knows the name already.
    pub fn renew(&self) -> Result<()> {
        run(Command::new("umount").arg(&self.path))?;
        self.make()
    }

    fn make(&self) -> Result<()> {
        File::create(&self.path).with_context(|| format!("create {}", self.path.display()))?;
        let mut net = std::ffi::OsString::from("--net=");
        net.push(&self.path);
        run(Command::new("unshare").arg(net).args(["ip", "link", "set", "lo", "up"]))?;
        Ok(())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A command that runs in this network and otherwise on the host.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut net = std::ffi::OsString::from("--net=");
        net.push(&self.path);
        let mut command = Command::new("nsenter");
        command.arg(net).arg("--").arg(program);
        command
    }

    /// Runs `ip` with these words in the namespace.
    pub fn ip(&self, words: &str) -> Result<()> {
        run(self.command("ip").args(words.split(' ')))?;
        Ok(())
    }
}

// === impl Subnet ===

impl Subnet {
    pub const PREFIX: u8 = 28;
    const SIZE: u8 = 16;

    /// Takes a subnet that no route of the host touches and no other testbed has claimed.
    pub fn claim() -> Result<Self> {
        fs::create_dir_all(LOCKS).with_context(|| format!("create {LOCKS} (needs root)"))?;
        for base in candidates() {
            let path = Path::new(LOCKS).join(format!("{base}.lock"));
            let lock = File::create(&path).with_context(|| format!("create {}", path.display()))?;
            // A subnet outlives its lock where a guard still removes it or where it stays on purpose: the lock
            // only settles the race between this look and the new route.
            if lock.try_lock().is_ok() && is_free(base)? {
                return Ok(Self { base, _lock: lock });
            }
        }
        bail!("every test subnet of {NETWORKS:?} is in use on this host")
    }

    /// The `n`th address, from 1 to 14.
    pub fn address(&self, n: u8) -> Result<Ipv4Addr> {
        ensure!((1..Self::SIZE - 1).contains(&n), "a /{} has no address {n}", Self::PREFIX);
        let [a, b, c, d] = self.base.octets();
        Ok(Ipv4Addr::new(a, b, c, d + n))
    }
}

fn candidates() -> impl Iterator<Item = Ipv4Addr> {
    let below = |network: Ipv4Addr| {
        let [a, b, c, _] = network.octets();
        (0..=255).step_by(usize::from(Subnet::SIZE)).map(move |d| Ipv4Addr::new(a, b, c, d))
    };
    NETWORKS.into_iter().flat_map(below)
}

fn is_free(base: Ipv4Addr) -> Result<bool> {
    let table = fs::read_to_string("/proc/net/route").context("read /proc/net/route")?;
    Ok(!touches(&table, base))
}

/// Whether a route of the kernel's table, other than the default one, reaches into the subnet.
fn touches(table: &str, base: Ipv4Addr) -> bool {
    let number = |hex: &str| u32::from_str_radix(hex, 16).map(u32::swap_bytes).ok();
    let small = u32::MAX << (32 - Subnet::PREFIX);
    table.lines().skip(1).any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (Some(to), Some(mask)) =
            (words.get(1).and_then(|w| number(w)), words.get(7).and_then(|w| number(w)))
        else {
            return false;
        };
        mask != 0 && (to & mask & small) == (u32::from(base) & mask & small)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
ph-1\t106433C6\t00000000\t0001\t0\t0\t0\tF0FFFFFF\t0\t0\t0
";

    #[test]
    fn a_subnet_inside_or_equal_to_a_route_is_taken() {
        for (base, taken) in [
            ([192, 0, 2, 0], true),
            ([192, 0, 2, 240], true),
            ([198, 51, 100, 16], true),
            ([198, 51, 100, 0], false),
            ([198, 51, 100, 32], false),
            ([203, 0, 113, 0], false),
        ] {
            assert_eq!(touches(TABLE, Ipv4Addr::from(base)), taken, "{base:?}");
        }
    }

    #[test]
    fn a_single_host_route_takes_its_subnet() {
        let table = format!("head\nx\t{}\t0\t1\t0\t0\t0\tFFFFFFFF", "117100CB");
        assert!(touches(&table, Ipv4Addr::new(203, 0, 113, 16)));
        assert!(!touches(&table, Ipv4Addr::new(203, 0, 113, 0)));
    }

    #[test]
    fn two_claims_at_once_differ() {
        let (first, second) = (Subnet::claim().expect("free"), Subnet::claim().expect("free"));
        assert_ne!(first.base, second.base);
    }

    #[test]
    fn addresses_stay_inside_the_subnet() {
        let subnet = Subnet::claim().expect("free");
        assert!(subnet.address(0).is_err() && subnet.address(15).is_err());
        assert_eq!(u32::from(subnet.address(14).expect("in")), u32::from(subnet.base) + 14);
    }
}
