//! `porthole image`: images on this machine and in files.

mod build;
mod explain;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Subcommand;

use crate::failure::{Exit, Failure, Outcome};

#[derive(Debug, Subcommand)]
pub enum ImageVerb {
    /// Build an image from a Dockerfile, for Windows or Linux, without Docker
    #[command(after_help = build::EXAMPLES)]
    Build(Box<build::BuildArgs>),
    /// Say which of an image's entries a host takes, and why it does not take the others
    #[command(after_help = explain::EXAMPLES)]
    Explain(explain::ExplainArgs),
}

pub fn image(verb: &ImageVerb) -> Outcome {
    match verb {
        ImageVerb::Build(args) => build::build(args),
        ImageVerb::Explain(args) => explain::explain(args),
    }
}

/// A directory for what is made on the way. It goes with its value.
#[derive(Debug)]
struct Work(PathBuf);

// === impl Work ===

impl Work {
    fn make(path: PathBuf) -> Result<Work, Failure> {
        std::fs::create_dir_all(&path)
            .with_context(|| format!("create {}", path.display()))
            .or_environment()?;
        Ok(Work(path))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // Whatever led here is the thing to tell.
        drop(os::file::remove_tree(&self.0));
    }
}
