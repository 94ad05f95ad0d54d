//! What the runtime says of itself.

use serde_json::json;

use super::Inner;
use crate::api::*;
use crate::deadline::Patience;
use crate::error::CriError;
use crate::told;
use crate::wire::WireError;

/// Why these verbs are not there: whoever has them owes every metric of cAdvisor, by its name.
const NO_METRICS: &str = "metrics in cAdvisor's names; ask for stats";

// === impl Inner ===

impl Inner {
    pub(super) fn version(&self, _: VersionRequest, _: &Patience) -> Result<VersionResponse, CriError> {
        Ok(told::info::version())
    }

    pub(super) fn status(&self, request: StatusRequest, _: &Patience) -> Result<StatusResponse, CriError> {
        let info =
            if request.verbose { told::info::info(self.style, self.facts()) } else { Default::default() };
        Ok(told::info::status(self.style, info))
    }

    fn facts(&self) -> serde_json::Value {
        let node = self.runtime.node();
        json!({
            "root": node.layout.root(),
            "address": self.address,
            "account": node.facts.account.name,
            "os": node.facts.os,
            "bindFilter": os::view::bind_works().err().unwrap_or_else(|| "yes".to_owned()),
            "limits": os::job::limits_work().err().unwrap_or_else(|| "yes".to_owned()),
            "annotationPolicy": self.settings.annotation_policy.is_some(),
            "remarks": node.remarks,
            "metrics": self.metrics.text(),
            "failures": self.runtime.counters().text(),
        })
    }

    pub(super) fn runtime_config(
        &self,
        _: RuntimeConfigRequest,
        _: &Patience,
    ) -> Result<RuntimeConfigResponse, CriError> {
        Ok(told::info::config(self.style))
    }

    /// A pod's network is the host's, so a range of addresses for pods changes nothing here.
    pub(super) fn update_runtime_config(
        &self,
        request: UpdateRuntimeConfigRequest,
        _: &Patience,
    ) -> Result<UpdateRuntimeConfigResponse, CriError> {
        let config = request.runtime_config.ok_or(WireError::Missing("runtime_config"))?;
        let ranges = config.network_config.unwrap_or_default().pod_cidr;
        for range in ranges.split(',').filter(|range| !range.is_empty()) {
            let (address, bits) = range.split_once('/').unwrap_or((range, ""));
            let address = address.parse::<std::net::IpAddr>().ok();
            let most = address.map_or(0, |address| if address.is_ipv4() { 32 } else { 128 });
            if address.is_none() || !bits.parse::<u8>().is_ok_and(|bits| bits <= most) {
                let field = "runtime_config.network_config.pod_cidr";
                return Err(WireError::invalid(field, range, "ADDRESS/BITS").into());
            }
        }
        Ok(UpdateRuntimeConfigResponse {})
    }

    pub(super) fn metric_descriptors(
        &self,
        _: ListMetricDescriptorsRequest,
        _: &Patience,
    ) -> Result<ListMetricDescriptorsResponse, CriError> {
        Err(CriError::Unimplemented(NO_METRICS))
    }

    pub(super) fn pod_metrics(
        &self,
        _: ListPodSandboxMetricsRequest,
        _: &Patience,
    ) -> Result<ListPodSandboxMetricsResponse, CriError> {
        Err(CriError::Unimplemented(NO_METRICS))
    }

    pub(super) fn stream_pod_metrics(
        &self,
        _: StreamPodSandboxMetricsRequest,
        _: &Patience,
    ) -> Result<StreamPodSandboxMetricsResponse, CriError> {
        Err(CriError::Unimplemented(NO_METRICS))
    }
}
