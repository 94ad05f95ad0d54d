//! A container added to a pod that runs is judged with the whole pod.

use rules::Kind;
use serde_json::{Value, json};
use testbed::api::{Answer, Call};

use crate::case::Case;
use crate::dice::Dice;
use crate::pod::remove;
use crate::room::{Room, Said};
use crate::twist::index;
use crate::{BENCH, Bench};

/// What an added container may say, each as a patch of a security context that every level takes.
const SAYINGS: &[&str] = &[
    "{}",
    r#"{"allowPrivilegeEscalation": null}"#,
    r#"{"allowPrivilegeEscalation": true, "privileged": true}"#,
    r#"{"capabilities": {"add": ["NET_RAW"], "drop": ["ALL"]}}"#,
    r#"{"capabilities": {"add": ["CHOWN"]}}"#,
    r#"{"procMount": "Default"}"#,
    r#"{"seLinuxOptions": {"type": "container_engine_t"}}"#,
    r#"{"seLinuxOptions": {"user": "u"}}"#,
    r#"{"seccompProfile": {"type": "Unconfined"}}"#,
    r#"{"appArmorProfile": {"type": "Unconfined"}}"#,
    r#"{"runAsNonRoot": false}"#,
    r#"{"runAsUser": 0}"#,
];

/// A pod that stays, as the API server has it.
fn stored(bench: &Bench, room: &Room, name: &str, twists: &[&str]) -> Value {
    let case = Case::new(Kind::Pod, room, twists.iter().map(|twist| index(twist)), &mut Dice::new(0));
    let mut pod = case.object();
    pod["metadata"]["name"] = json!(name);
    let mut answer = bench.api.send(&Call::create(&pod).expect("a call").for_real()).expect("an answer");
    assert_eq!(answer.code, 201, "{}: {}", room.name, answer.message());
    // The scheduler writes to it as well.
    remove(&mut answer.body["metadata"], "resourceVersion");
    answer.body
}

fn with(pod: &Value, containers: &[Value]) -> Value {
    let mut pod = pod.clone();
    pod["spec"]["ephemeralContainers"] = json!(containers);
    pod
}

fn container(name: &str, saying: &str) -> Value {
    let mut security = json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
    let patch: Value = serde_json::from_str(saying).expect("JSON");
    for (field, value) in patch.as_object().expect("an object") {
        security[field] = value.clone();
    }
    json!({"name": name, "image": "pause", "securityContext": security})
}

/// Each alone and each pair.
fn all_with(pod: &Value) -> Vec<Value> {
    let pairs =
        SAYINGS.iter().enumerate().flat_map(|(i, one)| SAYINGS[..i].iter().map(move |two| (one, two)));
    let pairs = pairs.map(|(one, two)| with(pod, &[container("debug", one), container("another", two)]));
    let alone = SAYINGS.iter().map(|saying| with(pod, &[container("debug", saying)]));
    alone.chain(pairs).collect()
}

fn send(bench: &Bench, pods: &[Value]) -> Vec<Answer> {
    let calls: Vec<_> = pods.iter().map(|pod| Call::ephemeral(pod).expect("a call")).collect();
    bench.api.send_all(&calls).expect("answers")
}

// proves: HP-19 cluster
#[test]
fn an_added_container_is_judged_as_the_plugin_does() {
    let bench = &*BENCH;
    let mut count = 0;
    for room in &bench.rooms {
        let pods = all_with(&stored(bench, room, "kept", &[]));
        for (pod, answer) in pods.iter().zip(&send(bench, &pods)) {
            assert_eq!(Said::from(answer), room.verdict(pod).0, "{}: {}", room.name, pod["spec"]);
        }
        count += pods.len();
    }
    println!("{count} pods with ephemeral containers");
}

// proves: HP-19 cluster
#[test]
fn an_added_host_process_container_is_named() {
    let bench = &*BENCH;
    let room = bench.rooms.iter().find(|room| room.is_open()).expect("the open room");
    let pod = stored(bench, room, "host", &["HostProcess by the pod"]);
    let hosted = json!({"name": "debug", "image": "pause", "securityContext": {"windowsOptions": {"hostProcess": true}}});
    let pod = with(&pod, &[hosted]);
    let said = Said::from(&send(bench, std::slice::from_ref(&pod))[0]);
    assert_eq!(said, room.verdict(&pod).0);
    let Said::Taken { warning: Some(warning) } = said else { panic!("no warning: {said:?}") };
    assert!(warning.contains(r#"hostProcess (pod and container "debug" must not set"#), "{warning}");
}
