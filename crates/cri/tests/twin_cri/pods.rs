//! Pods: made once, stopped and removed as often as one likes, and told as kubelets want it.

use cri::api::*;
use cri::wire::{ALPHA, Handler};
use cri::{Settings, api};
use tonic::Code;

use crate::world::{World, creation};

fn node_network() -> LinuxPodSandboxConfig {
    let options = NamespaceOption {
        network: NamespaceMode::Node.into(),
        pid: NamespaceMode::Node.into(),
        ..NamespaceOption::default()
    };
    let security_context =
        Some(LinuxSandboxSecurityContext { namespace_options: Some(options), ..Default::default() });
    LinuxPodSandboxConfig { security_context, ..LinuxPodSandboxConfig::default() }
}

// proves: RT-01 twin
#[test]
fn a_pod_is_told_as_it_was_asked_for() {
    let world = World::new();
    let config = PodSandboxConfig { linux: Some(node_network()), ..world.pod_config("web") };
    let id = world.run_pod(config.clone());
    assert_eq!(id.len(), 64);
    let status = world.pod_status(&id);
    assert_eq!(status.metadata, config.metadata);
    assert_eq!((&status.labels, &status.annotations), (&config.labels, &config.annotations));
    assert_eq!(status.state, PodSandboxState::SandboxReady as i32);
    assert_eq!(status.runtime_handler, "hostprocess");
    assert!(status.created_at > 1_700_000_000_000_000_000, "{}", status.created_at);
    assert!(!status.network.unwrap().ip.is_empty(), "a kubelet makes a pod without an address anew");
    let namespaces = status.linux.unwrap().namespaces.unwrap().options.unwrap();
    assert_eq!(namespaces.network, NamespaceMode::Node as i32, "as asked, or the kubelet makes it anew");
    assert_eq!(namespaces.pid, NamespaceMode::Node as i32);
    assert_eq!(world.run_pod(config), id, "the same again is the same");
    world.end();
}

// proves: HP-30 twin
#[test]
fn people_who_inspect_a_pod_see_that_it_is_a_host_process_pod() {
    let world = World::new();
    let id = world.pod("web");
    let request = PodSandboxStatusRequest { pod_sandbox_id: id, verbose: true };
    let answer = world.ok(world.runtime().pod_sandbox_status(request));
    let info: serde_json::Value = serde_json::from_str(&answer.info["info"]).unwrap();
    assert_eq!(info["runtimeSpec"]["annotations"][ALPHA], "true");
    assert_eq!(info["hostProcess"], true);
    world.end();
}

// proves: RT-01 twin
#[test]
fn stopping_and_removing_what_is_gone_is_done() {
    let world = World::new();
    let id = world.pod("web");
    let container = world.start(&id, world.config("main", &["pause"]));
    for _ in 0..2 {
        world.ok(world.runtime().stop_pod_sandbox(StopPodSandboxRequest { pod_sandbox_id: id.clone() }));
        assert_eq!(world.pod_status(&id).state, PodSandboxState::SandboxNotready as i32);
    }
    assert_eq!(world.status(&container).state, ContainerState::ContainerExited as i32);
    for _ in 0..2 {
        world.ok(world.runtime().remove_pod_sandbox(RemovePodSandboxRequest { pod_sandbox_id: id.clone() }));
    }
    for unknown in [id.as_str(), "not-there", &"f".repeat(64)] {
        let id = unknown.to_owned();
        world.ok(world.runtime().stop_pod_sandbox(StopPodSandboxRequest { pod_sandbox_id: id.clone() }));
        let status = PodSandboxStatusRequest { pod_sandbox_id: id, verbose: false };
        world.refused(world.runtime().pod_sandbox_status(status), Code::NotFound);
    }
    world.end();
}

#[test]
fn pods_are_listed_by_state_label_and_the_beginning_of_their_id() {
    let world = World::new();
    let (first, second) = (world.pod("one"), world.pod("two"));
    world.ok(world.runtime().stop_pod_sandbox(StopPodSandboxRequest { pod_sandbox_id: first.clone() }));
    let list = |filter: PodSandboxFilter| {
        let request = ListPodSandboxRequest { filter: Some(filter) };
        let mut ids: Vec<_> =
            world.ok(world.runtime().list_pod_sandbox(request)).items.into_iter().map(|pod| pod.id).collect();
        ids.sort();
        ids
    };
    let mut both = vec![first.clone(), second.clone()];
    both.sort();
    assert_eq!(list(PodSandboxFilter::default()), both);
    let ready = Some(PodSandboxStateValue { state: PodSandboxState::SandboxReady.into() });
    assert_eq!(list(PodSandboxFilter { state: ready, ..Default::default() }), std::slice::from_ref(&second));
    let label_selector = [("app".to_owned(), "one".to_owned())].into();
    assert_eq!(list(PodSandboxFilter { label_selector, ..Default::default() }), std::slice::from_ref(&first));
    assert_eq!(
        list(PodSandboxFilter { id: first[..13].to_owned(), ..Default::default() }),
        std::slice::from_ref(&first)
    );
    assert!(list(PodSandboxFilter { id: "nobody".to_owned(), ..Default::default() }).is_empty());
    let streamed = world.wait(async {
        let request = StreamPodSandboxesRequest::default();
        let mut stream = world.runtime().stream_pod_sandboxes(request).await.unwrap().into_inner();
        stream.message().await.unwrap().unwrap().pod_sandboxes.len()
    });
    assert_eq!(streamed, 2);
    world.end();
}

