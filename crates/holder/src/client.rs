//! The agent's end of the wire.

use std::io::ErrorKind;
use std::time::Duration;

use os::channel::{Connection, Endpoint};
use os::job::{JobLimits, JobStats};

use crate::exit::ExitRecord;
use crate::protocol::{
    Answer, Exec, FrameError, Held, Launch, Refusal, Request, Started, UNDERSTOOD, receive, send,
};
use crate::server::LONGEST_WAIT;
use crate::stream::ChunkError;
pub use stream::{Heard, Stream, StreamReader, StreamWriter};

mod stream;

/// One connection to one pod's holder.
#[derive(Debug)]
pub struct Client {
    connection: Connection,
    /// The holder's own process, as it says.
    pub pid: u32,
    /// The version it speaks. An older one is served as far as it goes.
    pub version: u8,
}

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody is there: the holder ended, or never was.
    #[error("no holder is at {endpoint}")]
    Absent { endpoint: String, source: std::io::Error },
    /// Something is there, or may be, and cannot be reached: not a sign that the holder ended.
    #[error("the holder at {endpoint} cannot be reached")]
    Unreachable { endpoint: String, source: std::io::Error },
    #[error("talk to the holder")]
    Frame(#[from] FrameError),
    #[error("{message}")]
    Refused { why: Refusal, message: String },
    #[error("the holder speaks version {0}, which this agent does not serve")]
    Version(u8),
    /// The pod was started by an older agent, whose holder stays as long as the pod does.
    #[error(
        "the holder of this pod speaks version {version} and knows no {what}; a restart of the pod brings a new one"
    )]
    Older { what: &'static str, version: u8 },
    #[error("listen to the holder")]
    Chunk(#[from] ChunkError),
    #[error("the holder answered something else than was asked")]
    OffTopic,
}

/// Longer than any answer takes; a wait is answered at least every [`LONGEST_WAIT`].
const PATIENCE: Duration = Duration::from_secs(5);
const BROKEN: [ErrorKind; 4] = [
    ErrorKind::UnexpectedEof,
    ErrorKind::ConnectionReset,
    ErrorKind::ConnectionAborted,
    ErrorKind::BrokenPipe,
];

fn failed(endpoint: &Endpoint, source: std::io::Error) -> ClientError {
    let endpoint = endpoint.to_string();
    match source.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => ClientError::Absent { endpoint, source },
        _ => ClientError::Unreachable { endpoint, source },
    }
}

// === impl Client ===

impl Client {
    pub fn connect(endpoint: &Endpoint) -> Result<Client, ClientError> {
        let connection = Connection::connect(endpoint).map_err(|source| failed(endpoint, source))?;
        // A holder that is stopped or stuck must not take its agent along.
        connection.set_read_timeout(Some(PATIENCE)).map_err(|source| failed(endpoint, source))?;
        let mut client = Client { connection, pid: 0, version: 0 };
        match client.ask(&Request::Hello)? {
            Answer::Hello { version, pid } if UNDERSTOOD.contains(&version) => {
                (client.pid, client.version) = (pid, version);
            }
            Answer::Hello { version, .. } => return Err(ClientError::Version(version)),
            _ => return Err(ClientError::OffTopic),
        }
        Ok(client)
    }

