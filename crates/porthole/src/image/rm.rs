//! `porthole image rm`: names go, and with the last name the image.

use clap::Args;
use images::collect::Removed;
use serde::Serialize;

use super::amount::bytes;
use super::{depot, show, store};
use crate::cli::{Output, Root};
use crate::failure::{Outcome, code};
use crate::up::say;

pub(super) const EXAMPLES: &str = "Examples:
  porthole image rm registry.k8s.io/pause:3.9
  porthole image rm --force 0123456789ab      by its id, with all its names

An image that a container uses stays, and the answer names the pod. Exit code 1 if one of them was not removed.";

#[derive(Debug, Args)]
pub struct RmArgs {
    /// The images, by name or id
    #[arg(required = true, value_name = "IMAGE")]
    images: Vec<String>,
    /// Remove every name of an id
    #[arg(short, long)]
    force: bool,
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
    #[command(flatten)]
    root: Root,
}

/// What went, as `-o json` prints it.
#[derive(Debug, Serialize)]
struct Gone {
    removed: Vec<Removal>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Removal {
    untagged: Vec<String>,
    /// The image's id, if it went too.
    deleted: Option<String>,
    freed_bytes: u64,
}

pub(super) fn rm(args: &RmArgs) -> Outcome {
    let store = store(&args.root)?;
    let mut gone = Gone { removed: Vec::new() };
    let mut worst = code::OK;
    for image in &args.images {
        match store.remove(image, args.force) {
            Ok(removed) => gone.removed.push(Removal::of(removed)),
            // The others are removed all the same.
            Err(error) => {
                let failure = depot(error);
                say(&failure.line());
                worst = worst.max(failure.code);
            }
        }
    }
    show(&gone, args.output, || gone.removed.iter().map(Removal::text).collect())?;
    Ok(worst)
}

// === impl Removal ===

impl Removal {
    fn of(removed: Removed) -> Removal {
        let deleted = removed.image.map(|id| id.to_string());
        Removal { untagged: removed.untagged, deleted, freed_bytes: removed.bytes }
    }

    fn text(&self) -> String {
        let names: String = self.untagged.iter().map(|name| format!("untagged {name}\n")).collect();
        match &self.deleted {
            Some(id) => format!("{names}deleted {id}, freed {}\n", bytes(self.freed_bytes)),
            None => names,
        }
    }
}
