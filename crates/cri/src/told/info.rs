//! What the runtime says of itself.

use std::collections::BTreeMap;

use plan::Style;
use serde_json::json;

use crate::api::{
    CgroupDriver, LinuxRuntimeConfiguration, RuntimeCondition, RuntimeConfigResponse, RuntimeFeatures,
    RuntimeHandler, RuntimeHandlerFeatures, RuntimeStatus, StatusResponse, VersionResponse,
};
use crate::wire::{HYPERVISOR, PROCESS};

pub const NAME: &str = "porthole";
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A handler's name, and why pods of it are refused here; none if they are not.
type Row = (&'static str, Option<&'static str>);

const LATER: &str = "isolated containers are not supported yet";
const MACHINE: &str = "pods in virtual machines are not supported yet";
const OF_THE_TWIN: [Row; 5] = [
    ("", None),
    ("hostprocess", None),
    ("process", Some(LATER)),
    (PROCESS, Some(LATER)),
    (HYPERVISOR, Some(MACHINE)),
];
const OF_WINDOWS: [Row; 4] =
    [("", None), ("process", Some(LATER)), (PROCESS, Some(LATER)), (HYPERVISOR, Some(MACHINE))];

fn handlers(style: Style) -> &'static [Row] {
    match style {
        Style::Unix => &OF_THE_TWIN,
        Style::Windows => &OF_WINDOWS,
    }
}

pub fn version() -> VersionResponse {
    VersionResponse {
        version: "0.1.0".to_owned(),
        runtime_name: NAME.to_owned(),
        runtime_version: VERSION.to_owned(),
        runtime_api_version: "v1".to_owned(),
    }
}

/// Ready as soon as it answers: pods are on the host's network, for which nothing has to be set up.
pub fn status(style: Style, info: BTreeMap<String, String>) -> StatusResponse {
    let ready = |condition: &str| RuntimeCondition {
        r#type: condition.to_owned(),
        status: true,
        ..RuntimeCondition::default()
    };
    // On Linux every read-only mount is so with all that is mounted below.
    let features =
        RuntimeHandlerFeatures { recursive_read_only_mounts: style == Style::Unix, user_namespaces: false };
    let handler = |(name, _): &Row| RuntimeHandler { name: (*name).to_owned(), features: Some(features) };
    StatusResponse {
        status: Some(RuntimeStatus { conditions: vec![ready("RuntimeReady"), ready("NetworkReady")] }),
        info,
        runtime_handlers: handlers(style).iter().map(handler).collect(),
        features: Some(RuntimeFeatures::default()),
    }
}

/// What `crictl info` shows: which handlers there are and why not, and who the agent is.
pub fn info(style: Style, more: serde_json::Value) -> BTreeMap<String, String> {
    let rows: BTreeMap<_, _> =
        handlers(style).iter().map(|(name, why)| (*name, why.unwrap_or("yes"))).collect();
    let twin = (style == Style::Unix).then_some("linux");
    let told = json!({ "handlers": rows, "version": VERSION, "twin": twin, "node": more });
    [("config".to_owned(), told.to_string())].into()
}

/// A kubelet asks with which words cgroups are made. Ours are files, not systemd's.
pub fn config(style: Style) -> RuntimeConfigResponse {
    let linux = LinuxRuntimeConfiguration { cgroup_driver: CgroupDriver::Cgroupfs.into() };
    RuntimeConfigResponse { linux: (style == Style::Unix).then_some(linux) }
}
