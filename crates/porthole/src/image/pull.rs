//! `porthole image pull`: images from their registries into this machine's store.

use std::sync::Arc;

use anyhow::anyhow;
use clap::Args;
use images::digest::Digest;
use images::platform::{Host, Isolation};
use images::record::Record;
use images::{Access, Caller, ImageError, Progress, Reference, Source, Store, Wanted};
use serde::Serialize;

use super::access::AccessArgs;
use super::amount::bytes;
use super::bars::Bars;
use super::patience::Patience;
use super::platform::{PlatformArgs, this_host};
use super::{full, image_failure, show, store, warnings};
use crate::cli::{Output, Root};
use crate::failure::{Exit, Failure, Outcome, code};

pub(super) const EXAMPLES: &str = "Examples:
  porthole image pull registry.k8s.io/pause:3.10
  porthole image pull --platform windows/amd64:10.0.20348 registry.k8s.io/pause:3.10
  porthole image pull --user jane --password-stdin registry.example.com/app:1 < password
  porthole image pull --pull-secret secret.yaml --hosts-dir /etc/containerd/certs.d registry.example.com/app:1

Ctrl-C ends it; the next pull goes on where this one was. Exit code 1 if an image cannot be had.";

#[derive(Debug, Args)]
pub struct PullArgs {
    /// The images
    #[arg(required = true, value_name = "REF")]
    images: Vec<String>,
    #[command(flatten)]
    platform: PlatformArgs,
    /// Every platform that the image has; those of other systems stay packed
    #[arg(long, conflicts_with = "platform")]
    all_platforms: bool,
    /// Say nothing on the way
    #[arg(short, long)]
    quiet: bool,
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
    #[command(flatten)]
    root: Root,
    // Last: its heading is for all that follows.
    #[command(flatten)]
    access: AccessArgs,
}

/// What came, as `-o json` prints it.
#[derive(Debug, Serialize)]
struct Pulled {
    images: Vec<PulledImage>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PulledImage {
    reference: String,
    /// Of the manifest or index that the name leads to.
    digest: String,
    /// The image that the name means here: its configuration's digest.
    id: String,
    platform: String,
    /// All that came, with `--all-platforms`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    platforms: Vec<String>,
    compressed_bytes: u64,
    /// What could not be kept when it was unpacked.
    warnings: Vec<String>,
}

/// What one pull needs.
struct Errand<'a> {
    store: &'a Store,
    access: &'a Access,
    host: Host,
    all_platforms: bool,
    /// Images of another system cannot run here: their blobs are enough.
    unpack: bool,
    caller: Caller<'a>,
}

pub(super) fn pull(args: &PullArgs) -> Outcome {
    let parsed = args.images.iter().map(|text| Reference::parse(text));
    let references = parsed.collect::<Result<Vec<_>, _>>().or_usage()?;
    let access = args.access.open(&args.root, &references)?;
    let hint = |failure: &Failure| full::hint(failure, "pull");
    let store = store(&args.root).inspect_err(hint)?;
    let host = args.platform.host()?;
    let unpack = host.os == this_host()?.os;
    let (patience, bars) = (Patience::watch()?, Bars::new(args.quiet));
    let (tell, gave_up) = (|progress: &Progress| bars.tell(progress), || patience.is_lost());
    let caller = Caller { tell: &tell, gave_up: &gave_up };
    let errand =
        Errand { store: &store, access: &access, host, all_platforms: args.all_platforms, unpack, caller };
    let pulled = references.iter().map(|reference| errand.run(reference)).collect::<Result<Vec<_>, _>>();
    if let Ok(images) = &pulled {
        images.iter().for_each(|image| warnings::tell(&image.warnings, "-o json", &bars));
    }
    bars.close();
    let pulled = Pulled { images: pulled.map_err(|error| failure(error, &patience)).inspect_err(hint)? };
    show(&pulled, args.output, || pulled.images.iter().map(PulledImage::line).collect())
}

fn failure(error: ImageError, patience: &Patience) -> Failure {
    if patience.is_lost() {
        let error = anyhow!("interrupted: what came is kept, and the next pull goes on from there");
        return Failure::new(code::INTERRUPTED, error);
    }
    image_failure(error)
}

// === impl Errand ===

impl Errand<'_> {
    fn run(&self, reference: &Reference) -> Result<PulledImage, ImageError> {
        let source = Source::Reference(reference.clone());
        let wanted = Wanted {
            source: &source,
            policy: None,
            host: &self.host,
            isolation: Isolation::HostProcess,
            access: self.access,
            pin: None,
        };
        if self.all_platforms {
            let every = self.store.pull_every(reference, &wanted, self.unpack, self.caller)?;
            return self.pulled(reference, &every.target, every.image(), &every.records);
        }
        let record = self.store.pull(reference, &wanted, self.unpack, self.caller)?;
        let named = self.store.content().names().get(reference)?;
        let target = named.map_or_else(|| record.manifest.clone(), |named| named.target);
        self.pulled(reference, &target, &record, &[])
    }

    fn pulled(
        &self,
        reference: &Reference,
        target: &Digest,
        image: &Record,
        all: &[Arc<Record>],
    ) -> Result<PulledImage, ImageError> {
        Ok(PulledImage {
            reference: reference.to_string(),
            digest: target.to_string(),
            id: image.id.to_string(),
            platform: image.platform.to_string(),
            platforms: all.iter().map(|record| record.platform.to_string()).collect(),
            compressed_bytes: image.blobs().iter().map(|(_, size)| size).sum(),
            warnings: self.store.warnings(image)?,
        })
    }
}

// === impl PulledImage ===

impl PulledImage {
    /// The digest first: that is what scripts want.
    fn line(&self) -> String {
        let platforms =
            if self.platforms.is_empty() { self.platform.clone() } else { self.platforms.join(", ") };
        format!("{} {}, {}, {platforms}\n", self.digest, self.reference, bytes(self.compressed_bytes))
    }
}
