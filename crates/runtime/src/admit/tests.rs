use serde_json::{Value, json};

use super::*;

/// A good pod, changed by setting one field given as a JSON pointer's last parent and a value.
fn pod(change: impl FnOnce(&mut Value)) -> Pod {
    let mut value = json!({
        "metadata": {"name": "web"},
        "spec": {
            "hostNetwork": true,
            "securityContext": {"windowsOptions": {"hostProcess": true}},
            "initContainers": [{"name": "first", "image": "dir:init"}],
            "containers": [{"name": "main", "image": "oci-archive:app.tar"}],
        },
    });
    change(&mut value);
    serde_json::from_value(value).unwrap()
}

fn admitted(change: impl FnOnce(&mut Value)) -> Result<Admitted, Vec<Refused>> {
    let layout = Layout::new(Path::new("/root"));
    admit(&pod(change), Path::new("/pods/web.yaml"), &layout)
}

fn refusals(change: impl FnOnce(&mut Value)) -> Vec<String> {
    admitted(change).unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn a_good_pod_is_resolved() {
    let pod = admitted(|_| {}).unwrap();
    assert_eq!((pod.namespace.as_str(), pod.name.as_str()), ("default", "web"));
    assert_eq!((pod.grace, pod.restart), (Duration::from_secs(30), RestartPolicy::Always));
    let sources: Vec<_> = pod.containers.iter().map(|c| (c.kind, c.source.clone())).collect();
    assert_eq!(
        sources,
        [
            (Kind::Init, Source::Dir("/pods/init".into())),
            (Kind::Regular, Source::OciArchive("/pods/app.tar".into()))
        ]
    );
    assert!(pod.warnings.is_empty() && pod.spec_digest.len() == 64);
}

// proves: HP-04 pure
#[test]
fn the_nodes_own_check_of_the_host_process_rules() {
    let found = refusals(|p| p["spec"]["hostNetwork"] = json!(false));
    assert_eq!(found, ["spec.hostNetwork: FieldValueInvalid: false: must be true for a HostProcess pod"]);
    let found = refusals(|p| p["spec"]["securityContext"] = json!({}));
    assert!(found[0].starts_with("not a HostProcess pod"), "{found:?}");
}

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    let container =
        |field: &'static str, value: Value| move |p: &mut Value| p["spec"]["containers"][0][field] = value;
    for (found, expected) in [
        (
            refusals(container("volumeDevices", json!([{"name": "v", "devicePath": "/v"}]))),
            "spec.containers[0].volumeDevices",
        ),
        (refusals(container("envFrom", json!([{}]))), "spec.containers[0].envFrom"),
        (
            refusals(container("env", json!([{"name": "A", "valueFrom": {}}]))),
            "spec.containers[0].env[0].valueFrom",
        ),
        (
            refusals(container("resources", json!({"limits": {"gpu": "1"}}))),
            "spec.containers[0].resources.limits.gpu",
        ),
        (
            refusals(|p| p["spec"]["initContainers"][0]["restartPolicy"] = json!("Always")),
            "spec.initContainers[0].restartPolicy",
        ),
    ] {
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(expected) && found[0].ends_with("not supported yet"), "{found:?}");
    }
}

#[test]
fn names_become_paths_and_are_checked() {
    for name in ["", "../x", "Web", "a b", "-a", "a-", "a/b", &"a".repeat(254)] {
        let found = refusals(|p| p["metadata"]["name"] = json!(name));
        assert!(found[0].starts_with("metadata.name"), "{name}: {found:?}");
    }
    for name in ["", "..", "A", "a.b", "a_b", &"a".repeat(64)] {
        assert!(!refusals(|p| p["spec"]["containers"][0]["name"] = json!(name)).is_empty(), "{name}");
    }
    let found = refusals(|p| p["spec"]["containers"][0]["name"] = json!("first"));
    assert_eq!(found, ["spec.containers[0].name: two containers are called \"first\""]);
    assert!(admitted(|p| p["metadata"]["name"] = json!("a".repeat(253))).is_ok());
    assert!(!refusals(|p| p["metadata"]["namespace"] = json!("Bad")).is_empty());
}

