//! What may be asked for, judged before a token is given.

use thiserror::Error;

/// Which of a process's streams the client wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Streams {
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
    /// The process has (exec) or gets no more than (attach) a terminal: one output, and a size.
    pub tty: bool,
}

/// Start a program inside a running container.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExecRequest {
    pub container: String,
    pub command: Vec<String>,
    pub streams: Streams,
}

/// Follow a running container's own streams.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AttachRequest {
    pub container: String,
    pub streams: Streams,
}

/// Reach ports of a pod.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PortForwardRequest {
    pub pod: String,
    /// Only the oldest way of WebSocket forwarding needs them now; the others name a port with each connection.
    pub ports: Vec<u16>,
}

/// One of the three.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    Exec(ExecRequest),
    Attach(AttachRequest),
    PortForward(PortForwardRequest),
}

/// Why there is no URL. All but the last two are the asker's fault.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum RequestError {
    #[error("no container is named")]
    NoContainer,
    #[error("no pod is named")]
    NoPod,
    #[error("none of stdin, stdout and stderr is asked for")]
    NoStream,
    #[error("a terminal has no stderr of its own: ask for tty or stderr, not both")]
    TerminalWithStderr,
    #[error("port 0 cannot be reached")]
    PortZero,
    #[error("{0} requests wait for their clients already; try again in a minute")]
    TooMany(usize),
    #[error("the system gives no random numbers: {0}")]
    NoRandom(String),
}

// === impl Request ===

impl Request {
    pub fn check(&self) -> Result<(), RequestError> {
        match self {
            Request::Exec(exec) => process(&exec.container, exec.streams),
            Request::Attach(attach) => process(&attach.container, attach.streams),
            Request::PortForward(forward) if forward.pod.is_empty() => Err(RequestError::NoPod),
            Request::PortForward(forward) if forward.ports.contains(&0) => Err(RequestError::PortZero),
            Request::PortForward(_) => Ok(()),
        }
    }

    /// The first part of the URL's path.
    pub fn verb(&self) -> &'static str {
        match self {
            Request::Exec(_) => "exec",
            Request::Attach(_) => "attach",
            Request::PortForward(_) => "portforward",
        }
    }
}

fn process(container: &str, streams: Streams) -> Result<(), RequestError> {
    if container.is_empty() {
        return Err(RequestError::NoContainer);
    }
    if streams.tty && streams.stderr {
        return Err(RequestError::TerminalWithStderr);
    }
    if !(streams.stdin || streams.stdout || streams.stderr) {
        return Err(RequestError::NoStream);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exec(letters: &str) -> Result<(), RequestError> {
        let has = |letter| letters.contains(letter);
        let streams = Streams { stdin: has('i'), stdout: has('o'), stderr: has('e'), tty: has('t') };
        Request::Exec(ExecRequest { container: "c".to_owned(), command: vec![], streams }).check()
    }

    #[test]
    fn an_exec_wants_some_stream_and_no_stderr_beside_a_terminal() {
        let table = [
            ("i", Ok(())),
            ("o", Ok(())),
            ("e", Ok(())),
            ("ioe", Ok(())),
            ("iot", Ok(())),
            ("", Err(RequestError::NoStream)),
            ("t", Err(RequestError::NoStream)),
            ("et", Err(RequestError::TerminalWithStderr)),
            ("ioet", Err(RequestError::TerminalWithStderr)),
        ];
        for (letters, expected) in table {
            assert_eq!(exec(letters), expected, "{letters:?}");
        }
    }

    #[test]
    fn whoever_is_meant_must_be_named() {
        let streams = Streams { stdout: true, ..Streams::default() };
        let nobody = Request::Attach(AttachRequest { container: String::new(), streams });
        assert_eq!(nobody.check(), Err(RequestError::NoContainer));
        assert_eq!(Request::PortForward(PortForwardRequest::default()).check(), Err(RequestError::NoPod));
    }

    #[test]
    fn port_zero_is_nobodys_port() {
        let request = |ports| Request::PortForward(PortForwardRequest { pod: "p".to_owned(), ports });
        assert_eq!(request(vec![80, 0]).check(), Err(RequestError::PortZero));
        assert_eq!(request(vec![80, 65535]).check(), Ok(()));
        assert_eq!(request(vec![]).check(), Ok(()));
    }
}
