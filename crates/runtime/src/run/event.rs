//! What happens to pods, as it is told to whoever shows it.

use std::time::Duration;

use holder::exit::ExitRecord;

#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// `namespace/name`.
    pub pod: String,
    /// The container it is about, if not the pod as a whole.
    pub container: Option<String>,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq)]
pub enum What {
    Started {
        pid: u32,
        attempt: u32,
    },
    /// It was running when we came.
    Adopted {
        pid: u32,
        attempt: u32,
    },
    Ended(ExitRecord),
    /// It will be started again.
    BackingOff {
        delay: Duration,
    },
    /// The file says something else than what runs: that is stopped first.
    Replacing,
    /// Nothing of it was started, and what was there of it is left as it is.
    CannotStart(String),
    Removed,
    /// Somebody else stopped the pod: it is not started again.
    StoppedByHand,
    RemovedByHand,
    Warning(String),
    /// A thread of ours failed; a defect.
    Lost,
}

// === impl Event ===

impl std::fmt::Display for Event {
    /// One plain line.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.pod)?;
        if let Some(container) = &self.container {
            write!(f, "/{container}")?;
        }
        match &self.what {
            What::Started { pid, attempt: 0 } => write!(f, " started, process {pid}"),
            What::Started { pid, attempt } => write!(f, " started again ({attempt}), process {pid}"),
            What::Adopted { pid, .. } => write!(f, " was running, process {pid}: taken up again"),
            What::Ended(record) => {
                write!(f, " ended with code {} ({})", record.code, record.reason)?;
                record.message.as_ref().map_or(Ok(()), |message| write!(f, ": {message}"))
            }
            What::BackingOff { delay } if delay.is_zero() => write!(f, " starts again"),
            What::BackingOff { delay } => write!(f, " starts again in {} s", delay.as_secs()),
            What::Replacing => write!(f, " has changed: stopping the one that runs"),
            What::CannotStart(why) => write!(f, " cannot start: {why}"),
            What::Removed => write!(f, " removed"),
            What::StoppedByHand => write!(f, " was stopped by hand and stays so until the next `up`"),
            What::RemovedByHand => write!(f, " was removed by hand"),
            What::Warning(text) => write!(f, ": {text}"),
            What::Lost => write!(f, " was given up after a defect in porthole; please report it"),
        }
    }
}
