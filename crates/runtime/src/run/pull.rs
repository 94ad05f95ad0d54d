//! A pod's images, before anything of any pod is started.

use images::platform::{Host, Isolation};
use images::{Access, Caller, Image, PullPolicy, Wanted};

use super::{RunError, adopt};
use crate::admit::{Admitted, Asked};
use crate::failure::FailureMode;
use crate::ids::PodId;
use crate::node::Node;
use crate::pins::Owner;

/// The images of a pod, pulled and unpacked where they were not.
///
/// A pod that is here already has its images: a registry that is away must not keep it from being taken up again.
///
/// From now on they are kept for the pod, until it is removed or, if it never comes to be, until the next start.
pub fn pull(
    node: &Node,
    pod: &Admitted,
    access: &Access,
    caller: Caller<'_>,
) -> Result<Vec<Image>, RunError> {
    let host = Host::here(&node.facts.os, &node.facts.architecture);
    let owner = Owner::of(pod).to_string();
    let here = adopt::is_here(pod, &node.layout.pod(&PodId::from(pod.uid)));
    let ensure = |asked: &Asked| {
        let policy = asked.container.image_pull_policy.as_deref().map(PullPolicy::parse).transpose();
        let policy = policy.map_err(|source| RunError::Policy { pod: pod.full_name(), source })?;
        let policy =
            if here && policy != Some(PullPolicy::Never) { Some(PullPolicy::IfNotPresent) } else { policy };
        let wanted = Wanted {
            source: &asked.source,
            policy,
            host: &host,
            isolation: Isolation::HostProcess,
            access,
            pin: Some(&owner),
        };
        let ensured = node.images.ensure(&wanted, caller).inspect_err(|error| {
            if let Some(mode) = FailureMode::of_image(error) {
                node.counters.count(mode);
            }
        });
        ensured.map_err(|source| RunError::Image { pod: pod.full_name(), source: Box::new(source) })
    };
    pod.containers.iter().map(ensure).collect()
}
