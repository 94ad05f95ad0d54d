//! `porthole image save`: images of this machine into a file, a directory or a pipe.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use images::transfer::{self, Format, Saved, Target, TransferError};
use images::{Caller, Progress};

use super::amount::bytes;
use super::bars::Bars;
use super::find::Choice;
use super::patience::Patience;
use super::platform::PlatformArgs;
use super::{show, store};
use crate::cli::{Output, Root};
use crate::failure::{Failure, Outcome, code};
use crate::up::say;

pub(super) const EXAMPLES: &str = "Examples:
  porthole image save -o app.tar registry.example.com/app:1
  porthole image save --format docker-archive -o - app:1 | docker load
  porthole image save --format oci-dir --all-platforms -o layout app:1 other:2

A file has its name only when it is complete. A directory that is an OCI layout already gets the images added.";

#[derive(Debug, Args)]
pub struct SaveArgs {
    /// The images, by name or id
    #[arg(required = true, value_name = "IMAGE")]
    images: Vec<String>,
    /// Where to; - is standard output
    #[arg(short, long, value_name = "FILE|DIR|-")]
    output: PathBuf,
    #[arg(long, value_enum, default_value_t)]
    format: Kind,
    #[command(flatten)]
    platform: PlatformArgs,
    /// The index with every platform, all of which must be here
    #[arg(long, conflicts_with = "platform")]
    all_platforms: bool,
    /// Say nothing on the way
    #[arg(short, long)]
    quiet: bool,
    /// Print what was saved as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    root: Root,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A tar file with an OCI layout
    #[default]
    OciArchive,
    /// A directory with an OCI layout
    OciDir,
    /// What `docker load` reads
    DockerArchive,
}

pub(super) fn save(args: &SaveArgs) -> Outcome {
    let streams = args.output == Path::new("-");
    args.check(streams)?;
    let store = store(&args.root)?;
    let choice = Choice { platform: &args.platform, all: args.all_platforms };
    let images = args.images.iter().map(|text| choice.of(&store, text)).collect::<Result<Vec<_>, _>>()?;
    let (patience, bars) = (Patience::watch()?, Bars::new(args.quiet));
    let (tell, gave_up) = (|progress: &Progress| bars.tell(progress), || patience.is_lost());
    let caller = Caller { tell: &tell, gave_up: &gave_up };
    let mut stdout = io::stdout();
    let target = match (streams, args.format) {
        (true, _) => Target::Stream(&mut stdout),
        (false, Kind::OciDir) => Target::Dir(&args.output),
        (false, _) => Target::File(&args.output),
    };
    let saved =
        transfer::save(store.content(), &images, &choice.platforms(), args.format.into(), target, caller);
    bars.close();
    let saved = saved.map_err(SaveArgs::failure)?;
    let output = if args.json { Output::Json } else { Output::Table };
    if streams {
        // Standard output has the archive.
        if !args.quiet {
            say(text(&saved, "standard output").trim_end());
        }
        return Ok(code::OK);
    }
    show(&saved, output, || text(&saved, &args.output.display().to_string()))
}

fn text(saved: &Saved, place: &str) -> String {
    let line = |image: &transfer::SavedImage| {
        let name = image.name.as_deref().unwrap_or("<none>");
        format!("{} {name} in {place}, {}\n", image.digest, bytes(image.bytes))
    };
    saved.images.iter().map(line).collect()
}

// === impl SaveArgs ===

impl SaveArgs {
    fn check(&self, streams: bool) -> Result<(), Failure> {
        let wrong = |text: &'static str| Err(Failure::new(code::USAGE, anyhow!(text)));
        match (streams, self.format) {
            (true, Kind::OciDir) => {
                wrong("a directory does not go to standard output: wanted an archive, or -o DIR")
            }
            (true, _) if self.json => {
                wrong("--json prints to standard output, which is to be the archive: wanted -o FILE")
            }
            (true, _) if io::stdout().is_terminal() => {
                wrong("an archive is nothing for a terminal: wanted -o FILE, or a pipe")
            }
            _ => Ok(()),
        }
    }

    fn failure(error: TransferError) -> Failure {
        let code = match &error {
            TransferError::GaveUp => code::INTERRUPTED,
            TransferError::OnePlatform => code::USAGE,
            TransferError::Write { .. } | TransferError::Depot(_) => code::ENVIRONMENT,
            _ => code::NO,
        };
        Failure::new(code, anyhow::Error::new(error).context("save"))
    }
}

// === impl Kind ===

impl From<Kind> for Format {
    fn from(kind: Kind) -> Format {
        match kind {
            Kind::OciArchive => Format::OciArchive,
            Kind::OciDir => Format::OciDir,
            Kind::DockerArchive => Format::DockerArchive,
        }
    }
}
