//! Images from a Dockerfile, on any system and without Docker.
//!
//! For what images of HostProcess containers need: files, an environment, what to run. Nothing is run while
//! building, so `RUN` is refused. The same files give the same digest anywhere: see [`layer`].

mod base;
mod below;
mod config;
mod copy;
pub mod dockerfile;
mod glob;
mod ignore;
mod layer;
mod links;
mod output;
mod path;
mod patient;
pub(crate) mod site;
mod stage;
mod time;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use dockerfile::{Dockerfile, DockerfileError};
use ignore::Ignore;
pub use output::Built;
pub use path::PathError;
pub use site::Site;
pub use time::rfc3339;

use crate::content::Content;
use crate::document::Platform;
use crate::platform::{Os, PlatformError, Processor};
use crate::progress::Caller;
use crate::reference::Reference;
use crate::registry::Access;
use crate::source::SourceError;

/// What is to be built.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    pub dockerfile: &'a Dockerfile,
    /// Where the Dockerfile is, for the `.dockerignore` that belongs to it.
    pub path: Option<&'a Path>,
    /// The directory that sources are in.
    pub context: &'a Path,
    /// Otherwise the base's.
    pub os: Option<Os>,
    pub processor: &'a Processor,
    /// One image for each, in an index if there are several; without any, the base's.
    pub os_versions: &'a [String],
    pub args: &'a BTreeMap<String, String>,
    /// The stage that is wanted; otherwise the last.
    pub target: Option<&'a str>,
    /// Of every file and document, in seconds since 1970.
    pub time: u64,
    pub bases: Bases<'a>,
    /// An empty directory for what is built.
    pub work: &'a Path,
    pub caller: Caller<'a>,
}

/// Where images that a stage starts from are looked for.
#[derive(Debug, Clone, Copy)]
pub struct Bases<'a> {
    /// First in the store of this machine, if there is one …
    pub content: Option<&'a Content>,
    /// … then in their registries.
    pub access: &'a Access,
}

/// One image of those that are to be built.
#[derive(Debug, Clone, Copy)]
struct Scope<'a> {
    request: &'a Request<'a>,
    ignore: &'a Ignore,
    os: Option<Os>,
    processor: &'a Processor,
    os_version: Option<&'a str>,
    /// Whether the base is that of the image itself, which says the version, rather than of files to copy from.
    own_base: bool,
    /// Finished blobs, for the archive.
    blobs: &'a Path,
    /// What is needed on the way.
    work: &'a Path,
}

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error(transparent)]
    Dockerfile(#[from] DockerfileError),
    #[error(
        "line {line}: RUN needs a running {os}, and nothing is run while building: do it before and COPY the result, \
         or build the base with another tool and name it in FROM (oci-archive:PATH)"
    )]
    Run { line: usize, os: String },
    #[error("line {line}: image {image:?}")]
    Origin { line: usize, image: String, source: SourceError },
    #[error("base image {image}")]
    Base { image: String, source: Box<dyn Error + Send + Sync> },
    #[error("base image {image} is of Windows {found}, and --os-version wants {wanted}: it offers {offers}")]
    BaseVersion { image: String, found: String, wanted: String, offers: String },
    #[error("the base hpc is for windows: wanted no other --os, found {os}")]
    HostProcessOs { os: Os },
    #[error("line {line}: the base hpc is for windows: wanted no other --platform, found {os}")]
    HostProcessPlatform { line: usize, os: Os },
    #[error("line {line}: there is no stage {stage:?} before it")]
    Stage { line: usize, stage: String },
    #[error("there is no stage {target:?}: it has {offers}")]
    Target { target: String, offers: String },
    #[error("line {line}: --platform")]
    Platform { line: usize, source: PlatformError },
    #[error("line {line}")]
    Path { line: usize, source: PathError },
    #[error("line {line}: {source_name:?} is not in {}{}", root.display(), if *ignored { ": .dockerignore leaves it out" } else { "" })]
    Missing { line: usize, source_name: String, root: PathBuf, ignored: bool },
    #[error("line {line}: {pattern:?} is no pattern: a bracket or an escape is not finished")]
    Pattern { line: usize, pattern: String },
    #[error("line {line}: several files to {target:?}: wanted a directory, with a slash at the end")]
    ManyToOne { line: usize, target: String },
    #[error("line {line}: {path} leads out of the directory that is built from")]
    Outside { line: usize, path: PathBuf },
    #[error("line {line}: {path} is neither a file, a directory nor a link")]
    Kind { line: usize, path: PathBuf },
    #[error("line {line}: {path} has a name that is not UTF-8")]
    NotText { line: usize, path: PathBuf },
    #[error("line {line}: ADD {source_name} would {what}, which is not done here: {instead}")]
    Add { line: usize, source_name: String, what: &'static str, instead: &'static str },
    #[error("line {line}: --chmod wants an octal number, found {found:?}")]
    Mode { line: usize, found: String },
    #[error("line {line}: EXPOSE wants PORT[-PORT][/tcp|/udp|/sctp], found {found:?}")]
    Port { line: usize, found: String },
    #[error("{path}, line {line}: not a pattern of .dockerignore")]
    Ignore { path: PathBuf, line: usize },
    #[error("--os-version {0:?} is no Windows version: wanted 10.0.BUILD[.REVISION]")]
    Version(String),
    #[error("--os-version is for windows, and the image is for {0}")]
    VersionOs(String),
    #[error("read {path}")]
    Read { path: PathBuf, source: io::Error },
    #[error("layer for line {line}")]
    Layer { line: usize, source: io::Error },
    #[error("line {line}: look for directories in layer {digest} of the base")]
    Below { line: usize, digest: String, source: crate::unpack::UnpackError },
    #[error("interrupted")]
    GaveUp,
    #[error("unpack {image} for COPY --from")]
    Unpack { image: String, source: crate::unpack::UnpackError },
    #[error("write {path}")]
    Write { path: PathBuf, source: io::Error },
}

