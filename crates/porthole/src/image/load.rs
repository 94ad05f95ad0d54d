//! `porthole image load`: images from a file, a directory or a pipe into this machine's store.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use images::digest::Digest;
use images::platform::{Host, Isolation};
use images::transfer::{self, Format, Package, TransferError};
use images::{Access, Caller, Progress, Reference, Source, Store, Wanted};
use serde::Serialize;

use super::bars::Bars;
use super::patience::Patience;
use super::platform::{PlatformArgs, this_host};
use super::{depot, full, image_failure, show, store, warnings};
use crate::cli::{Output, Root};
use crate::failure::{Exit, Failure, Outcome, code};

pub(super) const EXAMPLES: &str = "Examples:
  porthole image load app.tar
  docker save app:1 | porthole image load -
  porthole image load -t registry.example.com/app:1 layout/

Reads OCI layouts (directories and archives) and what `docker save` writes, compressed or not; which it is shows in
what is in it. An image without a name gets one by -t, or is known by its id.";

#[derive(Debug, Args)]
pub struct LoadArgs {
    /// The archive or directory; - is standard input
    #[arg(value_name = "FILE|DIR|-")]
    from: PathBuf,
    /// The name of the image, if there is one image
    #[arg(short, long, value_name = "REF")]
    tag: Option<String>,
    #[command(flatten)]
    platform: PlatformArgs,
    /// Say nothing on the way
    #[arg(short, long)]
    quiet: bool,
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
    #[command(flatten)]
    root: Root,
}

/// What was loaded, as `-o json` prints it.
#[derive(Debug, Serialize)]
struct Loaded {
    format: Format,
    images: Vec<LoadedImage>,
}

#[derive(Debug, Serialize)]
pub(super) struct LoadedImage {
    names: Vec<String>,
    /// The image that the names mean here: its configuration's digest.
    id: String,
    /// Of the manifest or index that the names lead to.
    digest: String,
    platform: String,
    /// All that came.
    platforms: Vec<String>,
    /// What could not be kept when it was unpacked.
    pub(super) warnings: Vec<String>,
}

pub(super) fn load(args: &LoadArgs) -> Outcome {
    let tag = args.tag.as_deref().map(Reference::parse).transpose().or_usage()?;
    let hint = |failure: &Failure| full::hint(failure, "load");
    let store = store(&args.root).inspect_err(hint)?;
    let package = args.open(&store).inspect_err(hint)?;
    let (patience, bars) = (Patience::watch()?, Bars::new(args.quiet));
    let (tell, gave_up) = (|progress: &Progress| bars.tell(progress), || patience.is_lost());
    let caller = Caller { tell: &tell, gave_up: &gave_up };
    let loaded = args.take(&store, &package, tag, caller);
    if let Ok(loaded) = &loaded {
        loaded.images.iter().for_each(|image| warnings::tell(&image.warnings, "-o json", &bars));
    }
    bars.close();
    let loaded = match loaded {
        Err(_) if patience.is_lost() => {
            return Err(Failure::new(
                code::INTERRUPTED,
                anyhow!("interrupted: what is not whole was not loaded"),
            ));
        }
        other => other.inspect_err(hint)?,
    };
    show(&loaded, args.output, || loaded.images.iter().map(LoadedImage::line).collect())
}

/// A file that is no archive is wrong use; an archive that is damaged is a no.
fn failure(error: TransferError) -> Failure {
    use TransferError::{Cut, Depot, Empty, Open, Packed, Tar, TooLarge, TooManyMembers, Unknown, Write};
    let code = match error {
        Depot(error) => return depot(error),
        Open { .. } | Tar { .. } | Packed { .. } | Unknown { .. } | Cut { .. } | Empty { .. } => code::USAGE,
        TooLarge { .. } | TooManyMembers { .. } => code::USAGE,
        Write { .. } => code::ENVIRONMENT,
        _ => code::NO,
    };
    Failure::new(code, error)
}

// === impl LoadArgs ===

impl LoadArgs {
    fn open(&self, store: &Store) -> Result<Package, Failure> {
        // Beside the store: archives may be larger than what there is room for elsewhere.
        let spool = store.content().dir();
        let package = if self.from == Path::new("-") {
            Package::read(io::stdin(), "standard input", spool)
        } else {
            Package::open(&self.from, spool)
        };
        package.map_err(failure)
    }

    fn take(
        &self,
        store: &Store,
        package: &Package,
        tag: Option<Reference>,
        caller: Caller<'_>,
    ) -> Result<Loaded, Failure> {
        let imported = transfer::import(package, store.content(), caller).map_err(failure)?;
        if tag.is_some() && imported.images.len() > 1 {
            let error = anyhow!("-t names one image, and {} has {}", package.what(), imported.images.len());
            return Err(Failure::new(code::USAGE, error));
        }
        let (host, here) = (self.platform.host()?, this_host()?);
        let mut loaded = Loaded { format: imported.format, images: Vec::new() };
        for image in &imported.images {
            let names = tag.as_ref().map_or_else(|| image.names.clone(), |tag| vec![tag.clone()]);
            let adoption = Adoption { host: &host, unpack: host.os == here.os };
            loaded.images.push(adoption.run(store, &image.root.digest, &names, caller)?);
        }
        Ok(loaded)
    }
}

/// Images of blobs that are in the store: from a file, or built.
pub(super) struct Adoption<'a> {
    pub(super) host: &'a Host,
    pub(super) unpack: bool,
}

// === impl Adoption ===

impl Adoption<'_> {
    pub(super) fn run(
        &self,
        store: &Store,
        root: &str,
        names: &[Reference],
        caller: Caller<'_>,
    ) -> Result<LoadedImage, Failure> {
        let target = Digest::parse(root).or_no()?;
        let (source, access) = (Source::Dir(PathBuf::new()), Access::default());
        let wanted = Wanted {
            source: &source,
            policy: None,
            host: self.host,
            isolation: Isolation::HostProcess,
            access: &access,
            pin: None,
        };
        let every = store.adopt(&target, names, &wanted, self.unpack, caller).map_err(image_failure)?;
        let image = every.image();
        Ok(LoadedImage {
            names: names.iter().map(ToString::to_string).collect(),
            id: image.id.to_string(),
            digest: target.to_string(),
            platform: image.platform.to_string(),
            platforms: every.records.iter().map(|record| record.platform.to_string()).collect(),
            warnings: store.warnings(image).map_err(depot)?,
        })
    }
}

// === impl LoadedImage ===

impl LoadedImage {
    fn line(&self) -> String {
        let name = if self.names.is_empty() { "<none>".to_owned() } else { self.names.join(", ") };
        format!("{} {name}, {}\n", self.digest, self.platforms.join(", "))
    }
}
