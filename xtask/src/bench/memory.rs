//! Resident memory as the kernel counts it when pages are shared: the proportional set size.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use testbed::process::wait_for;

const PATIENCE: Duration = Duration::from_secs(120);
/// A program that does not change for so long has settled; a holder gives back what it needed a second after its last
/// word.
const CALM: Duration = Duration::from_secs(3);
/// Other programs come and go, and with them change the shares of what all have in common.
const NOISE_KIB: u64 = 16;

/// The pids of the programs that run from a file that `fits`.
pub(super) fn running(fits: impl Fn(&Path) -> bool) -> Result<Vec<u32>> {
    let mut pids = Vec::new();
    for entry in fs::read_dir("/proc").context("read /proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        if fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| fits(&exe)) {
            pids.push(pid);
        }
    }
    Ok(pids)
}

/// Those of them that are in the same world of processes as this one, as a testbed's machine is one.
pub(super) fn running_beside(pid: u32, fits: impl Fn(&Path) -> bool) -> Result<Vec<u32>> {
    let world = |pid: u32| fs::read_link(format!("/proc/{pid}/ns/pid"));
    let ours = world(pid).with_context(|| format!("find the namespace of process {pid}"))?;
    let pids = running(fits)?;
    Ok(pids.into_iter().filter(|pid| world(*pid).is_ok_and(|theirs| theirs == ours)).collect())
}

/// The mean proportional set size in MiB of `count` programs, once all are there, each has a child, and none changes.
pub(super) fn settled_mean(what: &str, count: usize, fits: impl Fn(&Path) -> bool) -> Result<f64> {
    mean_at_rest(what, count, || running(&fits), are_close)
}

/// The same of the programs that `look` finds, at rest when all together do not change: with a hundred of them there is
/// always one that does.
pub(super) fn mean_of_settled(what: &str, count: usize, look: impl Fn() -> Result<Vec<u32>>) -> Result<f64> {
    mean_at_rest(what, count, look, are_close_together)
}

fn mean_at_rest(
    what: &str,
    count: usize,
    look: impl Fn() -> Result<Vec<u32>>,
    is_calm: fn(&[u64], &[u64]) -> bool,
) -> Result<f64> {
    let mut last: Option<(Instant, Vec<u64>)> = None;
    wait_for(&format!("{count} {what} at rest"), PATIENCE, || {
        let found = look()?;
        let pids = found.iter().filter(|pid| has_child(**pid));
        let sizes: Vec<u64> = pids.filter_map(|pid| with_guard(*pid, &found).ok()).collect();
        match &last {
            Some((since, known)) if sizes.len() == count && is_calm(known, &sizes) => {
                Ok((since.elapsed() >= CALM).then(|| mean_mib(&sizes)))
            }
            _ => {
                last = Some((Instant::now(), sizes));
                Ok(None)
            }
        }
    })
}

fn are_close(some: &[u64], others: &[u64]) -> bool {
    some.len() == others.len() && some.iter().zip(others).all(|(a, b)| a.abs_diff(*b) <= NOISE_KIB)
}

/// By two in a hundred, or by what one of them may.
fn are_close_together(some: &[u64], others: &[u64]) -> bool {
    let (some_sum, others_sum) = (some.iter().sum::<u64>(), others.iter().sum::<u64>());
    some.len() == others.len() && some_sum.abs_diff(others_sum) <= NOISE_KIB.max(some_sum / 50)
}

/// One program's proportional set size in MiB.
pub(super) fn mib(pid: u32) -> Result<f64> {
    Ok(mean_mib(&[pss_kib(pid)?]))
}

/// A program and the forks of itself beside it: what a pod costs is all of them.
fn with_guard(pid: u32, found: &[u32]) -> Result<u64> {
    let mut sum = pss_kib(pid)?;
    for fork in found.iter().filter(|other| parent(**other) == Some(pid)) {
        sum += pss_kib(*fork)?;
    }
    Ok(sum)
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

fn has_child(pid: u32) -> bool {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    let children = |task: PathBuf| fs::read_to_string(task.join("children")).unwrap_or_default();
    tasks.flatten().any(|task| !children(task.path()).trim().is_empty())
}

fn pss_kib(pid: u32) -> Result<u64> {
    let path = format!("/proc/{pid}/smaps_rollup");
    let text = fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
    parse_pss(&text).with_context(|| format!("{path} has no Pss"))
}

fn parse_pss(rollup: &str) -> Option<u64> {
    let value = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    value.trim().strip_suffix(" kB")?.parse().ok()
}

fn mean_mib(kib: &[u64]) -> f64 {
    let number = |n: u64| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let count = number(u64::try_from(kib.len().max(1)).unwrap_or(u64::MAX));
    number(kib.iter().sum()) / count / 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proportional_size_is_read_not_its_parts() {
        let rollup =
            "5580-7ffd ---p 00000000 00:00 0 [rollup]\nRss: 900 kB\nPss:    640 kB\nPss_Dirty: 12 kB\n";
        assert_eq!(parse_pss(rollup), Some(640));
        assert_eq!(parse_pss("Rss: 900 kB\n"), None);
    }

    #[test]
    fn we_ourselves_are_found_and_have_a_size() {
        let own = std::env::current_exe().expect("own path");
        assert!(running(|exe| exe == own).expect("read").contains(&std::process::id()));
        assert!(pss_kib(std::process::id()).expect("read") > 0);
        let beside = running_beside(std::process::id(), |exe| exe == own).expect("read");
        assert!(beside.contains(&std::process::id()));
    }

    #[test]
    fn sizes_are_close_unless_one_changed() {
        assert!(are_close(&[640, 700], &[650, 690]));
        assert!(!are_close(&[640, 700], &[640, 720]));
        assert!(!are_close(&[640], &[640, 640]));
    }

    #[test]
    fn many_are_close_together_while_their_sum_stays() {
        assert!(are_close_together(&[5000, 7000], &[5150, 7050]));
        assert!(!are_close_together(&[5000, 7000], &[5250, 7050]));
        assert!(are_close_together(&[400], &[416]));
        assert!(!are_close_together(&[800], &[400, 400]));
    }

    #[test]
    fn the_mean_is_in_mebibytes() {
        assert_eq!(mean_mib(&[1024, 2048]), 1.5);
    }
}
