//! `appArmorProfile`: the runtime's profile or one of the node's, by field and by the annotation of old.

use k8s_openapi::api::core::v1::AppArmorProfile;

use super::pod::{Container, Pod};
use super::words::{Refusal, Values, annotation, containers, plural, quoted, refusal, setters};

pub(super) const FIELDS: &[&str] = &[
    "metadata.annotations[container.apparmor.security.beta.kubernetes.io/*]",
    "spec.securityContext.appArmorProfile.type",
    "spec.containers[*].securityContext.appArmorProfile.type",
];

pub(super) const KEY: &str = "container.apparmor.security.beta.kubernetes.io/";

pub(super) fn profile(pod: &Pod<'_>) -> Option<Refusal> {
    let of_pod = pod.security().and_then(|s| s.app_armor_profile.as_ref());
    let own = |c: &Container<'_>| bad_type(profile_of(c)).is_some();
    let by_field = setters(bad_type(of_pod).is_some(), containers(pod.containers().filter(own)));
    let annotations = bad_annotations(pod);
    let by_annotation = (!annotations.is_empty()).then(|| plural("annotation", annotations.len()));
    let who: Vec<_> = by_field.into_iter().chain(by_annotation).collect();
    let fields: Values<_> =
        pod.containers().map(|c| profile_of(&c)).chain([of_pod]).filter_map(bad_type).collect();
    let values: Vec<_> = fields.into_iter().chain(annotations.iter().map(String::as_str)).collect();
    let reason = match values.len() {
        0 => return None,
        1 => "forbidden AppArmor profile",
        _ => "forbidden AppArmor profiles",
    };
    let (who, values) = (who.join(" and "), quoted(values));
    Some(refusal(reason, format!("{who} must not set AppArmor profile type to {values}")))
}

fn bad_annotations(pod: &Pod<'_>) -> Values {
    let bad = pod.annotations().filter(|(key, value)| key.starts_with(KEY) && !is_safe(value));
    bad.map(|(key, value)| annotation(key, value)).collect()
}

fn profile_of<'a>(container: &Container<'a>) -> Option<&'a AppArmorProfile> {
    container.security?.app_armor_profile.as_ref()
}

fn bad_type(profile: Option<&AppArmorProfile>) -> Option<&str> {
    profile
        .map(|profile| profile.type_.as_str())
        .filter(|kind| !["RuntimeDefault", "Localhost"].contains(kind))
}

fn is_safe(value: &str) -> bool {
    value.is_empty() || value == "runtime/default" || value.starts_with("localhost/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod_security::tests::{details, subject};

    fn case(annotations: &str, spec: &str) -> String {
        format!("{{metadata: {{annotations: {{{annotations}}}}}, spec: {{{spec}}}}}")
    }

    #[test]
    fn fields_and_annotations_add_up() {
        let bad = "securityContext: {appArmorProfile: {type: Unconfined}}";
        let good = "securityContext: {appArmorProfile: {type: RuntimeDefault}}";
        let local = "securityContext: {appArmorProfile: {type: Localhost}}";
        let tail = "must not set AppArmor profile type to";
        details(
            profile,
            &[
                ("spec: {containers: [{name: a}]}", ""),
                (&case("", &format!("{good}, containers: [{{name: a, {local}}}]")), ""),
                (
                    &case(
                        &format!("{KEY}a: '', {KEY}b: runtime/default, {KEY}c: localhost/x, x: unconfined"),
                        "containers: []",
                    ),
                    "",
                ),
                (&case("", &format!("{bad}, containers: []")), &format!("pod {tail} \"Unconfined\"")),
                (
                    &case("", &format!("containers: [{{name: a, {bad}}}]")),
                    &format!("container \"a\" {tail} \"Unconfined\""),
                ),
                (
                    &case(&format!("{KEY}gone: unconfined"), "containers: []"),
                    &format!("annotation {tail} \"{KEY}gone=\"unconfined\"\""),
                ),
                (
                    &case(
                        &format!("{KEY}a: u, {KEY}a-b: v"),
                        &format!("{bad}, containers: [{{name: a, {bad}}}]"),
                    ),
                    &format!(
                        "pod and container \"a\" and annotations {tail} \"Unconfined\", \"{KEY}a-b=\"v\"\", \"{KEY}a=\"u\"\""
                    ),
                ),
            ],
        );
    }

    #[test]
    fn the_reason_counts_the_values() {
        let reason = |annotations: &str| {
            let object = subject(&case(annotations, "containers: []"));
            profile(&Pod { metadata: &object.pod, spec: &object.spec }).expect("refused").reason
        };
        assert_eq!(reason(&format!("{KEY}a: u")), "forbidden AppArmor profile");
        assert_eq!(reason(&format!("{KEY}a: u, {KEY}b: u")), "forbidden AppArmor profiles");
    }
}
