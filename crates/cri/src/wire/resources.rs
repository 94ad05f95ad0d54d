//! What a container may use: Linux's words and Windows' words, as limits of a job.

use os::job::JobLimits;
use plan::limits::Asked;
use runtime::prepare::of_cri;

use super::WireError;
use crate::api::{self, LinuxContainerResources, WindowsContainerResources};
use crate::note::ContainerNote;

/// A change of what runs: the limits, and what to tell of them from now on.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub limits: JobLimits,
    pub note: ContainerNote,
}

/// Microseconds; the kernel's own when nothing is said.
const PERIOD: i64 = 100_000;
const LONGEST_PERIOD: i64 = 1_000_000;
/// Shares of cgroup v1 go from 2 to 262144, weights from 1 to 10000.
const SHARES: (i64, i64) = (2, 262_144);
const WEIGHTS: i64 = 10_000;

/// The numbers of this field of a request. A job takes a cap or a share, not both: with a quota the shares are not
/// asked.
pub(super) fn linux(at: &str, asked: &LinuxContainerResources) -> Result<JobLimits, WireError> {
    let invalid =
        |field: &str, value: i64, wanted| WireError::invalid(&format!("{at}.{field}"), value, wanted);
    let at_least_0 = [
        ("memory_limit_in_bytes", asked.memory_limit_in_bytes),
        ("cpu_shares", asked.cpu_shares),
        ("cpu_period", asked.cpu_period),
    ];
    for (field, value) in at_least_0 {
        if value < 0 {
            return Err(invalid(field, value, "a number that is not negative"));
        }
    }
    if asked.cpu_quota < -1 {
        return Err(invalid("cpu_quota", asked.cpu_quota, "-1 for none, or microseconds"));
    }
    if asked.cpu_period > LONGEST_PERIOD {
        return Err(invalid("cpu_period", asked.cpu_period, "at most a second, in microseconds"));
    }
    if asked.memory_swap_limit_in_bytes < -1 {
        return Err(invalid("memory_swap_limit_in_bytes", asked.memory_swap_limit_in_bytes, "-1 or more"));
    }
    if asked.hugepage_limits.iter().any(|each| each.limit > 0) {
        let field = format!("{at}.hugepage_limits");
        return Err(WireError::unsupported(&field, "a job has no limit for huge pages"));
    }
    let period = if asked.cpu_period > 0 { asked.cpu_period } else { PERIOD };
    let cpu_millis = (asked.cpu_quota > 0).then(|| millis(asked.cpu_quota, period));
    let shared = cpu_millis.is_none() && asked.cpu_shares > 0;
    Ok(JobLimits {
        memory_bytes: u64::try_from(asked.memory_limit_in_bytes).ok().filter(|bytes| *bytes > 0),
        cpu_millis,
        cpu_weight: shared.then(|| weight(asked.cpu_shares)),
        processes: None,
    })
}

fn millis(quota: i64, period: i64) -> u32 {
    let millis = i128::from(quota) * 1000 / i128::from(period);
    u32::try_from(millis).unwrap_or(u32::MAX).max(1)
}

fn weight(shares: i64) -> u32 {
    let within = shares.clamp(SHARES.0, SHARES.1) - SHARES.0;
    u32::try_from(1 + within * (WEIGHTS - 1) / (SHARES.1 - SHARES.0)).unwrap_or(1)
}

/// If both are set, the number of processors counts, as for other runtimes.
pub(super) fn windows(
    at: &str,
    asked: &WindowsContainerResources,
    processors: u32,
) -> Result<JobLimits, WireError> {
    if asked.rootfs_size_in_bytes < 0 {
        let (field, found) = (format!("{at}.rootfs_size_in_bytes"), asked.rootfs_size_in_bytes);
        return Err(WireError::invalid(&field, found, "a number that is not negative"));
    }
    if !asked.affinity_cpus.is_empty() {
        let why = "a job is not bound to processors here: leave WindowsCPUAndMemoryAffinity off";
        return Err(WireError::unsupported(&format!("{at}.affinity_cpus"), why));
    }
    let asked = Asked {
        memory_bytes: asked.memory_limit_in_bytes,
        cpu_count: asked.cpu_count,
        cpu_maximum: if asked.cpu_count > 0 { 0 } else { asked.cpu_maximum },
        cpu_shares: asked.cpu_shares,
    };
    Ok(of_cri(&asked, processors)?)
}

/// Whichever was said; Linux' words count for more where both are there and say something.
pub(super) fn limits(
    linux_asked: Option<&LinuxContainerResources>,
    windows_asked: Option<&WindowsContainerResources>,
    processors: u32,
) -> Result<JobLimits, WireError> {
    let of_linux =
        linux_asked.map(|asked| linux("config.linux.resources", asked)).transpose()?.unwrap_or_default();
    let of_windows = windows_asked
        .map(|asked| windows("config.windows.resources", asked, processors))
        .transpose()?
        .unwrap_or_default();
    Ok(if of_linux.is_unlimited() { of_windows } else { of_linux })
}

