//! What a stage starts from: nothing, the HostProcess base, or an image from somewhere.

use std::error::Error;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::time::Instant;

use sha2::{Digest as _, Sha256};

use super::config::Config;
use super::layer::{self, Shape};
use super::output::Layer;
use super::patient::Patient;
use super::{BuildError, Request, Scope};
use crate::archive::Archive;
use crate::blobs::{Blobs, ContentError, check};
use crate::candidates::candidates;
use crate::digest::Digest;
use crate::document::{Descriptor, Platform};
use crate::platform::builds::Version;
use crate::platform::{Candidate, Host, Isolation, NoMatch, Os, offers, pick};
use crate::progress::{Meter, Progress, Stage};
use crate::reference::Reference;
use crate::registry::Remote;
use crate::source::Source;
use crate::store::Here;

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

/// What is copied at a time.
const PIECE: usize = 256 << 10;
/// The name that stands for the base that is made here.
pub(super) const HOST_PROCESS: &str = "hpc";
/// The one that Microsoft publishes. Its hives are empty files, which Windows Server 2025 does not take.
const PUBLISHED: &str = "mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image";

// === impl Origin ===

impl Origin {
    pub(super) fn parse(text: &str, line: usize, context: &Path) -> Result<Origin, BuildError> {
        let name = text.split(['@', ':']).next().unwrap_or_default();
        let bad = |source| BuildError::Origin { line, image: text.to_owned(), source };
        Ok(match text {
            "scratch" => Origin::Scratch,
            HOST_PROCESS => Origin::HostProcess,
            _ if name == PUBLISHED => Origin::HostProcess,
            _ => Origin::Image(Source::parse(text, context).map_err(bad)?),
        })
    }

    pub(super) fn load(&self, name: &str, scope: &Scope<'_>, line: usize) -> Result<Base, BuildError> {
        match self {
            Origin::Image(Source::Dir(dir)) => {
                Ok(Base { dir: Some(dir.clone()), ..Origin::Scratch.made(scope, line)? })
            }
            Origin::Image(Source::OciArchive(path)) => {
                let archive = Archive::open(path).map_err(|e| bad(name, e))?;
                read(&archive, name, scope)
            }
            Origin::Image(Source::Reference(reference)) => stored_or_pulled(reference, name, scope),
            Origin::HostProcess | Origin::Scratch => self.made(scope, line),
        }
    }

    /// Windows imports no base layer without hives: there, nothing is the HostProcess base.
    fn made(&self, scope: &Scope<'_>, line: usize) -> Result<Base, BuildError> {
        let host_process = *self == Origin::HostProcess;
        let os = scope.os.unwrap_or(if host_process { Os::Windows } else { Os::Linux });
        if host_process && os != Os::Windows {
            // Without such an --os it is the line that wants it.
            return Err(if scope.request.os == Some(os) {
                BuildError::HostProcessOs { os }
            } else {
                BuildError::HostProcessPlatform { line, os }
            });
        }
        let mut config = Config::new(&scope.processor.platform(os));
        let mut layers = Vec::new();
        let Request { time, caller, .. } = *scope.request;
        if os == Os::Windows {
            let written = layer::write(&layer::windows_base(), Shape::WindowsBase, time, scope.blobs, caller)
                .map_err(|source| BuildError::Write { path: scope.blobs.to_owned(), source })?;
            config.note("FROM hpc", Some(&written.diff_id), time);
            layers.push(Layer::of(&written));
        }
        Ok(Base { config, layers, dir: None })
    }
}

/// An image of this machine. If it is not here, or not whole, or for another platform, the registry is asked.
fn stored_or_pulled(reference: &Reference, name: &str, scope: &Scope<'_>) -> Result<Base, BuildError> {
    let Some(here) = stored(reference, name, scope) else { return pulled(reference, name, scope) };
    here.or_else(|unfit| match pulled(reference, name, scope) {
        // Of an image that was never pushed a registry says only that it has none, not what is wrong with it.
        Err(_) if is_of_another_build(&unfit) => Err(unfit),
        other => other,
    })
}

fn stored(reference: &Reference, name: &str, scope: &Scope<'_>) -> Option<Result<Base, BuildError>> {
    let here = Here::find(scope.request.bases.content?, reference)?;
    Some(read(&here.blobs(), name, scope))
}

/// Whether an image of this machine is wrong only in its build: the one that it is, or all that its index has.
fn is_of_another_build(error: &BuildError) -> bool {
    match error {
        BuildError::BaseVersion { .. } => true,
        BuildError::Base { source, .. } => match source.downcast_ref::<ContentError>() {
            // Builds matter to this isolation only: another system or processor was refused before.
            Some(ContentError::Platform(NoMatch { isolation, .. })) => *isolation == Isolation::Process,
            _ => false,
        },
        _ => false,
    }
}

fn pulled(reference: &Reference, name: &str, scope: &Scope<'_>) -> Result<Base, BuildError> {
    let Request { bases, caller, .. } = *scope.request;
    let begun = Instant::now();
    (caller.tell)(&Progress::Pulling { reference: reference.to_string() });
    let remote = Remote::open(reference, bases.access, caller).map_err(|e| bad(name, e))?;
    let base = read(&remote, name, scope)?;
    let (bytes, took) = (remote.moved(), begun.elapsed());
    (caller.tell)(&Progress::Pulled { reference: reference.to_string(), bytes, took });
    Ok(base)
}