#[test]
fn everything_wrong_is_said_at_once() {
    let found = refusals(|p| {
        p["spec"]["restartPolicy"] = json!("Sometimes");
        p["spec"]["containers"][0]["image"] = json!("");
        p["spec"]["containers"][0]["resources"] = json!({"limits": {"cpu": "lots"}});
    });
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found.iter().any(|f| f.contains("found \"Sometimes\"")), "{found:?}");
    assert_eq!(refusals(|p| p["spec"] = Value::Null), ["the pod has no spec"]);
    assert!(
        refusals(|p| p["spec"]["containers"] = json!([]))
            .contains(&"spec.containers: wanted at least one".to_owned())
    );
}

#[test]
fn limits_are_read_and_bounded() {
    let with = |limits: Value| {
        admitted(move |p| p["spec"]["containers"][0]["resources"] = json!({"limits": limits}))
    };
    let limits = with(json!({"cpu": "1500m", "memory": "64Mi"})).unwrap().containers[1].limits.clone();
    assert_eq!(
        limits,
        JobLimits { memory_bytes: Some(64 << 20), cpu_millis: Some(1500), ..JobLimits::default() }
    );
    for bad in [json!({"cpu": "-1"}), json!({"memory": "-1"}), json!({"cpu": "99999999999"})] {
        let found = with(bad).unwrap_err();
        assert!(matches!(found[..], [Refused::Range { .. }]), "{found:?}");
    }
}

#[test]
fn a_user_name_is_taken_along_for_whoever_knows_the_host() {
    let pod = admitted(|p| {
        p["spec"]["securityContext"]["windowsOptions"]["runAsUserName"] =
            json!("NT AUTHORITY\\Local Service");
        p["spec"]["runtimeClassName"] = json!("windows");
        p["metadata"]["annotations"] = json!({"porthole.dev/hostprocess-mode": "symlink"});
    })
    .unwrap();
    assert_eq!((pod.user.as_deref(), pod.handler.as_str()), (Some("NT AUTHORITY\\Local Service"), "windows"));
    assert_eq!(pod.annotations["porthole.dev/hostprocess-mode"], "symlink");
}

/// Sets the pod's volumes and the mounts of its container.
fn with_volumes(volumes: Value, mounts: Value) -> Result<Admitted, Vec<Refused>> {
    admitted(|p| {
        p["spec"]["volumes"] = volumes;
        p["spec"]["containers"][0]["volumeMounts"] = mounts;
    })
}

#[test]
fn volumes_of_the_host_and_empty_ones_are_taken() {
    let volumes = json!([
        {"name": "logs", "hostPath": {"path": "/var/log", "type": "Directory"}},
        {"name": "any", "hostPath": {"path": "/any"}},
        {"name": "tmp", "emptyDir": {}},
    ]);
    let pod = with_volumes(volumes, json!([{"name": "tmp", "mountPath": "/t"}])).unwrap();
    let host_path = |path: &str, kind| volumes::VolumeKind::HostPath { path: path.into(), kind };
    let kinds: Vec<_> = pod.volumes.into_iter().map(|volume| volume.kind).collect();
    let directory = host_path("/var/log", volumes::HostPathType::Directory);
    let any = host_path("/any", volumes::HostPathType::Any);
    assert_eq!(kinds, [directory, any, volumes::VolumeKind::EmptyDir]);
}

