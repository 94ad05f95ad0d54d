//! `porthole image inspect`: everything that is known of an image.

use std::collections::BTreeMap;

use clap::Args;
use images::record::Layer;
use images::store::Status;
use serde::Serialize;

use super::amount::bytes;
use super::find::find;
use super::view::ImageView;
use super::{show, store};
use crate::cli::{Output, Root};
use crate::failure::Outcome;

pub(super) const EXAMPLES: &str = "Examples:
  porthole image inspect registry.k8s.io/pause:3.10
  porthole image inspect -o json 0123456789ab | jq '.images[0].layers'";

#[derive(Debug, Args)]
pub struct InspectArgs {
    /// The images, by name or id
    #[arg(required = true, value_name = "IMAGE")]
    images: Vec<String>,
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
    #[command(flatten)]
    root: Root,
}

/// As `-o json` prints it.
#[derive(Debug, Serialize)]
struct Inspected {
    images: Vec<Whole>,
}

/// Everything about one image.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Whole {
    #[serde(flatten)]
    view: ImageView,
    media_type: Option<String>,
    layers: Vec<LayerView>,
    entrypoint: Vec<String>,
    cmd: Vec<String>,
    env: Vec<String>,
    working_dir: String,
    user: String,
    labels: BTreeMap<String, String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct LayerView {
    digest: String,
    diff_id: String,
    bytes: u64,
    media_type: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    urls: Vec<String>,
}

pub(super) fn inspect(args: &InspectArgs) -> Outcome {
    let store = store(&args.root)?;
    let one = |text: &String| find(&store, text).map(|status| Whole::of(&status));
    let inspected = Inspected { images: args.images.iter().map(one).collect::<Result<_, _>>()? };
    show(&inspected, args.output, || inspected.images.iter().map(Whole::text).collect::<Vec<_>>().join("\n"))
}

// === impl Whole ===

impl Whole {
    fn of(status: &Status) -> Whole {
        let (record, runs) = (&status.record, &status.record.runs);
        let layer = |layer: &Layer| LayerView {
            digest: layer.digest.to_string(),
            diff_id: layer.diff_id.to_string(),
            bytes: layer.size,
            media_type: layer.media_type.clone(),
            urls: layer.urls.clone(),
        };
        Whole {
            view: ImageView::of(status),
            media_type: record.media_type.clone(),
            layers: record.layers.iter().map(layer).collect(),
            entrypoint: runs.entrypoint.clone(),
            cmd: runs.cmd.clone(),
            env: runs.env.clone(),
            working_dir: runs.working_dir.clone(),
            user: runs.user.clone(),
            labels: record.labels.clone(),
        }
    }

    /// A line for each thing that there is.
    fn text(&self) -> String {
        let view = &self.view;
        let unpacked = view.unpacked_bytes.map_or_else(|| "packed only".to_owned(), bytes);
        let size = format!("{unpacked} ({} compressed)", bytes(view.compressed_bytes));
        let words =
            |words: &[String]| words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" ");
        let labels: Vec<_> = self.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let layer = |layer: &LayerView| format!("{} {}", layer.digest, bytes(layer.bytes));
        let facts = [
            ("id", vec![view.id.clone()]),
            ("manifest", vec![view.digest.clone()]),
            ("names", view.names.clone()),
            ("repo digests", view.repo_digests.clone()),
            ("platform", vec![view.platform.to_string()]),
            ("size", vec![size]),
            ("created", view.created.iter().cloned().collect()),
            ("pulled", vec![view.pulled.clone()]),
            ("last used", view.last_used.iter().cloned().collect()),
            ("used by", view.used_by.clone()),
            ("entrypoint", vec![words(&self.entrypoint)]),
            ("cmd", vec![words(&self.cmd)]),
            ("env", self.env.clone()),
            ("working dir", vec![self.working_dir.clone()]),
            ("user", vec![self.user.clone()]),
            ("labels", labels),
            ("layers", self.layers.iter().map(layer).collect()),
        ];
        facts.iter().map(|(name, values)| lines(name, values)).collect()
    }
}

/// The values under each other; nothing for nothing.
fn lines(name: &str, values: &[String]) -> String {
    let values = values.iter().filter(|value| !value.is_empty());
    values
        .enumerate()
        .map(|(index, value)| format!("{:<13} {value}\n", if index == 0 { name } else { "" }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_stand_under_each_other() {
        assert_eq!(lines("names", &["a".into(), "b".into()]), "names         a\n              b\n");
        assert_eq!(lines("user", &[String::new()]), "");
    }
}
