//! May this pod run here? Every check, before any side effect.
//!
//! What `up` cannot do yet is refused by name rather than left out in silence: a pod that runs without the
//! volume it asked for is worse than one that does not run.

mod account;
pub mod volumes;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use images::Source;
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use os::job::JobLimits;
use plan::quantity::Quantity;
use uuid::Uuid;

use crate::layout::Layout;
use crate::record::{self, Kind};
use volumes::Volume;

/// A pod that may run, with everything resolved that can be without touching the host.
#[derive(Debug, Clone)]
pub struct Admitted {
    pub uid: Uuid,
    pub namespace: String,
    pub name: String,
    pub file: PathBuf,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    /// The RuntimeClass it names; empty for none.
    pub handler: String,
    /// `runAsUserName` for containers that say nothing else.
    pub user: Option<String>,
    pub volumes: Vec<Volume>,
    pub spec_digest: String,
    pub grace: Duration,
    pub restart: RestartPolicy,
    /// Init containers first.
    pub containers: Vec<Asked>,
    /// Fields that have no effect here.
    pub warnings: Vec<String>,
}

/// One container that may run.
#[derive(Debug, Clone)]
pub struct Asked {
    pub kind: Kind,
    pub container: Container,
    pub source: Source,
    pub limits: JobLimits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestartPolicy {
    Always,
    OnFailure,
    Never,
}

/// Why a pod may not run here.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refused {
    #[error("metadata.name: wanted lower-case letters, digits, '-' and '.', found {0:?}")]
    Name(String),
    #[error("the pod has no spec")]
    NoSpec,
    #[error("spec.containers: wanted at least one")]
    NoContainers,
    #[error("{0}")]
    Rule(rules::Violation),
    #[error(
        "not a HostProcess pod: set securityContext.windowsOptions.hostProcess: true and hostNetwork: true; \
         isolated containers are not supported yet"
    )]
    NotHostProcess,
    #[error("{field}: {what} not supported yet")]
    Unsupported { field: String, what: &'static str },
    #[error("{field}: {source}")]
    Image { field: String, source: images::source::SourceError },
    #[error("{field}: {source}")]
    Quantity { field: String, source: plan::quantity::QuantityError },
    #[error("{field}: {found:?} is out of range")]
    Range { field: String, found: String },
    #[error("{field}: wanted Always, OnFailure or Never, found {found:?}")]
    RestartPolicy { field: &'static str, found: String },
    #[error("{field}: two containers are called {name:?}")]
    Twice { field: String, name: String },
    #[error("{field}: there is no volume {name:?}")]
    NoVolume { field: String, name: String },
    #[error("{field}: wanted {wanted}, found {found:?}")]
    Value { field: String, wanted: &'static str, found: String },
}

const DEFAULT_GRACE: i64 = 30;
/// Ten years: for ever, and still a time that can be added to now.
const LONGEST_GRACE: Duration = Duration::from_secs(10 * 365 * 86_400);
const LONGEST_NAME: usize = 253;
/// Container names are labels.
const LONGEST_LABEL: usize = 63;

/// Checks a pod of a file against this host. All that is wrong is said at once.
pub fn admit(pod: &Pod, file: &Path, layout: &Layout) -> Result<Admitted, Vec<Refused>> {
    let mut refused = Vec::new();
    let name = pod.metadata.name.clone().unwrap_or_default();
    let namespace = pod.metadata.namespace.clone().unwrap_or_else(|| "default".to_owned());
    refused.extend([&name, &namespace].into_iter().filter(|n| !is_name(n)).cloned().map(Refused::Name));
    let Some(spec) = &pod.spec else {
        refused.push(Refused::NoSpec);
        return Err(refused);
    };
    refused.extend(kind_of_pod(pod, spec));
    refused.extend(unsupported(spec));
    refused.extend(account::refused(spec));
    let volumes = volumes::read(spec, &mut refused);
    let restart = RestartPolicy::parse(spec.restart_policy.as_deref());
    let base = file.parent().unwrap_or_else(|| Path::new("."));
    let containers = asked(spec, base, &mut refused);
    match restart {
        Err(e) => refused.push(e),
        Ok(restart) if refused.is_empty() => {
            let grace = spec.termination_grace_period_seconds.unwrap_or(DEFAULT_GRACE);
            return Ok(Admitted {
                uid: layout.uid(file, &namespace, &name),
                namespace,
                name,
                file: file.to_owned(),
                labels: pod.metadata.labels.clone().unwrap_or_default(),
                annotations: pod.metadata.annotations.clone().unwrap_or_default(),
                handler: spec.runtime_class_name.clone().unwrap_or_default(),
                user: account::of_pod(spec),
                volumes,
                spec_digest: record::digest(spec).unwrap_or_default(),
                grace: Duration::from_secs(u64::try_from(grace).unwrap_or(0)).min(LONGEST_GRACE),
                restart,
                containers,
                warnings: without_effect(spec),
            });
        }
        Ok(_) => {}
    }
    Err(refused)
}

/// A node believes nobody that the API server's rules were kept (HP-04).
fn kind_of_pod(pod: &Pod, spec: &PodSpec) -> Vec<Refused> {
    let broken = rules::api(&pod.clone().into(), &rules::ApiOptions::default());
    let mut refused: Vec<_> = broken.into_iter().map(Refused::Rule).collect();
    if spec.containers.is_empty() {
        refused.push(Refused::NoContainers);
    } else if !rules::is_host_process(spec) {
        refused.push(Refused::NotHostProcess);
    }
    refused
}

/// The init and regular containers with the paths of their fields.
fn listed(spec: &PodSpec) -> impl Iterator<Item = (Kind, String, &Container)> {
    let init = spec.init_containers.iter().flatten().enumerate();
    let init = init.map(|(i, c)| (Kind::Init, format!("spec.initContainers[{i}]"), c));
    let regular = spec.containers.iter().enumerate();
    init.chain(regular.map(|(i, c)| (Kind::Regular, format!("spec.containers[{i}]"), c)))
}

fn asked(spec: &PodSpec, base: &Path, refused: &mut Vec<Refused>) -> Vec<Asked> {
    let mut all: Vec<Asked> = Vec::new();
    for (kind, field, container) in listed(spec) {
        if !is_name(&container.name) || container.name.contains('.') || container.name.len() > LONGEST_LABEL {
            refused.push(Refused::Name(container.name.clone()));
        } else if all.iter().any(|other| other.container.name == container.name) {
            refused.push(Refused::Twice { field: format!("{field}.name"), name: container.name.clone() });
        }
        let source = Source::parse(container.image.as_deref().unwrap_or_default(), base)
            .map_err(|source| Refused::Image { field: format!("{field}.image"), source });
        match (source, limits(container, &field)) {
            (Ok(source), Ok(limits)) => {
                all.push(Asked { kind, container: container.clone(), source, limits })
            }
            (source, limits) => refused.extend(source.err().into_iter().chain(limits.err())),
        }
    }
    all
}

fn limits(container: &Container, field: &str) -> Result<JobLimits, Refused> {
    let mut limits = JobLimits::default();
    let given = container.resources.as_ref().and_then(|r| r.limits.as_ref());
    for (resource, quantity) in given.into_iter().flatten() {
        let field = || format!("{field}.resources.limits.{resource}");
        let range = || Refused::Range { field: field(), found: quantity.0.clone() };
        let amount =
            Quantity::parse(&quantity.0).map_err(|source| Refused::Quantity { field: field(), source })?;
        match resource.as_str() {
            "memory" => limits.memory_bytes = Some(amount.whole().ok_or_else(range)?),
            "cpu" => {
                let milli = amount.milli().and_then(|milli| u32::try_from(milli).ok());
                limits.cpu_millis = Some(milli.ok_or_else(range)?);
            }
            _ => return Err(Refused::Unsupported { field: field(), what: "this resource is" }),
        }
    }
    Ok(limits)
}

fn unsupported(spec: &PodSpec) -> Vec<Refused> {
    let mut refused = Vec::new();
    let mut refuse = |field: String, what| refused.push(Refused::Unsupported { field, what });
    for (kind, field, container) in listed(spec) {
        if container.volume_devices.iter().flatten().next().is_some() {
            refuse(format!("{field}.volumeDevices"), "block devices are");
        }
        if container.env_from.iter().flatten().next().is_some() {
            refuse(format!("{field}.envFrom"), "variables from a cluster's objects are");
        }
        if kind == Kind::Init && container.restart_policy.is_some() {
            refuse(format!("{field}.restartPolicy"), "sidecar containers are");
        }
        for (i, variable) in container.env.iter().flatten().enumerate() {
            if variable.value_from.is_some() {
                refuse(format!("{field}.env[{i}].valueFrom"), "variables from elsewhere are");
            }
        }
    }
    refused
}

fn without_effect(spec: &PodSpec) -> Vec<String> {
    let mut warnings = Vec::new();
    for (_, field, container) in listed(spec) {
        let fields = [
            ("livenessProbe", container.liveness_probe.is_some()),
            ("readinessProbe", container.readiness_probe.is_some()),
            ("startupProbe", container.startup_probe.is_some()),
            ("lifecycle", container.lifecycle.is_some()),
        ];
        let set = fields.into_iter().filter(|(_, set)| *set);
        warnings.extend(set.map(|(name, _)| format!("{field}.{name} has no effect yet")));
    }
    warnings
}

fn is_name(name: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    edge(name.chars().next())
        && edge(name.chars().next_back())
        && name.len() <= LONGEST_NAME
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b))
}

// === impl RestartPolicy ===

impl RestartPolicy {
    fn parse(text: Option<&str>) -> Result<RestartPolicy, Refused> {
        match text {
            None | Some("Always") => Ok(RestartPolicy::Always),
            Some("OnFailure") => Ok(RestartPolicy::OnFailure),
            Some("Never") => Ok(RestartPolicy::Never),
            Some(other) => {
                Err(Refused::RestartPolicy { field: "spec.restartPolicy", found: other.to_owned() })
            }
        }
    }

    /// Whether a container of this kind that ended with this code is started again.
    pub fn restarts(self, kind: Kind, code: u32) -> bool {
        match (self, kind) {
            (RestartPolicy::Never, _) => false,
            // An init container has done its work when it succeeds, whatever the policy says.
            (_, Kind::Init) | (RestartPolicy::OnFailure, _) => code != 0,
            (RestartPolicy::Always, Kind::Regular) => true,
        }
    }
}

#[cfg(test)]
mod tests;
