//! Makes a twisted pod one that the API server takes: Pod Security judges only what passed everything else.

use serde_json::{Value, json};

use crate::pod::{containers, remove};
use crate::twist::{APP_ARMOR, SECCOMP, SECCOMP_POD};

/// What a pod of the other system must not have.
const NOT_ON_WINDOWS: &[&str] = &["hostPID", "hostIPC", "hostUsers"];
const NOT_ON_WINDOWS_SECURITY: &[&str] = &[
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "sysctls",
    "runAsUser",
    "capabilities",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
];
const NOT_ON_LINUX_SECURITY: &[&str] = &["windowsOptions"];

/// Takes out what contradicts the rest.
pub(crate) fn repair(pod: &mut Value, is_template: bool) {
    match pod["spec"]["os"]["name"].as_str() {
        Some("windows") => strip(pod, NOT_ON_WINDOWS, NOT_ON_WINDOWS_SECURITY),
        Some(_) => strip(pod, &[], NOT_ON_LINUX_SECURITY),
        None => {}
    }
    host_process(pod);
    user_namespace(pod);
    sysctls(pod);
    containers(pod).for_each(escalation);
    annotations(pod);
    if is_template {
        as_template(pod);
    }
    drop_nulls(pod);
}

fn strip(pod: &mut Value, fields: &[&str], security: &[&str]) {
    fields.iter().for_each(|field| remove(&mut pod["spec"], field));
    security.iter().for_each(|field| remove(&mut pod["spec"]["securityContext"], field));
    for container in containers(pod) {
        security.iter().for_each(|field| remove(&mut container["securityContext"], field));
    }
}

/// All or none, in the host's network, and not in a user namespace.
fn host_process(pod: &mut Value) {
    let says = |security: &Value, word: bool| security["windowsOptions"]["hostProcess"] == word;
    let by_containers = containers(pod).any(|c| says(&c["securityContext"], true));
    if !by_containers && !says(&pod["spec"]["securityContext"], true) {
        return;
    }
    if says(&pod["spec"]["securityContext"], false) {
        remove(&mut pod["spec"]["securityContext"], "windowsOptions");
    }
    for container in containers(pod).filter(|_| by_containers) {
        container["securityContext"]["windowsOptions"]["hostProcess"] = json!(true);
    }
    pod["spec"]["hostNetwork"] = json!(true);
    remove(&mut pod["spec"], "hostUsers");
    containers(pod).for_each(|c| remove(&mut c["securityContext"], "procMount"));
}

/// An unmasked /proc needs one, and one excludes the host's namespaces.
fn user_namespace(pod: &mut Value) {
    if containers(pod).any(|c| c["securityContext"]["procMount"] == "Unmasked") {
        pod["spec"]["hostUsers"] = json!(false);
    }
    if pod["spec"]["hostUsers"] == false {
        ["hostNetwork", "hostPID", "hostIPC"].iter().for_each(|field| remove(&mut pod["spec"], field));
    }
}

/// None of a namespace that is the host's.
fn sysctls(pod: &mut Value) {
    let (network, ipc) = (pod["spec"]["hostNetwork"] == true, pod["spec"]["hostIPC"] == true);
    let is_shared = |name: &str| {
        let of_ipc = ["kernel.shm", "kernel.msg", "fs.mqueue."].iter().any(|prefix| name.starts_with(prefix));
        (network && name.starts_with("net.")) || (ipc && of_ipc)
    };
    if let Value::Array(sysctls) = &mut pod["spec"]["securityContext"]["sysctls"] {
        sysctls.retain(|sysctl| !is_shared(sysctl["name"].as_str().unwrap_or_default()));
    }
}

/// Whoever has everything cannot be kept from getting more.
fn escalation(container: &mut Value) {
    let security = &mut container["securityContext"];
    let adds =
        security["capabilities"]["add"].as_array().is_some_and(|all| all.contains(&json!("CAP_SYS_ADMIN")));
    if (adds || security["privileged"] == true) && security["allowPrivilegeEscalation"] == false {
        remove(security, "allowPrivilegeEscalation");
    }
}

/// A field must say the same as the annotation of old; without one there is nothing to compare.
fn annotations(pod: &mut Value) {
    let annotations = pod["metadata"]["annotations"].clone();
    if annotations.get(SECCOMP_POD).is_some() {
        remove(&mut pod["spec"]["securityContext"], "seccompProfile");
    }
    for container in containers(pod) {
        let name = container["name"].as_str().expect("a name").to_owned();
        for (prefix, field) in [(SECCOMP, "seccompProfile"), (APP_ARMOR, "appArmorProfile")] {
            if annotations.get(format!("{prefix}{name}")).is_some() {
                remove(&mut container["securityContext"], field);
            }
        }
    }
}

/// What is filled in or taken over for a pod must be right at once in a template.
fn as_template(pod: &mut Value) {
    if pod["spec"]["hostNetwork"] == true {
        containers(pod).for_each(name_host_ports);
    }
    let annotations = pod["metadata"]["annotations"].as_object().expect("annotations");
    if annotations.keys().any(|key| key.starts_with(APP_ARMOR)) {
        remove(&mut pod["spec"]["securityContext"], "appArmorProfile");
    }
}

fn name_host_ports(container: &mut Value) {
    for port in container["ports"].as_array_mut().into_iter().flatten() {
        port["hostPort"] = port["containerPort"].clone();
    }
}

/// Looking for a field leaves a null where it was not; the pod that is printed should not have them.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
