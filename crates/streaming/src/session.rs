//! The one who acts: starts processes and reaches ports. Everything here blocks, as the runtime does.
//!
//! The server asks for a [`Process`] and carries bytes between it and the client. It has one thread per process, which
//! waits for output, and a second one from the first input on. Nobody ever holds more than a few chunks: a client
//! that does not read stops the iterator, a process that does not read stops the client.

use std::error::Error;
use std::fmt;
use std::net::TcpStream;

use crate::request::{AttachRequest, ExecRequest};

/// Why something could not be done; its text, causes included, is what the client's user reads.
pub type Failure = Box<dyn Error + Send + Sync>;

/// What the server needs from the runtime.
pub trait Sessions: Send + Sync + 'static {
    /// Starts the program. Called on a thread of its own: it may take its time.
    fn exec(&self, request: &ExecRequest) -> Result<Process, Failure>;

    /// Follows the container. Called on a thread of its own too.
    fn attach(&self, request: &AttachRequest) -> Result<Process, Failure>;

    /// Connects to a port of the pod, in the pod's network. May block.
    fn connect(&self, pod: &str, port: u16) -> Result<TcpStream, Failure>;
}

/// A process's streams, in the shape of `holder::client::Stream::split`.
pub struct Process {
    /// What it says, in order. Ends with [`Said::Ended`] or an error; ending without either counts as a failure.
    pub output: Box<dyn Iterator<Item = Result<Said, Failure>> + Send>,
    pub input: Box<dyn Input>,
    /// The client is gone: `output` must end soon and a waiting `input` return. Called at most once, from any thread,
    /// also when the process has ended already.
    pub hang_up: Box<dyn FnOnce() + Send>,
}

/// What a process is told. Dropped without [`Input::close`] when the session is over.
pub trait Input: Send {
    /// Waits while the process does not read. An error means that it never will again: no more is sent.
    fn stdin(&mut self, bytes: &[u8]) -> Result<(), Failure>;
    /// No more input will come.
    fn close(&mut self) -> Result<(), Failure>;
    /// Its terminal's window has another size now.
    fn resize(&mut self, size: Size) -> Result<(), Failure>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    Ended(Ending),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The program has ended with this code (exec).
    Exited(u32),
    /// The container's output has ended (attach); clients are told of success, whatever its code was.
    Detached,
}

/// A window's size in characters. Zero means that the client does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

// === impl Process ===

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").finish_non_exhaustive()
    }
}
