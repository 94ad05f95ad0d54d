//! What a program that lives on lets go of by itself: nobody types `gc` on a node.
//!
//! A pull that was given up and is never asked for again leaves blobs, layers and half a download that belong to no
//! image. No kubelet can name them, and they would count as used for ever.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use super::{Collected, Grace, Thresholds};
use crate::content::{At, Content, DepotError};
use crate::digest::Digest;
use crate::names::Named;

/// When a store is looked after, and what goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Upkeep {
    pub every: Duration,
    /// What came within this time stays, whatever it belongs to: who pulls the image again goes on with it.
    pub grace: Duration,
    /// When images go too. Without, none does: a kubelet decides that.
    pub thresholds: Option<Thresholds>,
}

/// What went.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LetGo {
    /// Images by their names; by their ids, if they had none.
    pub images: Vec<String>,
    /// Of them and of what belonged to no image.
    pub bytes: u64,
    /// What would have to be freed besides, and is in use or too young.
    pub missing: u64,
}

/// The thread that looks after a store, which ends when this is dropped.
#[derive(Debug)]
pub struct Keeper {
    _hang_up: Sender<Infallible>,
}

// === impl Content ===

impl Content {
    /// Looks after the store in a thread, at once and then again and again. Its priority is that of all others: who
    /// pulls waits while it decides.
    pub fn keep_up(
        &self,
        upkeep: Upkeep,
        tell: impl Fn(Result<LetGo, DepotError>) + Send + 'static,
    ) -> io::Result<Keeper> {
        let (hang_up, over) = channel::<Infallible>();
        let content = self.clone();
        let toil = move || {
            loop {
                tell(content.tend(&upkeep));
                if over.recv_timeout(upkeep.every) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
        };
        thread::Builder::new().name("upkeep".to_owned()).spawn(toil)?;
        Ok(Keeper { _hang_up: hang_up })
    }

    /// Once. Also what processes that died meanwhile left half done.
    pub fn tend(&self, upkeep: &Upkeep) -> Result<LetGo, DepotError> {
        self.sweep_leftovers()?;
        let grace = Grace::of(upkeep.grace);
        let Some(thresholds) = &upkeep.thresholds else {
            return Ok(LetGo { bytes: self.sweep_with(grace)?, ..LetGo::default() });
        };
        // Afterwards nobody knows what they were called.
        let names = self.names().all()?;
        let disk = os::file::disk(self.dir()).at("look at the disk of", self.dir())?;
        let Collected { images, bytes, missing } = self.collect_with(thresholds, disk, grace)?;
        let images = images.iter().flat_map(|id| called(id, &names)).collect();
        Ok(LetGo { images, bytes, missing })
    }
}

fn called(id: &Digest, names: &BTreeMap<String, Named>) -> Vec<String> {
    let its = names.iter().filter(|(_, named)| named.id == *id).map(|(name, _)| name.clone());
    let its: Vec<String> = its.collect();
    if its.is_empty() { vec![id.to_string()] } else { its }
}
