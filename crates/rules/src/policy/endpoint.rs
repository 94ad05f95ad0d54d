//! The runtime's own pipes and sockets, which no pod may mount: who reaches them rules the node.
//!
//! Expressions for paths in their normal form (see `path`), for Rust and CEL alike. They look at names only; what a
//! link on the host leads to, nobody knows before the pod runs.

use std::sync::LazyLock;

use k8s_openapi::api::core::v1::PodSpec;
use regex::Regex;

use super::path;

/// `..`, and what Windows may take for it: such a path may lead anywhere.
pub const CLIMBS: &str = "(?s:(?:^|/)[. ]{2,}(?:/|$))";

/// The pipes (by the pipe's names, also those of other roots, all of them, or the protected ones), the default
/// roots and what is in their `run`. Names in any disguise that Windows sees through: 8.3, streams, dots at the end,
/// device paths; a root is found behind any prefix, such as a share, a volume or `/proc/1/root`.
pub const ENDPOINT: &str = concat!(
    r"(?s:^//(?:.*/)?(?:pipe|namedpipe)[. ]*(?::[^/]*)?(?:/(?:porthole|protectedprefix).*)?$",
    r"|(?:^|/)(?:(?:programdata[. ]*(?::[^/]*)?|[^/]*~[0-9][^/]*)/porthole[. ]*(?::[^/]*)?|var/lib/porthole)",
    r"(?:/run[. ]*(?::[^/]*)?(?:/.*)?)?$)"
);

/// The directories above the default roots, on any drive or volume.
pub const ANCESTOR: &str = concat!(
    r"(?s:^/*$|^//\?(?:/globalroot(?:/device)?)?$",
    r"|^(?:[a-z]:|//\?/[^/]+|//\?/globalroot/device/[^/]+|//(?:\?/unc/)?[^/]+/[a-z]\$)",
    r"(?:/programdata[. ]*(?::[^/]*)?|/[^/]*~[0-9][^/]*|/var(?:/lib)?)?$)"
);

/// The label with which a namespace may mount what lies above the roots all the same; only the cluster knows it.
pub const LABEL: &str = "porthole.dev/host-mounts";

static CLIMBING: LazyLock<Regex> = LazyLock::new(|| Regex::new(CLIMBS).expect("a constant"));
static ENDPOINTS: LazyLock<Regex> = LazyLock::new(|| Regex::new(ENDPOINT).expect("a constant"));
static ANCESTORS: LazyLock<Regex> = LazyLock::new(|| Regex::new(ANCESTOR).expect("a constant"));

/// Why a pod's volumes are refused, whatever a policy allows. A HostProcess pod may mount the directories above: it
/// sees the whole host without a mount, and the policy's `hostPaths` judges it.
pub(super) fn refusal(spec: &PodSpec, host_process: bool) -> Option<String> {
    spec.volumes.iter().flatten().find_map(|volume| {
        let path = &volume.host_path.as_ref()?.path;
        let why = reason(&path::normal(path), host_process)?;
        Some(format!("volume {:?}: hostPath {path:?} {why}", volume.name))
    })
}

fn reason(normal: &str, host_process: bool) -> Option<&'static str> {
    if CLIMBING.is_match(normal) {
        Some("climbs with \"..\", so that it may lead anywhere")
    } else if ENDPOINTS.is_match(normal) {
        Some("is the runtime's own: its pipes and sockets are never mounted into pods")
    } else if !host_process && ANCESTORS.is_match(normal) {
        Some("has the runtime's own sockets below it")
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
