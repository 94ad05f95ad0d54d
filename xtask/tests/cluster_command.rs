//! The development cluster as its user has it: by the words of `cargo xtask control-plane`, and with a stock kubectl.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use testbed::control_plane::dev::DevCluster;
use testbed::guard::{Resource, traces};
use testbed::tools::go_tool;

/// A directory with a cluster of its own: a developer's stays as it is.
struct Place(PathBuf);

// === impl Place ===

impl Place {
    fn new() -> Place {
        let dir = std::env::temp_dir().join(format!("porthole-command-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        Place(dir)
    }

    fn control_plane(&self, words: &[&str]) -> Output {
        let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
        xtask.args(["control-plane", "--at"]).arg(&self.0).args(words).stdin(Stdio::null());
        xtask.output().expect("xtask starts")
    }

    fn says(&self, words: &[&str]) -> String {
        text(&self.control_plane(words))
    }

    fn state(&self) -> PathBuf {
        self.0.join("state")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.control_plane(&["down"]);
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What stands after these words on a line of its own.
fn after<'t>(said: &'t str, words: &str) -> &'t str {
    said.lines().find_map(|line| line.trim().strip_prefix(words)).unwrap_or_else(|| panic!("{words}: {said}"))
}

/// The numbers in `NAME runs (pid NUMBER)`.
fn pids(status: &str) -> Vec<u32> {
    let number = |line: &str| line.split_once(" runs (pid ")?.1.strip_suffix(')')?.parse().ok();
    status.lines().filter_map(number).collect()
}

fn network(process: &str) -> PathBuf {
    fs::read_link(format!("/proc/{process}/ns/net")).expect("a process has a network")
}

/// What each process of this host says of itself in a file, by its number. One may end meanwhile.
fn everybody<T>(look: impl Fn(&Path) -> Option<T>) -> Vec<T> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let processes = entries.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok());
    processes.filter_map(|entry| look(&entry.path())).collect()
}

fn in_networks(networks: &BTreeSet<PathBuf>) -> Vec<String> {
    everybody(|process| {
        let network = fs::read_link(process.join("ns/net")).ok()?;
        networks.contains(&network).then(|| process.display().to_string())
    })
}

/// Mount points below the directory, and network namespaces that are mounted anywhere, in each process's own view.
fn mounts(dir: &Path, networks: &BTreeSet<PathBuf>) -> BTreeSet<String> {
    let tables = everybody(|process| fs::read_to_string(process.join("mountinfo")).ok());
    let ours = |line: &&str| {
        let fields: Vec<&str> = line.split(' ').collect();
        Path::new(fields[4]).starts_with(dir) || networks.contains(Path::new(fields[3]))
    };
    tables.iter().flat_map(|table| table.lines().filter(ours)).map(str::to_owned).collect()
}

#[test]
fn up_is_reached_with_the_printed_kubeconfig_and_down_leaves_nothing() {
    let place = Place::new();
    let said = place.says(&["up"]);
    assert!(said.starts_with("The control plane is up at https://"), "{said}");
    let kubeconfig = after(&said, "export KUBECONFIG=");
    let mut kubectl = Command::new(go_tool("kubectl").expect("kubectl"));
    kubectl.args(["get", "ns"]).env("KUBECONFIG", kubeconfig).env("HOME", &place.0);
    let table = text(&kubectl.output().expect("kubectl starts"));
    assert!(table.lines().any(|line| line.starts_with("kube-system ") && line.contains("Active")), "{table}");
    assert_eq!(place.says(&["kubectl", "get", "ns", "-oname"]).lines().next(), Some("namespace/default"));

    let pids = pids(&place.says(&["status"]));
    assert_eq!(pids.len(), 4, "etcd, API server, controller manager, scheduler");
    let programs: Vec<_> = pids.iter().map(|pid| Resource::process(*pid).expect("it runs")).collect();
    let networks: BTreeSet<_> = pids.iter().map(|pid| network(&pid.to_string())).collect();
    assert!(!networks.is_empty() && !networks.contains(&network("self")), "{networks:?}");
    assert!(!mounts(&place.state(), &networks).is_empty(), "a namespace is there as long as it is mounted");
    let guard = DevCluster::at(&place.0).record().expect("readable").expect("it is up").guard;

    assert_eq!(place.says(&["down"]), "The control plane is down; nothing of it is left.\n");
    let left: Vec<_> = pids.iter().zip(&programs).filter(|(pid, was)| running(**pid, was)).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(in_networks(&networks), [""; 0]);
    assert_eq!(mounts(&place.state(), &networks), BTreeSet::new());
    assert_eq!(traces(&guard, &place.state()), [""; 0]);
    assert_eq!(place.control_plane(&["status"]).status.code(), Some(1));
    assert_eq!(place.says(&["down"]), "No control plane was up.\n");
}

/// Another process may have got the number since.
fn running(pid: u32, was: &Resource) -> bool {
    Resource::process(pid).is_ok_and(|now| now == *was)
}
