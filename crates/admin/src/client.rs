//! The command line's end.

use std::io::ErrorKind;
use std::time::Duration;

use holder::client::{ClientError, Stream};
use holder::protocol::{FrameError, receive, send};
use os::channel::{Connection, Endpoint};

use crate::act::Done;
use crate::protocol::{Answer, Refused, Request, VERSION};

/// A connection to an agent that has answered.
#[derive(Debug)]
pub struct Client {
    connection: Connection,
    /// The agent's process, as it says.
    pub pid: u32,
}

#[derive(Debug, thiserror::Error)]
pub enum ClientFailure {
    #[error("no agent is at {0}")]
    Absent(String),
    #[error("the agent at {endpoint} cannot be reached")]
    Unreachable { endpoint: String, source: std::io::Error },
    #[error("talk to the agent")]
    Frame(#[from] FrameError),
    #[error("listen to the agent")]
    Stream(#[from] ClientError),
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("the agent speaks version {0}, this program {VERSION}: use the program that started it")]
    Version(u8),
    #[error("the agent answered something else than was asked")]
    OffTopic,
}

/// How long an agent may take to greet.
const PATIENCE: Duration = Duration::from_secs(5);

// === impl Client ===

impl Client {
    pub fn connect(endpoint: &Endpoint) -> Result<Client, ClientFailure> {
        let failed = |source: std::io::Error| match source.kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => ClientFailure::Absent(endpoint.to_string()),
            _ => ClientFailure::Unreachable { endpoint: endpoint.to_string(), source },
        };
        let connection = Connection::connect(endpoint).map_err(failed)?;
        connection.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        let mut client = Client { connection, pid: 0 };
        match client.say(&Request::Hello { version: VERSION })? {
            Answer::Hello { version: VERSION, pid } => client.pid = pid,
            Answer::Hello { version, .. } => return Err(ClientFailure::Version(version)),
            _ => return Err(ClientFailure::OffTopic),
        }
        Ok(client)
    }

    /// Asks, and waits for as long as it takes.
    pub fn ask(mut self, request: &Request) -> Result<Done, ClientFailure> {
        self.connection.set_read_timeout(None).map_err(FrameError::from)?;
        match self.say(request)? {
            Answer::Done => Ok(Done::Nothing),
            Answer::Stats(stats) => Ok(Done::Stats(stats)),
            Answer::Streaming { pid } => Ok(Done::Streaming(Stream::new(self.connection, pid)?)),
            Answer::Hello { .. } | Answer::Refused(_) => Err(ClientFailure::OffTopic),
        }
    }

    fn say(&mut self, request: &Request) -> Result<Answer, ClientFailure> {
        let sent = send(&mut self.connection, request);
        // An agent with too many clients says so and hangs up, whatever it was about to be asked.
        match (receive(&mut self.connection), sent) {
            (Ok(Answer::Refused(refused)), _) => Err(refused.into()),
            (_, Err(e)) | (Err(e), _) => Err(e.into()),
            (Ok(answer), Ok(())) => Ok(answer),
        }
    }
}
