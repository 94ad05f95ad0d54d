//! port-forward on SPDY: for every connection the client opens two streams, one for bytes and one for an error.

use std::collections::HashMap;
use std::net::TcpStream as StdTcpStream;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::LINGER;
use super::upgrades::Context;
use crate::clock::Clock;
use crate::mux::{Connection, Ends, MOST_STREAMS, Outlet, PIECE, Piece, Role, Stream};
use crate::request::PortForwardRequest;
use crate::session::{Failure, Sessions};
use crate::spdy::Reset;

/// What a pod's end leaves to a client that has not ended yet: kubectl ends at once, others forget to.
const QUIET: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Data,
    Error,
}

/// A stream whose other half has not come yet.
struct Half {
    kind: Kind,
    stream: Stream,
    since: Instant,
}

/// Both streams of a connection.
struct Pair {
    data: Stream,
    error: Outlet,
    port: u16,
}

pub(super) async fn serve(context: Context, request: PortForwardRequest, ends: Ends) {
    let clock = Arc::new(Clock::new());
    let mut connection = Connection::start(ends, Role::Server, clock.clone(), context.pulse());
    let gone = context.gone(connection.over(), clock);
    let pod: Arc<str> = request.pod.into();
    let mut forwards = JoinSet::new();
    tokio::pin!(gone);
    let mut halves = HashMap::new();
    loop {
        let stream = tokio::select! {
            () = &mut gone => break,
            stream = connection.accept() => stream,
            Some(_) = forwards.join_next() => continue,
            () = expire(&mut halves, context.config.stream_creation) => continue,
        };
        let Some(stream) = stream else { break };
        if let Some(pair) = take(&mut halves, stream).await {
            forwards.spawn(forward(context.sessions.clone(), pod.clone(), pair));
        }
    }
    forwards.shutdown().await;
    connection.close(LINGER).await;
}

/// Waits until a half has waited too long, and refuses it.
async fn expire(halves: &mut HashMap<String, Half>, limit: Duration) {
    let oldest = halves.iter().min_by_key(|(_, half)| half.since).map(|(id, half)| (id.clone(), half.since));
    let Some((id, since)) = oldest else { return std::future::pending().await };
    tokio::time::sleep_until(since + limit).await;
    if let Some(half) = halves.remove(&id) {
        if half.kind == Kind::Error {
            let _ = half.stream.outlet.write(b"the connection's data stream did not come in time").await;
        }
        let _ = half.stream.outlet.reset(Reset::CANCEL).await;
    }
}

/// Takes a stream, and gives the pair that it completes.
async fn take(halves: &mut HashMap<String, Half>, stream: Stream) -> Option<Pair> {
    let (Some(kind), Some(_)) = (kind(&stream), port(&stream)) else {
        let _ = stream.outlet.reset(Reset::CANCEL).await;
        return None;
    };
    let id = request_id(&stream, kind);
    if halves.get(&id).is_some_and(|half| half.kind == kind) || halves.len() >= MOST_STREAMS {
        let _ = stream.outlet.reset(Reset::CANCEL).await;
        return None;
    }
    stream.outlet.reply().await.ok()?;
    let Some(half) = halves.remove(&id) else {
        halves.insert(id, Half { kind, stream, since: Instant::now() });
        return None;
    };
    let (data, error) = if kind == Kind::Data { (stream, half.stream) } else { (half.stream, stream) };
    let port = port(&data)?;
    Some(Pair { error: error.outlet.clone(), data, port })
}

fn kind(stream: &Stream) -> Option<Kind> {
    match stream.headers.get("streamtype")? {
        "data" => Some(Kind::Data),
        "error" => Some(Kind::Error),
        _ => None,
    }
}

fn port(stream: &Stream) -> Option<u16> {
    stream.headers.get("port")?.parse().ok().filter(|port| *port > 0)
}

/// Clients older than the header open the error stream first and the data stream right after it.
fn request_id(stream: &Stream, kind: Kind) -> String {
    match (stream.headers.get("requestid"), kind) {
        (Some(id), _) => id.to_owned(),
        (None, Kind::Error) => stream.id().to_string(),
        (None, Kind::Data) => stream.id().wrapping_sub(2).to_string(),
    }
}

async fn forward(sessions: Arc<dyn Sessions>, pod: Arc<str>, pair: Pair) {
    let Pair { data, error, port } = pair;
    match connect(sessions, pod.clone(), port).await {
        Ok(connection) => {
            carry(data, connection).await;
            let _ = error.finish().await;
        }
        Err(e) => {
            let text = format!("error forwarding port {port} to pod {pod}: {e}");
            let _ = error.write(text.as_bytes()).await;
            // As kubectl expects it: the text is heard before the reset.
            let _ = data.outlet.reset(Reset::CANCEL).await;
            let _ = error.reset(Reset::CANCEL).await;
        }
    }
}

pub(super) async fn connect(
    sessions: Arc<dyn Sessions>,
    pod: Arc<str>,
    port: u16,
) -> Result<TcpStream, Failure> {
    let connected: Result<StdTcpStream, Failure> =
        tokio::task::spawn_blocking(move || sessions.connect(&pod, port)).await?;
    let connection = connected?;
    connection.set_nonblocking(true)?;
    let _ = connection.set_nodelay(true);
    Ok(TcpStream::from_std(connection)?)
}

/// Both directions, each to its own end. The client's reset ends both at once, and so does a pod's broken connection.
async fn carry(mut data: Stream, connection: TcpStream) {
    let (read, write) = connection.into_split();
    let outlet = data.outlet.clone();
    let mut from_pod = tokio::spawn(from_pod(read, outlet.clone()));
    let clean = {
        let to_pod = to_pod(&mut data, write);
        tokio::pin!(to_pod);
        tokio::select! {
            clean = &mut to_pod => clean && (&mut from_pod).await.unwrap_or(false),
            clean = &mut from_pod => clean.unwrap_or(false) && timeout(QUIET, to_pod).await.unwrap_or(false),
        }
    };
    from_pod.abort();
    if !clean {
        let _ = outlet.reset(Reset::CANCEL).await;
    }
}

/// True if the client has ended as it should.
async fn to_pod(data: &mut Stream, mut write: OwnedWriteHalf) -> bool {
    while let Some(piece) = data.next().await {
        match piece {
            Piece::Data(bytes) if write.write_all(&bytes).await.is_err() => return false,
            Piece::Data(_) => {}
            Piece::Fin => return write.shutdown().await.is_ok(),
        }
    }
    false
}

async fn from_pod(mut read: OwnedReadHalf, outlet: Outlet) -> bool {
    let mut buffer = vec![0; PIECE];
    loop {
        match read.read(&mut buffer).await {
            Ok(0) => return outlet.finish().await.is_ok(),
            Ok(length) if outlet.write(&buffer[..length]).await.is_ok() => {}
            _ => return false,
        }
    }
}
