use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{Kind, covers};

/// A Pod with this spec; one plain container if it names none.
pub(crate) fn pod(spec: &Value) -> Subject {
    subject(Kind::Pod, spec)
}

pub(crate) fn subject(kind: Kind, spec: &Value) -> Subject {
    let mut spec = spec.clone();
    if spec.get("containers").is_none() {
        spec["containers"] = json!([{"name": "c", "image": "i"}]);
    }
    Subject { kind, spec: serde_json::from_value(spec).expect("a spec"), ..Subject::default() }
}

/// Reason, field and value of each violation, in order.
pub(crate) fn found_with(subject: &Subject, options: &ApiOptions) -> Vec<String> {
    api(subject, options).iter().map(short).collect()
}

pub(crate) fn found(subject: &Subject) -> Vec<String> {
    found_with(subject, &ApiOptions::default())
}

fn short(violation: &Violation) -> String {
    let reason = format!("{:?}", violation.reason);
    format!("{} {} {}", reason.trim_start_matches("FieldValue"), violation.field, violation.value)
}

fn security(options: &Value) -> Value {
    json!({"name": "c", "image": "i", "securityContext": {"windowsOptions": options}})
}

// proves: HP-01 pure
#[test]
fn a_template_is_judged_where_it_is() {
    for kind in Kind::all() {
        let spec = json!({
            "securityContext": {"windowsOptions": {"hostProcess": false}},
            "containers": [security(&json!({"hostProcess": true})), {"name": "d"}],
        });
        let at = kind.spec_path();
        assert_eq!(
            found(&subject(kind, &spec)),
            [
                format!("Invalid {at}.containers[0].securityContext.windowsOptions.hostProcess true"),
                format!(r#"Invalid {at} """#),
                format!("Invalid {at}.hostNetwork false"),
            ]
        );
    }
}

// proves: HP-03 pure
#[test]
fn host_process_needs_a_cluster_that_allows_privileged_pods() {
    let strict = ApiOptions { allow_privileged: false, ..ApiOptions::default() };
    let spec = json!({"hostNetwork": true, "containers": [security(&json!({"hostProcess": true}))]});
    assert_eq!(found(&pod(&spec)), [""; 0]);
    assert_eq!(found_with(&pod(&spec), &strict), [r#"Forbidden spec """#]);
    let job = found_with(&subject(Kind::Job, &spec), &strict);
    assert_eq!(job, [r#"Forbidden spec.template.spec """#]);
    assert_eq!(found_with(&pod(&json!({"hostNetwork": true})), &strict), [""; 0]);
}

// proves: HP-05 pure
#[test]
fn the_switch_off_refuses_host_process_pods_and_no_others() {
    let off = ApiOptions { host_process: false, ..ApiOptions::default() };
    let flag = |value: Option<bool>| json!({"windowsOptions": {"hostProcess": value}});
    let of = |pod_flag: Option<bool>, own: Option<bool>| {
        let container = json!({"name": "c", "image": "i", "securityContext": flag(own)});
        let spec = json!({"hostNetwork": true, "securityContext": flag(pod_flag), "containers": [container]});
        found_with(&pod(&spec), &off)
    };
    let at_pod = r#"Forbidden spec.securityContext.windowsOptions.hostProcess """#;
    let at_container = r#"Forbidden spec.containers[0].securityContext.windowsOptions.hostProcess """#;
    assert_eq!(of(Some(true), None), [at_pod]);
    assert_eq!(of(Some(true), Some(true)), [at_pod, at_container]);
    assert_eq!(of(None, Some(true)), [at_container]);
    assert_eq!(of(None, None), [""; 0]);
    assert_eq!(of(Some(false), Some(false)), [""; 0]);
    let spec = json!({"hostNetwork": true, "securityContext": flag(Some(true))});
    assert!(api(&pod(&spec), &off)[0].message.contains("WindowsHostProcessContainers"));
}

#[test]
fn ephemeral_containers_come_to_a_pod_that_exists() {
    let spec = json!({"ephemeralContainers": [{"name": "e", "image": "i"}]});
    assert_eq!(found(&pod(&spec)), [r#"Forbidden spec.ephemeralContainers """#]);
    let cron = found(&subject(Kind::CronJob, &spec));
    assert_eq!(cron, [r#"Forbidden spec.jobTemplate.spec.template.spec.ephemeralContainers """#]);
    let messages = [pod(&spec), subject(Kind::CronJob, &spec)].map(|s| api(&s, &ApiOptions::default()));
    assert_ne!(messages[0][0].message, messages[1][0].message);
    assert_eq!(api_ephemeral(&pod(&spec), &ApiOptions::default()), []);
    assert_eq!(found(&pod(&json!({"ephemeralContainers": []}))), [""; 0]);
    let odd = pod(&json!({"ephemeralContainers": [security(&json!({"hostProcess": true}))]}));
    let fields = api_ephemeral(&odd, &ApiOptions::default());
    assert_eq!(fields.iter().map(|v| v.field.as_str()).collect::<Vec<_>>(), ["spec", "spec.hostNetwork"]);
}

#[test]
fn a_stop_signal_is_no_matter_of_the_api_servers() {
    let lifecycle = json!({"stopSignal": "SIGUSR1"});
    let spec = json!({"containers": [{"name": "c", "image": "i", "lifecycle": lifecycle}]});
    assert_eq!(found(&pod(&spec)), [""; 0]);
}

#[test]
fn all_rules_in_the_api_servers_order() {
    let strict = ApiOptions { allow_privileged: false, ..ApiOptions::default() };
    let bad = |name: &str| {
        json!({"name": name, "image": "i", "securityContext": {
            "privileged": true, "procMount": "Unmasked", "windowsOptions": {"hostProcess": false, "runAsUserName": ""},
        }})
    };
    let mut regular = bad("c");
    regular["ports"] = json!([{"containerPort": 1, "hostPort": 2}, {"containerPort": 2}]);
    let mut init = bad("b");
    init["ports"] = json!([{"containerPort": 1, "hostPort": 3}, {"containerPort": 2, "hostPort": 3}]);
    let spec = json!({
        "os": {"name": "windows"}, "hostNetwork": true, "hostnameOverride": "a", "resources": {},
        "hostUsers": true, "hostPID": true, "shareProcessNamespace": true,
        "securityContext": {"runAsUser": 1, "windowsOptions": {"hostProcess": true, "gmsaCredentialSpec": ""}},
        "initContainers": [{"name": "a"}, init], "containers": [regular], "ephemeralContainers": [bad("e")],
    });
    let fields: Vec<_> =
        api(&pod(&spec), &strict).into_iter().map(|v| v.field.replace("securityContext", "sc")).collect();
    assert_eq!(
        fields,
        [
            "spec.containers[0].sc.privileged",
            "spec.containers[0].sc.procMount",
            "spec.containers[0].sc.windowsOptions.runAsUserName",
            "spec.containers[0].ports[1].hostPort",
            "spec.initContainers[1].sc.privileged",
            "spec.initContainers[1].sc.procMount",
            "spec.initContainers[1].sc.windowsOptions.runAsUserName",
            "spec.initContainers[0].ports[1].hostPort",
            "spec.ephemeralContainers[0].sc.privileged",
            "spec.ephemeralContainers[0].sc.procMount",
            "spec.ephemeralContainers[0].sc.windowsOptions.runAsUserName",
            "spec.resources",
            "spec.containers[0].ports[0].hostPort",
            "spec.sc.shareProcessNamespace",
            "spec.sc.windowsOptions.gmsaCredentialSpec",
            "spec.initContainers[1].sc.windowsOptions.hostProcess",
            "spec.containers[0].sc.windowsOptions.hostProcess",
            "spec.ephemeralContainers[0].sc.windowsOptions.hostProcess",
            "spec",
            "spec",
            "spec.hostnameOverride",
            "spec.hostUsers",
            "spec.hostPID",
            "spec.shareProcessNamespace",
            "spec.sc.runAsUser",
            "spec.initContainers[1].sc.privileged",
            "spec.initContainers[1].sc.procMount",
            "spec.containers[0].sc.privileged",
            "spec.containers[0].sc.procMount",
            "spec.ephemeralContainers[0].sc.privileged",
            "spec.ephemeralContainers[0].sc.procMount",
            "spec.ephemeralContainers",
        ]
    );
}

/// Any JSON below the names that the rules look at, of which some is a spec.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        prop_oneof![Just("windows"), Just("linux"), Just(""), Just(r"a\b")].prop_map(Value::from),
        ".{0,300}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::hash_map(prop::sample::select(NAMES), inner, 0..8)
                .prop_map(|map| map.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
        ]
    })
}

const NAMES: &[&str] = &[
    "allowPrivilegeEscalation",
    "capabilities",
    "containerPort",
    "containers",
    "ephemeralContainers",
    "gmsaCredentialSpec",
    "gmsaCredentialSpecName",
    "hostNetwork",
    "hostPID",
    "hostPort",
    "hostProcess",
    "hostUsers",
    "hostnameOverride",
    "initContainers",
    "name",
    "os",
    "ports",
    "privileged",
    "procMount",
    "runAsUserName",
    "securityContext",
    "shareProcessNamespace",
    "spec",
    "template",
    "windowsOptions",
];

/// A value of the right shape for the spec, with odd leaves: arbitrary JSON is seldom a spec at all.
fn any_spec() -> impl Strategy<Value = Value> {
    let flag = || prop::option::of(any::<bool>());
    let text = || prop::option::of(prop_oneof![".{0,300}", "[a-z.\\\\]{0,20}", Just(String::new())]);
    let context = (flag(), flag(), flag(), text(), text(), text()).prop_map(|(process, privileged, escalation, user, gmsa, mount)| {
        json!({
            "privileged": privileged, "allowPrivilegeEscalation": escalation, "procMount": mount,
            "windowsOptions": {"hostProcess": process, "runAsUserName": user, "gmsaCredentialSpecName": gmsa},
        })
    });
    let port = (any::<i32>(), prop::option::of(any::<i32>()))
        .prop_map(|(c, h)| json!({"containerPort": c, "hostPort": h}));
    let container = (context.clone(), prop::collection::vec(port, 0..3))
        .prop_map(|(context, ports)| json!({"name": "c", "securityContext": context, "ports": ports}));
    let list = || prop::collection::vec(container.clone(), 0..3);
    let os = prop::option::of(prop_oneof![Just("windows"), Just("linux"), Just(""), Just("plan9")]);
    (context, [list(), list(), list()], os, [flag(), flag(), flag(), flag()], text()).prop_map(
        |(context, [init, regular, ephemeral], os, [network, pid, users, share], name)| {
            json!({
                "securityContext": context, "initContainers": init, "containers": regular,
                "ephemeralContainers": ephemeral, "os": os.map(|name| json!({"name": name})),
                "hostNetwork": network, "hostPID": pid, "hostUsers": users, "shareProcessNamespace": share,
                "hostnameOverride": name,
            })
        },
    )
}

proptest! {
    #[test]
    fn whatever_can_be_read_is_judged_and_covered(spec in any_spec(), allow in any::<bool>(), on in any::<bool>()) {
        let options = ApiOptions { allow_privileged: allow, host_process: on };
        for kind in [Kind::Pod, Kind::CronJob] {
            let subject = subject(kind, &spec);
            for violation in api(&subject, &options) {
                prop_assert!(covers().iter().any(|cover| cover.found(kind, &violation)), "{violation}");
                prop_assert!(!violation.message.is_empty());
            }
        }
    }

    #[test]
    fn nothing_makes_it_panic(value in any_value()) {
        for kind in Kind::all() {
            if let Ok(subject) = Subject::decode(kind, &value) {
                api(&subject, &ApiOptions::default());
            }
        }
    }
}
