//! The development cluster stays after its maker, goes completely, and is cleaned up when it came up only half.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use testbed::control_plane::dev::DevCluster;
use testbed::guard::traces;
use testbed::process::wait_for;

const LONG: Duration = Duration::from_secs(120);

struct Place(PathBuf);

// === impl Place ===

impl Place {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("porthole-dev-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        Self(dir)
    }

    fn text(&self) -> &str {
        self.0.to_str().expect("text")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = DevCluster::at(&self.0).down();
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The guard's id, from the first line of its journal.
fn guard_id(cluster: &DevCluster) -> Option<String> {
    let journal = fs::read_to_string(cluster.state().join("journal")).ok()?;
    journal.lines().next()?.strip_prefix("guard ").map(str::to_owned)
}

#[test]
fn it_outlives_its_maker_and_goes_completely() {
    let place = Place::new("whole");
    let cluster = DevCluster::at(&place.0);
    assert!(cluster.kubectl().is_err(), "nothing is up");
    // A process of its own makes it and ends.
    let maker = Command::new(env!("CARGO_BIN_EXE_testbed-hold")).args(["dev-cluster", place.text()]).status();
    assert!(maker.expect("started").success());

    let (record, already) = cluster.up().expect("up");
    assert!(already, "the second up finds the first");
    assert!(record.programs.len() == 4 && record.programs.iter().all(|program| program.runs()));
    let output = cluster.kubectl().expect("kubectl").args(["get", "ns", "-oname"]).output().expect("started");
    assert!(String::from_utf8_lossy(&output.stdout).contains("namespace/default"));

    assert!(cluster.down().expect("down"));
    assert!(!record.programs.iter().any(|program| program.runs()));
    assert_eq!(traces(&record.guard, &cluster.state()), Vec::<String>::new());
    assert!(!cluster.down().expect("down"), "nothing is left to take down");
}

#[test]
fn down_cleans_what_was_killed_half_way_with_its_guard() {
    let place = Place::new("half");
    let cluster = DevCluster::at(&place.0);
    let mut maker = Command::new(env!("CARGO_BIN_EXE_testbed-hold"));
    let mut maker = maker.args(["dev-cluster", place.text()]).spawn().expect("started");
    let id = wait_for("etcd to run", LONG, || {
        let seen = guard_id(&cluster).map(|id| (traces(&id, &cluster.state()), id));
        Ok(seen.filter(|(seen, _)| seen.iter().any(|line| line.contains("etcd"))).map(|(_, id)| id))
    });
    let id = id.expect("half way");
    kill(guard_of(&cluster.state()));
    maker.kill().expect("killed");
    maker.wait().expect("reaped");
    assert!(!traces(&id, &cluster.state()).is_empty(), "nobody cleans up");
    assert!(cluster.record().expect("readable").is_none());

    assert!(cluster.down().expect("down"));
    assert_eq!(traces(&id, &cluster.state()), Vec::<String>::new());
}

/// The process that has the cluster's journal among its arguments.
fn guard_of(state: &Path) -> u32 {
    let journal = state.join("journal");
    let wanted = journal.to_str().expect("text").as_bytes();
    let pids =
        fs::read_dir("/proc").expect("/proc").flatten().filter_map(|e| e.file_name().to_str()?.parse().ok());
    let mut guards = pids.filter(|pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == wanted)
    });
    guards.next().expect("a guard")
}

fn kill(pid: u32) {
    assert!(Command::new("kill").args(["-KILL", &pid.to_string()]).status().expect("kill starts").success());
}
