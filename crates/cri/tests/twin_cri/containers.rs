//! Containers: their states, their ends, their logs, and what is told of them.

use std::time::Duration;

use cri::api::runtime_service_server::RuntimeService;
use cri::api::*;
use tonic::Code;

use crate::world::{IMAGE, World, creation, eventually};

fn started(id: &str) -> StartContainerRequest {
    StartContainerRequest { container_id: id.to_owned() }
}

// proves: RT-01 twin
#[test]
fn a_container_goes_from_created_to_running_to_exited_and_is_told_whole() {
    let world = World::new();
    let pod = world.pod("web");
    let image =
        ImageSpec { user_specified_image: "fixture".into(), image: IMAGE.into(), ..Default::default() };
    let config = ContainerConfig {
        image: Some(image),
        annotations: [("io.kubernetes.container.hash".to_owned(), "abc".to_owned())].into(),
        ..world.config("main", &["pause"])
    };
    let id = world.create(&pod, config.clone());
    let created = world.status(&id);
    assert_eq!((created.state, created.started_at, created.finished_at), (0, 0, 0));
    world.ok(world.runtime().start_container(started(&id)));
    let running = world.status(&id);
    assert_eq!(running.state, ContainerState::ContainerRunning as i32);
    assert_eq!(running.metadata, config.metadata);
    assert_eq!((&running.labels, &running.annotations), (&config.labels, &config.annotations));
    assert!(running.started_at >= running.created_at && running.created_at > 0, "{running:?}");
    assert_eq!(running.log_path, world.path("logs/main.log").display().to_string());
    assert_eq!(running.image.as_ref().unwrap().image, "fixture");
    let known =
        world.ok(world.images().image_status(ImageStatusRequest { image: config.image, verbose: false }));
    let known = known.image.unwrap();
    assert_eq!((&running.image_id, &running.image_ref), (&known.id, &known.repo_digests[0]));
    assert_eq!(running.user.unwrap().linux.unwrap().uid, 0);
    world.says("main.log", "ready");
    world.ok(world.runtime().stop_container(StopContainerRequest { container_id: id.clone(), timeout: 30 }));
    let ended = world.status(&id);
    assert_eq!(ended.state, ContainerState::ContainerExited as i32);
    assert_eq!((ended.exit_code, ended.reason.as_str()), (0, "Completed"));
    assert!(ended.finished_at >= ended.started_at, "{ended:?}");
    world.end();
}

// proves: RT-01 twin
#[test]
fn ends_have_the_reasons_that_kubelets_know() {
    let world = World::new();
    let pod = world.pod("web");
    let failed = world.exited(&world.start(&pod, world.config("failed", &["exit", "3"])));
    assert_eq!((failed.exit_code, failed.reason.as_str()), (3, "Error"));
    let killed = world.start(&pod, world.config("killed", &["stubborn"]));
    world.says("killed.log", "ready");
    world.ok(world
        .runtime()
        .stop_container(StopContainerRequest { container_id: killed.clone(), timeout: 0 }));
    assert_eq!((world.status(&killed).exit_code, world.status(&killed).reason.as_str()), (137, "Error"));
    let resources = LinuxContainerResources { memory_limit_in_bytes: 32 << 20, ..Default::default() };
    let greedy = ContainerConfig {
        linux: Some(LinuxContainerConfig { resources: Some(resources), security_context: None }),
        ..world.config("greedy", &["eat", "256"])
    };
    let greedy = world.exited(&world.start(&pod, greedy));
    assert_eq!((greedy.exit_code, greedy.reason.as_str()), (137, "OOMKilled"));
    world.end();
}

/// A kubelet whose CreateContainer fails waits for ever; one whose StartContainer fails knows what to do.
// proves: RT-01 twin
#[test]
fn a_program_or_an_account_that_is_not_there_fails_the_start() {
    let world = World::new();
    let pod = world.pod("web");
    let program = ContainerConfig { command: vec!["no-such-program".into()], ..world.config("program", &[]) };
    let context =
        LinuxContainerSecurityContext { run_as_username: "bad-user-name".into(), ..Default::default() };
    let account = ContainerConfig {
        linux: Some(LinuxContainerConfig { resources: None, security_context: Some(context) }),
        ..world.config("account", &["exit", "0"])
    };
    for (config, words) in [(program, "no-such-program"), (account, "bad-user-name")] {
        let id = world.create(&pod, config.clone());
        let said = world.refused(world.runtime().start_container(started(&id)), Code::FailedPrecondition);
        assert!(said.contains(words), "{said}");
        let status = world.status(&id);
        assert_eq!(status.state, ContainerState::ContainerExited as i32);
        assert_eq!((status.exit_code, status.reason.as_str()), (128, "StartError"));
        assert!(status.message.contains(words) && status.started_at == 0, "{status:?}");
        assert_eq!(world.create(&pod, config), id, "the same again is the same");
    }
    world.end();
}

