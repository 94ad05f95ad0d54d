//! Images, as kubelets want them told.

use std::collections::BTreeMap;

use images::{Reference, Status};
use serde_json::json;

use crate::api::{Image, ImageSpec, Int64Value};

pub fn image(status: &Status) -> Image {
    let (uid, username) = user(&status.user);
    Image {
        id: status.id.to_string(),
        repo_tags: status.names.iter().filter(|name| is_tag(name)).cloned().collect(),
        repo_digests: status.repo_digests.clone(),
        // What it takes on this disk.
        size: (status.packed + status.unpacked).max(1),
        uid,
        username,
        spec: Some(ImageSpec { image: status.id.to_string(), ..ImageSpec::default() }),
        pinned: false,
    }
}

fn is_tag(name: &str) -> bool {
    Reference::parse(name).is_ok_and(|reference| reference.tag().is_some() && reference.digest().is_none())
}

/// A number or a name; a group beside it is nothing to a kubelet.
fn user(text: &str) -> (Option<Int64Value>, String) {
    let user = text.split(':').next().unwrap_or_default();
    match user.parse::<u32>() {
        Ok(number) => (Some(Int64Value { value: number.into() }), String::new()),
        Err(_) => (None, user.to_owned()),
    }
}

/// By which a registry gives the same again; its id where none does.
pub fn reference(status: &Status) -> String {
    status.repo_digests.first().cloned().unwrap_or_else(|| status.id.to_string())
}

pub fn info(status: &Status) -> BTreeMap<String, String> {
    let record = &status.record;
    let platform = &status.platform;
    let told = json!({
        "manifest": status.manifest.to_string(),
        "imageSpec": {
            "os": platform.os,
            "architecture": platform.architecture,
            "os.version": platform.os_version,
            "created": status.created,
            "config": {
                "Entrypoint": record.runs.entrypoint,
                "Cmd": record.runs.cmd,
                "Env": record.runs.env,
                "WorkingDir": record.runs.working_dir,
                "User": record.runs.user,
                "Labels": record.labels,
            },
        },
        "layers": record.layers.iter().map(|layer| layer.digest.to_string()).collect::<Vec<_>>(),
        "packedBytes": status.packed,
        "unpackedBytes": status.unpacked,
        "usedBy": status.in_use_by,
    });
    [("info".to_owned(), told.to_string())].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_a_number_or_a_name() {
        assert_eq!(user("1000:1000"), (Some(Int64Value { value: 1000 }), String::new()));
        assert_eq!(user("www"), (None, "www".to_owned()));
        assert_eq!(user("ContainerUser:x"), (None, "ContainerUser".to_owned()));
        assert_eq!(user(""), (None, String::new()));
    }

    #[test]
    fn a_tag_is_a_name_without_a_digest() {
        let digest = format!("example.com/a@sha256:{}", "0".repeat(64));
        let both = format!("example.com/a:1@sha256:{}", "0".repeat(64));
        assert_eq!(["example.com/a:1", &digest, &both].map(is_tag), [true, false, false]);
    }
}
