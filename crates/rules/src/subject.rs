//! What is judged: a Pod, or the pod inside a workload's template.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{Pod, PodSpec, PodTemplate, PodTemplateSpec, ReplicationController};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Deserializer};

/// The kinds that have a pod in them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    #[default]
    Pod,
    PodTemplate,
    ReplicationController,
    Deployment,
    ReplicaSet,
    StatefulSet,
    DaemonSet,
    Job,
    CronJob,
}

/// An object with a pod in it.
#[derive(Debug, Clone, Default)]
pub struct Subject {
    pub kind: Kind,
    /// The object's own.
    pub metadata: ObjectMeta,
    /// The pod's: the same for a Pod, the template's for the others.
    pub pod: ObjectMeta,
    pub spec: PodSpec,
}

struct Fact {
    kind: Kind,
    api_version: &'static str,
    name: &'static str,
    spec: &'static str,
}

#[rustfmt::skip]
const FACTS: [Fact; 9] = [
    Fact { kind: Kind::Pod, api_version: "v1", name: "Pod", spec: "spec" },
    Fact { kind: Kind::PodTemplate, api_version: "v1", name: "PodTemplate", spec: "template.spec" },
    Fact { kind: Kind::ReplicationController, api_version: "v1", name: "ReplicationController", spec: "spec.template.spec" },
    Fact { kind: Kind::Deployment, api_version: "apps/v1", name: "Deployment", spec: "spec.template.spec" },
    Fact { kind: Kind::ReplicaSet, api_version: "apps/v1", name: "ReplicaSet", spec: "spec.template.spec" },
    Fact { kind: Kind::StatefulSet, api_version: "apps/v1", name: "StatefulSet", spec: "spec.template.spec" },
    Fact { kind: Kind::DaemonSet, api_version: "apps/v1", name: "DaemonSet", spec: "spec.template.spec" },
    Fact { kind: Kind::Job, api_version: "batch/v1", name: "Job", spec: "spec.template.spec" },
    Fact { kind: Kind::CronJob, api_version: "batch/v1", name: "CronJob", spec: "spec.jobTemplate.spec.template.spec" },
];

// === impl Kind ===

impl Kind {
    /// The kind that an object names, if it has a pod in it.
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        FACTS.iter().find(|f| f.api_version == api_version && f.name == kind).map(|f| f.kind)
    }

    pub fn all() -> impl Iterator<Item = Self> {
        FACTS.iter().map(|fact| fact.kind)
    }

    pub fn name(self) -> &'static str {
        self.fact().name
    }

    pub fn api_version(self) -> &'static str {
        self.fact().api_version
    }

    /// Where the pod's spec is in the object.
    pub fn spec_path(self) -> &'static str {
        self.fact().spec
    }

    pub fn is_template(self) -> bool {
        self != Self::Pod
    }

    fn fact(self) -> &'static Fact {
        // The table has a row per kind, in their order (see the test).
        &FACTS[self as usize]
    }
}

// === impl Subject ===

impl Subject {
    /// Reads an object of a known kind whole: a wrong type anywhere in it is an error, as it is for the API server.
    pub fn decode<'de, D: Deserializer<'de>>(kind: Kind, from: D) -> Result<Self, D::Error> {
        Ok(match kind {
            Kind::Pod => Pod::deserialize(from)?.into(),
            Kind::PodTemplate => {
                let object = PodTemplate::deserialize(from)?;
                Self::of_template(kind, object.metadata, object.template)
            }
            Kind::ReplicationController => {
                let object = ReplicationController::deserialize(from)?;
                Self::of_template(kind, object.metadata, object.spec.and_then(|spec| spec.template))
            }
            Kind::Deployment => {
                let object = Deployment::deserialize(from)?;
                Self::of_template(kind, object.metadata, object.spec.map(|spec| spec.template))
            }
            Kind::ReplicaSet => {
                let object = ReplicaSet::deserialize(from)?;
                Self::of_template(kind, object.metadata, object.spec.and_then(|spec| spec.template))
            }
            Kind::StatefulSet => {
                let object = StatefulSet::deserialize(from)?;
                Self::of_template(kind, object.metadata, object.spec.map(|spec| spec.template))
            }
            Kind::DaemonSet => {
                let object = DaemonSet::deserialize(from)?;
                Self::of_template(kind, object.metadata, object.spec.map(|spec| spec.template))
            }
            Kind::Job => {
                let object = Job::deserialize(from)?;
                Self::of_template(kind, object.metadata, object.spec.map(|spec| spec.template))
            }
            Kind::CronJob => {
                let object = CronJob::deserialize(from)?;
                let job = object.spec.job_template.spec;
                Self::of_template(kind, object.metadata, job.map(|spec| spec.template))
            }
        })
    }

    fn of_template(kind: Kind, metadata: ObjectMeta, template: Option<PodTemplateSpec>) -> Self {
        let template = template.unwrap_or_default();
        let pod = template.metadata.unwrap_or_default();
        Self { kind, metadata, pod, spec: template.spec.unwrap_or_default() }
    }
}

impl From<Pod> for Subject {
    fn from(pod: Pod) -> Self {
        let (metadata, spec) = (pod.metadata, pod.spec.unwrap_or_default());
        Self { kind: Kind::Pod, pod: metadata.clone(), metadata, spec }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_row_and_is_read() {
        for kind in Kind::all() {
            assert_eq!(kind.fact().kind, kind);
            assert_eq!(Kind::of(kind.api_version(), kind.name()), Some(kind));
            let head = serde_json::json!({"apiVersion": kind.api_version(), "kind": kind.name()});
            let mut object = head;
            let mut at = &mut object;
            for step in kind.spec_path().split('.') {
                at = &mut at[step];
            }
            *at = serde_json::json!({"containers": [], "hostNetwork": true});
            let subject = Subject::decode(kind, &object).expect("decodes");
            assert_eq!((subject.kind, subject.spec.host_network), (kind, Some(true)), "{object}");
        }
        assert_eq!(Kind::of("apps/v1", "Pod"), None);
    }

    #[test]
    fn a_wrong_type_anywhere_is_an_error() {
        let object =
            serde_json::json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": "x"}});
        assert!(Subject::decode(Kind::Deployment, &object).is_err());
    }
}
