//! The threads of one container: one per stream that copies it to the log, and one that waits for the end.

use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use os::job::Job;
use os::process::{Child, Exit, Waiter};

use super::DRAIN_LIMIT;
use crate::audience::Audience;
use crate::exit::KILLED_CODE;
use crate::log::{Log, Stream};
use crate::stream::Channel;

/// The threads here copy bytes and wait; the default of 2 MiB would be address space for nothing.
const SMALL_STACK: usize = 96 * 1024;

/// What the waiting thread saw; the owner makes the record of it.
#[derive(Debug)]
pub struct End {
    pub exit: io::Result<Exit>,
    /// The job did not empty, or a stream did not end, within the limit.
    pub unfinished: Option<&'static str>,
}

/// What the threads need of their container.
#[derive(Debug, Clone)]
pub(super) struct Watched {
    pub(super) job: Arc<Job>,
    pub(super) log: Arc<Log>,
    pub(super) audience: Arc<Audience>,
}

// === impl Watched ===

impl Watched {
    pub(super) fn begin(
        self,
        child: &mut Child,
        over: Arc<Mutex<bool>>,
        ended: impl FnOnce(End) + Send + 'static,
    ) -> io::Result<()> {
        let (done, copied) = channel();
        self.copy(child.stdout.take(), Stream::Stdout, done.clone())?;
        self.copy(child.stderr.take(), Stream::Stderr, done)?;
        let waiter = child.waiter()?;
        small_thread("wait", move || {
            let end = see_to_the_end(waiter, &self.job, &over, &copied);
            // The owner closes the job when it hears of the end: it must be the last one to hold it.
            drop(self);
            ended(end);
        })
    }

    fn copy(&self, stream: Option<File>, which: Stream, done: Sender<()>) -> io::Result<()> {
        let Some(mut stream) = stream else { return Ok(()) };
        let (log, audience) = (self.log.clone(), self.audience.clone());
        let channel = match which {
            Stream::Stdout => Channel::Stdout,
            Stream::Stderr => Channel::Stderr,
        };
        small_thread(which.name(), move || {
            if let Err(e) = log.copy(which, &mut stream, |bytes| audience.give(channel, bytes)) {
                crate::note(format_args!("log {}: {e}", which.name()));
            }
            drop(done);
        })
    }
}

fn see_to_the_end(waiter: Waiter, job: &Job, over: &Mutex<bool>, copied: &Receiver<()>) -> End {
    let exit = waiter.wait();
    // From here on nothing is started in the job any more, so what is killed now is all there will be.
    *over.lock().unwrap_or_else(PoisonError::into_inner) = true;
    let emptied = job.terminate(KILLED_CODE).and_then(|()| job.wait_empty(DRAIN_LIMIT));
    // Both copiers drop their sender at the end of their stream: a disconnect is what we wait for.
    let drained = copied.recv_timeout(DRAIN_LIMIT) == Err(RecvTimeoutError::Disconnected);
    let unfinished = match (emptied, drained) {
        (Ok(true), true) => None,
        (Ok(true), false) => Some("a stream was still open when the job was empty"),
        _ => Some("the job was not empty in time"),
    };
    End { exit, unfinished }
}

pub(crate) fn small_thread(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).stack_size(SMALL_STACK).spawn(body).map(drop)
}
