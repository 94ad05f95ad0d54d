//! Limits that change while a container runs.

use cri::api::*;
use tonic::Code;

use crate::world::World;

fn resources(memory: i64, quota: i64) -> LinuxContainerResources {
    LinuxContainerResources {
        memory_limit_in_bytes: memory,
        cpu_quota: quota,
        cpu_period: 100_000,
        cpu_shares: 102,
        ..LinuxContainerResources::default()
    }
}

fn info(world: &World, id: &str) -> serde_json::Value {
    let request = ContainerStatusRequest { container_id: id.into(), verbose: true };
    serde_json::from_str(&world.ok(world.runtime().container_status(request)).info["info"]).unwrap()
}

// proves: RT-14 twin
#[test]
fn new_limits_are_in_force_at_once_and_told() {
    let world = World::new();
    let pod = world.pod("web");
    let config = ContainerConfig {
        linux: Some(LinuxContainerConfig {
            resources: Some(resources(64 << 20, 50_000)),
            security_context: None,
        }),
        ..world.config("main", &["pause"])
    };
    let id = world.start(&pod, config);
    let told = |id: &str| world.status(id).resources.unwrap().linux.unwrap();
    assert_eq!(told(&id), resources(64 << 20, 50_000));
    let update = |linux| UpdateContainerResourcesRequest {
        container_id: id.clone(),
        linux: Some(linux),
        ..UpdateContainerResourcesRequest::default()
    };
    world.ok(world.runtime().update_container_resources(update(resources(128 << 20, 70_000))));
    assert_eq!(told(&id), resources(128 << 20, 70_000));
    let stats = world.ok(world.runtime().container_stats(ContainerStatsRequest { container_id: id.clone() }));
    let memory = stats.stats.unwrap().memory.unwrap();
    let limit = memory.available_bytes.unwrap().value + memory.working_set_bytes.unwrap().value;
    assert_eq!(limit, 128 << 20, "the kernel's own number");
    assert_eq!(info(&world, &id)["limits"]["cpu_millis"], 700);
    // What is not said stays.
    let only_memory = LinuxContainerResources { memory_limit_in_bytes: 96 << 20, ..Default::default() };
    world.ok(world.runtime().update_container_resources(update(only_memory)));
    assert_eq!(told(&id), resources(96 << 20, 70_000));
    let bad = update(resources(-1, 0));
    world.refused(world.runtime().update_container_resources(bad), Code::InvalidArgument);
    assert_eq!(told(&id), resources(96 << 20, 70_000));
    world.end();
}

// proves: RT-14 twin
#[test]
fn windows_words_for_limits_are_understood_too() {
    let world = World::new();
    let pod = world.pod("web");
    let id = world.start(&pod, world.config("main", &["pause"]));
    let windows = WindowsContainerResources {
        memory_limit_in_bytes: 64 << 20,
        cpu_maximum: 10_000,
        ..Default::default()
    };
    let update = UpdateContainerResourcesRequest {
        container_id: id.clone(),
        windows: Some(windows.clone()),
        ..UpdateContainerResourcesRequest::default()
    };
    world.ok(world.runtime().update_container_resources(update));
    assert_eq!(world.status(&id).resources.unwrap().windows, Some(windows));
    assert_eq!(info(&world, &id)["limits"]["memory_bytes"], 64 << 20);
    world.ok(world.runtime().stop_container(StopContainerRequest { container_id: id.clone(), timeout: 0 }));
    let late = UpdateContainerResourcesRequest {
        container_id: id,
        windows: Some(WindowsContainerResources::default()),
        ..UpdateContainerResourcesRequest::default()
    };
    world.refused(world.runtime().update_container_resources(late), Code::FailedPrecondition);
    world.end();
}
