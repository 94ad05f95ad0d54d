//! The annotation by which HostProcess pods were asked for before there was a field (HP-06).
//!
//! Pod Security does not look at annotations, so one that granted anything would be a way around it: it is refused.
//! For clients that know nothing else an administrator may name a HostProcessPolicy, which then judges such pods.

use k8s_openapi::api::core::v1::{
    Container, HostPathVolumeSource, Pod, PodSecurityContext, PodSpec, Volume, WindowsSecurityContextOptions,
};
use rules::Subject;
use rules::policy::{Asker, Decision, Policy};

use super::WireError;

pub const ALPHA: &str = "microsoft.com/hostprocess-container";

/// What CRI tells of a pod that a policy can speak of.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen<'a> {
    pub(super) namespace: &'a str,
    pub(super) user: Option<&'a str>,
    pub(super) image: &'a str,
    pub(super) host_paths: &'a [String],
}

/// Whether the annotation is there and means yes.
pub(super) fn is_set(annotations: &std::collections::BTreeMap<String, String>) -> bool {
    annotations.get(ALPHA).is_some_and(|value| !["", "false", "0"].contains(&value.as_str()))
}

/// What such a pod hears where there is no policy for it.
pub(super) fn refusal() -> WireError {
    let why = "only securityContext.windowsOptions.hostProcess grants HostProcess, as Pod Security sees that";
    forbidden(why.to_owned())
}

fn forbidden(why: String) -> WireError {
    WireError::Forbidden { field: format!("annotation {ALPHA}"), why }
}

/// A container of a pod that has nothing but the annotation to show.
pub(super) fn judge(policy: Option<&Policy>, seen: &Seen<'_>) -> Result<(), WireError> {
    let Some(policy) = policy else { return Err(refusal()) };
    let asker = Asker { namespace: seen.namespace, user: None };
    match policy.decide(&subject(seen), &asker) {
        Decision::Allowed { .. } => Ok(()),
        Decision::Refused { message } => Err(forbidden(message)),
        Decision::NotHostProcess => {
            Err(forbidden("the policy does not take it for a HostProcess pod".to_owned()))
        }
    }
}

/// The pod as far as it is known: what is not told is not there, and a rule that wants it does not match.
fn subject(seen: &Seen<'_>) -> Subject {
    let options = WindowsSecurityContextOptions {
        host_process: Some(true),
        run_as_user_name: seen.user.map(str::to_owned),
        ..Default::default()
    };
    let context = PodSecurityContext { windows_options: Some(options), ..Default::default() };
    let container =
        Container { name: "container".into(), image: Some(seen.image.into()), ..Default::default() };
    let volume = |(number, path): (usize, &String)| Volume {
        name: format!("volume-{number}"),
        host_path: Some(HostPathVolumeSource { path: path.clone(), type_: None }),
        ..Default::default()
    };
    let spec = PodSpec {
        host_network: Some(true),
        security_context: Some(context),
        containers: vec![container],
        volumes: Some(seen.host_paths.iter().enumerate().map(volume).collect()),
        ..Default::default()
    };
    Subject::from(Pod { metadata: Default::default(), spec: Some(spec), status: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = "apiVersion: porthole.dev/v1alpha1\nkind: HostProcessPolicy\nrules:\n- namespaces: [legacy]\n  images: [\"registry.example/*\"]\n";

    // proves: HP-06 pure
    #[test]
    fn the_annotation_grants_nothing_by_itself_and_with_a_policy_what_that_says() {
        let seen = Seen { namespace: "legacy", image: "registry.example/agent:1", ..Seen::default() };
        let refused = judge(None, &seen).unwrap_err().to_string();
        assert!(refused.contains("only securityContext.windowsOptions.hostProcess grants"), "{refused}");
        let policy = Policy::parse(POLICY).expect("a policy");
        assert_eq!(judge(Some(&policy), &seen), Ok(()));
        for other in [Seen { namespace: "default", ..seen }, Seen { image: "elsewhere/agent:1", ..seen }] {
            assert!(matches!(judge(Some(&policy), &other), Err(WireError::Forbidden { .. })), "{other:?}");
        }
    }

    #[test]
    fn yes_is_what_is_not_no() {
        let set = |value: &str| is_set(&[(ALPHA.to_owned(), value.to_owned())].into());
        assert!(set("true") && set("True") && set("yes"));
        assert!(!set("false") && !set("") && !is_set(&Default::default()));
    }
}
