//! Fields of the pod's containers.

use k8s_openapi::api::core::v1::{Container, ContainerPort, PodSpec, SecurityContext, VolumeMount};

use super::Found;

struct Rule {
    field: &'static str,
    applies: fn(&SecurityContext) -> bool,
    message: &'static str,
}

/// What the three kinds of containers have in common.
struct View<'a> {
    list: &'static str,
    index: usize,
    security: Option<&'a SecurityContext>,
    ports: Option<&'a Vec<ContainerPort>>,
    mounts: Option<&'a Vec<VolumeMount>>,
}

const NOT_ON_WINDOWS: &str = "has no effect on Windows";
const ACCOUNT: &str = "has no effect on Windows: windowsOptions.runAsUserName says who the process is";

#[rustfmt::skip]
const SECURITY: &[Rule] = &[
    Rule { field: "privileged", applies: |s| s.privileged.is_some(), message: "has no effect on Windows: windowsOptions.hostProcess is what makes a HostProcess container" },
    Rule { field: "allowPrivilegeEscalation", applies: |s| s.allow_privilege_escalation.is_some(), message: "has no effect on Windows: the account decides what the process may become" },
    Rule { field: "capabilities", applies: |s| s.capabilities.is_some(), message: "has no effect on Windows: the account decides what the process may do" },
    Rule { field: "readOnlyRootFilesystem", applies: |s| s.read_only_root_filesystem.is_some(), message: "has no effect: a HostProcess container writes where its account may write" },
    Rule { field: "procMount", applies: |s| s.proc_mount.is_some(), message: NOT_ON_WINDOWS },
    Rule { field: "runAsUser", applies: |s| s.run_as_user.is_some(), message: ACCOUNT },
    Rule { field: "runAsGroup", applies: |s| s.run_as_group.is_some(), message: ACCOUNT },
    Rule { field: "runAsNonRoot", applies: |s| s.run_as_non_root == Some(true), message: "does not keep a HostProcess container from running as SYSTEM or an administrator" },
    Rule { field: "seLinuxOptions", applies: |s| s.se_linux_options.is_some(), message: NOT_ON_WINDOWS },
    Rule { field: "seccompProfile", applies: |s| s.seccomp_profile.is_some(), message: NOT_ON_WINDOWS },
    Rule { field: "appArmorProfile", applies: |s| s.app_armor_profile.is_some(), message: NOT_ON_WINDOWS },
];

pub(super) fn warn(spec: &PodSpec, found: &mut Found) {
    for view in views(spec) {
        let at = view.path();
        for rule in SECURITY.iter().filter(|rule| view.security.is_some_and(rule.applies)) {
            found.add(&format!("{at}.securityContext.{}", rule.field), rule.message);
        }
        for i in 0..view.ports.map_or(0, Vec::len) {
            found.add(
                &format!("{at}.ports[{i}]"),
                "reserves the port on the node: no second pod with it fits there",
            );
        }
        let propagated = |mount: &&VolumeMount| mount.mount_propagation.as_ref().is_some_and(|p| p != "None");
        for (i, _) in view.mounts.into_iter().flatten().enumerate().filter(|(_, mount)| propagated(mount)) {
            found.add(&format!("{at}.volumeMounts[{i}].mountPropagation"), NOT_ON_WINDOWS);
        }
    }
}

/// For a pod that goes to Windows without being a HostProcess pod: its author may think that this makes it one.
pub(super) fn warn_privileged(spec: &PodSpec, found: &mut Found) {
    let privileged =
        |view: &View<'_>| view.security.is_some_and(|security| security.privileged == Some(true));
    for view in views(spec).filter(privileged) {
        found.add(&format!("{}.securityContext.privileged", view.path()), SECURITY[0].message);
    }
}

fn views(spec: &PodSpec) -> impl Iterator<Item = View<'_>> {
    let init =
        spec.init_containers.iter().flatten().enumerate().map(|(i, c)| View::of("initContainers", i, c));
    let regular = spec.containers.iter().enumerate().map(|(i, c)| View::of("containers", i, c));
    let ephemeral = spec.ephemeral_containers.iter().flatten().enumerate().map(|(index, c)| View {
        list: "ephemeralContainers",
        index,
        security: c.security_context.as_ref(),
        ports: c.ports.as_ref(),
        mounts: c.volume_mounts.as_ref(),
    });
    init.chain(regular).chain(ephemeral)
}

// === impl View ===

impl<'a> View<'a> {
    fn of(list: &'static str, index: usize, container: &'a Container) -> Self {
        let security = container.security_context.as_ref();
        let (ports, mounts) = (container.ports.as_ref(), container.volume_mounts.as_ref());
        Self { list, index, security, ports, mounts }
    }

    fn path(&self) -> String {
        format!("{}[{}]", self.list, self.index)
    }
}
