//! The agent's end of the wire.

use std::time::Duration;

use os::channel::{Connection, Endpoint};
use os::job::JobStats;

use crate::exit::ExitRecord;
use crate::protocol::{Answer, FrameError, Held, Launch, Refusal, Request, UNDERSTOOD, receive, send};

/// One connection to one pod's holder.
#[derive(Debug)]
pub struct Client {
    connection: Connection,
    /// The holder's own process, as it says.
    pub pid: u32,
}

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody answers there: the holder ended, or never was.
    #[error("no holder answers at {endpoint}")]
    Absent { endpoint: String, source: std::io::Error },
    #[error("talk to the holder")]
    Frame(#[from] FrameError),
    #[error("{message}")]
    Refused { why: Refusal, message: String },
    #[error("the holder speaks version {0}, which this agent does not serve")]
    Version(u8),
    #[error("the holder answered something else than was asked")]
    OffTopic,
}

// === impl Client ===

impl Client {
    pub fn connect(endpoint: &Endpoint) -> Result<Client, ClientError> {
        let connection = Connection::connect(endpoint)
            .map_err(|source| ClientError::Absent { endpoint: endpoint.to_string(), source })?;
        let mut client = Client { connection, pid: 0 };
        match client.ask(&Request::Hello)? {
            Answer::Hello { version, pid } if UNDERSTOOD.contains(&version) => client.pid = pid,
            Answer::Hello { version, .. } => return Err(ClientError::Version(version)),
            _ => return Err(ClientError::OffTopic),
        }
        Ok(client)
    }

    pub fn start(&mut self, launch: Launch) -> Result<u32, ClientError> {
        match self.ask(&Request::Start(Box::new(launch)))? {
            Answer::Started { pid } => Ok(pid),
            _ => Err(ClientError::OffTopic),
        }
    }

    /// Asks for the end; it has not come yet when this returns.
    pub fn stop(&mut self, id: &str, grace: Duration) -> Result<(), ClientError> {
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        match self.ask(&Request::Stop { id: id.into(), grace_ms })? {
            Answer::Stopping => Ok(()),
            _ => Err(ClientError::OffTopic),
        }
    }

    /// Blocks until the container has ended.
    pub fn wait(&mut self, id: &str) -> Result<ExitRecord, ClientError> {
        match self.ask(&Request::Wait { id: id.into() })? {
            Answer::Ended(record) => Ok(record),
            _ => Err(ClientError::OffTopic),
        }
    }

    pub fn list(&mut self) -> Result<Vec<Held>, ClientError> {
        match self.ask(&Request::List)? {
            Answer::Containers(containers) => Ok(containers),
            _ => Err(ClientError::OffTopic),
        }
    }

    pub fn stats(&mut self, id: &str) -> Result<JobStats, ClientError> {
        match self.ask(&Request::Stats { id: id.into() })? {
            Answer::Stats(stats) => Ok(stats),
            _ => Err(ClientError::OffTopic),
        }
    }

    /// The holder ends; refused while something runs.
    pub fn leave(&mut self) -> Result<(), ClientError> {
        match self.ask(&Request::Leave)? {
            Answer::Left => Ok(()),
            _ => Err(ClientError::OffTopic),
        }
    }

    fn ask(&mut self, request: &Request) -> Result<Answer, ClientError> {
        send(&mut self.connection, request)?;
        match receive(&mut self.connection)? {
            Answer::Refused { why, message } => Err(ClientError::Refused { why, message }),
            answer => Ok(answer),
        }
    }
}

// === impl ClientError ===

impl ClientError {
    /// The holder is not there any more, whether it was gone before or went while we spoke.
    pub fn is_absent(&self) -> bool {
        matches!(
            self,
            ClientError::Absent { .. } | ClientError::Frame(FrameError::Closed | FrameError::Io(_))
        )
    }
}
