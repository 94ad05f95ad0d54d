//! What a kubelet waits for, through the CRI socket: pods on the host's network, commands in them and bytes to and from
//! them, beside containerd with runc.
//!
//! Both runtimes run in machines of the testbed that nothing ran in before, have the same images from the same registry
//! and are asked by the same client, `crates/cri/examples/drive`.

use anyhow::Result;

use super::{Limit, Measured, ROUNDS};
use figures::{Figure, compared};
use side::{Programs, Side};

mod driver;
mod figures;
mod side;

/// What ours costs to what containerd's costs is judged round by round: both had the same minute.
pub(super) const LIMITS: &[Limit] = &[
    Limit { series: "porthole: three calls p50 ms, one by one", at_most: 50.0 },
    Limit { series: "porthole: three calls p50 ms, one by one on a full node", at_most: 50.0 },
    // 50 ms for each pod here too: nobody waits longer than for the ten that are under way one after the other.
    Limit { series: "porthole: s until all run, 110 in one batch", at_most: 5.5 },
    Limit { series: "porthole: three calls p99 ms, 110 in one batch", at_most: 500.0 },
    Limit { series: "porthole: agent MiB, 110 pods", at_most: 40.0 },
    Limit { series: "porthole to containerd: three calls p50 ms, one by one", at_most: 0.5 },
    Limit { series: "porthole to containerd: three calls p50 ms, one by one on a full node", at_most: 0.5 },
    Limit { series: "porthole to containerd: three calls p50 ms, 110 in one batch", at_most: 0.5 },
    Limit { series: "porthole to containerd: s until all run, 110 in one batch", at_most: 0.5 },
    Limit { series: "porthole to containerd: MiB for each pod, all told, 1 pod", at_most: 0.333 },
    Limit { series: "porthole to containerd: MiB for each pod, all told, 10 pods", at_most: 0.333 },
    Limit { series: "porthole to containerd: MiB for each pod, all told, 110 pods", at_most: 0.333 },
    Limit { series: "porthole to containerd: ExecSync p50 ms, one by one", at_most: 1.0 },
    Limit { series: "porthole to containerd: ExecSync p99 ms, one by one", at_most: 1.0 },
    Limit { series: "porthole to containerd: MB/s, exec out over SPDY", at_most: 1.0 },
    Limit { series: "porthole to containerd: MB/s, exec in over SPDY", at_most: 1.0 },
    Limit { series: "porthole to containerd: MB/s, exec out over WebSocket", at_most: 1.0 },
    Limit { series: "porthole to containerd: MB/s, exec in over WebSocket", at_most: 1.0 },
    Limit { series: "porthole to containerd: MB/s, port-forward out over SPDY", at_most: 1.0 },
    Limit { series: "porthole to containerd: MB/s, port-forward in over SPDY", at_most: 1.0 },
];

/// Pods that are started one after the other; memory is looked at when there are 1 and 10.
const ONE_BY_ONE: [usize; 3] = [1, 10, 30];
/// A full node, as after its reboot.
const BATCH: usize = 110;
/// Pods that are started one after the other on the full node.
const MORE: usize = 20;
/// How many pods the client has under way.
const IN_FLIGHT: usize = 10;
const EXECS: usize = 100;
/// Through each stream.
const MIB: u32 = 128;

const NOTES: &[&str] = &[
    "different isolation: containerd's containers have namespaces and a pause container, HostProcess containers do not",
    "three calls: RunPodSandbox, CreateContainer and StartContainer of a pod on the host's network, 10 pods under way in \
     the batch",
    "a holder is porthole-hold or containerd-shim-runc-v2; all told is the agent and all of them",
    "porthole to containerd is a cost: of times and sizes ours to theirs, of rates theirs to ours; 0.5 is twice as good",
    "exec speaks the fourth version, the last that both have over WebSocket; containerd refuses the tunnel by which \
     clients forward ports over WebSocket, so ours is measured alone",
];

pub(super) fn run() -> Result<Measured> {
    let programs = Programs::provide()?;
    let mut measured = Measured::default();
    NOTES.iter().for_each(|note| measured.note(note));
    for round in 1..=ROUNDS {
        let ours = programs.measure(Side::Porthole)?.figures();
        let theirs = programs.measure(Side::Containerd)?.figures();
        println!("round {round}:\n{}", table(&ours, &theirs));
        add(&mut measured, &ours, &theirs);
    }
    let of = |side: Side| {
        let name = format!("{}: three calls p50 ms, one by one on a full node", side.name());
        measured.series.get(&name).cloned().unwrap_or_default()
    };
    let (ours, peer) = (of(Side::Porthole), of(Side::Containerd));
    Ok(Measured { ours, peer, ..measured })
}

fn add(measured: &mut Measured, ours: &[Figure], theirs: &[Figure]) {
    for (side, figures) in [(Side::Porthole, ours), (Side::Containerd, theirs)] {
        for figure in figures {
            measured.add(format!("{}: {}", side.name(), figure.name), figure.value);
        }
    }
    for (name, cost) in compared(ours, theirs) {
        measured.add(format!("porthole to containerd: {name}"), cost);
    }
}

/// For whoever watches: ours and containerd's in a line each.
fn table(ours: &[Figure], theirs: &[Figure]) -> String {
    let line = |ours: &Figure| {
        let theirs = theirs.iter().find(|theirs| theirs.name == ours.name);
        let theirs = theirs.map_or_else(|| "-".to_owned(), |theirs| format!("{:.2}", theirs.value));
        format!("  {:<48} {:>10.2} {theirs:>10}", ours.name, ours.value)
    };
    ours.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use figures::tests::taken;

    #[test]
    fn every_limit_is_about_something_that_is_measured() {
        let mut measured = Measured::default();
        add(&mut measured, &taken(1.0).figures(), &taken(3.0).figures());
        for limit in LIMITS {
            assert!(measured.series.contains_key(limit.series), "{}", limit.series);
        }
    }

    #[test]
    fn a_round_is_shown_with_a_gap_where_the_peer_has_nothing() {
        let (ours, mut theirs) = (taken(1.0).figures(), taken(2.0).figures());
        theirs.retain(|figure| figure.name != "MB/s, port-forward in over WebSocket");
        let shown = table(&ours, &theirs);
        let line = |name: &str| shown.lines().find(|line| line.contains(name)).expect("a line").to_owned();
        assert!(line("port-forward in over WebSocket").ends_with("100.00          -"));
        assert!(line("s until all run").ends_with("1.00       2.00"));
    }
}
