//! Fields of the pod itself.

use k8s_openapi::api::core::v1::{PodSecurityContext, PodSpec, Volume};

use super::{Found, selects_windows};

struct Rule<T> {
    field: &'static str,
    applies: fn(&T) -> bool,
    message: &'static str,
}

const NOT_ON_WINDOWS: &str = "has no effect on Windows";
const ACCOUNT: &str = "has no effect on Windows: windowsOptions.runAsUserName says who the process is";
const HOST_DNS: &str = "has no effect: a HostProcess container asks the host's name servers";

#[rustfmt::skip]
const SPEC: &[Rule<PodSpec>] = &[
    Rule { field: "hostPID", applies: |s| s.host_pid == Some(true), message: "has no effect: a HostProcess container sees every process of the host anyway" },
    Rule { field: "hostIPC", applies: |s| s.host_ipc == Some(true), message: "has no effect: a HostProcess container shares the host's objects anyway" },
    Rule { field: "hostUsers", applies: |s| s.host_users.is_some(), message: NOT_ON_WINDOWS },
    Rule { field: "shareProcessNamespace", applies: |s| s.share_process_namespace.is_some(), message: NOT_ON_WINDOWS },
    Rule { field: "dnsPolicy", applies: |s| s.dns_policy.as_ref().is_some_and(|p| p != "Default"), message: HOST_DNS },
    Rule { field: "dnsConfig", applies: |s| s.dns_config.is_some(), message: HOST_DNS },
    Rule { field: "hostAliases", applies: |s| s.host_aliases.as_ref().is_some_and(|a| !a.is_empty()), message: "has no effect: the host's hosts file is used as it is" },
    Rule { field: "hostname", applies: |s| s.hostname.is_some(), message: "has no effect: the process has the host's name" },
    Rule { field: "nodeSelector", applies: may_land_elsewhere, message: "without kubernetes.io/os: windows the pod may be given to a Linux node: the scheduler does not look at spec.os" },
    Rule { field: "os", applies: |s| s.os.is_none(), message: "is not set: with os.name windows the API server refuses fields that Windows lacks, and a Linux node refuses the pod" },
];

#[rustfmt::skip]
const SECURITY: &[Rule<PodSecurityContext>] = &[
    Rule { field: "runAsUser", applies: |s| s.run_as_user.is_some(), message: ACCOUNT },
    Rule { field: "runAsGroup", applies: |s| s.run_as_group.is_some(), message: ACCOUNT },
    Rule { field: "runAsNonRoot", applies: |s| s.run_as_non_root == Some(true), message: "does not keep a HostProcess container from running as SYSTEM or an administrator" },
    Rule { field: "fsGroup", applies: |s| s.fs_group.is_some(), message: "has no effect on Windows: the account decides what may be opened" },
    Rule { field: "fsGroupChangePolicy", applies: |s| s.fs_group_change_policy.is_some(), message: NOT_ON_WINDOWS },
    Rule { field: "supplementalGroups", applies: |s| s.supplemental_groups.is_some(), message: "has no effect on Windows: groups are the account's, made on the node" },
    Rule { field: "supplementalGroupsPolicy", applies: |s| s.supplemental_groups_policy.is_some(), message: NOT_ON_WINDOWS },
    Rule { field: "seLinuxOptions", applies: |s| s.se_linux_options.is_some(), message: NOT_ON_WINDOWS },
    Rule { field: "seLinuxChangePolicy", applies: |s| s.se_linux_change_policy.is_some(), message: NOT_ON_WINDOWS },
    Rule { field: "seccompProfile", applies: |s| s.seccomp_profile.is_some(), message: NOT_ON_WINDOWS },
    Rule { field: "appArmorProfile", applies: |s| s.app_armor_profile.is_some(), message: NOT_ON_WINDOWS },
    Rule { field: "sysctls", applies: |s| s.sysctls.as_ref().is_some_and(|all| !all.is_empty()), message: NOT_ON_WINDOWS },
];

#[rustfmt::skip]
const VOLUME: &[Rule<Volume>] = &[
    Rule { field: "flexVolume", applies: |v| v.flex_volume.is_some(), message: "FlexVolume drivers must be installed on every Windows node; CSI has replaced them" },
    Rule { field: "hostPath.path", applies: is_pipe, message: "a named pipe cannot be mounted into a HostProcess container, which can open it directly" },
    Rule { field: "hostPath.type", applies: is_socket, message: "a socket cannot be mounted into a HostProcess container, which can open it directly" },
];

pub(super) fn warn(spec: &PodSpec, found: &mut Found) {
    for rule in SPEC.iter().filter(|rule| (rule.applies)(spec)) {
        found.add(rule.field, rule.message);
    }
    if let Some(security) = &spec.security_context {
        for rule in SECURITY.iter().filter(|rule| (rule.applies)(security)) {
            found.add(&format!("securityContext.{}", rule.field), rule.message);
        }
    }
    for (i, volume) in spec.volumes.iter().flatten().enumerate() {
        for rule in VOLUME.iter().filter(|rule| (rule.applies)(volume)) {
            found.add(&format!("volumes[{i}].{}", rule.field), rule.message);
        }
    }
}

/// Nothing that the scheduler looks at says Windows. A RuntimeClass may; its object is not at hand.
fn may_land_elsewhere(spec: &PodSpec) -> bool {
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let chosen = spec.node_name.is_some() || spec.runtime_class_name.is_some() || affinity.is_some();
    !chosen && !selects_windows(spec)
}

fn is_pipe(volume: &Volume) -> bool {
    let path = volume.host_path.as_ref().map(|host| host.path.replace('/', "\\").to_ascii_lowercase());
    path.is_some_and(|path| path.starts_with(r"\\.\pipe\"))
}

fn is_socket(volume: &Volume) -> bool {
    volume.host_path.as_ref().and_then(|host| host.type_.as_deref()) == Some("Socket")
}
