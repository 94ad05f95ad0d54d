//! What the API server fills in between a user's object and the plugin's look at it, as far as a check notices.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::{
    AppArmorProfile, Container, EmptyDirVolumeSource, PodSpec, SecurityContext, Volume,
};

use super::app_armor::KEY;
use crate::Subject;

/// The spec as the plugin sees it; not copied when there is nothing to fill in.
pub(super) fn as_admitted(subject: &Subject) -> Cow<'_, PodSpec> {
    let mut spec = Cow::Borrowed(&subject.spec);
    if spec.volumes.iter().flatten().any(is_sourceless) {
        let volumes = spec.to_mut().volumes.iter_mut().flatten();
        volumes.filter(|volume| is_sourceless(volume)).for_each(give_empty_dir);
    }
    // Templates stay as they are until a controller makes pods of them.
    if !subject.kind.is_template() {
        if spec.host_network == Some(true) {
            fill_host_ports(spec.to_mut());
        }
        unconfine(subject, &mut spec);
    }
    spec
}

fn is_sourceless(volume: &Volume) -> bool {
    *volume == Volume { name: volume.name.clone(), ..Volume::default() }
}

fn give_empty_dir(volume: &mut Volume) {
    volume.empty_dir = Some(EmptyDirVolumeSource::default());
}

/// In the host's network a container's port is the host's.
fn fill_host_ports(spec: &mut PodSpec) {
    let init = spec.init_containers.iter_mut().flatten();
    let ports = init.chain(&mut spec.containers).flat_map(|container| container.ports.iter_mut().flatten());
    for port in ports.filter(|port| port.host_port.unwrap_or_default() == 0) {
        port.host_port = Some(port.container_port);
    }
}

/// The AppArmor annotation becomes a field where none is set. Only the value that a check refuses is of interest.
fn unconfine(subject: &Subject, spec: &mut Cow<'_, PodSpec>) {
    let asks = |(key, value): (&String, &String)| {
        let name = key.strip_prefix(KEY).filter(|_| value == "unconfined");
        name.map(str::to_owned)
    };
    let names: Vec<_> = subject.pod.annotations.iter().flatten().filter_map(asks).collect();
    let is_windows = spec.os.as_ref().is_some_and(|os| os.name == "windows");
    let of_pod = spec.security_context.as_ref().and_then(|security| security.app_armor_profile.as_ref());
    if names.is_empty() || is_windows || of_pod == Some(&unconfined()) {
        return;
    }
    let spec = spec.to_mut();
    let init = spec.init_containers.iter_mut().flatten();
    for container in init.chain(&mut spec.containers).filter(|container| names.contains(&container.name)) {
        set_unconfined(container);
    }
}

fn set_unconfined(container: &mut Container) {
    let security = container.security_context.get_or_insert_with(SecurityContext::default);
    security.app_armor_profile.get_or_insert_with(unconfined);
}

fn unconfined() -> AppArmorProfile {
    AppArmorProfile { type_: "Unconfined".to_owned(), localhost_profile: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use crate::pod_security::tests::subject;

    fn same(subject: &Subject) -> bool {
        matches!(as_admitted(subject), Cow::Borrowed(_))
    }

    #[test]
    fn a_volume_without_a_source_is_an_empty_directory() {
        let mut pod = subject("spec: {containers: [], volumes: [{name: a}, {name: b, nfs: {}}]}");
        for kind in [Kind::Pod, Kind::Deployment] {
            pod.kind = kind;
            let volumes = as_admitted(&pod).into_owned().volumes.expect("two");
            assert!(volumes[0].empty_dir.is_some() && volumes[1].empty_dir.is_none());
        }
        assert!(same(&subject("spec: {containers: [], volumes: [{name: b, nfs: {}}]}")));
    }

    #[test]
    fn in_the_hosts_network_a_pods_ports_are_the_hosts() {
        let mut pod = subject(
            "spec:
              hostNetwork: true
              initContainers: [{name: i, ports: [{containerPort: 1}]}]
              containers: [{name: a, ports: [{containerPort: 2, hostPort: 0}, {containerPort: 3, hostPort: 4}]}]",
        );
        let ports = |spec: &PodSpec| {
            let init = spec.init_containers.iter().flatten();
            let ports = init.chain(&spec.containers).flat_map(|container| container.ports.iter().flatten());
            ports.map(|port| port.host_port).collect::<Vec<_>>()
        };
        assert_eq!(ports(&as_admitted(&pod)), [Some(1), Some(2), Some(4)]);
        pod.kind = Kind::Deployment;
        assert!(same(&pod), "a template's are filled in when its pods are made");
        (pod.kind, pod.spec.host_network) = (Kind::Pod, Some(false));
        assert!(same(&pod));
    }

    #[test]
    fn an_unconfined_annotation_becomes_the_containers_profile() {
        let pod = |spec: &str| {
            let annotations = format!("{KEY}i: unconfined, {KEY}a: unconfined, {KEY}b: localhost/x");
            subject(&format!("{{metadata: {{annotations: {{{annotations}}}}}, spec: {{{spec}}}}}"))
        };
        let types = |spec: &PodSpec| {
            let init = spec.init_containers.iter().flatten();
            let of =
                |c: &Container| Some(c.security_context.as_ref()?.app_armor_profile.as_ref()?.type_.clone());
            init.chain(&spec.containers).map(of).map(Option::unwrap_or_default).collect::<Vec<_>>()
        };
        let own = "securityContext: {appArmorProfile: {type: Localhost}}";
        let containers =
            format!("initContainers: [{{name: i}}], containers: [{{name: a, {own}}}, {{name: b}}]");
        let mut plain = pod(&containers);
        assert_eq!(types(&as_admitted(&plain)), ["Unconfined", "Localhost", ""]);
        assert!(same(&pod(&format!("os: {{name: windows}}, {containers}"))));
        assert!(same(&pod(&format!(
            "securityContext: {{appArmorProfile: {{type: Unconfined}}}}, {containers}"
        ))));
        assert!(!same(&pod(&format!("{own}, {containers}"))));
        plain.kind = Kind::Job;
        assert!(same(&plain));
    }
}
