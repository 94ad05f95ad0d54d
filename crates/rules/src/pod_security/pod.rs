//! The pod as the checks look at it: all its containers alike, whichever list they are in.

use k8s_openapi::api::core::v1::{
    Container as Regular, ContainerPort, EphemeralContainer, Lifecycle, PodSecurityContext, PodSpec, Probe,
    SecurityContext,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

#[derive(Debug, Clone, Copy)]
pub(super) struct Pod<'a> {
    pub(super) metadata: &'a ObjectMeta,
    pub(super) spec: &'a PodSpec,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Container<'a> {
    pub(super) name: &'a str,
    pub(super) security: Option<&'a SecurityContext>,
    pub(super) ports: &'a [ContainerPort],
    pub(super) probes: [Option<&'a Probe>; 3],
    pub(super) lifecycle: Option<&'a Lifecycle>,
}

// === impl Pod ===

impl<'a> Pod<'a> {
    /// Init, regular, ephemeral: the order in which findings name them.
    pub(super) fn containers(self) -> impl Iterator<Item = Container<'a>> {
        let init = self.spec.init_containers.iter().flatten().map(Container::of);
        let regular = self.spec.containers.iter().map(Container::of);
        let ephemeral = self.spec.ephemeral_containers.iter().flatten().map(Container::of_ephemeral);
        init.chain(regular).chain(ephemeral)
    }

    pub(super) fn security(self) -> Option<&'a PodSecurityContext> {
        self.spec.security_context.as_ref()
    }

    pub(super) fn annotations(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let all = self.metadata.annotations.iter().flatten();
        all.map(|(key, value)| (key.as_str(), value.as_str()))
    }

    pub(super) fn annotation(self, key: &str) -> Option<&'a str> {
        self.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    pub(super) fn is_windows(self) -> bool {
        self.spec.os.as_ref().is_some_and(|os| os.name == "windows")
    }

    /// Root in a user namespace of its own is nobody on the host.
    pub(super) fn has_user_namespace(self) -> bool {
        self.spec.host_users == Some(false)
    }
}

// === impl Container ===

impl<'a> Container<'a> {
    fn of(from: &'a Regular) -> Self {
        let probes = [&from.liveness_probe, &from.readiness_probe, &from.startup_probe];
        Self {
            name: &from.name,
            security: from.security_context.as_ref(),
            ports: from.ports.as_deref().unwrap_or_default(),
            probes: probes.map(Option::as_ref),
            lifecycle: from.lifecycle.as_ref(),
        }
    }

    fn of_ephemeral(from: &'a EphemeralContainer) -> Self {
        let probes = [&from.liveness_probe, &from.readiness_probe, &from.startup_probe];
        Self {
            name: &from.name,
            security: from.security_context.as_ref(),
            ports: from.ports.as_deref().unwrap_or_default(),
            probes: probes.map(Option::as_ref),
            lifecycle: from.lifecycle.as_ref(),
        }
    }
}
