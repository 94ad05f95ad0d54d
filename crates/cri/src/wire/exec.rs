//! What is run inside, followed or reached.

use std::time::Duration;

use super::{WireError, text};
use crate::api::{self, ExecSyncRequest};

/// Which streams a caller wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams {
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
    pub tty: bool,
}

/// A program and how long it may run.
pub fn exec_sync(request: &ExecSyncRequest) -> Result<(&[String], Option<Duration>), WireError> {
    let command = command(&request.cmd)?;
    let seconds = u64::try_from(request.timeout)
        .map_err(|_| WireError::invalid("timeout", request.timeout, "seconds, 0 for no limit"))?;
    Ok((command, (seconds > 0).then(|| Duration::from_secs(seconds))))
}

pub fn exec(request: &api::ExecRequest) -> Result<(&[String], Streams), WireError> {
    let api::ExecRequest { stdin, stdout, stderr, tty, .. } = *request;
    Ok((command(&request.cmd)?, Streams { stdin, stdout, stderr, tty }.checked()?))
}

pub fn attach(request: &api::AttachRequest) -> Result<Streams, WireError> {
    let api::AttachRequest { stdin, stdout, stderr, tty, .. } = *request;
    Streams { stdin, stdout, stderr, tty }.checked()
}

pub fn port_forward(request: &api::PortForwardRequest) -> Result<Vec<u16>, WireError> {
    let port = |number: &i32| u16::try_from(*number).ok().filter(|port| *port > 0);
    let wanted = |number| WireError::invalid("port", number, "a port, 1 to 65535");
    request.port.iter().map(|number| port(number).ok_or_else(|| wanted(*number))).collect()
}

/// How long a container may take to end.
pub fn grace(request: &api::StopContainerRequest) -> Result<Duration, WireError> {
    let seconds = u64::try_from(request.timeout);
    let wanted = |_| WireError::invalid("timeout", request.timeout, "seconds, 0 for at once");
    Ok(Duration::from_secs(seconds.map_err(wanted)?))
}

fn command(words: &[String]) -> Result<&[String], WireError> {
    if words.first().is_none_or(String::is_empty) {
        return Err(WireError::Missing("cmd"));
    }
    words.iter().try_for_each(|word| text::without_nul("cmd", word).map(drop))?;
    Ok(words)
}

// === impl Streams ===

impl Streams {
    fn checked(self) -> Result<Streams, WireError> {
        if self.tty && self.stderr {
            return Err(WireError::invalid(
                "stderr",
                true,
                "no stderr beside a terminal, which has one output",
            ));
        }
        if !(self.stdin || self.stdout || self.stderr) {
            return Err(WireError::Missing("one of stdin, stdout and stderr"));
        }
        Ok(self)
    }
}
