//! What agent and holder say to each other.
//!
//! A frame is its length (u32, little endian, counting what follows), the version of the speaker, and one
//! JSON value. JSON because a holder may be years older than its agent: fields that one side does not know
//! are passed over, and a human can read a capture. Secrets (environment values) travel here and only here;
//! nothing of a [`Launch`] or [`Exec`] is ever written to disk by the holder.

use std::io::{self, Read, Write};

use os::job::{JobLimits, JobStats};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::exit::ExitRecord;
pub use launch::{Exec, Launch, Rotate};

mod launch;

/// The version this build speaks. Version 1 had no streams, no accounts, no binds and one round trip per container's
/// counters; its requests and their answers are as they were.
pub const VERSION: u8 = 2;
/// Oldest and newest version of the other side that this build understands: two behind, one ahead.
pub const UNDERSTOOD: std::ops::RangeInclusive<u8> = VERSION.saturating_sub(2)..=VERSION + 1;
/// An environment may be large (Kubernetes allows about a megabyte of it); a frame beyond this is an error.
pub const LONGEST_FRAME: u32 = 4 << 20;

/// What the agent asks. Every request gets exactly one [`Answer`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Request {
    Hello,
    Start(Box<Launch>),
    /// Ask init to end; after `grace_ms` the whole job is killed. Answered at once: the end comes as an exit.
    Stop {
        id: String,
        grace_ms: u64,
    },
    /// Answered when the container has ended, at once if it has, or after a while if it has not.
    Wait {
        id: String,
    },
    List,
    Stats {
        id: String,
    },
    /// The counters of every running container at once.
    AllStats,
    /// Other limits for a running container.
    Update {
        id: String,
        limits: JobLimits,
    },
    /// Somebody renamed the log: go on in a new file of the old name.
    ReopenLog {
        id: String,
    },
    /// One more process in a running container. The connection becomes a [stream](crate::stream) if it starts.
    Exec(Box<Exec>),
    /// What a running container writes from now on, and what it reads. The connection becomes a stream.
    Attach {
        id: String,
        stdin: bool,
    },
    /// The holder ends, if it holds no running container.
    Leave,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    Hello {
        version: u8,
        pid: u32,
    },
    Started(Started),
    Stopping,
    Ended(ExitRecord),
    /// To a wait that took long: ask again.
    StillRunning,
    Containers(Vec<Held>),
    Stats(JobStats),
    AllStats(Vec<(String, JobStats)>),
    Updated,
    Reopened,
    /// From here on the connection carries chunks, until its end. The process is the exec'd one, or init.
    Streaming {
        pid: u32,
    },
    Left,
    Refused {
        why: Refusal,
        message: String,
    },
}

/// A container that runs now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    pub pid: u32,
    /// By the holder's clock, as it stands in [`Held`] and in the exit record. Version 1 did not say it here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
}

/// Why a request was not carried out, for the agent to branch on; the message is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// No container of that id is held here.
    Unknown,
    /// A container of that id is held here already.
    Taken,
    /// The container is not in a state in which that can be done.
    State,
    /// The program could not be started.
    Start,
    /// The operating system refused.
    System,
}

/// One container as the holder sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Held {
    pub id: String,
    pub pid: u32,
    pub started: String,
    /// A stop was asked for and has not ended it yet.
    pub stopping: bool,
    pub exit: Option<ExitRecord>,
}

#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("the other side closed the connection")]
    Closed,
    #[error("a frame of {0} bytes is longer than the {LONGEST_FRAME} allowed")]
    TooLong(u32),
    #[error("an empty frame")]
    Empty,
    #[error(
        "the other side speaks version {0}, this one understands {first} to {last}",
        first = UNDERSTOOD.start(),
        last = UNDERSTOOD.end()
    )]
    Version(u8),
    #[error("the frame's text cannot be understood")]
    Json(#[from] serde_json::Error),
    #[error("the connection broke")]
    Io(#[from] io::Error),
}

/// Writes one frame. The whole frame goes out in one write, so that a reader never waits for its second half.
pub fn send<T: Serialize>(to: &mut impl Write, message: &T) -> Result<(), FrameError> {
    to.write_all(&encode(message)?)?;
    to.flush()?;
    Ok(())
}

/// Reads one frame. [`FrameError::Closed`] only at a frame's start; inside one it is a broken connection.
pub fn receive<T: DeserializeOwned>(from: &mut impl Read) -> Result<T, FrameError> {
    receive_from(from).map(|(_, message)| message)
}

/// Reads one frame and says which version its speaker has.
pub fn receive_from<T: DeserializeOwned>(from: &mut impl Read) -> Result<(u8, T), FrameError> {
    let mut length = [0; 4];
    read_start(from, &mut length)?;
    let length = checked(u32::from_le_bytes(length))?;
    let mut frame = Vec::new();
    // Grows with what really arrives: a length alone must not make the holder allocate.
    from.take(length.into()).read_to_end(&mut frame)?;
    if frame.len() as u64 != u64::from(length) {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Ok((frame.first().copied().unwrap_or_default(), decode(&frame)?))
}

/// The bytes of a frame, its length first.
pub fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>, FrameError> {
    let mut frame = vec![0, 0, 0, 0, VERSION];
    serde_json::to_writer(&mut frame, message)?;
    let length = checked(u32::try_from(frame.len() - 4).unwrap_or(u32::MAX))?;
    frame[..4].copy_from_slice(&length.to_le_bytes());
    Ok(frame)
}

/// Reads a frame's body: version and JSON.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, FrameError> {
    let (version, json) = body.split_first().ok_or(FrameError::Empty)?;
    if !UNDERSTOOD.contains(version) {
        return Err(FrameError::Version(*version));
    }
    Ok(serde_json::from_slice(json)?)
}

fn checked(length: u32) -> Result<u32, FrameError> {
    match length {
        0 => Err(FrameError::Empty),
        1..=LONGEST_FRAME => Ok(length),
        _ => Err(FrameError::TooLong(length)),
    }
}

fn read_start(from: &mut impl Read, length: &mut [u8; 4]) -> Result<(), FrameError> {
    let first = loop {
        match from.read(length) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            other => break other?,
        }
    };
    if first == 0 {
        return Err(FrameError::Closed);
    }
    Ok(from.read_exact(&mut length[first..])?)
}

// === impl Answer ===

impl Answer {
    /// The same in the words of an older version, as far as it has them.
    pub fn in_words_of(mut self, version: u8) -> Answer {
        if version < 2 {
            match &mut self {
                Answer::Started(started) => started.started = None,
                Answer::Ended(record) => record.reason = record.reason.as_in_version_1(),
                Answer::Containers(held) => {
                    for record in held.iter_mut().filter_map(|held| held.exit.as_mut()) {
                        record.reason = record.reason.as_in_version_1();
                    }
                }
                _ => {}
            }
        }
        self
    }
}

#[cfg(test)]
mod tests;
