//! Many bytes through exec and port-forward, and how long that took.

use std::str::FromStr;
use std::time::Instant;

use cri::api::{ExecRequest, PortForwardRequest};
use serde_json::{Value, json};
use streaming::Streams;
use streaming::client::{Dialled, Forwarder, Heard, Remote, Speaker};
use streaming::protocol::{Agreed, Codec, Version};
use streaming::status;

use crate::pods::Pods;
use crate::{BUSYBOX, Outcome};

/// What kubectl writes at once.
const PIECE: usize = 32 << 10;
const MIB: usize = 1 << 20;

/// Out of the container, or into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Out,
    In,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Spdy,
    WebSocket,
}

// === impl Way ===

impl FromStr for Way {
    type Err = String;

    fn from_str(word: &str) -> Result<Way, String> {
        match word {
            "out" => Ok(Way::Out),
            "in" => Ok(Way::In),
            _ => Err(format!("{word:?} is neither out nor in")),
        }
    }
}

// === impl Wire ===

impl FromStr for Wire {
    type Err = String;

    fn from_str(word: &str) -> Result<Wire, String> {
        match word {
            "spdy" => Ok(Wire::Spdy),
            "websocket" => Ok(Wire::WebSocket),
            _ => Err(format!("{word:?} is neither spdy nor websocket")),
        }
    }
}

impl Wire {
    /// The fourth version is the last that both runtimes speak over both.
    fn command(self) -> Agreed {
        match self {
            Wire::Spdy => Agreed::Command(Version::V4),
            Wire::WebSocket => Agreed::Channels(Version::V4, Codec::Binary),
        }
    }

    fn forward(self) -> Agreed {
        match self {
            Wire::Spdy => Agreed::Forward,
            Wire::WebSocket => Agreed::Tunnel,
        }
    }
}

/// From the call until the program's end is told.
pub(crate) async fn exec(pods: &Pods, way: Way, wire: Wire, mib: usize) -> Outcome<Value> {
    let streams = Streams { stdin: way == Way::In, stdout: true, stderr: true, tty: false };
    let request = ExecRequest {
        container_id: pods.first()?.container.clone(),
        cmd: copying(way, mib),
        stdin: streams.stdin,
        stdout: streams.stdout,
        stderr: streams.stderr,
        ..ExecRequest::default()
    };
    let begun = Instant::now();
    let url = pods.client().exec(request).await?.into_inner().url;
    let mut remote = Remote::open(Dialled::to(&url).await?, streams, wire.command()).await?;
    let feeder = (way == Way::In).then(|| tokio::spawn(feed(remote.speaker(), mib * MIB)));
    let (bytes, words) = heard(&mut remote).await?;
    let seconds = begun.elapsed().as_secs_f64();
    // It may still want to hear that its last piece is away, when the program that read it has ended.
    if let Some(feeder) = feeder {
        feeder.abort();
    }
    let expected = if way == Way::Out { mib * MIB } else { 0 };
    let complete = bytes == expected && words.starts_with(&format!("{}+0 records in", blocks(mib)));
    if complete { Ok(json!({"seconds": seconds})) } else { Err(format!("{bytes} bytes, {words:?}").into()) }
}

/// It tells on stderr how many blocks it has copied. The shell keeps the stdout that `of=` replaces: containerd takes
/// the end of one output for the end of the input.
fn copying(way: Way, mib: usize) -> Vec<String> {
    let copy = match way {
        Way::Out => "if=/dev/zero",
        Way::In => "of=/dev/null",
    };
    let line = format!("dd {copy} bs=65536 count={} iflag=fullblock; exit $?", blocks(mib));
    [BUSYBOX, "sh", "-c", &line].map(String::from).to_vec()
}

fn blocks(mib: usize) -> usize {
    mib * MIB / 65536
}

async fn feed(speaker: Speaker, bytes: usize) -> Outcome<()> {
    let piece = vec![0; PIECE];
    for _ in 0..bytes / PIECE {
        speaker.stdin(&piece).await?;
    }
    Ok(())
}

/// How many bytes came on stdout, and what was said on stderr.
async fn heard(remote: &mut Remote) -> Outcome<(usize, String)> {
    let (mut bytes, mut words) = (0, String::new());
    loop {
        match remote.next().await {
            Some(Heard::Stdout(piece)) => bytes += piece.len(),
            Some(Heard::Stderr(piece)) => words.push_str(&String::from_utf8_lossy(&piece)),
            Some(Heard::Ended(status::Outcome::Succeeded)) => return Ok((bytes, words)),
            Some(Heard::Ended(outcome)) => return Err(format!("exec: {outcome:?}; {words}").into()),
            None => return Err("exec ended without a word".into()),
        }
    }
}

/// From the call until all bytes are at the other end.
pub(crate) async fn forward(pods: &Pods, way: Way, wire: Wire, mib: usize) -> Outcome<Value> {
    let served = pods.served()?;
    let request = PortForwardRequest { pod_sandbox_id: served.pod.clone(), port: vec![served.port.into()] };
    let begun = Instant::now();
    let url = pods.client().port_forward(request).await?.into_inner().url;
    let forwarder = Forwarder::open(Dialled::to(&url).await?, wire.forward()).await?;
    let mut connection = forwarder.connect(served.port).await?;
    let word = if way == Way::Out { "out" } else { "in" };
    connection.write(format!("{word} {mib}\n").as_bytes()).await?;
    let mut left = if way == Way::Out { mib * MIB } else { "ok\n".len() };
    if way == Way::In {
        let piece = vec![0; PIECE];
        for _ in 0..mib * MIB / PIECE {
            connection.write(&piece).await?;
        }
    }
    while left > 0 {
        let Some(piece) = connection.next().await else { break };
        left = left.saturating_sub(piece.len());
    }
    let seconds = begun.elapsed().as_secs_f64();
    let said = connection.end().await;
    if left == 0 {
        Ok(json!({"seconds": seconds}))
    } else {
        Err(format!("{left} bytes are missing: {said}").into())
    }
}
