//! What the test sees of the simulation, and what it tells it.
//!
//! `calls` has a line for each call: the function, its arguments as `name=value`, and `-> answer`. A line of `faults` is
//! a function, a text that the call's line must hold, and the answer to give, for example
//! `BfSetupFilter target=F:\ 0x801F000F`.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

pub(crate) const PLACE: &str = r"C:\porthole-sim";

pub(crate) fn place(name: &str) -> PathBuf {
    PathBuf::from(PLACE).join(name)
}

/// One call on its way to an answer.
pub(crate) struct Call {
    line: String,
}

// === impl Call ===

impl Call {
    pub(crate) fn new(function: &str, arguments: &str) -> Self {
        Self { line: format!("{function} {arguments}") }
    }

    /// The answer: the test's where it asked for one, the given one otherwise; written down either way.
    pub(crate) fn answer(self, otherwise: impl FnOnce() -> u32) -> u32 {
        let answer = self.fault().unwrap_or_else(otherwise);
        self.write(answer);
        answer
    }

    fn write(&self, answer: u32) {
        let line = format!("{} -> {answer:#x}\n", self.line);
        let file = OpenOptions::new().append(true).create(true).open(place("calls"));
        // A line is one write, so that lines of several processes do not mix.
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        assert!(written.is_ok(), "the simulation has no place at {PLACE}: {written:?}");
    }

    fn fault(&self) -> Option<u32> {
        let faults = fs::read_to_string(place("faults")).unwrap_or_default();
        faults.lines().find_map(|fault| self.answer_of(fault))
    }

    fn answer_of(&self, fault: &str) -> Option<u32> {
        let (rest, answer) = fault.rsplit_once(' ')?;
        let (function, text) = rest.split_once(' ')?;
        let meant = self.line.starts_with(&format!("{function} ")) && self.line.contains(text);
        let digits = answer.strip_prefix("0x");
        let answer = digits.map_or_else(|| answer.parse().ok(), |hex| u32::from_str_radix(hex, 16).ok());
        meant.then_some(answer).flatten()
    }
}
