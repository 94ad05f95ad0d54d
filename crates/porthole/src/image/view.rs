//! An image as `ls` and `inspect` show it: the fields of the JSON are promised, see docs/images.md.

use std::time::{Duration, SystemTime};

use images::document::Platform;
use images::record::Form;
use images::store::Status;
use serde::Serialize;

use super::amount::stamp;

/// What is known of an image without reading it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ImageView {
    /// The configuration's digest.
    pub(super) id: String,
    /// The manifest's.
    pub(super) digest: String,
    pub(super) names: Vec<String>,
    /// `REPOSITORY@DIGEST`, by what the names led to.
    pub(super) repo_digests: Vec<String>,
    pub(super) platform: Platform,
    pub(super) compressed_bytes: u64,
    /// None while it is packed only.
    pub(super) unpacked_bytes: Option<u64>,
    pub(super) created: Option<String>,
    pub(super) pulled: String,
    pub(super) last_used: Option<String>,
    /// NAMESPACE/NAME of pods.
    pub(super) used_by: Vec<String>,
    #[serde(skip)]
    pub(super) pulled_at: SystemTime,
}

// === impl ImageView ===

impl ImageView {
    pub(super) fn of(status: &Status) -> ImageView {
        let pulled_at = SystemTime::UNIX_EPOCH + Duration::from_secs(status.pulled);
        ImageView {
            id: status.id.to_string(),
            digest: status.manifest.to_string(),
            names: status.names.clone(),
            repo_digests: status.repo_digests.clone(),
            platform: status.platform.clone(),
            compressed_bytes: status.packed,
            unpacked_bytes: (status.form != Form::Packed).then_some(status.unpacked),
            created: status.created.clone(),
            pulled: stamp(pulled_at),
            last_used: status.used.map(stamp),
            used_by: users(&status.in_use_by),
            pulled_at,
        }
    }
}

/// Owners of images as people name them: `pod NAMESPACE/NAME UID SPEC` is the pod, whatever its spec was.
pub(super) fn users(owners: &[String]) -> Vec<String> {
    let name = |owner: &String| match owner.strip_prefix("pod ").and_then(|rest| rest.split(' ').next()) {
        Some(pod) => pod.to_owned(),
        None => owner.clone(),
    };
    let mut users: Vec<_> = owners.iter().map(name).collect();
    users.sort();
    users.dedup();
    users
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_named_once_and_others_as_they_are() {
        let owners = ["pod default/web u1 s1", "pod default/web u1 s2", "pod a/b u2 s", "a pull under way"];
        assert_eq!(users(&owners.map(str::to_owned)), ["a pull under way", "a/b", "default/web"]);
    }
}
