//! What must stay: leases of pulls under way, pins of containers.
//!
//! A lease ends with its process, also one that is killed: the file lock says whether it is alive. A pin is a file
//! without content whose name says everything, and stays until it is taken back. Both are written while the lock of
//! collections is shared, for that moment only: a collection sees them or has not begun.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use os::lock::{Held, Mode};
use serde::{Deserialize, Serialize};

use crate::content::{At, Content, DepotError, LEASES, PINS, if_there};
use crate::digest::Digest;
use crate::fail;

/// What a process needs for now; until dropped.
#[derive(Debug)]
pub struct Lease {
    content: Content,
    note: PathBuf,
    digests: BTreeSet<Digest>,
    held: Option<Held>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Note {
    v: u32,
    digests: BTreeSet<Digest>,
}

/// An image that a container uses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pin {
    pub owner: String,
    pub id: Digest,
}

const VERSION: u32 = 1;
/// Of an owner's name as part of a file name.
const LONGEST_OWNER: usize = 180;
const HEX: usize = 64;

// === impl Content ===

impl Content {
    /// Keeps these blobs, layers and images from being collected. To be had before one looks whether they are there.
    pub fn hold(&self, digests: &[Digest]) -> Result<Lease, DepotError> {
        let _moment = self.no_collection()?;
        let (note, held) = self.new_lease()?;
        fail::point("lease-locked");
        let mut lease = Lease { content: self.clone(), note, digests: BTreeSet::new(), held: Some(held) };
        lease.write(digests)?;
        Ok(lease)
    }

    /// Notes that a container uses an image, which must be here.
    pub fn pin(&self, owner: &str, id: &Digest) -> Result<(), DepotError> {
        let path = self.room(PINS).join(format!("{}.{}", id.hex(), encoded(owner)?));
        let _moment = self.no_collection()?;
        File::create(&path).at("write", &path)?;
        fail::point("pinned");
        if self.record(id)?.is_none() {
            os::file::remove(&path).at("remove", &path)?;
            return Err(DepotError::NoImage(id.to_string()));
        }
        self.used(id)
    }

    /// The container is gone. One that never was is as good.
    pub fn unpin(&self, owner: &str) -> Result<(), DepotError> {
        let (dir, wanted) = (self.room(PINS), encoded(owner)?);
        for entry in std::fs::read_dir(&dir).at("list", &dir)? {
            let entry = entry.at("list", &dir)?;
            if entry.file_name().to_str().and_then(|name| name.get(HEX + 1..)) == Some(wanted.as_str()) {
                os::file::remove(&entry.path()).at("remove", &entry.path())?;
            }
        }
        Ok(())
    }

