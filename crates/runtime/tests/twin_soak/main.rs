//! Weeks of a node's life in short: probes in one container, then pods that come and go. What they leave is nothing.
//!
//! A test program of its own, with one test: what the agent has of the system is counted for the whole process.
//! `cargo xtask soak` runs the same for longer and keeps the report.

mod flat;
mod pods;
mod probes;
mod process;
mod traces;
#[path = "../twin_runtime/world.rs"]
#[expect(dead_code, reason = "the other tests need more of their world")]
mod world;

use std::time::Instant;

use serde_json::json;

use crate::world::World;

/// How much of each in the gate, and the variables that ask for more.
const EXECS: (&str, u32) = ("PORTHOLE_SOAK_EXECS", 500);
const PODS: (&str, u32) = ("PORTHOLE_SOAK_PODS", 40);
/// Where to write what was seen.
const REPORT: &str = "PORTHOLE_SOAK_REPORT";
/// The tenth part of each warms up; then it is looked at so often, after equal parts.
const PARTS: u32 = 9;

fn wanted((name, usual): (&str, u32)) -> u32 {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}

/// Does something so many times, tenth by tenth; hears what is there after each.
fn in_tenths<T>(times: u32, mut each: impl FnMut(u32), mut look: impl FnMut() -> T) -> Vec<T> {
    let tenths = PARTS + 1;
    (0..tenths)
        .map(|tenth| {
            (times * tenth / tenths..times * (tenth + 1) / tenths).for_each(&mut each);
            look()
        })
        .collect()
}

#[test]
fn probes_and_pods_that_come_and_go_leave_nothing_behind() {
    let world = World::new();
    let (execs, pods) = (wanted(EXECS), wanted(PODS));
    let begun = Instant::now();
    let probed = probes::soak(&world, execs);
    let probing = begun.elapsed().as_secs_f64();
    let lived = pods::soak(&world, pods);
    let living = begun.elapsed().as_secs_f64() - probing;
    world.end();
    let grown: Vec<String> = probed.iter().chain(&lived.processes).filter_map(flat::Series::grown).collect();
    let pass = grown.is_empty() && lived.left.is_empty();
    let report = json!({
        "execs": {"count": execs, "seconds": probing, "processes": probed},
        "pods": {"count": pods, "seconds": living, "processes": lived.processes, "left": lived.left},
        "grown": grown,
        "pass": pass,
    });
    println!("{report:#}");
    if let Some(path) = std::env::var_os(REPORT) {
        std::fs::write(path, report.to_string()).unwrap();
    }
    assert!(pass, "it grows: {grown:?}, left: {:?}", lived.left);
}
