//! Single flight: of all who want the same blob, layer or flat image, in whichever process, one makes it.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use os::lock::{Held, Mode};

use super::{At, Content, DepotError};
use crate::digest::Digest;
use crate::fail;

/// What can be made once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
    /// By its digest.
    Blob(Digest),
    /// By its diff id.
    Layer(Digest),
    /// A whole image as one directory, by its configuration's digest.
    Flat(Digest),
}

/// The right to make something, until dropped. The kernel takes it from a process that dies.
#[derive(Debug)]
pub struct Flight {
    held: Option<Held>,
}

/// How often one who waits asks whether to go on waiting.
const ASK_AGAIN: Duration = Duration::from_millis(50);

// === impl Content ===

impl Content {
    /// Waits for whoever is at it. Afterwards what is wanted may be there: look again.
    pub fn flight(&self, key: Key, gave_up: &dyn Fn() -> bool) -> Result<Flight, DepotError> {
        loop {
            if let Some(flight) = self.flight_unless(key.clone(), gave_up, &|| false)? {
                return Ok(flight);
            }
        }
    }

    /// As [`Content::flight`], but `None` as soon as it is there: of many who wait, none waits for the others too.
    pub fn flight_unless(
        &self,
        key: Key,
        gave_up: &dyn Fn() -> bool,
        there: &dyn Fn() -> bool,
    ) -> Result<Option<Flight>, DepotError> {
        loop {
            if there() {
                return Ok(None);
            }
            if let Some(flight) = self.try_flight(&key)? {
                fail::point("flight-taken");
                return Ok(Some(flight));
            }
            let path = self.lock_path(&key.file_name());
            if !ended(path.clone(), gave_up).at("wait for", &path)? {
                return Err(DepotError::GaveUp(key));
            }
        }
    }

    /// `None` when somebody is at it.
    pub fn try_flight(&self, key: &Key) -> Result<Option<Flight>, DepotError> {
        let path = self.lock_path(&key.file_name());
        let held = Held::try_take(&path, Mode::Exclusive).at("lock", &path)?;
        Ok(held.map(|held| Flight { held: Some(held) }))
    }

    /// Whoever makes something must have its flight: two makers would write one file.
    pub(super) fn must_fly(&self, key: Key) -> Result<(), DepotError> {
        let path = self.lock_path(&key.file_name());
        if Held::is_taken(&path).at("look at lock", &path)? { Ok(()) } else { Err(DepotError::NoFlight(key)) }
    }
}

/// Whether the one who is at it has ended before the caller gave up. No call of the system waits for a lock and hears
/// a caller too, so a thread waits, which is left behind until the lock ends.
fn ended(lock: PathBuf, gave_up: &dyn Fn() -> bool) -> io::Result<bool> {
    let (tell, ended) = channel();
    let wait = move || drop(tell.send(Held::await_end(&lock)));
    thread::Builder::new().name("flight".to_owned()).spawn(wait)?;
    loop {
        match ended.recv_timeout(ASK_AGAIN) {
            Ok(waited) => return waited.map(|()| true),
            Err(RecvTimeoutError::Disconnected) => return Ok(true),
            Err(RecvTimeoutError::Timeout) if gave_up() => return Ok(false),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

// === impl Flight ===

impl Drop for Flight {
    fn drop(&mut self) {
        // A file that stays is found free by the next one.
        self.held.take().map(Held::remove);
    }
}

// === impl Key ===

impl Key {
    pub(super) fn file_name(&self) -> String {
        let (kind, digest) = self.parts();
        format!("{kind}-{}", digest.hex())
    }

    pub fn digest(&self) -> &Digest {
        self.parts().1
    }

    fn parts(&self) -> (&'static str, &Digest) {
        match self {
            Key::Blob(digest) => ("blob", digest),
            Key::Layer(digest) => ("layer", digest),
            Key::Flat(digest) => ("flat", digest),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, digest) = self.parts();
        write!(f, "{kind} {digest}")
    }
}
