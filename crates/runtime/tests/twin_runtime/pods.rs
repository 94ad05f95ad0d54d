//! Pods of several containers, and pods that are never run.

use std::time::Duration;

use runtime::RuntimeError;
use runtime::config::PodConfig;
use runtime::error::PodRefused;
use runtime::record::State;

use crate::world::{World, is_alive};

// proves: HP-20 twin
#[test]
fn init_containers_several_containers_and_one_that_comes_later() {
    let world = World::new();
    let pod = world.pod("p");
    let shared = world.volume("shared", "");
    let path = |name: &str| shared.join(name).to_str().unwrap().to_owned();
    assert_eq!(world.run(&pod, world.config("init", &["write", &path("ready"), "by init"])).0, 0);
    let (one, two) = (
        world.start(&pod, world.config("one", &["pause"])),
        world.start(&pod, world.config("two", &["pause"])),
    );
    // As an ephemeral container: into a pod that runs.
    let (code, said) = world.run(&pod, world.config("debug", &["read", &path("ready")]));
    assert_eq!((code, said.trim()), (0, "by init"));
    let runtime = world.runtime();
    for id in [&one, &two] {
        assert_eq!(runtime.status(id).unwrap().state, State::Running);
    }
    let again = runtime::config::ContainerConfig { attempt: 1, ..world.config("init", &["exit", "0"]) };
    assert_eq!(world.run(&pod, again).0, 0, "another attempt is another container");
    assert_eq!(runtime.pod_status(&pod).unwrap().containers.len(), 5);
    // One holder for all of them, and no process for the pod itself.
    let pids = [&one, &two].map(|id| runtime.status(id).unwrap().pid.unwrap());
    runtime.stop_pod(&pod).unwrap();
    assert!(!pids.into_iter().any(is_alive));
    world.end();
}

// proves: HP-10 twin
#[test]
fn a_pod_without_containers_runs_no_process() {
    let world = World::new();
    let pod = world.pod("p");
    let names: Vec<_> =
        world.listing("root/pods/p").into_iter().map(|path| path.file_name().unwrap().to_owned()).collect();
    assert_eq!(names, ["containers", "pod.json"], "no holder was started, no image was made");
    assert_eq!(world.listing("root/run").len(), 0);
    world.runtime().remove_pod(&pod).unwrap();
    world.end();
}

// proves: HP-26 twin
// proves: HP-33 twin
#[test]
fn what_must_not_run_as_a_host_process_or_otherwise_is_refused_with_a_sentence() {
    let world = World::new();
    let before = world.listing("root");
    let good = world.pod_config("p");
    let hypervisor = |handler: &str| PodConfig { handler: handler.into(), ..good.clone() };
    for (config, expected) in [
        (
            hypervisor("runhcs-wcow-hypervisor"),
            PodRefused::HypervisorHandler("runhcs-wcow-hypervisor".into()),
        ),
        (
            hypervisor("runhcs-wcow-hypervisor-20348"),
            PodRefused::HypervisorHandler("runhcs-wcow-hypervisor-20348".into()),
        ),
        (PodConfig { host_process: false, ..good.clone() }, PodRefused::HostNetwork),
        (PodConfig { host_process: false, host_network: false, ..good.clone() }, PodRefused::Isolated),
    ] {
        match world.runtime().run_pod(config) {
            Err(RuntimeError::PodRefused(refused)) => {
                assert_eq!(refused, expected);
                assert!(refused.to_string().split(' ').count() > 8, "{refused}");
            }
            other => panic!("{other:?}"),
        }
    }
    let mode = PodConfig {
        annotations: [("porthole.dev/hostprocess-mode".to_owned(), "magic".to_owned())].into(),
        ..good.clone()
    };
    let error = world.runtime().run_pod(mode).unwrap_err().to_string();
    assert!(error.contains("found \"magic\""), "{error}");
    assert_eq!(world.listing("root"), before);
    let pod = world.runtime().run_pod(hypervisor("runhcs-wcow-process")).unwrap();
    let mut config = world.config("main", &["pause"]);
    config.host_process = Some(false);
    let error = world.create(&pod, config).unwrap_err().to_string();
    assert!(error.contains("says hostProcess: false and its pod true"), "{error}");
    world.end();
}

#[test]
fn a_pods_removal_ends_everything_in_it() {
    let world = World::new();
    let pod = world.pod("p");
    let family = world.start(&pod, world.config("family", &["generations", "3"]));
    world.says(&family, "generation 3");
    let pids: Vec<u32> =
        world.said(&family).lines().map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect();
    assert!(pids.len() == 3 && pids.iter().all(|pid| is_alive(*pid)));
    world.create(&pod, world.config("waits", &["pause"])).unwrap();
    assert_eq!(world.run(&pod, world.config("ended", &["exit", "0"])).0, 0);
    let begun = std::time::Instant::now();
    world.runtime().remove_pod(&pod).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(15));
    assert!(!pids.into_iter().any(is_alive));
    world.end();
}
