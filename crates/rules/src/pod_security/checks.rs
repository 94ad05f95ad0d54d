//! The table of checks: each one's level, the fields it looks at, and what it became in which version.

use super::pod::Pod;
use super::words::Refusal;
use super::{Level, Version};
use super::{app_armor, capabilities, escalation, host_namespaces, host_ports, host_process, privileged};
use super::{probe_hosts, proc_mount, run_as, seccomp, selinux, sysctls, volumes};

/// One check of the plugin.
#[derive(Debug)]
pub struct Check {
    pub id: &'static str,
    pub level: Level,
    /// What it looks at; `*` is every element, and every list of containers is meant.
    pub fields: &'static [&'static str],
    /// The weaker check of the level below that this one takes the place of.
    overrides: Option<&'static str>,
    /// Oldest first.
    revisions: &'static [Revision],
}

#[derive(Debug)]
struct Revision {
    /// The minor of the first policy version that has it.
    since: u64,
    refuses: Refuses,
}

/// Why the pod is refused, if it is.
pub(super) type Refuses = fn(&Pod<'_>) -> Option<Refusal>;

const fn since(since: u64, refuses: Refuses) -> Revision {
    Revision { since, refuses }
}

const fn baseline(
    id: &'static str,
    fields: &'static [&'static str],
    revisions: &'static [Revision],
) -> Check {
    Check { id, level: Level::Baseline, fields, overrides: None, revisions }
}

const fn restricted(
    id: &'static str,
    overrides: Option<&'static str>,
    fields: &'static [&'static str],
    revisions: &'static [Revision],
) -> Check {
    Check { id, level: Level::Restricted, fields, overrides, revisions }
}

/// In the order in which the plugin answers: by level, then by id.
#[rustfmt::skip]
static CHECKS: [Check; 19] = [
    baseline("appArmorProfile", app_armor::FIELDS, &[since(0, app_armor::profile)]),
    baseline("capabilities_baseline", &["spec.containers[*].securityContext.capabilities.add"], &[since(0, capabilities::baseline)]),
    baseline("hostNamespaces", &["spec.hostNetwork", "spec.hostPID", "spec.hostIPC"], &[since(0, host_namespaces::refuses)]),
    baseline("hostPathVolumes", &["spec.volumes[*].hostPath"], &[since(0, volumes::host_path)]),
    baseline("hostPorts", &["spec.containers[*].ports[*].hostPort"], &[since(0, host_ports::refuses)]),
    baseline("hostProbesAndHostLifecycle", probe_hosts::FIELDS, &[since(34, probe_hosts::refuses)]),
    baseline("privileged", &["spec.containers[*].securityContext.privileged"], &[since(0, privileged::refuses)]),
    baseline("procMount", proc_mount::FIELDS, &[since(0, proc_mount::any), since(35, proc_mount::of_host_users)]),
    baseline("seLinuxOptions", selinux::FIELDS, &[since(0, selinux::v1_0), since(31, selinux::v1_31)]),
    baseline("seccompProfile_baseline", seccomp::BASELINE_FIELDS, &[since(0, seccomp::annotations), since(19, seccomp::baseline)]),
    baseline("sysctls", &["spec.securityContext.sysctls[*].name"], &[since(0, sysctls::v1_0), since(27, sysctls::v1_27), since(29, sysctls::v1_29), since(32, sysctls::v1_32)]),
    baseline("windowsHostProcess", host_process::FIELDS, &[since(0, host_process::refuses)]),
    restricted("allowPrivilegeEscalation", None, escalation::FIELDS, &[since(8, escalation::any), since(25, escalation::not_windows)]),
    restricted("capabilities_restricted", Some("capabilities_baseline"), capabilities::FIELDS, &[since(22, capabilities::restricted), since(25, capabilities::not_windows)]),
    restricted("procMount_restricted", Some("procMount"), proc_mount::FIELDS, &[since(35, proc_mount::any)]),
    restricted("restrictedVolumes", Some("hostPathVolumes"), &["spec.volumes[*]"], &[since(0, volumes::restricted)]),
    restricted("runAsNonRoot", None, run_as::NON_ROOT_FIELDS, &[since(0, run_as::non_root), since(35, run_as::non_root_of_host_users)]),
    restricted("runAsUser", None, run_as::USER_FIELDS, &[since(23, run_as::user), since(35, run_as::user_of_host_users)]),
    restricted("seccompProfile_restricted", Some("seccompProfile_baseline"), seccomp::FIELDS, &[since(19, seccomp::restricted), since(25, seccomp::not_windows)]),
];

