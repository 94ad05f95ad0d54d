//! One pod's containers, kept alive by a program so small that nobody minds it.
//!
//! The agent may crash, be upgraded or restarted, and no container may notice. So the agent never owns a
//! container: for each pod it lays down and detaches `porthole-hold`, the binary of this crate, and speaks
//! to it over a protected pipe or socket. The holder alone has the job handle and the stdio of its
//! containers, appends their logs in the CRI format and records how each one ended, durably, before it
//! tells anyone. If the holder dies, its containers die with it.
//!
//! | module | what it knows |
//! |---|---|
//! | [`protocol`] | the frames on the wire and what they say |
//! | [`client`] | the agent's end of the wire |
//! | [`server`] | the holder's end: one thread that owns every container |
//! | [`container`] | one container's life: start, stop, exit |
//! | [`stream`] | the chunks of an exec or attach, after the answer |
//! | `exec`, `attach` | one client at the streams of a process, with `input`, `outlet` and `audience` |
//! | [`log`] | the CRI log format, written and read |
//! | [`exit`] | the record of an end, on disk |
//! | [`clock`] | time stamps without a calendar library |
//! | [`fail`] | places to die at, for tests |
//!
//! No async runtime: a handful of threads with small stacks costs less memory here than a reactor.

mod attach;
mod audience;
pub mod client;
pub mod clock;
pub mod container;
mod converse;
mod exec;
pub mod exit;
pub mod fail;
mod input;
pub mod log;
mod outlet;
pub mod protocol;
pub mod server;
pub mod stream;

/// A line for the holder's own log. Its disk may be full and its reader gone: neither may end the containers, as
/// the print macros would.
pub(crate) fn note(text: std::fmt::Arguments<'_>) {
    use std::io::Write;
    drop(writeln!(std::io::stderr(), "{text}"));
}
