//! Which pod, and which of its containers, somebody means.

use anyhow::anyhow;
use runtime::layout::Layout;
use runtime::record::Kind;
use runtime::view::{self, ContainerView, PodView, State};

use crate::cli::Root;
use crate::failure::{Exit, Failure, code};

/// How verbs call a pod.
pub const POD_HELP: &str =
    "The pod, as NAME or NAMESPACE/NAME; or the beginning of its uid or of a container's id";

/// Shorter beginnings of ids are nobody's.
const SHORTEST_ID: usize = 4;

/// A pod, and the container if its id was said.
#[derive(Debug, Clone)]
pub struct Named {
    pub pod: PodView,
    pub container: Option<ContainerView>,
}

/// What is under a root; needs no agent.
pub fn look(root: &Root) -> Result<Vec<PodView>, Failure> {
    let boot_id = os::host::facts().or_environment()?.boot_id;
    view::pods(&Layout::new(&root.path().or_environment()?), &boot_id).or_environment()
}

/// The one pod that is meant. A name means more than the beginning of an id.
pub fn find(pods: &[PodView], text: &str) -> Result<Named, Failure> {
    let by_name = pods.iter().filter(|pod| is_called(pod, text)).map(Named::pod).collect();
    let found: Vec<Named> =
        Some(by_name).filter(|found: &Vec<_>| !found.is_empty()).unwrap_or_else(|| by_id(pods, text));
    match <[Named; 1]>::try_from(found) {
        Ok([one]) => Ok(one),
        Err(none) if none.is_empty() => Err(not_found(&format!("pod {text}"), pods.iter().map(full_name))),
        Err(several) => {
            let several: Vec<_> = several.iter().map(Named::candidate).collect();
            let text = format!("{text:?} may be any of: {}", several.join(", "));
            Err(Failure::new(code::NO, anyhow!("{text}; say more of it, or the uid")))
        }
    }
}

fn is_called(pod: &PodView, text: &str) -> bool {
    match text.split_once('/') {
        Some((namespace, name)) => pod.namespace == namespace && pod.name == name,
        None => pod.name == text || pod.uid == text,
    }
}

fn by_id(pods: &[PodView], text: &str) -> Vec<Named> {
    if text.len() < SHORTEST_ID {
        return Vec::new();
    }
    let of_pod = |pod: &PodView| {
        let whole = pod.uid.starts_with(text).then(|| Named::pod(pod));
        let containers = pod.containers.iter().filter(|container| container.id.as_str().starts_with(text));
        let containers =
            containers.map(|container| Named { container: Some(container.clone()), ..Named::pod(pod) });
        whole.into_iter().chain(containers).collect::<Vec<_>>()
    };
    pods.iter().flat_map(of_pod).collect()
}

pub fn full_name(pod: &PodView) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

/// Whether anything of the pod runs.
pub fn runs(pod: &PodView) -> bool {
    pod.containers.iter().any(|it| matches!(it.state, State::Running | State::Stopping))
}

fn not_found(what: &str, there: impl Iterator<Item = String>) -> Failure {
    let there: Vec<_> = there.collect();
    let there =
        if there.is_empty() { "there is none".to_owned() } else { format!("there is {}", there.join(", ")) };
    Failure::new(code::NO, anyhow!("no {what}; {there}"))
}

// === impl Named ===

impl Named {
    fn pod(pod: &PodView) -> Named {
        Named { pod: pod.clone(), container: None }
    }

    pub fn full_name(&self) -> String {
        full_name(&self.pod)
    }

    fn candidate(&self) -> String {
        match &self.container {
            Some(it) => format!("{}/{} ({})", self.full_name(), it.name, &it.id.as_str()[..12]),
            None => format!("{} ({}, {})", self.full_name(), self.pod.uid, self.pod.file.display()),
        }
    }

