//! Where a built image goes, and what is there for it.

use std::path::{Path, PathBuf};

use anyhow::Context;
use images::build::{Built, Site};
use images::transfer::{self, Package};
use images::{Caller, Reference, Store};

use super::super::load::Adoption;
use super::super::platform::this_host;
use super::super::{full, store_if_there};
use crate::cli::Root;
use crate::failure::{Exit, Failure};

/// Where the image goes.
pub(super) enum Goal {
    Archive(PathBuf),
    /// Under this name.
    Store(Box<Store>, Reference),
}

// === impl Goal ===

impl Goal {
    /// Beside the goal: layers may be larger than what there is room for elsewhere.
    pub(super) fn site(&self) -> Result<Site, Failure> {
        let beside = match self {
            Goal::Archive(path) => {
                path.parent().filter(|dir| *dir != Path::new("")).unwrap_or_else(|| Path::new("."))
            }
            Goal::Store(store, _) => store.content().dir(),
        };
        Site::make(beside)
            .with_context(|| format!("make a directory to build in, in {}", beside.display()))
            .or_environment()
            .inspect_err(|failure| self.hint(failure))
    }

    /// What can be done without room in the store. The disk of an archive may be another.
    pub(super) fn hint(&self, failure: &Failure) {
        if matches!(self, Goal::Store(..)) {
            full::hint(failure, "build");
        }
    }

    /// The images of this machine, if there are any: an archive is built without making a store.
    pub(super) fn images_here(&self, root: &Root) -> Result<Option<Store>, Failure> {
        match self {
            Goal::Store(store, _) => Ok(Some((**store).clone())),
            Goal::Archive(_) => store_if_there(root),
        }
    }

    /// Puts the image where it goes; what could not be kept when it was unpacked there.
    pub(super) fn take(
        &self,
        built: &Built,
        tag: Option<&Reference>,
        work: &Path,
        caller: Caller<'_>,
    ) -> Result<Vec<String>, Failure> {
        let archive = work.join("image.tar");
        built
            .write_archive(&archive, tag, caller)
            .with_context(|| format!("write {}", archive.display()))
            .or_environment()?;
        match self {
            Goal::Archive(path) => {
                let renamed = os::file::rename(&archive, path);
                renamed.with_context(|| format!("write {}", path.display())).or_environment()?;
                Ok(Vec::new())
            }
            Goal::Store(store, name) => store_it(store, built, &archive, name, caller),
        }
    }
}

/// Takes the archive as `load` does, beside the store.
fn store_it(
    store: &Store,
    built: &Built,
    archive: &Path,
    name: &Reference,
    caller: Caller<'_>,
) -> Result<Vec<String>, Failure> {
    let package = Package::open(archive, store.content().dir()).or_environment()?;
    // From one place of this disk to another: only unpacking takes its time.
    let quiet = Caller { tell: &|_| {}, gave_up: caller.gave_up };
    let imported = transfer::import(&package, store.content(), quiet).or_environment()?;
    let host = this_host()?;
    let unpack = built.platforms.iter().any(|platform| platform.os == host.os);
    let adoption = Adoption { host: &host, unpack };
    let root = imported.images.first().context("the archive is ours").or_environment()?;
    let caller = if unpack { caller } else { quiet };
    let loaded = adoption.run(store, &root.root.digest, std::slice::from_ref(name), caller)?;
    Ok(loaded.warnings)
}
