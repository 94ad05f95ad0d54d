//! Which fields the rules look at, as data: `check --covers` prints it, and the comparison with a real API server
//! is held over exactly these.

use crate::Reason::{
    self, FieldValueDuplicate, FieldValueForbidden, FieldValueInvalid, FieldValueNotSupported,
    FieldValueRequired, FieldValueTooLong,
};
use crate::{Kind, Violation};

/// A pattern of fields and the rule on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Cover {
    /// As in a Pod: other kinds have it below their template. `[*]` is any index, `{a,b}` one of these.
    pub field: &'static str,
    pub rule: &'static str,
    pub reasons: &'static [Reason],
    pub requirement: &'static str,
}

/// All that [`api`](crate::api()) finds is covered by one of these.
pub fn covers() -> &'static [Cover] {
    COVERS
}

/// The path of a field in the security context of any container.
macro_rules! each {
    ($field:literal) => {
        concat!("spec.{containers,initContainers,ephemeralContainers}[*].securityContext.", $field)
    };
}

const fn row(
    requirement: &'static str,
    field: &'static str,
    reasons: &'static [Reason],
    rule: &'static str,
) -> Cover {
    Cover { field, rule, reasons, requirement }
}

const fn windows(field: &'static str) -> Cover {
    row("HP-01", field, &[FieldValueForbidden], "not with os windows")
}

#[rustfmt::skip]
const COVERS: &[Cover] = &[
    row("HP-01", each!("windowsOptions.hostProcess"), &[FieldValueInvalid], "the same as the pod's, if both are set"),
    row("HP-01", "spec", &[FieldValueInvalid], "all containers HostProcess, or none"),
    row("HP-02", "spec.hostNetwork", &[FieldValueInvalid], "true for a HostProcess pod"),
    row("HP-03", "spec", &[FieldValueForbidden], "HostProcess only with --allow-privileged"),
    row("HP-03", each!("privileged"), &[FieldValueForbidden], "true only with --allow-privileged; not with os windows"),
    row("HP-05", "spec.securityContext.windowsOptions.hostProcess", &[FieldValueForbidden], "true only while HostProcess is on"),
    row("HP-05", each!("windowsOptions.hostProcess"), &[FieldValueForbidden], "true only while HostProcess is on"),
    row("HP-10", "spec.securityContext.windowsOptions.runAsUserName", &[FieldValueInvalid], "USER or DOMAIN\\USER"),
    row("HP-10", each!("windowsOptions.runAsUserName"), &[FieldValueInvalid], "USER or DOMAIN\\USER"),
    row("HP-21", "spec.securityContext.windowsOptions.gmsaCredentialSpecName", &[FieldValueInvalid], "a DNS subdomain"),
    row("HP-21", each!("windowsOptions.gmsaCredentialSpecName"), &[FieldValueInvalid], "a DNS subdomain"),
    row("HP-21", "spec.securityContext.windowsOptions.gmsaCredentialSpec", &[FieldValueInvalid], "1 to 65536 bytes"),
    row("HP-21", each!("windowsOptions.gmsaCredentialSpec"), &[FieldValueInvalid], "1 to 65536 bytes"),
    row("HP-09", "spec.containers[*].ports[*].hostPort", &[FieldValueInvalid], "the containerPort when hostNetwork is true"),
    row("HP-09", "spec.{containers,initContainers}[*].ports[*].hostPort", &[FieldValueDuplicate], "taken once"),
    row("HP-09", "spec.hostnameOverride", &[FieldValueForbidden], "not with hostNetwork or setHostnameAsFQDN"),
    row("HP-09", "spec.hostnameOverride", &[FieldValueTooLong, FieldValueInvalid], "a DNS subdomain of at most 64 bytes"),
    row("HP-02", "spec.{hostNetwork,HostPID,HostIPC}", &[FieldValueForbidden], "not true when hostUsers is false"),
    row("HP-01", "spec.securityContext.shareProcessNamespace", &[FieldValueInvalid], "not true together with hostPID"),
    row("HP-03", "spec.{containers,initContainers,ephemeralContainers}[*].securityContext", &[FieldValueInvalid],
        "allowPrivilegeEscalation not false with privileged or CAP_SYS_ADMIN"),
    row("HP-01", each!("procMount"), &[FieldValueInvalid, FieldValueNotSupported], "Default, or Unmasked when hostUsers is false"),
    row("HP-01", "spec.ephemeralContainers", &[FieldValueForbidden], "not in a template, not when a pod is made"),
    row("HP-01", "spec.os.name", &[FieldValueRequired], "linux or windows"),
    row("HP-01", "spec.os", &[FieldValueNotSupported], "linux or windows"),
    row("HP-01", "spec.securityContext.windowsOptions", &[FieldValueForbidden], "not with os linux"),
    row("HP-01", each!("windowsOptions"), &[FieldValueForbidden], "not with os linux"),
    windows("spec.resources"),
    windows("spec.hostUsers"),
    windows("spec.hostPID"),
    windows("spec.hostIPC"),
    windows("spec.shareProcessNamespace"),
    windows("spec.securityContext.appArmorProfile"),
    windows("spec.securityContext.seLinuxOptions"),
    windows("spec.securityContext.seccompProfile"),
    windows("spec.securityContext.fsGroup"),
    windows("spec.securityContext.fsGroupChangePolicy"),
    windows("spec.securityContext.sysctls"),
    windows("spec.securityContext.runAsUser"),
    windows("spec.securityContext.runAsGroup"),
    windows("spec.securityContext.supplementalGroups"),
    windows("spec.securityContext.supplementalGroupsPolicy"),
    windows("spec.securityContext.seLinuxChangePolicy"),
    windows(each!("appArmorProfile")),
    windows(each!("seLinuxOptions")),
    windows(each!("seccompProfile")),
    windows(each!("capabilities")),
    windows(each!("readOnlyRootFilesystem")),
    windows(each!("allowPrivilegeEscalation")),
    windows(each!("procMount")),
    windows(each!("runAsUser")),
    windows(each!("runAsGroup")),
];

