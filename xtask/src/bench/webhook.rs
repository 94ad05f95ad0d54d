//! What an admission review costs: many, several in flight, over kept connections, while the certificate is swapped.
//!
//! Nothing else judges HostProcess pods by a policy, so there is no peer.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use testbed::guard::Guard;
use testbed::webhook::{Ca, Load, Program, Target, peak_rss_mib, sample};

use super::{Measured, ROUNDS, percentile, released_porthole};

const REVIEWS: usize = 10_000;
const IN_FLIGHT: usize = 8;
const SWAPS: usize = 20;
const MOST_MIB: f64 = 40.0;
const POLICY: &str = "apiVersion: porthole.dev/v1alpha1\nkind: HostProcessPolicy\n\
    rules: [{namespaces: [trusted], images: [registry.test], users: [alice]}]\n";

pub(super) fn run() -> Result<Measured> {
    let porthole = released_porthole()?;
    let mut measured = Measured::default();
    for round in 1..=ROUNDS {
        let figures = one_round(round, &porthole)?;
        measured.ours.push(figures.p99);
        measured.add("p50 ms", figures.p50);
        measured.add("resident MiB", figures.peak);
    }
    Ok(measured)
}

/// Milliseconds of a review, and the most memory ever resident.
struct Figures {
    p50: f64,
    p99: f64,
    peak: f64,
}

/// With a webhook started for this round.
fn one_round(round: usize, porthole: &Path) -> Result<Figures> {
    let guard = Guard::new("bench")?;
    let ca = Ca::new()?;
    ca.issue(&["127.0.0.1"])?.write(guard.dir())?;
    fs::write(guard.dir().join("policy.yaml"), POLICY).context("write the policy")?;
    let [policy, cert, key] = ["policy.yaml", "tls.crt", "tls.key"].map(|name| guard.dir().join(name));
    let [policy, cert, key] = [policy, cert, key].map(|path| path.display().to_string());
    let words = ["--policy", &policy, "--listen", "127.0.0.1:0", "--tls-cert", &cert, "--tls-key", &key];
    let webhook = Program::start(&guard, "webhook", porthole, &words)?;
    let outcome = load(&webhook, &ca, guard.dir()).run(&ca)?;
    let [p50, p99] = [50, 99].map(|percent| percentile(&outcome.latencies, percent));
    let peak = peak_rss_mib(webhook.pid())?;
    println!(
        "round {round}: {} reviews, p50 {p50:.2} ms, p99 {p99:.2} ms, {} swaps, {} lost, peak {peak:.1} MiB",
        outcome.latencies.len(),
        outcome.swapped,
        outcome.lost.len()
    );
    ensure!(outcome.lost.is_empty(), "lost: {:?}", outcome.lost.first());
    ensure!(outcome.swapped == SWAPS && outcome.latencies.len() >= REVIEWS, "the load was not all there");
    ensure!(peak <= MOST_MIB, "{peak:.1} MiB resident, more than {MOST_MIB}");
    Ok(Figures { p50, p99, peak })
}

fn load(webhook: &Program, ca: &Ca, certificates: &Path) -> Load {
    Load {
        target: Target { address: webhook.address, ca: ca.pem().to_owned() },
        objects: vec![(sample("trusted"), true), (sample("other"), false)],
        user: "alice".into(),
        reviews: REVIEWS,
        in_flight: IN_FLIGHT,
        swaps: SWAPS,
        certificates: certificates.to_owned(),
    }
}