fn read<B: Blobs>(blobs: &B, name: &str, scope: &Scope<'_>) -> Result<Base, BuildError> {
    let offered = candidates(blobs).map_err(|e| bad(name, e))?;
    let host = host(&offered, scope);
    // A name that leads to one manifest is found whatever that is for.
    pick(&offered, &host, Isolation::HostProcess).map_err(|e| bad(name, e))?;
    let found = blobs.find(&host, scope.isolation()).map_err(|e| bad(name, e))?;
    let (digest, manifest) = (found.target(), found.manifest);
    let bytes = blobs.document(&manifest.config).map_err(|e| bad(name, e))?;
    let config = Config::parse(&bytes).map_err(|e| bad(name, e))?;
    let fits = (config.text("os"), config.text("architecture")) == (Some(&host.os), Some(&host.architecture));
    if !fits || config.diff_ids().len() != manifest.layers.len() {
        return Err(BuildError::Base {
            image: name.to_owned(),
            source: format!("it is not for {host}: it offers {}", offers(&offered)).into(),
        });
    }
    check_build(&config, name, &offered, scope)?;
    tell_of(blobs, name, digest, &manifest.layers, scope)?;
    let mut layers = Vec::new();
    for found in &manifest.layers {
        let size = copy(blobs, found, name, scope)?;
        layers.push(Layer::taken(found, size));
    }
    Ok(Base { config, layers, dir: None })
}

/// The image will say that it is of the build that is asked for, so its base must be. One that says none fits any.
fn check_build(
    config: &Config,
    name: &str,
    offered: &[Candidate],
    scope: &Scope<'_>,
) -> Result<(), BuildError> {
    let build = |text: &str| Version::parse(text).map(|version| Version { revision: None, ..version });
    match (config.text("os.version"), scope.os_version) {
        (Some(found), Some(wanted)) if scope.own_base && build(found) != build(wanted) => {
            let (image, offers) = (name.to_owned(), offers(offered));
            Err(BuildError::BaseVersion { image, found: found.to_owned(), wanted: wanted.to_owned(), offers })
        }
        _ => Ok(()),
    }
}

/// What the name means, and what has to come.
fn tell_of<B: Blobs>(
    blobs: &B,
    name: &str,
    digest: Digest,
    layers: &[Descriptor],
    scope: &Scope<'_>,
) -> Result<(), BuildError> {
    let size = |layer: &Descriptor| {
        let digest = Digest::parse(&layer.digest).map_err(|e| bad(name, e))?;
        Ok((digest, blobs.size(layer).map_err(|e| bad(name, e))?))
    };
    let blobs = layers.iter().map(size).collect::<Result<_, BuildError>>()?;
    (scope.request.caller.tell)(&Progress::Resolved { reference: name.to_owned(), digest, blobs });
    Ok(())
}

/// Takes a layer as it is, checked on the way. It has its name when it is whole.
fn copy<B: Blobs>(blobs: &B, layer: &Descriptor, name: &str, scope: &Scope<'_>) -> Result<u64, BuildError> {
    let digest = Digest::parse(&layer.digest).map_err(|e| bad(name, e))?;
    let size = blobs.size(layer).map_err(|e| bad(name, e))?;
    let mut meter = Meter::new(scope.request.caller, &digest, size);
    let path = scope.blobs.join(digest.hex());
    if path.metadata().is_ok_and(|found| found.len() == size) {
        // For another image of the index, or another stage.
        meter.stage(Stage::Present, size);
        return Ok(size);
    }
    let unnamed = scope.blobs.join("base.unfinished");
    let unwritten = |source| BuildError::Write { path: unnamed.clone(), source };
    meter.stage(Stage::Downloading, 0);
    let stream = blobs.stream(layer, 0).map_err(|e| bad(name, e))?.take(size);
    let mut stream = Patient { from: stream, caller: scope.request.caller };
    let mut file = File::create(&unnamed).map_err(unwritten)?;
    let (mut hash, mut piece) = (Sha256::new(), vec![0; PIECE]);
    let mut written = 0;
    loop {
        let read = stream.read(&mut piece).map_err(|e| bad(name, B::broken(e)))?;
        if read == 0 {
            break;
        }
        hash.update(&piece[..read]);
        file.write_all(&piece[..read]).map_err(unwritten)?;
        written += read as u64;
        meter.advance(read as u64);
    }
    check(digest.as_str(), &hash.finalize()).map_err(|e| bad(name, e))?;
    drop(file);
    os::file::rename(&unnamed, &path).map_err(unwritten)?;
    meter.stage(Stage::Done, size);
    Ok(written)
}

/// The system that is asked for; else Windows if the image has it, for which this program is; else what it has.
fn host(offered: &[Candidate], scope: &Scope<'_>) -> Host {
    let has = |os: Os| {
        let mut platforms = offered.iter().filter_map(|each| each.platform.as_ref());
        platforms.any(|has| has.os == os.name() && has.architecture == scope.processor.architecture)
    };
    let os = scope.os.unwrap_or_else(|| if has(Os::Windows) { Os::Windows } else { Os::Linux });
    let Platform { os, architecture, variant, .. } = scope.processor.platform(os);
    Host { os, architecture, variant, os_version: scope.os_version.map(str::to_owned) }
}

fn bad(image: &str, source: impl Error + Send + Sync + 'static) -> BuildError {
    BuildError::Base { image: image.to_owned(), source: Box::new(source) }
}

// === impl Scope ===

impl Scope<'_> {
    /// The image runs on the build that is asked for, so its base does. Without one any build is good, and the nearest
    /// for files that are copied.
    fn isolation(&self) -> Isolation {
        if self.own_base && self.os_version.is_some() { Isolation::Process } else { Isolation::HostProcess }
    }
}