// proves: RT-01 twin
#[test]
fn handlers_that_are_not_there_are_refused_before_anything_is_done() {
    let world = World::new();
    let before = world.traces();
    let run = |handler: &str| RunPodSandboxRequest {
        config: Some(world.pod_config("web")),
        runtime_handler: handler.to_owned(),
    };
    for (handler, code, words) in [
        ("process", Code::Unimplemented, "isolated containers are not supported yet"),
        ("runhcs-wcow-process", Code::Unimplemented, "isolated containers are not supported yet"),
        ("runhcs-wcow-hypervisor", Code::Unimplemented, "virtual machines"),
        ("runhcs-wcow-hypervisor-20348", Code::Unimplemented, "virtual machines"),
        ("runc", Code::InvalidArgument, "wanted hostprocess"),
    ] {
        let said = world.refused(world.runtime().run_pod_sandbox(run(handler)), code);
        assert!(said.contains(words), "{handler}: {said}");
    }
    assert_eq!(world.traces(), before);
    world.ok(world.runtime().run_pod_sandbox(run("")));
    world.end();
}

#[test]
fn a_default_that_does_not_exist_yet_refuses_what_names_nothing_else() {
    let world = World::with(Settings { default_handler: Handler::Process, ..Settings::default() });
    let run = |handler: &str| RunPodSandboxRequest {
        config: Some(world.pod_config("web")),
        runtime_handler: handler.to_owned(),
    };
    world.refused(world.runtime().run_pod_sandbox(run("")), Code::Unimplemented);
    world.ok(world.runtime().run_pod_sandbox(run("hostprocess")));
    world.end();
}

// proves: HP-06 twin
#[test]
fn the_alpha_annotation_grants_nothing() {
    let world = World::new();
    let before = world.traces();
    let mut config = world.pod_config("old");
    config.annotations.insert(ALPHA.to_owned(), "true".to_owned());
    let request = |config: &PodSandboxConfig| RunPodSandboxRequest {
        config: Some(config.clone()),
        runtime_handler: "hostprocess".to_owned(),
    };
    let said = world.refused(world.runtime().run_pod_sandbox(request(&config)), Code::PermissionDenied);
    assert!(said.contains("only securityContext.windowsOptions.hostProcess grants"), "{said}");
    assert_eq!(world.traces(), before);
    // With the field it is only a word.
    let context = WindowsSandboxSecurityContext { host_process: true, ..Default::default() };
    config.windows = Some(WindowsPodSandboxConfig { security_context: Some(context) });
    world.ok(world.runtime().run_pod_sandbox(request(&config)));
    world.end();
}

// proves: HP-06 twin
#[test]
fn a_policy_for_the_annotation_judges_each_container() {
    let policy = "apiVersion: porthole.dev/v1alpha1\nkind: HostProcessPolicy\nrules:\n\
                  - namespaces: [default]\n  images: [example.com/*]\n  hostPaths: [/allowed/*]\n";
    let policy = rules::policy::Policy::parse(policy).unwrap();
    let world = World::with(Settings { annotation_policy: Some(policy), ..Settings::default() });
    let mut config = world.pod_config("old");
    config.annotations.insert(ALPHA.to_owned(), "true".to_owned());
    let pod = world.run_pod(config);
    world.create(&pod, world.config("good", &["exit", "0"]));
    let mount = Mount { container_path: "/m".into(), host_path: "/etc".into(), ..Mount::default() };
    let bad = api::ContainerConfig { mounts: vec![mount], ..world.config("bad", &["exit", "0"]) };
    let refused =
        world.refused(world.runtime().create_container(creation(&pod, bad)), Code::PermissionDenied);
    assert!(refused.contains("no rule of the policy allows it"), "{refused}");
    world.end();
}

#[test]
fn what_a_pod_may_use_altogether_is_kept_and_told() {
    let world = World::new();
    let id = world.pod("web");
    let resources = Some(LinuxContainerResources { memory_limit_in_bytes: 77, ..Default::default() });
    let request = UpdatePodSandboxResourcesRequest { pod_sandbox_id: id.clone(), resources, overhead: None };
    world.ok(world.runtime().update_pod_sandbox_resources(request));
    let bad = || Some(LinuxContainerResources { cpu_shares: -1, ..Default::default() });
    for (resources, overhead, field) in
        [(bad(), None, "resources.cpu_shares is -1"), (None, bad(), "overhead.cpu_shares is -1")]
    {
        let request = UpdatePodSandboxResourcesRequest { pod_sandbox_id: id.clone(), resources, overhead };
        let mut runtime = world.runtime();
        let said = world.refused(runtime.update_pod_sandbox_resources(request), Code::InvalidArgument);
        assert!(said.starts_with(field), "{said}");
    }
    let request = PodSandboxStatusRequest { pod_sandbox_id: id, verbose: true };
    let info = world.ok(world.runtime().pod_sandbox_status(request)).info;
    let info: serde_json::Value = serde_json::from_str(&info["info"]).unwrap();
    assert_eq!(info["resources"]["memory_limit_in_bytes"], 77, "{info}");
    world.end();
}
