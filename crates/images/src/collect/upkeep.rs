//! What a program that lives on lets go of by itself: nobody types `gc` on a node.
//!
//! A pull that was given up and is never asked for again leaves blobs, layers and half a download that belong to no
//! image. No kubelet can name them, and they would count as used for ever. Images stay: under a kubelet it decides which
//! go, and without one they are a person's, who may have built them here.

use std::convert::Infallible;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use super::Grace;
use crate::content::{Content, DepotError};

/// When a store is looked after, and what goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Upkeep {
    pub every: Duration,
    /// What came within this time stays: who pulls the image again goes on with it.
    pub grace: Duration,
}

/// The thread that looks after a store, which ends when this is dropped.
#[derive(Debug)]
pub struct Keeper {
    _hang_up: Sender<Infallible>,
}

// === impl Content ===

impl Content {
    /// Looks after the store in a thread, at once and then again and again; each time it tells how many bytes went. Its
    /// priority is that of all others: who pulls waits while it decides.
    pub fn keep_up(
        &self,
        upkeep: Upkeep,
        tell: impl Fn(Result<u64, DepotError>) + Send + 'static,
    ) -> io::Result<Keeper> {
        let (hang_up, over) = channel::<Infallible>();
        let content = self.clone();
        let toil = move || {
            loop {
                tell(content.tend(upkeep.grace));
                if over.recv_timeout(upkeep.every) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
        };
        thread::Builder::new().name("upkeep".to_owned()).spawn(toil)?;
        Ok(Keeper { _hang_up: hang_up })
    }

    /// Once. Also what processes that died meanwhile left half done.
    pub fn tend(&self, grace: Duration) -> Result<u64, DepotError> {
        self.sweep_leftovers()?;
        self.sweep_with(Grace::of(grace))
    }
}