/// New limits for a container that has this note. What is not said, zeros that is, stays.
pub fn update(
    request: &api::UpdateContainerResourcesRequest,
    note: ContainerNote,
    processors: u32,
) -> Result<Change, WireError> {
    if request.linux.is_none() && request.windows.is_none() {
        return Err(WireError::Missing("linux or windows"));
    }
    let mut note = note;
    if let Some(asked) = &request.linux {
        linux("linux", asked)?;
        note.linux = Some(merged(note.linux.unwrap_or_default(), asked));
    }
    if let Some(asked) = &request.windows {
        windows("windows", asked, processors)?;
        note.windows = Some(asked.clone());
    }
    let limits = limits(note.linux.as_ref(), note.windows.as_ref(), processors)?;
    Ok(Change { limits, note })
}

fn merged(old: LinuxContainerResources, new: &LinuxContainerResources) -> LinuxContainerResources {
    let or = |new: i64, old: i64| if new == 0 { old } else { new };
    let text = |new: &str, old: String| if new.is_empty() { old } else { new.to_owned() };
    LinuxContainerResources {
        cpu_period: or(new.cpu_period, old.cpu_period),
        cpu_quota: or(new.cpu_quota, old.cpu_quota),
        cpu_shares: or(new.cpu_shares, old.cpu_shares),
        memory_limit_in_bytes: or(new.memory_limit_in_bytes, old.memory_limit_in_bytes),
        oom_score_adj: or(new.oom_score_adj, old.oom_score_adj),
        cpuset_cpus: text(&new.cpuset_cpus, old.cpuset_cpus),
        cpuset_mems: text(&new.cpuset_mems, old.cpuset_mems),
        hugepage_limits: old.hugepage_limits,
        unified: if new.unified.is_empty() { old.unified } else { new.unified.clone() },
        memory_swap_limit_in_bytes: or(new.memory_swap_limit_in_bytes, old.memory_swap_limit_in_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: RT-14 pure
    #[test]
    fn a_kubelets_numbers_become_a_jobs() {
        let asked = |quota, shares, memory| LinuxContainerResources {
            cpu_quota: quota,
            cpu_period: 100_000,
            cpu_shares: shares,
            memory_limit_in_bytes: memory,
            ..Default::default()
        };
        let half = linux("", &asked(50_000, 512, 64 << 20)).unwrap();
        assert_eq!((half.cpu_millis, half.cpu_weight, half.memory_bytes), (Some(500), None, Some(64 << 20)));
        assert_eq!(linux("", &asked(-1, 1024, 0)).unwrap().cpu_weight, Some(39));
        assert_eq!(linux("", &asked(0, 2, 0)).unwrap().cpu_weight, Some(1));
        assert_eq!(linux("", &asked(0, i64::MAX, 0)).unwrap().cpu_weight, Some(10_000));
        assert_eq!(linux("", &asked(1, 0, 0)).unwrap().cpu_millis, Some(1), "never none");
        assert!(linux("", &asked(0, 0, 0)).unwrap().is_unlimited());
        assert!(linux("", &asked(i64::MAX, 0, i64::MAX)).unwrap().cpu_millis == Some(u32::MAX));
    }

    #[test]
    fn the_field_is_named_as_its_request_has_it() {
        let bad = LinuxContainerResources { cpu_shares: -1, ..Default::default() };
        let huge = api::HugepageLimit { page_size: "2MB".into(), limit: 1 };
        let huge = LinuxContainerResources { hugepage_limits: vec![huge], ..Default::default() };
        let bound = WindowsContainerResources {
            affinity_cpus: vec![api::WindowsCpuGroupAffinity::default()],
            ..Default::default()
        };
        let small = WindowsContainerResources { rootfs_size_in_bytes: -1, ..Default::default() };
        let said = |linux, windows| {
            let request = api::UpdateContainerResourcesRequest { linux, windows, ..Default::default() };
            update(&request, ContainerNote::default(), 4).unwrap_err().to_string()
        };
        for (text, field) in [
            (said(Some(bad.clone()), None), "linux.cpu_shares"),
            (said(Some(huge), None), "linux.hugepage_limits"),
            (said(None, Some(bound)), "windows.affinity_cpus"),
            (said(None, Some(small)), "windows.rootfs_size_in_bytes"),
            (limits(Some(&bad), None, 4).unwrap_err().to_string(), "config.linux.resources.cpu_shares"),
        ] {
            assert!(text.contains(&format!("{field} ")) || text.contains(&format!("{field}:")), "{text}");
        }
    }

    #[test]
    fn of_two_counts_the_number_of_processors_counts() {
        let both = WindowsContainerResources { cpu_count: 1, cpu_maximum: 100, ..Default::default() };
        assert_eq!(windows("", &both, 4).unwrap().cpu_millis, Some(1000));
    }

    #[test]
    fn what_is_not_said_stays() {
        let old = LinuxContainerResources { memory_limit_in_bytes: 5, cpu_shares: 7, ..Default::default() };
        let new = LinuxContainerResources { memory_limit_in_bytes: 9, ..Default::default() };
        let both = merged(old, &new);
        assert_eq!((both.memory_limit_in_bytes, both.cpu_shares), (9, 7));
    }
}
