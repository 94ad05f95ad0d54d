//! Being asked to stop, as one channel of events instead of signal handlers and console callbacks.

use std::io;
use std::sync::mpsc::Receiver;

use crate::sys;

/// Who asked: a person at the terminal, or the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// Ctrl-C (SIGINT).
    CtrlC,
    /// SIGTERM, SIGHUP; on Windows Ctrl-Break, closing the console, logging off, shutting down.
    Terminate,
}

/// The same for a program that takes its start as it finds it: where Ctrl-C was to be ignored, nothing arrives.
pub fn interrupts_as_started() -> io::Result<Receiver<Interrupt>> {
    sys::interrupt::interrupts_as_started()
}

/// From now on stop requests arrive here instead of ending the process, whatever our starter wanted ignored; only the loss
/// of a terminal stays ignored (`nohup`). May be called once.
pub fn interrupts() -> io::Result<Receiver<Interrupt>> {
    sys::interrupt::interrupts()
}