/// Builds what is asked for, into the request's directory.
pub fn build(request: &Request<'_>) -> Result<Built, BuildError> {
    // Who has given up broke it off, whatever it looked like from inside.
    build_all(request).map_err(|error| if (request.caller.gave_up)() { BuildError::GaveUp } else { error })
}

/// The images that [`build`] may ask registries for. A name in which the platform stands is taken for the one that is
/// asked for, which a base may change.
pub fn references(
    dockerfile: &Dockerfile,
    args: &BTreeMap<String, String>,
    target: Option<&str>,
    os: Option<Os>,
    processor: &Processor,
) -> Result<Vec<Reference>, BuildError> {
    stage::references(dockerfile, args, target, os, processor)
}

fn build_all(request: &Request<'_>) -> Result<Built, BuildError> {
    if let Some(bad) =
        request.os_versions.iter().find(|text| crate::platform::builds::Version::parse(text).is_none())
    {
        return Err(BuildError::Version(bad.clone()));
    }
    let ignore = Ignore::of(request.context, request.path)?;
    let (blobs, work) = (request.work.join("blobs"), request.work.join("work"));
    for dir in [&blobs, &work] {
        std::fs::create_dir_all(dir).map_err(|source| BuildError::Write { path: dir.clone(), source })?;
    }
    let mut warnings = request.dockerfile.warnings.clone();
    let (mut manifests, mut used) = (Vec::new(), BTreeSet::new());
    let versions: Vec<_> = request.os_versions.iter().map(|version| Some(version.as_str())).collect();
    let versions = if versions.is_empty() { vec![None] } else { versions };
    for (index, os_version) in versions.into_iter().enumerate() {
        let work = work.join(index.to_string());
        std::fs::create_dir_all(&work).map_err(|source| BuildError::Write { path: work.clone(), source })?;
        let os = request.os.or_else(|| os_version.map(|_| Os::Windows));
        let scope = Scope {
            request,
            ignore: &ignore,
            os,
            processor: request.processor,
            os_version,
            own_base: false,
            blobs: &blobs,
            work: &work,
        };
        let image = stage::run(&scope, &mut warnings)?;
        let platform = image.platform();
        if let (Some(_), true) = (os_version, platform.os != "windows") {
            return Err(BuildError::VersionOs(platform.os));
        }
        manifests.push(output::manifest(
            &blobs,
            &image.config.bytes(request.time),
            &image.layers,
            platform,
            &mut used,
        )?);
    }
    // Each image of an index has its own.
    let mut known = BTreeSet::new();
    warnings.retain(|warning| known.insert(warning.clone()));
    Built::new(blobs, used, manifests, warnings)
}

pub(crate) fn text_of(hash: &[u8]) -> String {
    hash.iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

// === impl BuildError ===

impl BuildError {
    /// Whether what was asked for beside the Dockerfile is to blame.
    pub fn is_wrong_use(&self) -> bool {
        matches!(
            self,
            Self::Version(_) | Self::VersionOs(_) | Self::Target { .. } | Self::HostProcessOs { .. }
        )
    }
}

// === impl Image ===

impl stage::Image {
    fn platform(&self) -> Platform {
        let text = |name: &str| self.config.text(name).map(str::to_owned);
        Platform {
            os: text("os").unwrap_or_default(),
            architecture: text("architecture").unwrap_or_default(),
            variant: text("variant"),
            os_version: text("os.version"),
        }
    }
}

#[cfg(test)]
mod tests;
