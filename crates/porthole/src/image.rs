//! `porthole image`: images on this machine, in registries and in files.

pub(crate) mod access;
pub(crate) mod amount;
mod bars;
mod build;
mod explain;
mod find;
mod fsck;
mod full;
mod gc;
mod inspect;
mod load;
mod ls;
mod patience;
mod platform;
mod pull;
mod push;
mod rm;
mod save;
mod view;
mod warnings;

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Subcommand;
use images::content::DepotError;
use images::{Content, ImageError, Store};
use runtime::layout::Layout;

use crate::cli::Root;
use crate::facts::show;
use crate::failure::{Exit, Failure, Outcome, code};

#[derive(Debug, Subcommand)]
pub enum ImageVerb {
    /// Fetch images from their registries
    #[command(after_help = pull::EXAMPLES)]
    Pull(Box<pull::PullArgs>),
    /// Send images of this machine to their registries
    #[command(after_help = push::EXAMPLES)]
    Push(Box<push::PushArgs>),
    /// Show the images of this machine, how large they are and who uses them
    #[command(after_help = ls::EXAMPLES)]
    Ls(ls::LsArgs),
    /// Show everything that is known of an image
    #[command(after_help = inspect::EXAMPLES)]
    Inspect(inspect::InspectArgs),
    /// Remove images, or names of them
    #[command(after_help = rm::EXAMPLES)]
    Rm(rm::RmArgs),
    /// Write images to a file, a directory or standard output
    #[command(after_help = save::EXAMPLES)]
    Save(Box<save::SaveArgs>),
    /// Take images from a file, a directory or standard input
    #[command(after_help = load::EXAMPLES)]
    Load(Box<load::LoadArgs>),
    /// Check everything that is stored against its digests
    #[command(after_help = fsck::EXAMPLES)]
    Fsck(fsck::FsckArgs),
    /// Free what nobody uses
    #[command(after_help = gc::EXAMPLES)]
    Gc(gc::GcArgs),
    /// Build an image from a Dockerfile, for Windows or Linux, without Docker
    #[command(after_help = build::EXAMPLES)]
    Build(Box<build::BuildArgs>),
    /// Say which of an image's entries a host takes, and why it does not take the others
    #[command(after_help = explain::EXAMPLES)]
    Explain(Box<explain::ExplainArgs>),
}

pub fn image(verb: &ImageVerb) -> Outcome {
    match verb {
        ImageVerb::Pull(args) => pull::pull(args),
        ImageVerb::Push(args) => push::push(args),
        ImageVerb::Ls(args) => ls::ls(args),
        ImageVerb::Inspect(args) => inspect::inspect(args),
        ImageVerb::Rm(args) => rm::rm(args),
        ImageVerb::Save(args) => save::save(args),
        ImageVerb::Load(args) => load::load(args),
        ImageVerb::Fsck(args) => fsck::fsck(args),
        ImageVerb::Gc(args) => gc::gc(args),
        ImageVerb::Build(args) => build::build(args),
        ImageVerb::Explain(args) => explain::explain(args),
    }
}

/// The store under this root. It is shared: no lock is taken, whatever else runs.
fn store(root: &Root) -> Result<Store, Failure> {
    Store::open(&images_dir(root)?).or_environment()
}

/// What is in the store, for who puts nothing in. A whole store is tried for what it can unpack, which takes some room:
/// on a full disk there is none.
fn content(root: &Root) -> Result<Content, Failure> {
    Content::open(&images_dir(root)?).or_environment()
}

/// The store under this root if there is one: who only looks makes none, and does without one that cannot be opened.
fn store_if_there(root: &Root) -> Result<Option<Store>, Failure> {
    Ok(if images_dir(root)?.is_dir() { store(root).ok() } else { None })
}

fn images_dir(root: &Root) -> Result<PathBuf, Failure> {
    Ok(Layout::new(&root.path().or_environment()?).images())
}

/// An image that does not come or unpack is an answer, unless the store or its disk is to blame.
fn image_failure(error: ImageError) -> Failure {
    match error {
        ImageError::Depot(error) => depot(error),
        ImageError::Store { .. } => Failure::new(code::ENVIRONMENT, error),
        other => full::failure(code::NO, other),
    }
}

/// What the store says no to is an answer; everything else is the environment.
fn depot(error: DepotError) -> Failure {
    use DepotError::{Ambiguous, Damaged, NoImage, SeveralNames};
    if let DepotError::InUse { image, by } = &error {
        let by = view::users(by).join(", ");
        return Failure::new(code::NO, anyhow!("image {} is used by {by} and stays", image.short()));
    }
    let answer = matches!(error, NoImage(_) | Ambiguous { .. } | SeveralNames { .. } | Damaged { .. });
    Failure::new(if answer { code::NO } else { code::ENVIRONMENT }, error)
}
