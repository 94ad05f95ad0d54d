use serde_json::{Value, json};

use super::*;
use crate::Reason;

/// A spec by the flags alone: the pod's, then each list's.
fn spec(pod: Option<bool>, lists: [&[Option<bool>]; 3], host_network: bool) -> PodSpec {
    let context = |flag: &Option<bool>| flag.map(|f| json!({"windowsOptions": {"hostProcess": f}}));
    let list = |flags: &[Option<bool>]| -> Vec<Value> {
        flags.iter().map(|f| json!({"name": "c", "image": "i", "securityContext": context(f)})).collect()
    };
    let value = json!({
        "securityContext": context(&pod), "hostNetwork": host_network,
        "initContainers": list(lists[0]), "containers": list(lists[1]), "ephemeralContainers": list(lists[2]),
    });
    serde_json::from_value(value).unwrap()
}

fn fields(spec: &PodSpec) -> Vec<String> {
    host_process(spec).into_iter().map(|v| v.field).collect()
}

const YES: Option<bool> = Some(true);
const NO: Option<bool> = Some(false);

// proves: HP-01 pure
#[test]
fn a_pod_that_says_yes_allows_no_container_to_say_no() {
    let pod = spec(YES, [&[], &[None, NO], &[]], true);
    let found = host_process(&pod);
    assert_eq!(fields(&pod), ["spec.containers[1].securityContext.windowsOptions.hostProcess", "spec"]);
    assert_eq!((&found[0].value, found[0].reason), (&Value::Bool(false), Reason::FieldValueInvalid));
    assert!(found[0].message.contains("which is true"), "{}", found[0]);
}

// proves: HP-01 pure
#[test]
fn a_pod_that_says_no_allows_no_container_to_say_yes() {
    let pod = spec(NO, [&[YES], &[YES], &[YES]], true);
    assert_eq!(
        fields(&pod),
        [
            "spec.initContainers[0].securityContext.windowsOptions.hostProcess",
            "spec.containers[0].securityContext.windowsOptions.hostProcess",
            "spec.ephemeralContainers[0].securityContext.windowsOptions.hostProcess",
        ]
    );
}

// proves: HP-01 pure
#[test]
fn an_unset_pod_needs_all_or_none() {
    assert_eq!(fields(&spec(None, [&[], &[YES, YES], &[]], true)), [""; 0]);
    assert_eq!(fields(&spec(None, [&[], &[None, NO], &[None]], false)), [""; 0]);
    assert_eq!(fields(&spec(None, [&[None], &[YES], &[]], true)), ["spec"]);
    assert_eq!(fields(&spec(None, [&[], &[YES], &[NO]], true)), ["spec"]);
}

// proves: HP-02 pure
#[test]
fn the_host_network_is_never_inferred() {
    let pod = spec(YES, [&[], &[None], &[]], false);
    assert_eq!(fields(&pod), ["spec.hostNetwork"]);
    assert_eq!(fields(&spec(NO, [&[], &[None], &[]], false)), [""; 0]);
    let mut unset = pod;
    unset.host_network = None;
    assert_eq!(fields(&unset), ["spec.hostNetwork"]);
}

#[test]
fn what_makes_a_host_process_pod() {
    let cases = [
        (spec(YES, [&[], &[None], &[]], true), true),
        (spec(None, [&[], &[YES], &[]], true), true),
        (spec(None, [&[YES], &[None], &[]], true), true),
        (spec(None, [&[], &[None], &[YES]], true), true),
        (spec(YES, [&[], &[NO], &[]], true), false),
        (spec(NO, [&[], &[None], &[]], true), false),
        (spec(None, [&[], &[None], &[]], true), false),
        (spec(YES, [&[], &[], &[]], true), false),
    ];
    for (spec, expected) in cases {
        assert_eq!(is_host_process(&spec), expected, "{spec:?}");
    }
}

#[test]
fn containers_come_in_the_order_kubernetes_looks() {
    let pod = spec(None, [&[None], &[None, None], &[None]], false);
    let order: Vec<_> = containers(&pod).map(|c| (c.kind, c.index)).collect();
    use ContainerKind::{Ephemeral, Init, Regular};
    assert_eq!(order, [(Init, 0), (Regular, 0), (Regular, 1), (Ephemeral, 0)]);
}

#[test]
fn a_violation_reads_like_the_api_servers() {
    let shown = host_process(&spec(YES, [&[], &[None], &[]], false))[0].to_string();
    assert_eq!(shown, "spec.hostNetwork: FieldValueInvalid: false: must be true for a HostProcess pod");
}
