//! A container whose probes never end.

use std::time::Duration;

use runtime::{ContainerId, RuntimeError};

use crate::flat::Series;
use crate::in_tenths;
use crate::process::running;
use crate::world::{World, eventually};

/// How much memory may be kept by chance.
const AGENT_KIB: u64 = 512;
const HOLDER_KIB: u64 = 192;
/// Longer than any probe takes, on a machine that does much else.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(20);

pub(crate) fn soak(world: &World, execs: u32) -> Vec<Series> {
    let pod = world.pod("probed");
    let id = world.start(&pod, world.config("main", &["pause"]));
    world.says(&id, "ready");
    let (holder, guard) = programs(world);
    let processes = [("agent", AGENT_KIB, std::process::id()), ("holder", HOLDER_KIB, holder)];
    let processes = processes.into_iter().chain([("guard", HOLDER_KIB, guard)]);
    let mut series: Vec<_> = processes.map(|(who, allowed, pid)| (Series::new(who, allowed), pid)).collect();
    let look = || series.iter_mut().for_each(|(series, pid)| series.look(*pid));
    in_tenths(execs, |number| probe(world, &id, number), look);
    world.runtime().remove_pod(&pod).unwrap();
    series.into_iter().map(|(series, _)| series).collect()
}

/// The pod's holder, and the guard that is its child.
fn programs(world: &World) -> (u32, u32) {
    eventually("holder and guard run", || {
        let all = running(&world.root().join("bin"));
        all.iter()
            .find_map(|(guard, holder)| all.iter().any(|(pid, _)| pid == holder).then_some((*holder, *guard)))
    })
}

/// Most are well, some are not: what goes wrong must leave as little.
fn probe(world: &World, id: &ContainerId, number: u32) {
    let run = |words: &[&str], limit| {
        let argv: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        world.runtime().exec_sync(id, &argv, Some(limit))
    };
    match number {
        number if number % 100 == 99 => {
            let error = run(&["./missing"], LONG).unwrap_err();
            assert!(matches!(error, RuntimeError::Exec { .. }), "{error}");
        }
        number if number % 250 == 249 => {
            assert!(run(&["./fixture", "sleep", "600"], SHORT).unwrap().timed_out)
        }
        number if number % 10 == 9 => assert_eq!(run(&["./fixture", "exit", "3"], LONG).unwrap().code, 3),
        _ => {
            let output = run(&["./fixture", "print", &number.to_string()], LONG).unwrap();
            assert_eq!((output.stdout, output.code), (format!("{number}\n").into_bytes(), 0));
        }
    }
}
