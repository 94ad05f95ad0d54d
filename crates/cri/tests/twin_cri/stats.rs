//! What pods and containers use.

use cri::api::*;
use tonic::Code;

use crate::world::{World, eventually};

// proves: RT-01 twin
#[test]
fn containers_and_pods_are_measured() {
    let world = World::new();
    let (pod, other) = (world.pod("busy"), world.pod("idle"));
    let busy = world.start(&pod, world.config("spin", &["spin"]));
    let idle = world.start(&other, world.config("idle", &["pause"]));
    let one = |id: &str| {
        let request = ContainerStatsRequest { container_id: id.into() };
        world.ok(world.runtime().container_stats(request)).stats.unwrap()
    };
    let stats = eventually("it has used some time", || {
        Some(one(&busy)).filter(|stats| stats.cpu.unwrap().usage_core_nano_seconds.unwrap().value > 1_000_000)
    });
    assert!(stats.cpu.unwrap().timestamp > 0 && stats.memory.unwrap().timestamp > 0);
    assert!(stats.memory.unwrap().working_set_bytes.unwrap().value > 0, "{stats:?}");
    assert_eq!(stats.attributes.unwrap().metadata.unwrap().name, "spin");
    eventually("what it has written is measured", || one(&busy).writable_layer);
    let rate = eventually("its rate is known", || one(&busy).cpu.unwrap().usage_nano_cores);
    assert!(rate.value > 0);
    let all = world.ok(world.runtime().list_container_stats(ListContainerStatsRequest::default())).stats;
    let ids: Vec<_> = all.into_iter().map(|stats| stats.attributes.unwrap().id).collect();
    assert!(ids.contains(&busy) && ids.contains(&idle) && ids.len() == 2, "{ids:?}");
    let filter = Some(ContainerStatsFilter { pod_sandbox_id: other.clone(), ..Default::default() });
    let some = world.ok(world.runtime().list_container_stats(ListContainerStatsRequest { filter })).stats;
    assert_eq!(some.len(), 1);
    let pods = world.ok(world.runtime().list_pod_sandbox_stats(ListPodSandboxStatsRequest::default())).stats;
    assert_eq!(pods.len(), 2);
    let request = PodSandboxStatsRequest { pod_sandbox_id: other };
    let idle_pod = world.ok(world.runtime().pod_sandbox_stats(request)).stats.unwrap();
    let linux = idle_pod.linux.unwrap();
    assert!(linux.process.unwrap().process_count.unwrap().value >= 1);
    assert_eq!(linux.containers[0].attributes.as_ref().unwrap().id, idle);
    world.end();
}

#[test]
fn what_does_not_run_is_not_measured() {
    let world = World::new();
    let pod = world.pod("web");
    let id = world.create(&pod, world.config("main", &["pause"]));
    let request = ContainerStatsRequest { container_id: id };
    world.refused(world.runtime().container_stats(request), Code::FailedPrecondition);
    let all = world.ok(world.runtime().list_container_stats(ListContainerStatsRequest::default())).stats;
    assert!(all.is_empty());
    world.end();
}
