//! Exec, attach and port-forward for the streaming server: the runtime's streams in its words.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use holder::client::{ClientError, Heard, Stream, StreamReader, StreamWriter};
use os::terminal::Size as Window;
use runtime::config::ExecRequest;
use runtime::record::PodState;
use runtime::{ContainerId, PodId};
use streaming::{Config, Ending, Failure, Input, Process, Said, Server, Sessions, Size};

use crate::service::{Cri, Inner};

/// The runtime, to whoever streams.
#[derive(Debug)]
pub struct Streams(Arc<Inner>);

struct Writer(StreamWriter);

/// What a terminal has until its client says otherwise.
const WINDOW: Window = Window { columns: 80, rows: 25 };
/// Nobody on this host takes longer to answer.
const DIAL: Duration = Duration::from_secs(10);

// === impl Streams ===

impl Streams {
    /// The server for them, at the address of the settings; from now on CRI gives URLs of it.
    pub async fn serve(cri: &Cri) -> std::io::Result<Server> {
        let config = Config { address: cri.stream_address(), ..Config::default() };
        let server = Server::bind(config, Arc::new(Streams(cri.shared()))).await?;
        cri.stream_with(server.tickets());
        Ok(server)
    }
}

impl Sessions for Streams {
    fn exec(&self, request: &streaming::ExecRequest) -> Result<Process, Failure> {
        let asked = ExecRequest {
            argv: request.command.clone(),
            stdin: request.streams.stdin,
            terminal: request.streams.tty.then_some(WINDOW),
            timeout: None,
        };
        let id = ContainerId::parse(&request.container)?;
        Ok(process(self.0.runtime.exec(&id, &asked)?))
    }

    fn attach(&self, request: &streaming::AttachRequest) -> Result<Process, Failure> {
        let id = ContainerId::parse(&request.container)?;
        Ok(process(self.0.runtime.attach(&id, request.streams.stdin)?))
    }

    /// The pod's network is the host's. A program may listen on either of its loopback addresses.
    fn connect(&self, pod: &str, port: u16) -> Result<TcpStream, Failure> {
        let pod = self.0.runtime.pod_status(&PodId::parse(pod)?)?;
        if pod.state != PodState::Ready {
            return Err(format!("pod {} has ended", pod.id).into());
        }
        let four = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let six = SocketAddr::from((Ipv6Addr::LOCALHOST, port));
        let found = TcpStream::connect_timeout(&four, DIAL);
        match found {
            Ok(stream) => Ok(stream),
            Err(first) => TcpStream::connect_timeout(&six, DIAL)
                .map_err(|_| format!("port {port} of pod {}: {first}", pod.config.full_name()).into()),
        }
    }
}

fn process(stream: Stream) -> Process {
    let (reader, writer) = stream.split();
    let hangs_up = writer.clone();
    Process {
        output: Box::new(Output(reader)),
        input: Box::new(Writer(writer)),
        // One that is gone already need not hear it.
        hang_up: Box::new(move || drop(hangs_up.hang_up())),
    }
}

struct Output(StreamReader);

// === impl Output ===

impl Iterator for Output {
    type Item = Result<Said, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.map_err(Failure::from).and_then(said))
    }
}

fn said(heard: Heard) -> Result<Said, Failure> {
    match heard {
        Heard::Stdout(bytes) => Ok(Said::Stdout(bytes)),
        Heard::Stderr(bytes) => Ok(Said::Stderr(bytes)),
        Heard::Ended(end) => Ok(Said::Ended(Ending::Exited(end.code))),
        Heard::Detached => Ok(Said::Ended(Ending::Detached)),
        Heard::Overrun => Err("the client did not read as fast as the container writes: attach again".into()),
    }
}

// === impl Writer ===

impl Input for Writer {
    fn stdin(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        told(self.0.stdin(bytes))
    }

    fn close(&mut self) -> Result<(), Failure> {
        told(self.0.close_stdin())
    }

    fn resize(&mut self, size: Size) -> Result<(), Failure> {
        told(self.0.resize(Window { columns: size.columns, rows: size.rows }))
    }
}

fn told(done: Result<(), ClientError>) -> Result<(), Failure> {
    Ok(done?)
}