// proves: RT-01 twin
#[test]
fn stopping_and_removing_what_is_gone_is_done() {
    let world = World::new();
    let pod = world.pod("web");
    let id = world.start(&pod, world.config("main", &["pause"]));
    for _ in 0..2 {
        world.ok(world
            .runtime()
            .stop_container(StopContainerRequest { container_id: id.clone(), timeout: 5 }));
    }
    for unknown in [id.as_str(), id.as_str(), "nobody", &"0".repeat(64)] {
        let id = unknown.to_owned();
        world.ok(world.runtime().remove_container(RemoveContainerRequest { container_id: id.clone() }));
        world.ok(world
            .runtime()
            .stop_container(StopContainerRequest { container_id: id.clone(), timeout: 5 }));
        world.refused(world.runtime().start_container(started(&id)), Code::NotFound);
    }
    world.end();
}

#[test]
fn a_container_that_runs_can_be_removed() {
    let world = World::new();
    let pod = world.pod("web");
    let id = world.start(&pod, world.config("main", &["stubborn"]));
    world.ok(world.runtime().remove_container(RemoveContainerRequest { container_id: id }));
    let all = world.ok(world.runtime().list_containers(ListContainersRequest::default())).containers;
    assert!(all.is_empty(), "{all:?}");
    world.end();
}

#[test]
fn containers_are_listed_by_pod_state_label_and_the_beginning_of_their_id() {
    let world = World::new();
    let (pod, other) = (world.pod("one"), world.pod("two"));
    let running = world.start(&pod, world.config("running", &["pause"]));
    let created = world.create(&pod, world.config("created", &["pause"]));
    let elsewhere = world.create(&other, world.config("created", &["pause"]));
    let list = |filter: ContainerFilter| {
        let request = ListContainersRequest { filter: Some(filter) };
        let all = world.ok(world.runtime().list_containers(request)).containers;
        let mut ids: Vec<_> = all.into_iter().map(|container| container.id).collect();
        ids.sort();
        ids
    };
    let sorted = |mut ids: Vec<&String>| {
        ids.sort();
        ids.into_iter().cloned().collect::<Vec<_>>()
    };
    assert_eq!(list(ContainerFilter::default()), sorted(vec![&running, &created, &elsewhere]));
    let of_pod = ContainerFilter { pod_sandbox_id: pod[..12].into(), ..Default::default() };
    assert_eq!(list(of_pod), sorted(vec![&running, &created]));
    let state = |state: ContainerState| Some(ContainerStateValue { state: state.into() });
    let runs = ContainerFilter { state: state(ContainerState::ContainerRunning), ..Default::default() };
    assert_eq!(list(runs), std::slice::from_ref(&running));
    let unknown = ContainerFilter { state: state(ContainerState::ContainerUnknown), ..Default::default() };
    assert!(list(unknown).is_empty());
    let label_selector = [("role".to_owned(), "created".to_owned())].into();
    let labelled = ContainerFilter { label_selector, pod_sandbox_id: pod, ..Default::default() };
    assert_eq!(list(labelled), std::slice::from_ref(&created));
    assert_eq!(list(ContainerFilter { id: created[..13].into(), ..Default::default() }), [created]);
    assert!(list(ContainerFilter { id: "nobody".into(), ..Default::default() }).is_empty());
    world.end();
}

// proves: RT-01 twin
#[test]
fn a_log_is_in_cri_form_and_goes_on_in_a_new_file_when_it_is_moved_away() {
    let world = World::new();
    let pod = world.pod("web");
    let id = world.start(&pod, world.config("main", &["lines", "0", "20"]));
    world.says("main.log", " stdout F line 2");
    let first = world.log("main.log");
    let line = first.lines().next().unwrap();
    let (time, rest) = line.split_once(' ').unwrap();
    assert!(time.ends_with('Z') && time.contains('T'), "{line}");
    assert!(rest.starts_with("stdout F "), "{line}");
    std::fs::rename(world.path("logs/main.log"), world.path("logs/main.log.1")).unwrap();
    world.ok(world.runtime().reopen_container_log(ReopenContainerLogRequest { container_id: id.clone() }));
    eventually("the new log is written", || world.log("main.log").contains("stdout F").then_some(()));
    world.ok(world.runtime().stop_container(StopContainerRequest { container_id: id.clone(), timeout: 0 }));
    let reopen = ReopenContainerLogRequest { container_id: id };
    world.refused(world.runtime().reopen_container_log(reopen), Code::FailedPrecondition);
    world.end();
}

/// A kubelet mounts a file of its own and finds it again by the path it asked for.
// proves: RT-07 twin
#[test]
fn last_words_are_found_by_the_mount_that_was_asked_for() {
    let world = World::new();
    let pod = world.pod("web");
    let file = world.path("termination");
    std::fs::write(&file, "").unwrap();
    let mount = Mount {
        container_path: "/dev/termination-log".into(),
        host_path: file.display().to_string(),
        ..Mount::default()
    };
    let config = ContainerConfig {
        mounts: vec![mount.clone()],
        ..world.config("main", &["write", "/dev/termination-log", "farewell"])
    };
    let id = world.start(&pod, config);
    let status = world.exited(&id);
    assert_eq!(status.exit_code, 0, "{}", world.log("main.log"));
    assert_eq!(status.mounts, [mount], "to the byte");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "farewell");
    world.end();
}

