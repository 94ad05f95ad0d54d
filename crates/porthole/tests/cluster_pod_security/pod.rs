//! The pod that all others are made of, and the ways to its parts.

use serde_json::{Value, json};

use crate::dice::Dice;

/// Two init containers (the second a sidecar, which may have probes) and two regular ones, in no order of names.
pub(crate) const CONTAINERS: [(&str, usize); 4] =
    [("initContainers", 0), ("initContainers", 1), ("containers", 0), ("containers", 1)];

/// A pod that every level takes in every version, on either system.
pub(crate) fn base() -> Value {
    let security = json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
    let container = |name: &str| json!({"name": name, "image": "pause", "securityContext": security});
    let mut sidecar = container("side");
    sidecar["restartPolicy"] = json!("Always");
    let pod_security = json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}});
    json!({
        "metadata": {"annotations": {}},
        "spec": {
            "initContainers": [container("zero"), sidecar],
            "containers": [container("web"), container("app")],
            "securityContext": pod_security,
        },
    })
}

pub(crate) fn containers(pod: &mut Value) -> impl Iterator<Item = &mut Value> {
    let spec = pod["spec"].as_object_mut().expect("a spec");
    let lists = spec.iter_mut().filter(|(name, _)| *name == "initContainers" || *name == "containers");
    lists.flat_map(|(_, list)| list.as_array_mut().expect("a list"))
}

/// Any container.
pub(crate) fn some<'a>(pod: &'a mut Value, dice: &mut Dice) -> &'a mut Value {
    let (list, index) = *dice.pick(&CONTAINERS);
    &mut pod["spec"][list][index]
}

/// A container that may have probes and hooks.
pub(crate) fn lasting<'a>(pod: &'a mut Value, dice: &mut Dice) -> &'a mut Value {
    let (list, index) = *dice.pick(&CONTAINERS[1..]);
    &mut pod["spec"][list][index]
}

pub(crate) fn remove(from: &mut Value, key: &str) {
    if let Some(object) = from.as_object_mut() {
        object.remove(key);
    }
}

/// Appends to a list that may not be there yet.
pub(crate) fn push(list: &mut Value, item: Value) {
    match list {
        Value::Array(items) => items.push(item),
        other => *other = json!([item]),
    }
}