/// Every check, for `porthole check --covers`.
pub fn table() -> &'static [Check] {
    &CHECKS
}

/// The checks that a level has in a version.
pub(super) fn in_force(level: Level, version: Version) -> impl Iterator<Item = (&'static Check, Refuses)> {
    let of_level = move |check: &&Check| check.level <= level;
    let active = CHECKS.iter().filter(of_level).filter_map(move |check| Some((check, check.at(version)?)));
    let overridden: Vec<_> = active.clone().filter_map(|(check, _)| check.overrides).collect();
    active.filter(move |(check, _)| !overridden.contains(&check.id))
}

// === impl Check ===

impl Check {
    /// The policy versions in which the check came or changed, oldest first.
    pub fn versions(&self) -> impl Iterator<Item = Version> {
        self.revisions.iter().map(|revision| Version::V1(revision.since))
    }

    fn at(&self, version: Version) -> Option<Refuses> {
        self.revisions.iter().rev().find(|revision| version.has(revision.since)).map(|found| found.refuses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(level: Level, version: Version) -> Vec<&'static str> {
        in_force(level, version).map(|(check, _)| check.id).collect()
    }

    #[test]
    fn the_table_is_in_the_order_of_the_answers() {
        assert!(table().is_sorted_by_key(|check| (check.level, check.id)));
        assert_eq!(table().len(), CHECKS.len());
        for check in table() {
            assert!(check.versions().is_sorted() && check.versions().next().is_some(), "{check:?}");
            assert!(check.fields.iter().all(|field| field.contains('.')), "{check:?}");
            let other = |id| CHECKS.iter().find(|check| check.id == id).expect("a check of that id");
            assert!(check.overrides.is_none_or(|id| other(id).level < check.level));
        }
    }

    #[test]
    fn the_stronger_check_takes_the_place_of_the_weaker_where_both_are() {
        use Level::{Baseline, Restricted};
        let of_seccomp = |level, version| {
            let mut ids = ids(level, version);
            ids.retain(|id| id.starts_with("seccomp"));
            ids
        };
        assert_eq!(of_seccomp(Restricted, Version::V1(18)), ["seccompProfile_baseline"]);
        assert_eq!(of_seccomp(Restricted, Version::V1(19)), ["seccompProfile_restricted"]);
        assert_eq!(of_seccomp(Baseline, Version::V1(19)), ["seccompProfile_baseline"]);
    }

    #[test]
    fn a_check_names_the_versions_that_changed_it() {
        let sysctls = table().iter().find(|check| check.id == "sysctls").expect("the check");
        let versions: Vec<_> = sysctls.versions().map(|version| version.to_string()).collect();
        assert_eq!(versions, ["v1.0", "v1.27", "v1.29", "v1.32"]);
    }

    #[test]
    fn versions_have_the_checks_of_their_time() {
        let count = |level, version| ids(level, version).len();
        for (minor, baseline, restricted) in
            [(0, 11, 12), (7, 11, 12), (8, 11, 13), (22, 11, 13), (23, 11, 14), (34, 12, 15), (35, 12, 15)]
        {
            let version = Version::V1(minor);
            assert_eq!(count(Level::Baseline, version), baseline, "{version}");
            assert_eq!(count(Level::Restricted, version), restricted, "{version}");
        }
        assert_eq!(ids(Level::Restricted, Version::Latest), ids(Level::Restricted, Version::V1(35)));
    }
}
