//! Programs inside containers, and the URLs of streams.

use runtime::error::RuntimeError;
use runtime::record::{PodState, State};
use runtime::{ContainerId, PodId};
use streaming::{
    AttachRequest as Attach, ExecRequest as Exec, PortForwardRequest as Forward, Streams, Tickets,
};

use super::Inner;
use crate::api::*;
use crate::deadline::Patience;
use crate::error::CriError;
use crate::wire;

// === impl Inner ===

impl Inner {
    pub(super) fn exec_sync(
        &self,
        request: ExecSyncRequest,
        _: &Patience,
    ) -> Result<ExecSyncResponse, CriError> {
        let (command, limit) = wire::exec_sync(&request)?;
        let id = self.container_id("container_id", &request.container_id)?;
        let done = self.runtime.exec_sync(&id, command, limit)?;
        if done.timed_out {
            return Err(CriError::ExecTimeout { seconds: limit.unwrap_or_default().as_secs() });
        }
        Ok(ExecSyncResponse { stdout: done.stdout, stderr: done.stderr, exit_code: done.code.cast_signed() })
    }

    pub(super) fn exec(&self, request: ExecRequest, _: &Patience) -> Result<ExecResponse, CriError> {
        let (command, asked) = wire::exec(&request)?;
        let id = self.running("run something in", &request.container_id)?;
        let exec = Exec { container: id.to_string(), command: command.to_vec(), streams: streams(asked) };
        Ok(ExecResponse { url: self.tickets()?.exec(exec)? })
    }

    pub(super) fn attach(&self, request: AttachRequest, _: &Patience) -> Result<AttachResponse, CriError> {
        let asked = wire::attach(&request)?;
        let id = self.running("attach to", &request.container_id)?;
        let attach = Attach { container: id.to_string(), streams: streams(asked) };
        Ok(AttachResponse { url: self.tickets()?.attach(attach)? })
    }

    pub(super) fn port_forward(
        &self,
        request: PortForwardRequest,
        _: &Patience,
    ) -> Result<PortForwardResponse, CriError> {
        let ports = wire::port_forward(&request)?;
        let id = self.ready(&request.pod_sandbox_id)?;
        let forward = Forward { pod: id.to_string(), ports };
        Ok(PortForwardResponse { url: self.tickets()?.port_forward(forward)? })
    }

    /// Whoever cannot be reached is said so before there is a URL.
    fn running(&self, verb: &'static str, text: &str) -> Result<ContainerId, CriError> {
        let id = self.container_id("container_id", text)?;
        match self.runtime.status(&id)?.state {
            State::Running => Ok(id),
            found => Err(RuntimeError::State { verb, id, found, wanted: "Running" }.into()),
        }
    }

    fn ready(&self, text: &str) -> Result<PodId, CriError> {
        let id = self.pod_id("pod_sandbox_id", text)?;
        match self.runtime.pod_status(&id)?.state {
            PodState::Ready => Ok(id),
            found => Err(RuntimeError::PodState { verb: "forward ports of", id, found }.into()),
        }
    }

    fn tickets(&self) -> Result<&Tickets, CriError> {
        self.tickets.get().ok_or(CriError::NoStreams)
    }
}

fn streams(asked: wire::Streams) -> Streams {
    let wire::Streams { stdin, stdout, stderr, tty } = asked;
    Streams { stdin, stdout, stderr, tty }
}