#[test]
fn other_volumes_are_refused_by_name() {
    for (volume, mount, expected) in [
        (
            json!({"configMap": {"name": "c"}}),
            json!({}),
            "spec.volumes[0].configMap: volumes of this kind are",
        ),
        (json!({"emptyDir": {"medium": "Memory"}}), json!({}), "spec.volumes[0].emptyDir.medium"),
        (
            json!({"hostPath": {"path": "/x", "type": "Door"}}),
            json!({}),
            "spec.volumes[0].hostPath.type: wanted",
        ),
        (
            json!({"emptyDir": {}}),
            json!({"subPath": "a"}),
            "spec.containers[0].volumeMounts[0].subPath: parts",
        ),
        (
            json!({"emptyDir": {}}),
            json!({"name": "w"}),
            "spec.containers[0].volumeMounts[0].name: there is no volume \"w\"",
        ),
        (
            json!({"emptyDir": {}}),
            json!({"mountPropagation": "Bidirectional"}),
            "spec.containers[0].volumeMounts[0].mountPropagation",
        ),
    ] {
        let (mut one, mut two) = (json!({"name": "v"}), json!({"name": "v", "mountPath": "/v"}));
        for (into, from) in [(&mut one, volume), (&mut two, mount)] {
            into.as_object_mut().unwrap().extend(from.as_object().unwrap().clone());
        }
        let found: Vec<_> =
            with_volumes(json!([one]), json!([two])).unwrap_err().iter().map(ToString::to_string).collect();
        assert!(found.iter().any(|line| line.starts_with(expected)), "{expected}: {found:?}");
    }
}

// proves: HP-21 pure
#[test]
fn a_group_managed_service_account_is_refused_and_not_passed_over() {
    let found = refusals(|p| {
        p["spec"]["securityContext"]["windowsOptions"]["gmsaCredentialSpecName"] = json!("web");
        p["spec"]["containers"][0]["securityContext"] =
            json!({"windowsOptions": {"gmsaCredentialSpec": "{}"}});
    });
    assert_eq!(
        found,
        [
            "spec.securityContext.windowsOptions.gmsaCredentialSpecName: group managed service accounts are not supported yet",
            "spec.containers[0].securityContext.windowsOptions.gmsaCredentialSpec: group managed service accounts are not supported yet",
        ]
    );
}

// proves: HP-04 pure
#[test]
fn all_rules_of_the_api_server_are_checked_again() {
    for (field, value, at) in [
        ("os", json!({"name": "linux"}), "spec.securityContext.windowsOptions: "),
        ("ephemeralContainers", json!([{"name": "e"}]), "spec.ephemeralContainers: "),
    ] {
        let found = refusals(|p| p["spec"][field] = value);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(at), "{found:?}");
    }
}

#[test]
fn probes_are_warned_about() {
    let pod = admitted(|p| {
        for probe in ["livenessProbe", "readinessProbe", "startupProbe", "lifecycle"] {
            p["spec"]["containers"][0][probe] = json!({});
        }
    })
    .unwrap();
    assert_eq!(pod.warnings.len(), 4);
    assert_eq!(pod.warnings[0], "spec.containers[0].livenessProbe has no effect yet");
}

#[test]
fn a_grace_period_is_taken_and_never_negative() {
    for (given, expected) in [(5, 5), (0, 0), (-3, 0), (i64::MAX, 315_360_000)] {
        let pod = admitted(|p| p["spec"]["terminationGracePeriodSeconds"] = json!(given)).unwrap();
        assert_eq!(pod.grace, Duration::from_secs(expected));
    }
}

#[test]
fn who_is_started_again() {
    use RestartPolicy::{Always, Never, OnFailure};
    for (policy, kind, code, expected) in [
        (Always, Kind::Regular, 0, true),
        (Always, Kind::Regular, 1, true),
        (Always, Kind::Init, 0, false),
        (Always, Kind::Init, 1, true),
        (OnFailure, Kind::Regular, 0, false),
        (OnFailure, Kind::Regular, 1, true),
        (OnFailure, Kind::Init, 1, true),
        (Never, Kind::Regular, 1, false),
        (Never, Kind::Init, 1, false),
    ] {
        assert_eq!(policy.restarts(kind, code), expected, "{policy:?} {kind:?} {code}");
    }
}
