//! `porthole image push`: images of this machine to their registries.

use anyhow::anyhow;
use clap::Args;
use images::push::{PushError, Pushed, push as push_image};
use images::{Access, Caller, Progress, Reference, Store, transfer};
use serde::Serialize;

use super::access::AccessArgs;
use super::amount::bytes;
use super::bars::Bars;
use super::find::Choice;
use super::patience::Patience;
use super::platform::PlatformArgs;
use super::{depot, show, store};
use crate::cli::{Output, Root};
use crate::failure::{Exit, Failure, Outcome, code};

pub(super) const EXAMPLES: &str = "Examples:
  porthole image push registry.example.com/agent:1.0
  porthole image push --all-platforms registry.example.com/agent:1.0
  porthole image push --user jane --password-stdin registry.example.com/agent:1.0 < password

The name says where to; `porthole image load -t REF FILE` and `build -t REF` give one. What the registry has already
does not move again.";

#[derive(Debug, Args)]
pub struct PushArgs {
    /// The images, by name
    #[arg(required = true, value_name = "REF")]
    images: Vec<String>,
    #[command(flatten)]
    platform: PlatformArgs,
    /// The index with every platform, all of which must be here
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

/// What was sent, as `-o json` prints it.
#[derive(Debug, Serialize)]
struct Sent {
    images: Vec<SentImage>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SentImage {
    reference: String,
    /// Of the manifest or index, by which the registry knows it.
    digest: String,
    moved_bytes: u64,
    blobs: Blobs,
}

/// How many blobs went which way.
#[derive(Debug, Serialize)]
struct Blobs {
    sent: usize,
    /// The registry had them in another repository.
    mounted: usize,
    present: usize,
}

pub(super) fn push(args: &PushArgs) -> Outcome {
    let parsed = args.images.iter().map(|text| Reference::parse(text));
    let references = parsed.collect::<Result<Vec<_>, _>>().or_usage()?;
    let access = args.access.open(&args.root, &references)?;
    let store = store(&args.root)?;
    let (patience, bars) = (Patience::watch()?, Bars::new(args.quiet));
    let (tell, gave_up) = (|progress: &Progress| bars.tell(progress), || patience.is_lost());
    let caller = Caller { tell: &tell, gave_up: &gave_up };
    let sent = references.iter().map(|reference| args.send(reference, &store, &access, caller));
    let sent = sent.collect::<Result<Vec<_>, _>>();
    bars.close();
    let sent = match sent {
        Err(_) if patience.is_lost() => {
            let error = anyhow!("interrupted: what the registry has does not move again with the next push");
            return Err(Failure::new(code::INTERRUPTED, error));
        }
        other => Sent { images: other? },
    };
    show(&sent, args.output, || sent.images.iter().map(SentImage::line).collect())
}

// === impl PushArgs ===

impl PushArgs {
    fn send(
        &self,
        reference: &Reference,
        store: &Store,
        access: &Access,
        caller: Caller<'_>,
    ) -> Result<SentImage, Failure> {
        let choice = Choice { platform: &self.platform, all: self.all_platforms };
        let name = reference.to_string();
        let chosen = choice.of(store, &name)?;
        let root = transfer::root(store.content(), &chosen, &choice.platforms()).or_no()?;
        let pushed = push_image(reference, access, store.content(), &root, caller);
        let pushed = pushed.map_err(|error| failure(&name, error))?;
        Ok(SentImage::of(name, &pushed))
    }
}

fn failure(name: &str, error: PushError) -> Failure {
    match error {
        PushError::Store(error) => depot(error),
        other => Failure::new(code::NO, anyhow::Error::new(other).context(format!("push {name}"))),
    }
}

// === impl SentImage ===

impl SentImage {
    fn of(reference: String, pushed: &Pushed) -> SentImage {
        let blobs = Blobs { sent: pushed.sent, mounted: pushed.mounted, present: pushed.present };
        SentImage { reference, digest: pushed.digest.to_string(), moved_bytes: pushed.moved, blobs }
    }

    fn line(&self) -> String {
        let Blobs { sent, mounted, present } = self.blobs;
        let moved = bytes(self.moved_bytes);
        format!(
            "{} {}, {moved} in {sent} blobs, {} were there\n",
            self.digest,
            self.reference,
            mounted + present
        )
    }
}
