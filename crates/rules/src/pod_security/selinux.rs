//! `seLinuxOptions`: only the types that policies make for containers, and never a user or role.

use k8s_openapi::api::core::v1::SELinuxOptions;

use super::pod::{Container, Pod};
use super::words::{Refusal, Values, containers, plural, quoted, refusal, setters};

#[rustfmt::skip]
pub(super) const FIELDS: &[&str] = &[
    "spec.securityContext.seLinuxOptions.{type,user,role}",
    "spec.containers[*].securityContext.seLinuxOptions.{type,user,role}",
];

const TYPES: &[&str] = &["container_t", "container_init_t", "container_kvm_t"];
const TYPES_1_31: &[&str] = &["container_t", "container_init_t", "container_kvm_t", "container_engine_t"];

pub(super) fn v1_0(pod: &Pod<'_>) -> Option<Refusal> {
    beyond(pod, TYPES)
}

pub(super) fn v1_31(pod: &Pod<'_>) -> Option<Refusal> {
    beyond(pod, TYPES_1_31)
}

fn beyond(pod: &Pod<'_>, allowed: &[&str]) -> Option<Refusal> {
    let of_pod = pod.security().and_then(|s| s.se_linux_options.as_ref());
    let bad =
        |options: &SELinuxOptions| bad_type(options, allowed).is_some() || user(options) || role(options);
    let own = |c: &Container<'_>| options_of(c).is_some_and(bad);
    let who = setters(of_pod.is_some_and(bad), containers(pod.containers().filter(own)))?;
    let all: Vec<_> = of_pod.into_iter().chain(pod.containers().filter_map(|c| options_of(&c))).collect();
    let detail = format!("{who} set forbidden securityContext.seLinuxOptions: {}", faults(&all, allowed));
    Some(refusal("seLinuxOptions", detail))
}

fn faults(all: &[&SELinuxOptions], allowed: &[&str]) -> String {
    let types: Values<_> = all.iter().filter_map(|options| bad_type(options, allowed)).collect();
    let types = (!types.is_empty()).then(|| format!("{} {}", plural("type", types.len()), quoted(&types)));
    let user = all.iter().any(|options| user(options)).then(|| "user may not be set".to_owned());
    let role = all.iter().any(|options| role(options)).then(|| "role may not be set".to_owned());
    [types, user, role].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn options_of<'a>(container: &Container<'a>) -> Option<&'a SELinuxOptions> {
    container.security?.se_linux_options.as_ref()
}

fn bad_type<'a>(options: &'a SELinuxOptions, allowed: &[&str]) -> Option<&'a str> {
    options.type_.as_deref().filter(|kind| !kind.is_empty() && !allowed.contains(kind))
}

fn user(options: &SELinuxOptions) -> bool {
    options.user.as_ref().is_some_and(|user| !user.is_empty())
}

fn role(options: &SELinuxOptions) -> bool {
    options.role.as_ref().is_some_and(|role| !role.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod_security::tests::details;

    const ALL: &str = "spec:
      securityContext: {seLinuxOptions: {type: spc_t, user: '', role: ''}}
      initContainers: [{name: i, securityContext: {seLinuxOptions: {type: container_t}}}]
      containers:
      - {name: a, securityContext: {seLinuxOptions: {type: container_engine_t}}}
      - {name: b, securityContext: {seLinuxOptions: {user: u}}}
      - {name: c, securityContext: {seLinuxOptions: {role: r}}}
      - {name: d, securityContext: {seLinuxOptions: {level: s0}}}";

    #[test]
    fn types_users_and_roles_are_gathered_from_all() {
        let head = "set forbidden securityContext.seLinuxOptions:";
        let tail = "user may not be set; role may not be set";
        let old = format!(
            "pod and containers \"a\", \"b\", \"c\" {head} types \"container_engine_t\", \"spc_t\"; {tail}"
        );
        details(v1_0, &[(ALL, &old)]);
        details(v1_31, &[(ALL, &format!("pod and containers \"b\", \"c\" {head} type \"spc_t\"; {tail}"))]);
    }

    #[test]
    fn each_fault_alone() {
        let pod = |options: &str| {
            format!("spec: {{securityContext: {{seLinuxOptions: {{{options}}}}}, containers: []}}")
        };
        let head = "pod set forbidden securityContext.seLinuxOptions:";
        details(
            v1_0,
            &[
                (&pod("user: u"), &format!("{head} user may not be set")),
                (&pod("role: r"), &format!("{head} role may not be set")),
                (&pod("type: t"), &format!("{head} type \"t\"")),
                (&pod("type: ''"), ""),
                (&pod("type: container_init_t"), ""),
                (&pod("type: container_kvm_t"), ""),
            ],
        );
    }
}
