//! Every platform of an image, from a registry or from blobs that are here already.
//!
//! Each platform is an image of its own with a record of its own; the name leads to the one for the host and, as its
//! target, to the index of all of them. Those that are not the host's stay packed: they are there to be saved and
//! pushed.

mod gather;
mod origin;

use std::sync::Arc;

use super::{ImageError, Store, Wanted, from_registry};
use crate::blobs::{Blobs, ContentError};
use crate::collect::Removed;
use crate::content::DepotError;
use crate::digest::Digest;
use crate::document::{Descriptor, Manifest, Platform};
use crate::lease::Lease;
use crate::names::Named;
use crate::platform::{self, Candidate, Host};
use crate::progress::Caller;
use crate::pull::Halt;
use crate::record::Record;
use crate::reference::Reference;
use gather::{Gathering, Leaf};
use origin::Entry;

pub(crate) use origin::{Here, Kept};

/// The platforms that came, and which of them is the host's.
#[derive(Debug, Clone)]
pub struct Every {
    pub records: Vec<Arc<Record>>,
    /// What the name leads to here: the one for the host, or the first.
    pub chosen: usize,
    /// The index, or the only manifest.
    pub target: Digest,
    /// Those below it.
    pub indexes: Vec<Digest>,
}

/// The platforms that came, kept until a name leads to them.
struct Held {
    every: Every,
    _leases: Vec<Lease>,
}

// === impl Store ===

impl Store {
    /// Brings every platform of what a name means now. The host's is unpacked if that is asked for.
    pub fn pull_every(
        &self,
        reference: &Reference,
        wanted: &Wanted<'_>,
        unpack: bool,
        caller: Caller<'_>,
    ) -> Result<Every, ImageError> {
        from_registry(reference, wanted, caller, |remote, name, halt, caller, bad| {
            let held = self.every(remote, name, wanted, unpack, &|_| true, (halt, caller), bad)?;
            self.call(std::slice::from_ref(reference), held)
        })
    }

    /// Makes images of blobs that are here: those that a file brought, or that were built. Whoever brought them holds
    /// a lease. Platforms of which something is missing are passed over.
    pub fn adopt(
        &self,
        target: &Digest,
        names: &[Reference],
        wanted: &Wanted<'_>,
        unpack: bool,
        caller: Caller<'_>,
    ) -> Result<Every, ImageError> {
        let label = names.first().map_or_else(|| target.to_string(), ToString::to_string);
        let bad = |source| ImageError::Stored { image: target.clone(), source };
        let kept = Kept { content: &self.content, target };
        let here = |blob: &Descriptor| {
            Digest::parse(&blob.digest).is_ok_and(|digest| self.content.blob_size(&digest).is_some())
        };
        let whole = |manifest: &Manifest| manifest.layers.iter().chain([&manifest.config]).all(here);
        let halt = Halt::new(caller);
        let held = self.every(&kept, &label, wanted, unpack, &whole, (&halt, caller), &bad)?;
        self.call(names, held)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a pull, named where it is made")]
    fn every<B: Blobs>(
        &self,
        blobs: &B,
        name: &str,
        wanted: &Wanted<'_>,
        unpack: bool,
        whole: &dyn Fn(&Manifest) -> bool,
        (halt, caller): (&Halt<'_>, Caller<'_>),
        bad: &(dyn Fn(B::Error) -> ImageError + Sync),
    ) -> Result<Held, ImageError> {
        let root = blobs.root().map_err(bad)?;
        let target = Digest::of(&root.bytes);
        let lease = self.content.hold(std::slice::from_ref(&target))?;
        let mut gathering = Gathering::new(blobs, &self.content, lease, whole, bad);
        gathering.document(root.clone(), 0)?;
        let Gathering { leaves, indexes, lease, .. } = gathering;
        if leaves.is_empty() {
            return Err(bad(ContentError::Missing(format!("of every platform of {target}")).into()));
        }
        let chosen = pick(&leaves, wanted);
        let (mut records, mut leases) = (Vec::new(), vec![lease]);
        for (index, leaf) in leaves.iter().enumerate() {
            let host = host_of(&leaf.platform);
            let entry = Entry { blobs, root: &leaf.root };
            let its = Wanted { host: &host, ..*wanted };
            let unpack = unpack && chosen == Some(index);
            let pulled = self.take(&entry, name, &its, unpack, halt, caller, bad)?;
            records.push(Arc::new(pulled.record));
            leases.push(pulled.lease);
        }
        self.content.put(&root.bytes)?;
        let every = Every { records, chosen: chosen.unwrap_or_default(), target, indexes };
        Ok(Held { every, _leases: leases })
    }

    /// From now on the names keep what the leases kept.
    fn call(&self, names: &[Reference], held: Held) -> Result<Every, ImageError> {
        let every = &held.every;
        let (id, target, indexes) = (every.image().id.clone(), every.target.clone(), every.indexes.clone());
        let named = Named { id, target, indexes };
        names.iter().try_for_each(|name| self.content.names().set(name, &named))?;
        Ok(held.every)
    }

    /// Removes a name or an image, see [`crate::Content::remove`].
    pub fn remove(&self, name_or_id: &str, force: bool) -> Result<Removed, DepotError> {
        self.content.remove(name_or_id, force)
    }
}

fn pick(leaves: &[Leaf], wanted: &Wanted<'_>) -> Option<usize> {
    let candidate = |leaf: &Leaf| Candidate {
        digest: leaf.manifest.config.digest.clone(),
        platform: Some(leaf.platform.clone()),
    };
    let candidates: Vec<_> = leaves.iter().map(candidate).collect();
    platform::pick(&candidates, wanted.host, wanted.isolation).ok()
}

fn host_of(platform: &Platform) -> Host {
    let Platform { os, architecture, variant, os_version } = platform.clone();
    Host { os, architecture, variant, os_version }
}

// === impl Every ===

impl Every {
    /// The image that the name leads to here.
    pub fn image(&self) -> &Arc<Record> {
        &self.records[self.chosen]
    }
}