    /// The id by which the runtime knows the pod.
    pub fn id(&self) -> Result<runtime::PodId, Failure> {
        let why = self.pod.problem.as_deref().unwrap_or("it has no id");
        self.pod
            .id
            .clone()
            .ok_or_else(|| Failure::new(code::ENVIRONMENT, anyhow!("{}: {why}", self.full_name())))
    }

    /// The container that is meant: by name, else by the id that was said, else the pod's first.
    pub fn container(self, wanted: Option<&str>) -> Result<ContainerView, Failure> {
        let containers = &self.pod.containers;
        let found = match wanted {
            Some(wanted) => containers.iter().find(|container| container.name == wanted).cloned(),
            None => self
                .container
                .clone()
                .or_else(|| containers.iter().find(|container| container.kind == Kind::Regular).cloned()),
        };
        found.ok_or_else(|| {
            let what = format!("container {:?} in {}", wanted.unwrap_or_default(), self.full_name());
            not_found(&what, containers.iter().map(|c| c.name.clone()))
        })
    }
}

#[cfg(test)]
mod tests {
    use runtime::{ContainerId, PodId};

    use super::*;

    fn pod(namespace: &str, name: &str, uid: &str, containers: &[&str]) -> PodView {
        let id = PodId::parse(uid).unwrap();
        let container = |name: &&str| ContainerView {
            id: ContainerId::of(&id, name, 0),
            name: (*name).to_owned(),
            kind: Kind::Regular,
            state: State::Running,
            restarts: 0,
            pid: Some(1),
            exit_code: None,
            reason: None,
            message: None,
            started: None,
            finished: None,
            log: None,
            previous_log: None,
        };
        PodView {
            containers: containers.iter().map(container).collect(),
            id: Some(id),
            namespace: namespace.into(),
            name: name.into(),
            uid: uid.into(),
            file: format!("{uid}.yaml").into(),
            holder: None,
            problem: None,
        }
    }

    fn said(found: Result<Named, Failure>) -> String {
        found.map_or_else(|failure| failure.line(), |named| named.pod.uid)
    }

    #[test]
    fn a_pod_is_found_by_any_of_its_names() {
        let pods = [
            pod("default", "web", "aaaa-1", &["main"]),
            pod("other", "web", "aaab-2", &["main"]),
            pod("default", "db", "bbbb-3", &["main", "side"]),
        ];
        let side = pods[2].containers[1].id.to_string();
        for (text, expected) in [
            ("default/web", "aaaa-1"),
            ("other/web", "aaab-2"),
            ("db", "bbbb-3"),
            ("aaaa", "aaaa-1"),
            ("bbbb-3", "bbbb-3"),
            (&side[..8], "bbbb-3"),
        ] {
            assert_eq!(said(find(&pods, text)), expected, "{text}");
        }
        let named = find(&pods, &side[..8]).unwrap();
        assert_eq!(named.clone().container(None).unwrap().name, "side");
        assert_eq!(named.container(Some("main")).unwrap().name, "main");
    }

    #[test]
    fn what_is_nobodys_name_or_several_peoples_is_said() {
        let pods = [pod("default", "web", "aaaa-1", &["main"]), pod("other", "web", "aaab-2", &["main"])];
        let several = said(find(&pods, "web"));
        assert!(several.contains("default/web (aaaa-1, aaaa-1.yaml), other/web (aaab-2"), "{several}");
        assert!(said(find(&pods, "aaa")).contains("no pod aaa; there is default/web, other/web"));
        assert!(said(find(&[], "x")).contains("there is none"));
        let none = find(&pods, "default/web").unwrap().container(Some("x")).unwrap_err();
        assert!(none.line().contains("no container \"x\" in default/web; there is main"), "{}", none.line());
    }

    #[test]
    fn a_name_means_more_than_the_beginning_of_an_id() {
        let pods = [pod("default", "aaaa", "cccc-1", &[]), pod("default", "web", "aaaa-2", &[])];
        assert_eq!(said(find(&pods, "aaaa")), "cccc-1");
    }
}