    pub fn start(&mut self, mut launch: Launch) -> Result<Started, ClientError> {
        if self.version < 2 {
            let said = launch.in_words_of_version_1();
            launch = said.map_err(|what| ClientError::Older { what, version: self.version })?;
        }
        match self.ask(&Request::Start(Box::new(launch)))? {
            Answer::Started(started) => Ok(started),
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
        self.connection.set_read_timeout(Some(LONGEST_WAIT + PATIENCE)).map_err(FrameError::from)?;
        loop {
            match self.ask(&Request::Wait { id: id.into() })? {
                Answer::Ended(record) => return Ok(record),
                Answer::StillRunning => {}
                _ => return Err(ClientError::OffTopic),
            }
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

    /// The counters of all running containers, in one round trip.
    pub fn all_stats(&mut self) -> Result<Vec<(String, JobStats)>, ClientError> {
        self.needs(2, "counters of all containers at once")?;
        match self.ask(&Request::AllStats)? {
            Answer::AllStats(stats) => Ok(stats),
            _ => Err(ClientError::OffTopic),
        }
    }

    /// Replaces the limits of a running container.
    pub fn update(&mut self, id: &str, limits: JobLimits) -> Result<(), ClientError> {
        self.needs(2, "change of limits")?;
        match self.ask(&Request::Update { id: id.into(), limits })? {
            Answer::Updated => Ok(()),
            _ => Err(ClientError::OffTopic),
        }
    }

    /// The log goes on in a new file of its old name, after it was renamed.
    pub fn reopen_log(&mut self, id: &str) -> Result<(), ClientError> {
        self.needs(2, "reopening of logs")?;
        match self.ask(&Request::ReopenLog { id: id.into() })? {
            Answer::Reopened => Ok(()),
            _ => Err(ClientError::OffTopic),
        }
    }

    /// Starts one more process in a running container. The connection is its stream from then on.
    pub fn exec(self, exec: Exec) -> Result<Stream, ClientError> {
        self.needs(2, "exec")?;
        self.stream(&Request::Exec(Box::new(exec)))
    }

    /// What a running container writes from now on; with `stdin` also its input.
    pub fn attach(self, id: &str, stdin: bool) -> Result<Stream, ClientError> {
        self.needs(2, "attach")?;
        self.stream(&Request::Attach { id: id.into(), stdin })
    }

    /// The holder ends; refused while something runs.
    pub fn leave(&mut self) -> Result<(), ClientError> {
        match self.ask(&Request::Leave)? {
            Answer::Left => Ok(()),
            _ => Err(ClientError::OffTopic),
        }
    }

    fn stream(mut self, request: &Request) -> Result<Stream, ClientError> {
        match self.ask(request)? {
            Answer::Streaming { pid } => Stream::new(self.connection, pid),
            _ => Err(ClientError::OffTopic),
        }
    }

    fn needs(&self, version: u8, what: &'static str) -> Result<(), ClientError> {
        if self.version < version { Err(ClientError::Older { what, version: self.version }) } else { Ok(()) }
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
        match self {
            ClientError::Absent { .. } | ClientError::Frame(FrameError::Closed) => true,
            ClientError::Frame(FrameError::Io(e)) | ClientError::Chunk(ChunkError::Io(e)) => {
                BROKEN.contains(&e.kind())
            }
            ClientError::Chunk(ChunkError::Closed) => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use os::channel::Listener;

    use super::*;
    use crate::exit::ExitReason;
    use crate::protocol::{Rotate, VERSION};

    /// A client, and what became of it, before a holder that gives these answers one after the other.
    fn before<T>(answers: Vec<Answer>, ask: impl FnOnce(&Endpoint) -> T) -> T {
        let dir = tempfile::tempdir().unwrap();
        let endpoint = os::channel::endpoint(dir.path(), "scripted");
        let listener = Listener::bind(&endpoint).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut connection = listener.accept().unwrap();
                for answer in answers {
                    let _: Request = receive(&mut connection).unwrap();
                    send(&mut connection, &answer).unwrap();
                }
            });
            ask(&endpoint)
        })
    }

    #[test]
    fn a_holder_of_an_unknown_version_is_told_from_one_that_talks_nonsense() {
        let newest = *UNDERSTOOD.end();
        let greeted = |answer| before(vec![answer], |at| Client::connect(at).map(|client| client.pid));
        assert_eq!(greeted(Answer::Hello { version: newest, pid: 7 }).unwrap(), 7);
        let error = greeted(Answer::Hello { version: newest + 1, pid: 7 }).unwrap_err();
        assert!(matches!(error, ClientError::Version(version) if version == newest + 1), "{error}");
        assert!(matches!(greeted(Answer::Left).unwrap_err(), ClientError::OffTopic));
    }

    #[test]
    fn a_wait_goes_on_while_the_container_runs() {
        let now = crate::clock::now();
        let record = ExitRecord {
            v: 1,
            id: "c".to_owned(),
            code: 5,
            signal: None,
            reason: ExitReason::Error,
            started: now.clone(),
            finished: now,
            message: None,
        };
        let hello = Answer::Hello { version: VERSION, pid: 1 };
        let answers = vec![hello, Answer::StillRunning, Answer::StillRunning, Answer::Ended(record.clone())];
        let ended = before(answers, |at| Client::connect(at).unwrap().wait("c").unwrap());
        assert_eq!(ended, record);
    }

    #[test]
    fn an_older_holder_is_asked_for_nothing_it_does_not_know() {
        let older = |ask: fn(Client) -> ClientError| {
            let error =
                before(vec![Answer::Hello { version: 1, pid: 1 }], |at| ask(Client::connect(at).unwrap()));
            assert!(matches!(error, ClientError::Older { version: 1, .. }), "{error}");
        };
        older(|client| client.exec(Exec::default()).unwrap_err());
        older(|client| client.attach("c", false).unwrap_err());
        older(|mut client| client.all_stats().unwrap_err());
        older(|mut client| client.update("c", JobLimits::default()).unwrap_err());
        older(|mut client| client.reopen_log("c").unwrap_err());
        older(|mut client| client.start(Launch { stdin: true, ..Launch::default() }).unwrap_err());
        let rotate = Some(Rotate { max_bytes: 1, files: 1 });
        let launch = Launch { rotate, ..Launch::default() };
        let error = before(vec![Answer::Hello { version: 1, pid: 1 }], |at| {
            Client::connect(at).unwrap().start(launch).unwrap_err()
        });
        assert!(error.to_string().contains("version 1 and knows no rotation of logs"), "{error}");
    }

    #[test]
    fn an_older_holder_is_told_of_an_overlay_in_its_own_words() {
        let overlay = os::process::Overlay {
            lower: vec!["/l".into()],
            upper: "/u".into(),
            work: "/w".into(),
            target: "/t".into(),
        };
        let view = os::view::View { overlay: Some(overlay.clone()), ..os::view::View::default() };
        let launch = Launch { view, ..Launch::default() }.in_words_of_version_1().unwrap();
        assert_eq!((launch.overlay.as_ref(), &launch.view.overlay), (Some(&overlay), &None));
        assert_eq!(launch.spawn().view.overlay, Some(overlay));
    }
}
