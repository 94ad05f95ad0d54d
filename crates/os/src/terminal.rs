//! Terminals: a process that talks to a person, not to a pipe.

use std::fs::File;
use std::io;

use serde::{Deserialize, Serialize};

use crate::process::Child;
use crate::sys;

/// How large the window of whoever looks is, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

/// Our own terminal, passing on every key as it is typed. As it was before when this is dropped.
#[derive(Debug)]
pub struct Raw(#[expect(dead_code, reason = "kept for what its end does")] sys::raw::Raw);

/// What a person types to say that nothing follows.
pub const END_OF_INPUT: &[u8] = sys::terminal::END_OF_INPUT;

/// Whether reading failed because nobody is at the terminal any more, which is how a terminal's output ends.
pub fn is_hangup(error: &io::Error) -> bool {
    sys::terminal::is_hangup(error)
}

/// The terminal that we ourselves were started at, for reading and for writing, whatever our streams are.
pub fn open() -> io::Result<(File, File)> {
    sys::terminal::open()
}

/// The size of the terminal that we ourselves were started at.
pub fn size() -> io::Result<Size> {
    sys::terminal::size()
}

// === impl Raw ===

impl Raw {
    /// An error if we were not started at a terminal.
    pub fn enter() -> io::Result<Self> {
        sys::raw::Raw::enter().map(Self)
    }
}

// === impl Child ===

impl Child {
    /// Tells the process that its window has another size. An error if it has no terminal.
    pub fn resize(&self, size: Size) -> io::Result<()> {
        self.process.resize(size)
    }
}