    pub fn pins(&self) -> Result<Vec<Pin>, DepotError> {
        let dir = self.room(PINS);
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&dir).at("list", &dir)? {
            found.extend(entry.at("list", &dir)?.file_name().to_str().and_then(Pin::from_name));
        }
        found.sort();
        Ok(found)
    }

    /// Who uses which image.
    pub fn users(&self) -> Result<BTreeMap<Digest, Vec<String>>, DepotError> {
        let mut found = BTreeMap::<Digest, Vec<String>>::new();
        for pin in self.pins()? {
            found.entry(pin.id).or_default().push(pin.owner);
        }
        Ok(found)
    }

    /// What living processes hold. Leases of dead ones are removed.
    pub(crate) fn held(&self) -> Result<BTreeSet<Digest>, DepotError> {
        let mut found = BTreeSet::new();
        for lock in self.lease_locks()? {
            if self.is_dead(&lock)? {
                continue;
            }
            let note = lock.with_extension("json");
            // One that has just been dropped holds nothing.
            let Some(bytes) = if_there(std::fs::read(&note)).at("read", &note)? else { continue };
            let parsed: Note =
                serde_json::from_slice(&bytes).map_err(|source| DepotError::Json { path: note, source })?;
            found.extend(parsed.digests);
        }
        Ok(found)
    }

    pub(crate) fn sweep_leases(&self) -> Result<(), DepotError> {
        self.lease_locks()?.iter().try_for_each(|lock| self.is_dead(lock).map(drop))
    }

    /// While this is had, no collection decides what may go.
    fn no_collection(&self) -> Result<Held, DepotError> {
        let path = self.collection_lock();
        Held::take(&path, Mode::Shared).at("lock", &path)
    }

    /// While this is had, nobody takes a lease or a pin.
    pub(crate) fn collection(&self) -> Result<Held, DepotError> {
        let path = self.collection_lock();
        Held::take(&path, Mode::Exclusive).at("lock", &path)
    }

    fn collection_lock(&self) -> PathBuf {
        self.dir().join("gc.lock")
    }

    /// A name that no living lease has.
    fn new_lease(&self) -> Result<(PathBuf, Held), DepotError> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        loop {
            let name = format!("{}-{}", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed));
            let path = self.room(LEASES).join(name).with_extension("lock");
            if let Some(held) = Held::try_take(&path, Mode::Exclusive).at("lock", &path)? {
                return Ok((path.with_extension("json"), held));
            }
        }
    }

    fn lease_locks(&self) -> Result<Vec<PathBuf>, DepotError> {
        let dir = self.room(LEASES);
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&dir).at("list", &dir)? {
            found.push(entry.at("list", &dir)?.path());
        }
        found.retain(|path| path.extension().is_some_and(|end| end == "lock"));
        Ok(found)
    }

    /// Whether nobody has the lease any more; then its files go. The note goes first: none is without its lock.
    fn is_dead(&self, lock: &Path) -> Result<bool, DepotError> {
        let Some(held) = Held::try_take(lock, Mode::Exclusive).at("lock", lock)? else { return Ok(false) };
        let note = lock.with_extension("json");
        os::file::remove(&note).at("remove", &note)?;
        held.remove().at("remove", lock)?;
        Ok(true)
    }
}

// === impl Lease ===

impl Lease {
    /// Keeps these too.
    pub fn add(&mut self, digests: &[Digest]) -> Result<(), DepotError> {
        let _moment = self.content.no_collection()?;
        self.write(digests)
    }

    /// Keeps these no longer.
    pub(crate) fn release(&mut self, digests: &[Digest]) -> Result<(), DepotError> {
        let _moment = self.content.no_collection()?;
        self.digests.retain(|held| !digests.contains(held));
        self.write(&[])
    }

    fn write(&mut self, digests: &[Digest]) -> Result<(), DepotError> {
        self.digests.extend(digests.iter().cloned());
        let note = Note { v: VERSION, digests: self.digests.clone() };
        let json = |source| DepotError::Json { path: self.note.clone(), source };
        let bytes = serde_json::to_vec(&note).map_err(json)?;
        std::fs::write(&self.note, bytes).at("write", &self.note)?;
        fail::point("lease-written");
        Ok(())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Whatever stays is found dead by the next opening.
        drop(os::file::remove(&self.note));
        self.held.take().map(Held::remove);
    }
}

// === impl Pin ===

impl Pin {
    fn from_name(name: &str) -> Option<Pin> {
        let (hex, owner) = (name.get(..HEX)?, name.get(HEX + 1..)?);
        Some(Pin { owner: decoded(owner)?, id: Digest::from_hex(hex)? })
    }
}

/// A name as part of a file name on any system, where case, dots and slashes may mean something.
fn encoded(owner: &str) -> Result<String, DepotError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let text = owner.bytes().fold(String::new(), |text, byte| {
        if plain(byte) { format!("{text}{}", char::from(byte)) } else { format!("{text}%{byte:02x}") }
    });
    let (found, most) = (text.len(), LONGEST_OWNER);
    if found > most { Err(DepotError::OwnerTooLong { found, most }) } else { Ok(text) }
}

fn decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(part.get(2..)?.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
