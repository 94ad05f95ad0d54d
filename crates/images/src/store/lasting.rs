//! Unpackings that go on when nobody waits for them any more.
//!
//! After a reboot, layers that had not reached the disk are made again when a container wants them, and a kubelet waits
//! two minutes for its container. Were the work broken off then, each try would begin anew, and a large image would
//! never start. So it runs in a thread of its own, one for each image: who gave up finds it done the next time.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{ImageError, Store};
use crate::digest::Digest;
use crate::progress::Caller;
use crate::record::Record;

/// The images that are being unpacked by this process.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    images: Mutex<BTreeSet<Digest>>,
    ended: Condvar,
}

/// One of them, until dropped.
struct Begun {
    all: Arc<UnderWay>,
    image: Digest,
}

type Unpacked = Result<Option<Record>, ImageError>;

/// How often one who waits asks whether to go on waiting.
const ASK_AGAIN: Duration = Duration::from_millis(50);

// === impl Store ===

impl Store {
    /// Unpacks an image from its blobs, if all are here; to the end, also if the caller gives up.
    pub(super) fn unpack_lasting(&self, id: &Digest, caller: Caller<'_>) -> Unpacked {
        let gave_up = || ImageError::GaveUp { image: id.to_string() };
        let begun = self.under_way.begin(id, caller).ok_or_else(gave_up)?;
        let Some(record) = self.content.record(id)? else { return Ok(None) };
        // By whoever was waited for.
        if self.image(&record)?.is_some() {
            return Ok(Some((*record).clone()));
        }
        // The caller's own lease ends with its patience.
        let lease = self.content.hold(&record.digests())?;
        let (tell, done) = channel();
        let store = self.clone();
        let work = move || {
            let until_done = (begun, lease);
            let unpacked = store.unpack_again(&record, Caller::silent());
            // Who hears of it may remove the image at once.
            drop(until_done);
            // Nobody may be there to hear it.
            drop(tell.send(unpacked));
        };
        let failed = |source| ImageError::Store { path: self.content.dir().to_owned(), source };
        let worker = thread::Builder::new().name("unpack".to_owned()).spawn(work).map_err(failed)?;
        wait(&done, worker, caller).unwrap_or_else(|| Err(gave_up()))
    }
}

/// What comes of it; nothing if the caller gives up before.
fn wait(done: &Receiver<Unpacked>, worker: JoinHandle<()>, caller: Caller<'_>) -> Option<Unpacked> {
    loop {
        match done.recv_timeout(ASK_AGAIN) {
            Ok(unpacked) => return Some(unpacked),
            Err(RecvTimeoutError::Timeout) if (caller.gave_up)() => return None,
            Err(RecvTimeoutError::Timeout) => {}
            // It ended without a word: a panic, which is ours too.
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Ok(()) => return None,
                Err(panic) => std::panic::resume_unwind(panic),
            },
        }
    }
}

// === impl UnderWay ===

impl UnderWay {
    /// Waits for whoever is at the image; nothing if the caller gives up before.
    fn begin(self: &Arc<UnderWay>, image: &Digest, caller: Caller<'_>) -> Option<Begun> {
        let mut images = self.lock();
        while images.contains(image) {
            let waited = self.ended.wait_timeout(images, ASK_AGAIN).unwrap_or_else(PoisonError::into_inner);
            images = waited.0;
            if images.contains(image) && (caller.gave_up)() {
                return None;
            }
        }
        images.insert(image.clone());
        Some(Begun { all: self.clone(), image: image.clone() })
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<Digest>> {
        self.images.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Begun ===

impl Drop for Begun {
    fn drop(&mut self) {
        self.all.lock().remove(&self.image);
        self.all.ended.notify_all();
    }
}
