//! What a process reads, and whoever is connected writes.

use std::fs::File;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use os::channel::Connection;
use os::process::Child;

use crate::stream::{self, Channel, ChunkError, Control};

/// The writing end of a stdin, until it is closed.
#[derive(Debug)]
pub(crate) struct Input {
    file: Mutex<Option<File>>,
    terminal: bool,
    /// The first client that ends takes it along.
    once: bool,
}

/// Passes on what a client sends until it goes, or breaks the rules. A program that does not read makes the client wait.
pub(crate) fn feed(
    connection: &Connection,
    input: Option<&Input>,
    child: &Child,
) -> Result<std::convert::Infallible, ChunkError> {
    let mut bytes = Vec::new();
    loop {
        match stream::read(&mut &*connection, &mut bytes)? {
            Channel::Stdin => match input {
                Some(input) if bytes.is_empty() => input.client_ended(),
                Some(input) => input.write(&bytes),
                None => {}
            },
            Channel::Control => match serde_json::from_slice(&bytes)? {
                Control::Resize(size) => {
                    if let Err(e) = child.resize(size) {
                        crate::note(format_args!("resize the terminal of {}: {e}", child.id()));
                    }
                }
                _ => return Err(ChunkError::Direction(Channel::Control)),
            },
            other => return Err(ChunkError::Direction(other)),
        }
    }
}

// === impl Input ===

impl Input {
    pub(crate) fn new(file: File, terminal: bool, once: bool) -> Input {
        Input { file: Mutex::new(Some(file)), terminal, once }
    }

    /// What comes after the end, or after the program closed its side, is nobody's.
    fn write(&self, bytes: &[u8]) {
        let mut file = self.file();
        if file.as_mut().is_some_and(|file| file.write_all(bytes).is_err()) {
            *file = None;
        }
    }

    /// No more will come from one client. A terminal has no end of its own: the program is told as a person would.
    pub(crate) fn client_ended(&self) {
        if !self.once {
            return;
        }
        if let Some(mut file) = self.file().take()
            && self.terminal
        {
            drop(file.write_all(os::terminal::END_OF_INPUT));
        }
    }

    fn file(&self) -> MutexGuard<'_, Option<File>> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
