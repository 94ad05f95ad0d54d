//! What became of a container that was told to start: the one question that an agent coming back, `ps` and `logs`
//! all ask.
//!
//! The exit record is asked first and the holder second, because a holder writes the record before it goes. The
//! holder opens the log before it starts anything, so a container without a log never was.

use std::io;
use std::path::Path;

use holder::client::{Client, ClientError};
use holder::clock;
use holder::exit::{ExitReason, ExitRecord, KILLED_CODE};
use holder::protocol::Held;
use os::channel::Endpoint;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fate {
    /// The agent meant to start it and did not come to it.
    NotStarted,
    Running(Held),
    Ended(ExitRecord),
}

/// Where the traces of one attempt are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Traces<'a> {
    pub(crate) id: &'a str,
    pub(crate) exit: &'a Path,
    pub(crate) log: &'a Path,
    /// The boot in which it was told to start, and the present one.
    pub(crate) boots: [&'a str; 2],
}

/// Everything a pod's holder has. One that is not there has nothing; one that does not answer is an error.
pub(crate) fn held(endpoint: &Endpoint) -> Result<(Option<u32>, Vec<Held>), ClientError> {
    let asked = Client::connect(endpoint).and_then(|mut client| Ok((Some(client.pid), client.list()?)));
    match asked {
        Err(e) if e.is_absent() => Ok((None, Vec::new())),
        other => other,
    }
}

// === impl Traces ===

impl Traces<'_> {
    /// Reads the traces, given what the holder has.
    pub(crate) fn fate(self, held: Vec<Held>) -> io::Result<Fate> {
        if let Some(record) = self.record()? {
            return Ok(Fate::Ended(record));
        }
        if let Some(held) = held.into_iter().find(|held| held.id == self.id) {
            return Ok(match held.exit {
                Some(record) => Fate::Ended(record),
                None => Fate::Running(held),
            });
        }
        // It may have ended after the holder was asked and before the first look.
        if let Some(record) = self.record()? {
            return Ok(Fate::Ended(record));
        }
        // A machine that went down may have taken the log along, and nothing of another boot can still come to pass.
        let [then, now] = self.boots;
        let was = then != now || self.log.exists();
        Ok(if was { Fate::Ended(self.taken_along()) } else { Fate::NotStarted })
    }

    fn record(self) -> io::Result<Option<ExitRecord>> {
        ExitRecord::read(self.exit)
            .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", self.exit.display())))
    }

    /// The end of one that ran and of which nobody wrote how it ended.
    pub(crate) fn taken_along(self) -> ExitRecord {
        let [then, now] = self.boots;
        let why = if then == now {
            "its holder ended first and took the container along"
        } else {
            "the machine was restarted"
        };
        let time = clock::now();
        ExitRecord {
            v: 1,
            id: self.id.to_owned(),
            code: KILLED_CODE,
            signal: None,
            reason: ExitReason::HolderDied,
            started: time.clone(),
            finished: time,
            message: Some(why.to_owned()),
        }
    }
}
