//! What pods and containers use, as kubelets count it.

use os::job::JobStats;
use plan::Style;
use runtime::pods::{ContainerStats, ContainerStatus, PodStats, PodStatus, Usage};

use super::{container, pod, time};
use crate::api::{
    self, CpuUsage, FilesystemIdentifier, FilesystemUsage, LinuxPodSandboxStats, MemoryUsage,
    PodSandboxStats, ProcessUsage, UInt64Value, WindowsContainerStats, WindowsCpuUsage,
    WindowsFilesystemUsage, WindowsMemoryUsage, WindowsPodSandboxStats, WindowsProcessUsage,
};

/// A moment, and where containers' files are.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    pub at: i64,
    pub mountpoint: &'a str,
    pub style: Style,
}

#[expect(clippy::unnecessary_wraps, reason = "CRI tells nothing from zero by the message around it")]
fn value(value: u64) -> Option<UInt64Value> {
    Some(UInt64Value { value })
}

fn cpu_ns(job: &JobStats) -> u64 {
    job.cpu_user_ns + job.cpu_kernel_ns
}

pub fn container(
    stats: &ContainerStats,
    of: &ContainerStatus,
    cores: Option<u64>,
    frame: &Frame<'_>,
) -> api::ContainerStats {
    let job = &stats.job;
    let writable_layer = stats.writable.map(|usage| FilesystemUsage {
        timestamp: time::of(usage.measured),
        fs_id: Some(FilesystemIdentifier { mountpoint: frame.mountpoint.to_owned() }),
        used_bytes: value(usage.bytes),
        inodes_used: value(usage.files),
    });
    api::ContainerStats {
        attributes: Some(container::attributes(of)),
        cpu: Some(cpu(cpu_ns(job), cores, frame)),
        memory: Some(memory(job.working_set_bytes, job.memory_bytes, job.memory_limit_bytes, frame)),
        writable_layer,
        swap: None,
        io: None,
    }
}

fn cpu(ns: u64, cores: Option<u64>, frame: &Frame<'_>) -> CpuUsage {
    CpuUsage {
        timestamp: frame.at,
        usage_core_nano_seconds: value(ns),
        usage_nano_cores: cores.and_then(value),
        psi: None,
    }
}

fn memory(working_set: u64, usage: u64, limit: Option<u64>, frame: &Frame<'_>) -> MemoryUsage {
    MemoryUsage {
        timestamp: frame.at,
        working_set_bytes: value(working_set),
        available_bytes: limit.and_then(|limit| value(limit.saturating_sub(working_set))),
        usage_bytes: value(usage),
        ..MemoryUsage::default()
    }
}

/// A pod's numbers are its containers' together: nothing else of it runs.
pub fn pod(
    stats: &PodStats,
    of: &PodStatus,
    cores: impl Fn(&ContainerStats) -> Option<u64>,
    frame: &Frame<'_>,
) -> PodSandboxStats {
    let known = |each: &ContainerStats| of.containers.iter().find(|known| known.id == each.id).cloned();
    let each: Vec<_> =
        stats.containers.iter().filter_map(|each| Some((each, known(each)?, cores(each)))).collect();
    let sum = each.iter().map(|(_, _, cores)| *cores).sum::<Option<u64>>();
    let (linux, windows) = match frame.style {
        Style::Unix => (Some(of_linux(stats, &each, sum, frame)), None),
        Style::Windows => (None, Some(of_windows(stats, &each, sum, frame))),
    };
    PodSandboxStats { attributes: Some(pod::attributes(of)), linux, windows }
}

type Each<'a> = (&'a ContainerStats, ContainerStatus, Option<u64>);

fn of_linux(
    stats: &PodStats,
    each: &[Each<'_>],
    cores: Option<u64>,
    frame: &Frame<'_>,
) -> LinuxPodSandboxStats {
    let usage = stats.containers.iter().map(|each| each.job.memory_bytes).sum();
    LinuxPodSandboxStats {
        cpu: Some(cpu(stats.cpu_ns(), cores, frame)),
        memory: Some(memory(stats.working_set_bytes(), usage, None, frame)),
        network: None,
        process: Some(ProcessUsage { timestamp: frame.at, process_count: value(stats.processes().into()) }),
        containers: each.iter().map(|(stats, of, cores)| container(stats, of, *cores, frame)).collect(),
        io: None,
    }
}

fn of_windows(
    stats: &PodStats,
    each: &[Each<'_>],
    cores: Option<u64>,
    frame: &Frame<'_>,
) -> WindowsPodSandboxStats {
    let commit = stats.containers.iter().map(|each| each.job.memory_bytes).sum();
    WindowsPodSandboxStats {
        cpu: Some(windows_cpu(stats.cpu_ns(), cores, frame)),
        memory: Some(windows_memory(stats.working_set_bytes(), commit, None, frame)),
        network: None,
        process: Some(WindowsProcessUsage {
            timestamp: frame.at,
            process_count: value(stats.processes().into()),
        }),
        containers: each
            .iter()
            .map(|(stats, of, cores)| windows_container(stats, of, *cores, frame))
            .collect(),
    }
}

fn windows_container(
    stats: &ContainerStats,
    of: &ContainerStatus,
    cores: Option<u64>,
    frame: &Frame<'_>,
) -> WindowsContainerStats {
    let job = &stats.job;
    let layer = |usage: Usage| WindowsFilesystemUsage {
        timestamp: time::of(usage.measured),
        fs_id: Some(FilesystemIdentifier { mountpoint: frame.mountpoint.to_owned() }),
        used_bytes: value(usage.bytes),
    };
    WindowsContainerStats {
        attributes: Some(container::attributes(of)),
        cpu: Some(windows_cpu(cpu_ns(job), cores, frame)),
        memory: Some(windows_memory(job.working_set_bytes, job.memory_bytes, job.memory_limit_bytes, frame)),
        writable_layer: stats.writable.map(layer),
    }
}

fn windows_cpu(ns: u64, cores: Option<u64>, frame: &Frame<'_>) -> WindowsCpuUsage {
    WindowsCpuUsage {
        timestamp: frame.at,
        usage_core_nano_seconds: value(ns),
        usage_nano_cores: cores.and_then(value),
    }
}

fn windows_memory(
    working_set: u64,
    commit: u64,
    limit: Option<u64>,
    frame: &Frame<'_>,
) -> WindowsMemoryUsage {
    WindowsMemoryUsage {
        timestamp: frame.at,
        working_set_bytes: value(working_set),
        available_bytes: limit.and_then(|limit| value(limit.saturating_sub(working_set))),
        page_faults: None,
        commit_memory_bytes: value(commit),
    }
}
