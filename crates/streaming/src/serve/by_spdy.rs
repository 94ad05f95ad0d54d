//! exec and attach on SPDY: a stream each for input, outputs, errors and sizes, all opened by the client.

use std::collections::HashMap;
use std::sync::Arc;

use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::LINGER;
use super::command::{Command, Told};
use super::outputs::Outputs;
use super::upgrades::Context;
use crate::clock::Clock;
use crate::mux::{Connection, Ends, Piece, Role, Stream};
use crate::protocol::Version;
use crate::request::{Request, Streams};
use crate::resize::Resizes;
use crate::spdy::Reset;

const STREAM_TYPE: &str = "streamtype";
const KNOWN: [&str; 5] = ["error", "stdin", "stdout", "stderr", "resize"];

pub(super) async fn serve(
    context: Context,
    request: Request,
    streams: Streams,
    version: Version,
    io: Upgraded,
) {
    let clock = Arc::new(Clock::new());
    let (read, write) = tokio::io::split(TokioIo::new(io));
    let ends = Ends { read: Box::new(read), write: Box::new(write) };
    let mut connection = Connection::start(ends, Role::Server, clock.clone(), context.pulse());
    let expected = expected(streams, version);
    // Whoever does not open what he has asked for is not told why: there is no stream to tell it on.
    if let Ok(Some(opened)) =
        timeout(context.config.stream_creation, collect(&mut connection, &expected)).await
    {
        let over = connection.over();
        let gone = context.gone(over, clock);
        converse(&context, request, version, opened, &mut connection, gone).await;
    }
    connection.close(LINGER).await;
}

/// The kinds of streams that the client must open.
fn expected(streams: Streams, version: Version) -> Vec<&'static str> {
    let wanted = [true, streams.stdin, streams.stdout, streams.stderr, streams.tty && version.resizes()];
    KNOWN.into_iter().zip(wanted).filter(|(_, wanted)| *wanted).map(|(kind, _)| kind).collect()
}

/// Takes streams until all that are expected are there. None if the client leaves first.
async fn collect(
    connection: &mut Connection,
    expected: &[&'static str],
) -> Option<HashMap<&'static str, Stream>> {
    let mut opened = HashMap::new();
    while opened.len() < expected.len() {
        let stream = connection.accept().await?;
        let kind = stream.headers.get(STREAM_TYPE).unwrap_or_default();
        match expected.iter().find(|expected| **expected == kind) {
            Some(kind) if !opened.contains_key(kind) => {
                stream.outlet.reply().await.ok()?;
                opened.insert(*kind, stream);
            }
            _ => refuse(&stream).await,
        }
    }
    Some(opened)
}

async fn refuse(stream: &Stream) {
    let _ = stream.outlet.reset(Reset::REFUSED_STREAM).await;
}

async fn converse(
    context: &Context,
    request: Request,
    version: Version,
    mut opened: HashMap<&'static str, Stream>,
    connection: &mut Connection,
    gone: impl Future<Output = ()>,
) {
    let Some(error) = opened.remove("error") else { return };
    let (tell, told) = mpsc::channel(1);
    let outlet = |kind| opened.get(kind).map(|stream: &Stream| stream.outlet.clone());
    let outputs = Outputs::Spdy {
        version,
        stdout: outlet("stdout"),
        stderr: outlet("stderr"),
        error: error.outlet.clone(),
        silent: ["stdin", "resize"].into_iter().filter_map(outlet).collect(),
    };
    // Dropped at the end, and with them the last who could still tell something.
    let mut carriers = JoinSet::new();
    if let Some(stdin) = opened.remove("stdin") {
        carriers.spawn(carry_stdin(stdin, tell.clone()));
    }
    if let Some(resize) = opened.remove("resize") {
        carriers.spawn(carry_sizes(resize, tell.clone()));
    }
    drop(tell);
    let command = Command { sessions: context.sessions.clone(), request, outputs, told };
    tokio::select! {
        () = command.run(gone) => {}
        () = refuse_more(connection) => {}
    }
}

/// Never ends: that the connection is over, others notice.
async fn refuse_more(connection: &mut Connection) {
    while let Some(stream) = connection.accept().await {
        refuse(&stream).await;
    }
    std::future::pending().await
}

async fn carry_stdin(mut stdin: Stream, tell: mpsc::Sender<Told>) {
    while let Some(Piece::Data(bytes)) = stdin.next().await {
        if tell.send(Told::Stdin(bytes)).await.is_err() {
            return;
        }
    }
    let _ = tell.send(Told::Close).await;
}

async fn carry_sizes(mut resize: Stream, tell: mpsc::Sender<Told>) {
    let mut resizes = Resizes::default();
    while let Some(Piece::Data(bytes)) = resize.next().await {
        if let Some(size) = resizes.push(&bytes)
            && tell.send(Told::Resize(size)).await.is_err()
        {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_opens_what_it_asked_for_and_an_error_stream() {
        let all = Streams { stdin: true, stdout: true, stderr: true, tty: false };
        assert_eq!(expected(all, Version::V4), ["error", "stdin", "stdout", "stderr"]);
        let terminal = Streams { stdin: true, stdout: true, stderr: false, tty: true };
        assert_eq!(expected(terminal, Version::V4), ["error", "stdin", "stdout", "resize"]);
        assert_eq!(expected(terminal, Version::V2), ["error", "stdin", "stdout"], "no sizes yet");
    }
}
