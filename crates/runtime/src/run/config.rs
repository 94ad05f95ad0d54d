//! What a file's pod asks, in the runtime's words.

use images::Image;
use k8s_openapi::api::core::v1::{Container, SecurityContext};
use plan::expand::expand;

use super::volumes::{self, VolumeError};
use crate::admit::{Admitted, Asked};
use crate::config::{ContainerConfig, PodConfig, Termination, TerminationPolicy};
use crate::ids::PodId;
use crate::node::Node;
use crate::prepare::host_root;
use crate::record::{ContainerName, Origin};

pub(super) fn of_pod(pod: &Admitted, node: &Node) -> PodConfig {
    let name = |asked: &Asked| ContainerName { name: asked.container.name.clone(), kind: asked.kind };
    PodConfig {
        id: PodId::from(pod.uid),
        namespace: pod.namespace.clone(),
        name: pod.name.clone(),
        uid: pod.uid.to_string(),
        attempt: 0,
        host_process: true,
        host_network: true,
        handler: pod.handler.clone(),
        hostname: node.facts.hostname.clone(),
        labels: pod.labels.clone(),
        annotations: pod.annotations.clone(),
        log_directory: None,
        mode: None,
        origin: Some(Origin {
            file: pod.file.clone(),
            spec_digest: pod.spec_digest.clone(),
            grace_seconds: pod.grace.as_secs(),
            containers: pod.containers.iter().map(name).collect(),
        }),
        note: None,
    }
}

/// Whether a pod that is here is the one that is asked for. Its host's name is no part of what a pod asks: machines are
/// renamed, by hand or by DHCP, while their pods run.
pub(super) fn is_unchanged(before: &PodConfig, asked: &PodConfig) -> bool {
    *before == PodConfig { hostname: before.hostname.clone(), ..asked.clone() }
}

/// One attempt to run a container.
pub(super) fn of_container(
    pod: &Admitted,
    asked: &Asked,
    image: &Image,
    node: &Node,
    attempt: u32,
) -> Result<ContainerConfig, VolumeError> {
    let (container, dir) = (&asked.container, node.layout.pod(&PodId::from(pod.uid)));
    let env = environment(container);
    let words = |words: &Option<Vec<String>>| expanded(words.as_deref().unwrap_or_default(), &env);
    Ok(ContainerConfig {
        attempt,
        image_ref: container.image.clone().unwrap_or_default(),
        command: words(&container.command),
        args: words(&container.args),
        working_dir: container.working_dir.clone().unwrap_or_default(),
        mounts: volumes::resolve(pod, container, &dir, host_root(&node.facts))?,
        user: user(container.security_context.as_ref()).or_else(|| pod.user.clone()),
        limits: asked.limits.clone(),
        stdin: container.stdin == Some(true),
        stdin_once: container.stdin_once == Some(true),
        tty: container.tty == Some(true),
        termination: termination(container),
        env,
        ..ContainerConfig::new(&container.name, image.clone())
    })
}

/// As a kubelet: only the pod's own variables are known to `$(NAME)`, only earlier ones, and only in its own words.
fn environment(container: &Container) -> Vec<(String, String)> {
    let mut env: Vec<(String, String)> = Vec::new();
    for variable in container.env.iter().flatten() {
        let value = expand(variable.value.as_deref().unwrap_or_default(), |name| get(&env, name));
        env.push((variable.name.clone(), value));
    }
    env
}

fn get<'e>(env: &'e [(String, String)], name: &str) -> Option<&'e str> {
    env.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

fn expanded(words: &[String], env: &[(String, String)]) -> Vec<String> {
    words.iter().map(|word| expand(word, |name| get(env, name))).collect()
}

fn user(context: Option<&SecurityContext>) -> Option<String> {
    context?.windows_options.as_ref()?.run_as_user_name.clone()
}

/// Without a path of its own the container has no such file: nothing of a host is made for nobody.
fn termination(container: &Container) -> Option<Termination> {
    let fallback = container.termination_message_policy.as_deref() == Some("FallbackToLogsOnError");
    let policy = if fallback { TerminationPolicy::FallbackToLogsOnError } else { TerminationPolicy::File };
    Some(Termination { path: container.termination_message_path.clone()?, policy })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn container(value: serde_json::Value) -> Container {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn references_know_the_pods_own_earlier_variables() {
        let container = container(json!({"name": "c", "env": [
            {"name": "A", "value": "one"}, {"name": "B", "value": "$(A)-$(LATER)-$$(A)"}, {"name": "LATER"},
        ]}));
        let env = environment(&container);
        assert_eq!(get(&env, "B"), Some("one-$(LATER)-$(A)"));
        let words = ["$(A)".to_owned(), "$(HOME)".to_owned(), "$(LATER)!".to_owned()];
        assert_eq!(expanded(&words, &env), ["one", "$(HOME)", "!"]);
    }

    #[test]
    fn a_machine_that_is_renamed_has_the_same_pods() {
        let before = PodConfig {
            hostname: "before".into(),
            ..PodConfig::host_process(PodId::parse("p").unwrap(), "web")
        };
        let after = PodConfig { hostname: "after".into(), ..before.clone() };
        assert!(is_unchanged(&before, &before) && is_unchanged(&before, &after));
        let one = || [("a".to_owned(), "b".to_owned())].into();
        let changed = [
            PodConfig { handler: "other".into(), ..after.clone() },
            PodConfig { labels: one(), ..after.clone() },
            PodConfig { annotations: one(), ..after },
        ];
        assert!(!changed.iter().any(|asked| is_unchanged(&before, asked)));
    }

    #[test]
    fn last_words_need_a_place() {
        assert_eq!(termination(&container(json!({"name": "c"}))), None);
        let asked = json!({"name": "c", "terminationMessagePath": "/t", "terminationMessagePolicy": "FallbackToLogsOnError"});
        let found = termination(&container(asked)).unwrap();
        assert_eq!((found.path.as_str(), found.policy), ("/t", TerminationPolicy::FallbackToLogsOnError));
    }
}
