//! Where a process's words go, on either wire.

use crate::mux::{Gone, Outlet};
use crate::protocol::Version;
use crate::request::Streams;
use crate::status::Outcome;
use crate::websocket::channels;
use crate::websocket::socket::Messages;

#[derive(Debug, Clone)]
pub(super) enum Outputs {
    Spdy {
        version: Version,
        stdout: Option<Outlet>,
        stderr: Option<Outlet>,
        error: Outlet,
        /// Streams on which we say nothing but that.
        silent: Vec<Outlet>,
    },
    Channels {
        version: Version,
        messages: Messages,
        streams: Streams,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Stdout,
    Stderr,
}

// === impl Outputs ===

impl Outputs {
    /// Waits while the client does not read. What it did not ask for, or has reset, is dropped.
    pub(super) async fn write(&self, which: Which, bytes: &[u8]) -> Result<(), Gone> {
        match self {
            Outputs::Spdy { stdout, stderr, error, .. } => {
                let outlet = if which == Which::Stdout { stdout } else { stderr };
                let Some(outlet) = outlet else { return Ok(()) };
                match outlet.write(bytes).await {
                    Err(Gone) if error.is_open() => Ok(()),
                    result => result,
                }
            }
            Outputs::Channels { messages, streams, .. } => match which {
                Which::Stdout if streams.stdout => messages.write(channels::STDOUT, bytes).await,
                Which::Stderr if streams.stderr => messages.write(channels::STDERR, bytes).await,
                _ => Ok(()),
            },
        }
    }

    /// First the ends of the outputs, then the outcome: clients read it when all else has ended.
    pub(super) async fn finish(&self, outcome: &Outcome) -> Result<(), Gone> {
        match self {
            Outputs::Spdy { version, stdout, stderr, error, silent } => {
                for outlet in stdout.iter().chain(stderr) {
                    // The client may have cut it off itself.
                    let _ = outlet.finish().await;
                }
                error.write(&outcome.write(*version)).await?;
                error.finish().await?;
                for outlet in silent {
                    let _ = outlet.finish().await;
                }
                Ok(())
            }
            Outputs::Channels { version, messages, .. } => match outcome.write(*version) {
                text if text.is_empty() => Ok(()),
                text => messages.write(channels::ERROR, &text).await,
            },
        }
    }
}
