//! What the shelf asks of Windows that Wine does not have, seen in the records of simulated libraries (level `sim`), and
//! terminals, which Wine has (level `wine`).
//!
//! The simulation says which calls were made and answers them as Windows does; see `testbed/sim`. What the calls do on
//! Windows is not shown here.
#![cfg(target_os = "linux")]

mod limits;
mod support;
mod terminal;
mod user;
mod view;
