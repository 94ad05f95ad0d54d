//! From mutations to an object that can be sent.

use anyhow::Result;
use rules::Kind;
use serde_json::{Value, json};
use testbed::api::Call;

use super::Mutation;

/// A pod's name and what is special about its spec.
type Base = (&'static str, fn() -> Value);

/// Pods that ephemeral containers come to.
pub(crate) const BASES: &[Base] = &[
    ("plain", || json!({})),
    (
        "host-network",
        || json!({"hostNetwork": true, "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]}),
    ),
    (
        "all-host-process",
        || json!({"hostNetwork": true, "securityContext": {"windowsOptions": {"hostProcess": true}}}),
    ),
    ("one-host-process", || {
        let security = json!({"windowsOptions": {"hostProcess": true}});
        json!({"hostNetwork": true, "containers": [{"name": "c", "image": "i", "securityContext": security}]})
    }),
    (
        "not-host-process",
        || json!({"hostNetwork": true, "securityContext": {"windowsOptions": {"hostProcess": false}}}),
    ),
    ("windows", || json!({"os": {"name": "windows"}})),
    ("linux", || json!({"os": {"name": "linux"}})),
    ("own-users", || json!({"hostUsers": false})),
];

/// An object of this kind, otherwise valid, whose pod has these mutations.
pub(crate) fn object<'a>(kind: Kind, mutations: impl IntoIterator<Item = &'a Mutation>) -> Value {
    let mut spec = plain(json!({}));
    if matches!(kind, Kind::Job | Kind::CronJob) {
        spec["restartPolicy"] = json!("Never");
    }
    mutations.into_iter().for_each(|mutation| set(&mut spec, mutation));
    let head =
        json!({"apiVersion": kind.api_version(), "kind": kind.name(), "metadata": {"name": "generated"}});
    let mut object = head;
    around(kind, &mut object);
    *at(&mut object, kind.spec_path()) = spec;
    object
}

/// The pod of [`BASES`] with this name.
pub(crate) fn base(name: &str) -> Value {
    let (_, spec) = BASES.iter().find(|(base, _)| *base == name).expect("a base");
    let head = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}});
    let mut pod = head;
    pod["spec"] = plain(spec());
    pod
}

/// The pod as it shall be with its ephemeral containers, and the call that asks for it.
pub(crate) fn debug_call<'a>(
    name: &str,
    mutations: impl IntoIterator<Item = &'a Mutation>,
) -> Result<(Value, Call)> {
    let mut pod = base(name);
    mutations.into_iter().for_each(|mutation| set(&mut pod["spec"], mutation));
    let call = Call::ephemeral(&pod)?;
    Ok((pod, call))
}

fn plain(mut spec: Value) -> Value {
    if spec["containers"].is_null() {
        spec["containers"] = json!([{"name": "c0", "image": "i"}]);
    }
    spec
}

/// What a kind demands beside the template.
fn around(kind: Kind, object: &mut Value) {
    let labels = json!({"app": "generated"});
    let template = json!({"metadata": {"labels": labels}});
    match kind {
        Kind::Pod => (),
        Kind::PodTemplate => object["template"] = template,
        Kind::ReplicationController => object["spec"] = json!({"selector": labels, "template": template}),
        Kind::Job => object["spec"] = json!({"template": {}}),
        Kind::CronJob => object["spec"] = json!({"schedule": "@daily", "jobTemplate": {}}),
        Kind::StatefulSet => {
            object["spec"] =
                json!({"serviceName": "s", "selector": {"matchLabels": labels}, "template": template});
        }
        Kind::Deployment | Kind::ReplicaSet | Kind::DaemonSet => {
            object["spec"] = json!({"selector": {"matchLabels": labels}, "template": template});
        }
    }
}

fn at<'a>(object: &'a mut Value, path: &str) -> &'a mut Value {
    path.split('.').fold(object, |value, step| &mut value[step])
}

fn set(spec: &mut Value, mutation: &Mutation) {
    let (mut value, mut list) = (spec, "");
    for step in mutation.path.split('.') {
        value = match step.parse::<usize>() {
            Ok(index) => container(value, list, index),
            Err(_) => &mut value[step],
        };
        list = step;
    }
    *value = mutation.value.clone();
}

/// The container at this index, made together with those before it if need be.
fn container<'a>(value: &'a mut Value, list: &str, index: usize) -> &'a mut Value {
    if value.is_null() {
        *value = json!([]);
    }
    let containers = value.as_array_mut().expect("a list of containers");
    while containers.len() <= index {
        let name = format!("{}{}", &list[..1], containers.len());
        containers.push(json!({"name": name, "image": "i"}));
    }
    &mut containers[index]
}
