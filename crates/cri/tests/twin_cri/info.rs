//! What the runtime says of itself.

use cri::api::*;
use tonic::Code;

use crate::world::World;

// proves: RT-01 twin
#[test]
fn a_kubelet_learns_who_it_talks_to_and_that_everything_is_ready() {
    let world = World::new();
    let version = world.ok(world.runtime().version(VersionRequest::default()));
    assert_eq!((version.runtime_name.as_str(), version.runtime_api_version.as_str()), ("porthole", "v1"));
    let status = world.ok(world.runtime().status(StatusRequest { verbose: true }));
    let conditions = status.status.unwrap().conditions;
    let ready: Vec<_> = conditions.iter().map(|each| (each.r#type.as_str(), each.status)).collect();
    assert_eq!(ready, [("RuntimeReady", true), ("NetworkReady", true)]);
    let handlers: Vec<_> = status.runtime_handlers.iter().map(|each| each.name.as_str()).collect();
    assert_eq!(handlers, ["", "hostprocess", "process", "runhcs-wcow-process", "runhcs-wcow-hypervisor"]);
    let info: serde_json::Value = serde_json::from_str(&status.info["config"]).unwrap();
    assert_eq!(info["twin"], "linux");
    assert!(info["handlers"]["runhcs-wcow-process"].as_str().unwrap().contains("not supported yet"));
    assert!(info["node"]["metrics"].as_str().unwrap().contains("porthole_cri_calls_total"), "{info}");
    let failures = info["node"]["failures"].as_str().unwrap();
    assert!(failures.contains("porthole_runtime_failures_total{mode=\"RuntimeDown\"} 0"), "{failures}");
    let driver = world.ok(world.runtime().runtime_config(RuntimeConfigRequest {})).linux.unwrap();
    assert_eq!(driver.cgroup_driver, CgroupDriver::Cgroupfs as i32);
}

#[test]
fn what_is_not_there_is_said_to_be_unimplemented() {
    let world = World::new();
    let said = world.refused(
        world.runtime().list_metric_descriptors(ListMetricDescriptorsRequest {}),
        Code::Unimplemented,
    );
    assert!(said.contains("cAdvisor"), "{said}");
    world.refused(
        world.runtime().list_pod_sandbox_metrics(ListPodSandboxMetricsRequest {}),
        Code::Unimplemented,
    );
}

#[test]
fn a_range_of_addresses_for_pods_is_taken_if_it_is_one() {
    let world = World::new();
    let update = |range: &str| UpdateRuntimeConfigRequest {
        runtime_config: Some(RuntimeConfig {
            network_config: Some(NetworkConfig { pod_cidr: range.to_owned() }),
        }),
    };
    world.ok(world.runtime().update_runtime_config(update("10.1.0.0/24,fd00::/64")));
    world.refused(world.runtime().update_runtime_config(update("10.1.0.0/33")), Code::InvalidArgument);
}