// === impl Cover ===

impl Cover {
    /// Whether a field of an object of this kind is one of these.
    pub fn matches(&self, kind: Kind, field: &str) -> bool {
        let Some(rest) = field.strip_prefix(kind.spec_path()) else { return false };
        let pattern = self.field.strip_prefix("spec").unwrap_or(self.field);
        let (mut wanted, mut given) = (pattern.split('.'), rest.split('.'));
        loop {
            match (wanted.next(), given.next()) {
                (None, None) => return true,
                (Some(wanted), Some(given)) if is_step(wanted, given) => (),
                _ => return false,
            }
        }
    }

    /// Whether this is the rule, or one of the rules, that was broken.
    pub fn found(&self, kind: Kind, violation: &Violation) -> bool {
        self.reasons.contains(&violation.reason) && self.matches(kind, &violation.field)
    }
}

fn is_step(wanted: &str, given: &str) -> bool {
    let ((wanted, wanted_index), (given, given_index)) = (indexed(wanted), indexed(given));
    let mut names = wanted.trim_matches(['{', '}']).split(',');
    wanted_index == given_index && names.any(|name| name == given)
}

/// A step's name, and whether it has an index.
fn indexed(step: &str) -> (&str, bool) {
    step.split_once('[').map_or((step, false), |(name, _)| (name, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matching(kind: Kind, field: &str) -> Vec<&'static str> {
        covers().iter().filter(|cover| cover.matches(kind, field)).map(|cover| cover.field).collect()
    }

    #[test]
    fn a_field_is_found_wherever_the_kind_has_its_pod() {
        let user = "initContainers[12].securityContext.windowsOptions.runAsUserName";
        let pattern = each!("windowsOptions.runAsUserName");
        for kind in Kind::all() {
            assert_eq!(matching(kind, &format!("{}.{user}", kind.spec_path())), [pattern]);
            assert_eq!(matching(kind, kind.spec_path()), ["spec", "spec"]);
        }
        assert_eq!(matching(Kind::Deployment, &format!("spec.{user}")), [""; 0]);
    }

    #[test]
    fn other_fields_are_not_covered() {
        for field in [
            "spec.nodeName",
            "spec.containers[0].image",
            "spec.containers.securityContext.privileged",
            "spec.hostNetwork[0]",
            "spec.containers[0].securityContext.privileged.x",
            "spec.volumes[0].securityContext.privileged",
            "specs",
            "metadata.name",
            "",
        ] {
            assert_eq!(matching(Kind::Pod, field), [""; 0], "{field}");
        }
        let port = matching(Kind::Pod, "spec.containers[0].ports[1].hostPort");
        assert_eq!(port.len(), 2);
        assert_eq!(matching(Kind::Pod, "spec.initContainers[0].ports[1].hostPort").len(), 1);
    }

    #[test]
    fn a_rule_is_told_by_field_and_reason() {
        let rules = |violation: &Violation| {
            let found = covers().iter().filter(|cover| cover.found(Kind::Pod, violation));
            found.map(|cover| cover.rule).collect::<Vec<_>>()
        };
        assert_eq!(rules(&Violation::invalid("spec", "", "")), ["all containers HostProcess, or none"]);
        assert_eq!(rules(&Violation::forbidden("spec", "")), ["HostProcess only with --allow-privileged"]);
        assert_eq!(rules(&Violation::not_supported("spec", "", "")), [""; 0]);
        assert_eq!(rules(&Violation::invalid("spec.nodeName", "", "")), [""; 0]);
    }
}
