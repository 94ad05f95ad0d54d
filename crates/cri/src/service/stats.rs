//! What pods and containers use. No directory is walked for an answer.

use std::collections::{BTreeMap, BTreeSet};

use runtime::pods::{ContainerStats as Stats, ContainerStatus as Status, PodFilter, PodStats};

use super::Inner;
use super::ids::if_there;
use crate::api::*;
use crate::deadline::Patience;
use crate::error::CriError;
use crate::told;
use crate::told::stats::Frame;

// === impl Inner ===

impl Inner {
    pub(super) fn container_stats(
        &self,
        request: ContainerStatsRequest,
        _: &Patience,
    ) -> Result<ContainerStatsResponse, CriError> {
        let id = self.container_id("container_id", &request.container_id)?;
        let (stats, status) = (self.runtime.stats(&id)?, self.runtime.status(&id)?);
        let stats = self.framed(|frame| self.told_stats(&stats, &status, frame));
        Ok(ContainerStatsResponse { stats: Some(stats) })
    }

    pub(super) fn list_container_stats(
        &self,
        request: ListContainerStatsRequest,
        _: &Patience,
    ) -> Result<ListContainerStatsResponse, CriError> {
        Ok(ListContainerStatsResponse { stats: self.all_container_stats(request.filter)? })
    }

    pub(super) fn stream_container_stats(
        &self,
        request: StreamContainerStatsRequest,
        _: &Patience,
    ) -> Result<StreamContainerStatsResponse, CriError> {
        Ok(StreamContainerStatsResponse { container_stats: self.all_container_stats(request.filter)? })
    }

    fn all_container_stats(
        &self,
        filter: Option<ContainerStatsFilter>,
    ) -> Result<Vec<ContainerStats>, CriError> {
        let asked = filter.unwrap_or_default();
        let Some(filter) = self.filter(&asked.id, &asked.pod_sandbox_id, asked.label_selector)? else {
            return Ok(Vec::new());
        };
        let known: BTreeMap<_, _> =
            self.runtime.containers(&filter).into_iter().map(|status| (status.id.clone(), status)).collect();
        let pods: BTreeSet<_> = known.values().map(|status| &status.pod).collect();
        // One whose holder is gone or silent is left out: the others must not wait for it.
        let measured = pods.into_iter().filter_map(|pod| self.runtime.pod_stats(pod).ok());
        let measured: Vec<_> = measured.flat_map(|pod| pod.containers).collect();
        let of = |frame: &Frame<'_>| {
            let told = |stats: &Stats| Some(self.told_stats(stats, known.get(&stats.id)?, frame));
            measured.iter().filter_map(told).collect()
        };
        Ok(self.framed(of))
    }

    pub(super) fn pod_stats(
        &self,
        request: PodSandboxStatsRequest,
        _: &Patience,
    ) -> Result<PodSandboxStatsResponse, CriError> {
        let id = self.pod_id("pod_sandbox_id", &request.pod_sandbox_id)?;
        let stats = self.runtime.pod_stats(&id)?;
        Ok(PodSandboxStatsResponse { stats: self.told_pod(&stats) })
    }

    pub(super) fn list_pod_stats(
        &self,
        request: ListPodSandboxStatsRequest,
        _: &Patience,
    ) -> Result<ListPodSandboxStatsResponse, CriError> {
        Ok(ListPodSandboxStatsResponse { stats: self.all_pod_stats(request.filter)? })
    }

    pub(super) fn stream_pod_stats(
        &self,
        request: StreamPodSandboxStatsRequest,
        _: &Patience,
    ) -> Result<StreamPodSandboxStatsResponse, CriError> {
        Ok(StreamPodSandboxStatsResponse { pod_sandbox_stats: self.all_pod_stats(request.filter)? })
    }

    fn all_pod_stats(&self, filter: Option<PodSandboxStatsFilter>) -> Result<Vec<PodSandboxStats>, CriError> {
        let asked = filter.unwrap_or_default();
        let id = match asked.id.as_str() {
            "" => None,
            text => match if_there(self.pod_id("filter.id", text))? {
                Some(id) => Some(id),
                None => return Ok(Vec::new()),
            },
        };
        let pods = self.runtime.pods(&PodFilter { id, state: None, labels: asked.label_selector });
        let measured = pods.iter().filter_map(|pod| self.runtime.pod_stats(&pod.id).ok());
        Ok(measured.filter_map(|stats| self.told_pod(&stats)).collect())
    }

    /// None if it went meanwhile.
    fn told_pod(&self, stats: &PodStats) -> Option<PodSandboxStats> {
        let pod = self.runtime.pod_status(&stats.id).ok()?;
        Some(self.framed(|frame| {
            let cores = |each: &Stats| self.rate(each, frame);
            told::stats::pod(stats, &pod, cores, frame)
        }))
    }

    fn told_stats(&self, stats: &Stats, status: &Status, frame: &Frame<'_>) -> ContainerStats {
        told::stats::container(stats, status, self.rate(stats, frame), frame)
    }

    fn rate(&self, stats: &Stats, frame: &Frame<'_>) -> Option<u64> {
        self.cores.rate(&stats.id, frame.at, stats.job.cpu_user_ns + stats.job.cpu_kernel_ns)
    }

    fn framed<T>(&self, tell: impl FnOnce(&Frame<'_>) -> T) -> T {
        let mountpoint = self.runtime.node().layout.root().to_string_lossy();
        tell(&Frame { at: told::time::now(), mountpoint: &mountpoint, style: self.style })
    }
}
