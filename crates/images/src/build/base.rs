//! What a stage starts from: nothing, the HostProcess base, or an image from somewhere.

use std::error::Error;
use std::fs::File;
use std::io;
use std::path::Path;

use super::config::Config;
use super::layer::{self, Shape};
use super::output::Layer;
use super::{BuildError, Scope};
use crate::archive::Archive;
use crate::blobs::Blobs;
use crate::candidates::candidates;
use crate::platform::{Candidate, Host, Isolation};
use crate::registry::{Access, Spool};
use crate::source::Source;

/// Where a stage's image comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    Scratch,
    /// Made here: hives and nothing else.
    HostProcess,
    Image(Source),
}

#[derive(Debug, Clone)]
pub(super) struct Base {
    pub(super) config: Config,
    pub(super) layers: Vec<Layer>,
    /// The directory that is to be the first layer.
    pub(super) dir: Option<std::path::PathBuf>,
}

/// The name that stands for the base that is made here.
pub(super) const HOST_PROCESS: &str = "hpc";
/// The one that Microsoft publishes. Its hives are empty files, which Windows Server 2025 does not take.
const PUBLISHED: &str = "mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image";

// === impl Origin ===

impl Origin {
    pub(super) fn parse(text: &str, context: &Path) -> Result<Origin, crate::source::SourceError> {
        let name = text.split(['@', ':']).next().unwrap_or_default();
        Ok(match text {
            "scratch" => Origin::Scratch,
            HOST_PROCESS => Origin::HostProcess,
            _ if name == PUBLISHED => Origin::HostProcess,
            _ => Origin::Image(Source::parse(text, context)?),
        })
    }

    pub(super) fn load(&self, name: &str, scope: &Scope<'_>) -> Result<Base, BuildError> {
        match self {
            Origin::Image(Source::Dir(dir)) => {
                Ok(Base { dir: Some(dir.clone()), ..Origin::Scratch.load(name, scope)? })
            }
            Origin::Image(Source::OciArchive(path)) => {
                let archive = Archive::open(path).map_err(|e| bad(name, e))?;
                read(&archive, name, scope)
            }
            Origin::Image(Source::Reference(reference)) => {
                let remote = Spool::open(reference, &Access::default(), scope.work, scope.request.caller)
                    .map_err(|e| bad(name, e))?;
                read(&remote, name, scope)
            }
            Origin::HostProcess | Origin::Scratch => Ok(self.made(scope)?),
        }
    }

    /// Windows imports no base layer without hives: there, nothing is the HostProcess base.
    fn made(&self, scope: &Scope<'_>) -> Result<Base, BuildError> {
        let host_process = *self == Origin::HostProcess;
        let os = scope.os.unwrap_or(if host_process { "windows" } else { "linux" });
        if host_process && os != "windows" {
            return Err(BuildError::HostProcessOs { os: os.to_owned() });
        }
        let mut config = Config::new(os, scope.architecture);
        let mut layers = Vec::new();
        if os == "windows" {
            let written =
                layer::write(&layer::windows_base(), Shape::WindowsBase, scope.request.time, scope.blobs)
                    .map_err(|source| BuildError::Write { path: scope.blobs.to_owned(), source })?;
            config.note("FROM hpc", Some(&written.diff_id), scope.request.time);
            layers.push(Layer::of(&written));
        }
        Ok(Base { config, layers, dir: None })
    }
}

fn read<B: Blobs>(blobs: &B, name: &str, scope: &Scope<'_>) -> Result<Base, BuildError>
where
    B::Error: Error + Send + Sync + 'static,
{
    let offered = candidates(blobs).map_err(|e| bad(name, e))?;
    let host = host(&offered, scope);
    let manifest = blobs.find_for(&host, scope.isolation()).map_err(|e| bad(name, e))?;
    let config = &manifest.config.digest;
    let bytes =
        blobs.blob(&manifest.config).map_err(|e| bad(name, e))?.document(config).map_err(|e| bad(name, e))?;
    let config = Config::parse(&bytes).map_err(|e| bad(name, e))?;
    let fits = (config.text("os"), config.text("architecture")) == (Some(&host.os), Some(&host.architecture));
    if !fits || config.diff_ids().len() != manifest.layers.len() {
        let offers = crate::platform::offers(&offered);
        return Err(BuildError::Base {
            image: name.to_owned(),
            source: format!("it is not for {host}: it offers {offers}").into(),
        });
    }
    let mut layers = Vec::new();
    for found in &manifest.layers {
        let mut blob = blobs.blob(found).map_err(|e| bad(name, e))?;
        let path = scope.blobs.join(found.digest.trim_start_matches("sha256:"));
        let size = File::create(&path)
            .and_then(|mut file| io::copy(&mut blob, &mut file))
            .map_err(|source| BuildError::Write { path, source })?;
        blob.finish().map_err(|e| bad(name, e))?;
        layers.push(Layer::taken(found, size));
    }
    Ok(Base { config, layers, dir: None })
}

/// The system that is asked for; else Windows if the image has it, for which this program is; else what it has.
fn host(offered: &[Candidate], scope: &Scope<'_>) -> Host {
    let has = |os: &str| {
        let mut platforms = offered.iter().filter_map(|each| each.platform.as_ref());
        platforms.any(|platform| platform.os == os && platform.architecture == scope.architecture)
    };
    let os = scope.os.unwrap_or_else(|| if has("windows") { "windows" } else { "linux" });
    let host = Host::new(os, scope.architecture);
    scope.os_version.map_or_else(|| host.clone(), |version| host.clone().with_version(version))
}

fn bad(image: &str, source: impl Error + Send + Sync + 'static) -> BuildError {
    BuildError::Base { image: image.to_owned(), source: Box::new(source) }
}

// === impl Scope ===

impl Scope<'_> {
    /// A base for a build that was asked for must be of that build; without one any is good, as for HostProcess.
    fn isolation(&self) -> Isolation {
        if self.os_version.is_some() { Isolation::Process } else { Isolation::HostProcess }
    }
}
