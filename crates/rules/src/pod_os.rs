//! `spec.os`: what a pod that names its operating system must leave out.

use k8s_openapi::api::core::v1::{PodSecurityContext, PodSpec, SecurityContext};

use crate::api::Judged;
use crate::host_process::containers;
use crate::{Reason, Violation};

const FOR_WINDOWS: &str = "must not be set for a Windows pod (spec.os.name is windows)";

/// A field of the spec, and whether it is set.
type InSpec = (&'static str, fn(&PodSpec) -> bool);
/// A field of the pod's security context.
type InPod = (&'static str, fn(&PodSecurityContext) -> bool);
/// A field of a container's security context.
type InContainer = (&'static str, fn(&SecurityContext) -> bool);

// Most are refused whenever they are there, `false` and `{}` included. The tables are in the API server's order.
const IDENTITY: [InPod; 2] = [
    ("appArmorProfile", |c| c.app_armor_profile.is_some()),
    ("seLinuxOptions", |c| c.se_linux_options.is_some()),
];
const NAMESPACES: [InSpec; 3] = [
    ("hostUsers", |s| s.host_users.is_some()),
    ("hostPID", |s| s.host_pid == Some(true)),
    ("hostIPC", |s| s.host_ipc == Some(true)),
];
const FILES: [InPod; 4] = [
    ("seccompProfile", |c| c.seccomp_profile.is_some()),
    ("fsGroup", |c| c.fs_group.is_some()),
    ("fsGroupChangePolicy", |c| c.fs_group_change_policy.is_some()),
    ("sysctls", |c| c.sysctls.as_ref().is_some_and(|list| !list.is_empty())),
];
const PROCESSES: [InSpec; 1] = [("shareProcessNamespace", |s| s.share_process_namespace.is_some())];
const USERS: [InPod; 5] = [
    ("runAsUser", |c| c.run_as_user.is_some()),
    ("runAsGroup", |c| c.run_as_group.is_some()),
    ("supplementalGroups", |c| c.supplemental_groups.is_some()),
    ("supplementalGroupsPolicy", |c| c.supplemental_groups_policy.is_some()),
    ("seLinuxChangePolicy", |c| c.se_linux_change_policy.is_some()),
];
const CONTAINER: [InContainer; 10] = [
    ("appArmorProfile", |c| c.app_armor_profile.is_some()),
    ("seLinuxOptions", |c| c.se_linux_options.is_some()),
    ("seccompProfile", |c| c.seccomp_profile.is_some()),
    ("capabilities", |c| c.capabilities.is_some()),
    ("readOnlyRootFilesystem", |c| c.read_only_root_filesystem.is_some()),
    ("privileged", |c| c.privileged.is_some()),
    ("allowPrivilegeEscalation", |c| c.allow_privilege_escalation.is_some()),
    ("procMount", |c| c.proc_mount.is_some()),
    ("runAsUser", |c| c.run_as_user.is_some()),
    ("runAsGroup", |c| c.run_as_group.is_some()),
];

pub(crate) fn judge(pod: &Judged<'_>, found: &mut Vec<Violation>) {
    match pod.os() {
        None => (),
        Some("") => {
            let message = "must be linux or windows";
            found.push(Violation::new(Reason::FieldValueRequired, pod.field("os.name"), "", message));
        }
        Some("linux") => linux(pod, found),
        Some("windows") => windows(pod, found),
        // The API server names the parent here, not `os.name`.
        Some(other) => {
            found.push(Violation::not_supported(pod.field("os"), other, "must be linux or windows"));
        }
    }
}

/// Resources of the pod as a whole, which Windows has not. The API server judges them apart from the rest.
pub(crate) fn resources(pod: &Judged<'_>, found: &mut Vec<Violation>) {
    if pod.spec.resources.is_some() && pod.os() == Some("windows") {
        found.push(Violation::forbidden(pod.field("resources"), FOR_WINDOWS));
    }
}

fn linux(pod: &Judged<'_>, found: &mut Vec<Violation>) {
    const FIELD: &str = "securityContext.windowsOptions";
    let message = "must not be set for a Linux pod (spec.os.name is linux)";
    if pod.spec.security_context.as_ref().is_some_and(|security| security.windows_options.is_some()) {
        found.push(Violation::forbidden(pod.field(FIELD), message));
    }
    let set = containers(pod.spec).filter(|c| c.security.is_some_and(|s| s.windows_options.is_some()));
    found.extend(set.map(|container| Violation::forbidden(pod.container(&container, FIELD), message)));
}

fn windows(pod: &Judged<'_>, found: &mut Vec<Violation>) {
    of_context(pod, &IDENTITY, found);
    of_spec(pod, &NAMESPACES, found);
    of_context(pod, &FILES, found);
    of_spec(pod, &PROCESSES, found);
    of_context(pod, &USERS, found);
    for container in containers(pod.spec) {
        let Some(security) = container.security else { continue };
        let set = CONTAINER.iter().filter(|(_, is_set)| is_set(security));
        let path = |field| pod.container(&container, &format!("securityContext.{field}"));
        found.extend(set.map(|(field, _)| Violation::forbidden(path(field), FOR_WINDOWS)));
    }
}

fn of_spec(pod: &Judged<'_>, table: &[InSpec], found: &mut Vec<Violation>) {
    let set = table.iter().filter(|(_, is_set)| is_set(pod.spec));
    found.extend(set.map(|(field, _)| Violation::forbidden(pod.field(field), FOR_WINDOWS)));
}

fn of_context(pod: &Judged<'_>, table: &[InPod], found: &mut Vec<Violation>) {
    let Some(security) = &pod.spec.security_context else { return };
    let set = table.iter().filter(|(_, is_set)| is_set(security));
    let path = |field| pod.field(&format!("securityContext.{field}"));
    found.extend(set.map(|(field, _)| Violation::forbidden(path(field), FOR_WINDOWS)));
}

#[cfg(test)]
mod tests;