#[test]
fn a_read_only_image_cannot_be_written_and_a_read_only_mount_neither() {
    let world = World::new();
    let pod = world.pod("web");
    let volume = world.path("volume");
    std::fs::create_dir(&volume).unwrap();
    let mount = |path: &str, readonly| Mount {
        container_path: path.into(),
        host_path: volume.display().to_string(),
        readonly,
        recursive_read_only: readonly,
        ..Mount::default()
    };
    let context = LinuxContainerSecurityContext { readonly_rootfs: true, ..Default::default() };
    let run = |name: &str, file: &str| {
        let config = ContainerConfig {
            mounts: vec![mount("/mnt/open", false), mount("/mnt/closed", true)],
            linux: Some(LinuxContainerConfig { resources: None, security_context: Some(context.clone()) }),
            ..world.config(name, &["write", file, "x"])
        };
        world.exited(&world.start(&pod, config)).exit_code
    };
    assert_ne!(run("image", "in-the-image"), 0, "{}", world.log("image.log"));
    assert_ne!(run("closed", "/mnt/closed/file"), 0);
    assert_eq!(run("open", "/mnt/open/file"), 0, "{}", world.log("open.log"));
    assert!(volume.join("file").exists());
    let writable =
        world.exited(&world.start(&pod, world.config("writable", &["write", "in-the-image", "x"])));
    assert_eq!(writable.exit_code, 0, "{}", world.log("writable.log"));
    world.end();
}

#[test]
fn a_container_runs_as_the_numbers_that_are_asked_for() {
    let world = World::new();
    let pod = world.pod("web");
    let context = LinuxContainerSecurityContext {
        run_as_user: Some(Int64Value { value: 12_345 }),
        run_as_group: Some(Int64Value { value: 54_321 }),
        supplemental_groups: vec![777],
        ..Default::default()
    };
    let config = ContainerConfig {
        linux: Some(LinuxContainerConfig { resources: None, security_context: Some(context) }),
        ..world.config("main", &["sleep", "600"])
    };
    let id = world.start(&pod, config);
    let user = world.status(&id).user.unwrap().linux.unwrap();
    assert_eq!((user.uid, user.gid), (12_345, 54_321));
    let request = ContainerStatusRequest { container_id: id, verbose: true };
    let info = world.ok(world.runtime().container_status(request)).info;
    let info: serde_json::Value = serde_json::from_str(&info["info"]).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", info["pid"])).unwrap();
    for line in ["Uid:\t12345", "Gid:\t54321", "Groups:\t777 54321"] {
        assert!(status.contains(line), "{line} is not in\n{status}");
    }
    world.end();
}

#[test]
fn a_container_can_be_called_what_others_would_not_call_it() {
    let world = World::new();
    let pod = world.pod("web");
    let long = format!("Container-For_Test.{}", "x".repeat(70));
    let names = [long.as_str(), "Main", "main"];
    let ids: Vec<_> = names.iter().map(|name| world.start(&pod, world.config(name, &["pause"]))).collect();
    for (id, name) in ids.iter().zip(names) {
        assert_eq!(world.status(id).metadata.unwrap().name, name);
    }
    world.end();
}

#[test]
fn an_image_that_is_not_here_is_not_found_and_one_that_is_used_stays() {
    let world = World::new();
    let pod = world.pod("web");
    let missing = ContainerConfig {
        image: Some(ImageSpec { image: "example.com/none:1".into(), ..Default::default() }),
        ..world.config("main", &["pause"])
    };
    let said = world.refused(world.runtime().create_container(creation(&pod, missing)), Code::NotFound);
    assert!(said.contains("example.com/none:1"), "{said}");
    let id = world.create(&pod, world.config("main", &["pause"]));
    let image = Some(ImageSpec { image: IMAGE.into(), ..Default::default() });
    let remove = RemoveImageRequest { image };
    world.refused(world.images().remove_image(remove.clone()), Code::FailedPrecondition);
    world.ok(world.runtime().remove_container(RemoveContainerRequest { container_id: id }));
    world.ok(world.images().remove_image(remove));
    world.end();
}

#[test]
fn a_call_whose_time_is_over_is_told_so_then() {
    let world = World::new();
    let pod = world.pod("web");
    let id = world.start(&pod, world.config("main", &["stubborn"]));
    world.says("main.log", "ready");
    let mut request = tonic::Request::new(StopContainerRequest { container_id: id, timeout: 600 });
    request.metadata_mut().insert("grpc-timeout", "300m".parse().unwrap());
    let begun = std::time::Instant::now();
    // Not by the client, which would not wait for the server's own answer.
    world.refused(RuntimeService::stop_container(&world.cri, request), Code::DeadlineExceeded);
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    world.end();
}
