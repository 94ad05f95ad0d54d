//! A container that runs containers of its own, in groups that it makes below its job's.

use std::time::{Duration, Instant};

use holder::exit::ExitReason;
use runtime::pods::PodFilter;
use runtime::{ContainerId, PodId};

use crate::failures::warnings;
use crate::world::{World, eventually, is_alive};

/// A group that is removed in vain is tried for 5 seconds; without that it is milliseconds.
const AT_ONCE: Duration = Duration::from_secs(3);

/// The pid of what the container left below.
fn nested(world: &World, id: &ContainerId) -> u32 {
    let said = || world.said(id).lines().find_map(|line| line.strip_prefix("nested pid ")?.parse().ok());
    eventually("it has made a group below", said)
}

fn removed_at_once(world: &World, pod: &PodId) {
    let begun = Instant::now();
    world.runtime().remove_pod(pod).unwrap();
    assert!(begun.elapsed() < AT_ONCE, "{:?}", begun.elapsed());
    assert!(world.runtime().pods(&PodFilter::default()).is_empty());
}

// proves: HP-07 twin
#[test]
fn what_runs_in_groups_below_ends_with_init_and_the_pod_is_removed_at_once() {
    let world = World::new();
    let events = world.runtime().events();
    let pod = world.pod("engine");
    let id = world.start(&pod, world.config("main", &["nest", "sleep", "600"]));
    let exit = world.runtime().wait(&id).unwrap();
    assert_eq!((exit.code, exit.reason, exit.message), (0, ExitReason::Completed, None));
    let pid = nested(&world, &id);
    assert!(!is_alive(pid), "{pid} outlived its container");
    removed_at_once(&world, &pod);
    assert_eq!(warnings(&events), [""; 0]);
    world.end();
}

#[test]
fn what_runs_in_groups_below_ends_with_a_holder_that_is_killed() {
    let world = World::new();
    let events = world.runtime().events();
    let pod = world.pod("engine");
    let script = "./fixture nest sleep 600; exec sleep 600";
    let mut config = world.config("main", &[]);
    config.command = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
    let id = world.start(&pod, config);
    let pid = nested(&world, &id);
    let endpoint = world.runtime().node().layout.holder_endpoint(&pod);
    let holder = holder::client::Client::connect(&endpoint).unwrap().pid;
    let killed = std::process::Command::new("kill").args(["-9", &holder.to_string()]).status().unwrap();
    assert!(killed.success());
    let exit = world.runtime().wait(&id).unwrap();
    assert_eq!((exit.code, exit.reason), (137, ExitReason::HolderDied));
    assert!(!is_alive(pid), "{pid} outlived its holder");
    removed_at_once(&world, &pod);
    // That its holder died is told; that something was left behind it is not.
    let told = warnings(&events);
    assert!(!told.iter().any(|text| text.contains("cgroup")), "{told:?}");
    world.end();
}
