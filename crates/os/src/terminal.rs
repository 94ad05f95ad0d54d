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

/// Standard output as a terminal on which a line can be written over. As it was before when this is dropped.
#[derive(Debug)]
pub struct Live {
    _terminal: sys::live::Live,
}

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

// === impl Live ===

impl Live {
    /// None where escape sequences would not be obeyed: it is no terminal, or one that would show them as they are.
    pub fn enter() -> Option<Self> {
        sys::live::Live::enter().map(|terminal| Self { _terminal: terminal })
    }
}

// === impl Child ===

impl Child {
    /// Tells the process that its window has another size. An error if it has no terminal.
    pub fn resize(&self, size: Size) -> io::Result<()> {
        self.process.resize(size)
    }
}
