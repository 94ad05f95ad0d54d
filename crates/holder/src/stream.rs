//! What goes over a connection after [`Answer::Streaming`](crate::protocol::Answer::Streaming): chunks of four channels.
//!
//! A chunk is its channel (one byte), its length (u32, little endian, at most [`LONGEST_CHUNK`]) and its bytes. The agent
//! sends stdin, whose end is an empty chunk, and control; the holder sends stdout, stderr and control. The parser is
//! strict: what it does not know ends the connection, for nothing after it could be trusted.

use std::io::{self, Read, Write};

use os::terminal::Size;
use serde::{Deserialize, Serialize};

/// Small enough that a few of them never matter, large enough that their heads do not.
pub const LONGEST_CHUNK: usize = 64 * 1024;
/// Channel and length.
pub const HEAD: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    Stdin,
    Stdout,
    Stderr,
    Control,
}

/// What is said on the control channel, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Control {
    /// To the holder: the window has this size now.
    Resize(Size),
    /// From the holder, to an exec, last of all.
    Ended(ExecEnd),
    /// From the holder, to an attach, last of all: the container's output has ended.
    Detached,
    /// From the holder, to an attach, last of all: this client did not read as fast as the container wrote, and more
    /// than a queue holds was waiting for it. Neither the container nor its log waits for a client.
    Overrun,
}

/// How an exec'd process ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecEnd {
    pub code: u32,
    #[serde(default)]
    pub signal: Option<i32>,
    /// It was killed because it ran longer than it was given.
    #[serde(default)]
    pub timed_out: bool,
    /// For people: what was unusual about this end.
    #[serde(default)]
    pub message: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ChunkError {
    #[error("the other side closed the stream")]
    Closed,
    #[error("a chunk for channel {0}, and there are only 0 to 3")]
    Channel(u8),
    #[error("a chunk of {0} bytes is longer than the {LONGEST_CHUNK} allowed")]
    TooLong(u32),
    #[error("a chunk for {0:?} from the side that reads it")]
    Direction(Channel),
    #[error("a control chunk cannot be understood")]
    Control(#[from] serde_json::Error),
    #[error("the stream broke")]
    Io(#[from] io::Error),
}

/// The first bytes of a chunk. `length` is at most [`LONGEST_CHUNK`].
pub fn head(channel: Channel, length: usize) -> [u8; HEAD] {
    debug_assert!(length <= LONGEST_CHUNK, "a chunk of {length} bytes");
    let [a, b, c, d] = u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
    [channel.number(), a, b, c, d]
}

/// Writes bytes as one chunk or, if they are more, as several. No bytes are an empty chunk.
pub fn write(to: &mut impl Write, channel: Channel, bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        return to.write_all(&head(channel, 0));
    }
    for part in bytes.chunks(LONGEST_CHUNK) {
        // In one write: the other side wakes once.
        to.write_all(&[&head(channel, part.len()), part].concat())?;
    }
    Ok(())
}

pub fn write_control(to: &mut impl Write, control: &Control) -> Result<(), ChunkError> {
    Ok(write(to, Channel::Control, &serde_json::to_vec(control)?)?)
}

/// Reads one chunk into `bytes`, whatever was in there. [`ChunkError::Closed`] only at a chunk's start.
pub fn read(from: &mut impl Read, bytes: &mut Vec<u8>) -> Result<Channel, ChunkError> {
    let mut head = [0; HEAD];
    match read_first(from, &mut head)? {
        0 => return Err(ChunkError::Closed),
        some => from.read_exact(&mut head[some..])?,
    }
    let [channel, a, b, c, d] = head;
    let channel = Channel::numbered(channel).ok_or(ChunkError::Channel(channel))?;
    let said = u32::from_le_bytes([a, b, c, d]);
    let length = usize::try_from(said).ok().filter(|length| *length <= LONGEST_CHUNK);
    bytes.resize(length.ok_or(ChunkError::TooLong(said))?, 0);
    from.read_exact(bytes)?;
    Ok(channel)
}

fn read_first(from: &mut impl Read, head: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(head) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

// === impl Channel ===

impl Channel {
    pub fn number(self) -> u8 {
        match self {
            Channel::Stdin => 0,
            Channel::Stdout => 1,
            Channel::Stderr => 2,
            Channel::Control => 3,
        }
    }

    pub fn numbered(number: u8) -> Option<Channel> {
        [Channel::Stdin, Channel::Stdout, Channel::Stderr, Channel::Control].get(usize::from(number)).copied()
    }
}

#[cfg(test)]
mod tests;
