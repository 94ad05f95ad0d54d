//! A client of any CRI runtime that says how long things took: what `cargo xtask bench cri` measures with, on us and on
//! containerd alike.
//!
//! `drive SOCKET HANDLER IMAGE`: the image has busybox at `/bin/busybox`. It does what lines on stdin ask for and answers
//! each with a line of JSON; whatever fails ends it.

use std::io::BufRead;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cri::api::PullImageRequest;
use cri::api::image_service_client::ImageServiceClient;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint};

use crate::pods::Pods;

mod make;
mod pods;
mod streams;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// What all containers have.
const BUSYBOX: &str = "/bin/busybox";
/// What has not happened by then never will.
const PATIENCE: Duration = Duration::from_secs(300);

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [socket, handler, image] = words.as_slice() else {
        return Err("wanted SOCKET HANDLER IMAGE".into());
    };
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let channel = threads.block_on(connect(socket.into()))?;
    let mut pods = Pods::new(channel.clone(), handler, image);
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let limited = async { tokio::time::timeout(PATIENCE, done(&line, &channel, &mut pods)).await };
        let answer = threads.block_on(limited).map_err(|_| format!("not in time: {line}"))?;
        println!("{}", answer.map_err(|error| format!("{line}: {error}"))?);
    }
    Ok(())
}

async fn connect(socket: PathBuf) -> Outcome<Channel> {
    let dial = tower::service_fn(move |_| {
        let socket = socket.clone();
        async move { Ok::<_, std::io::Error>(TokioIo::new(UnixStream::connect(socket).await?)) }
    });
    Ok(Endpoint::from_static("http://localhost").connect_with_connector(dial).await?)
}

async fn done(line: &str, channel: &Channel, pods: &mut Pods) -> Outcome<Value> {
    let words: Vec<&str> = line.split(' ').collect();
    match words.as_slice() {
        ["pull", image] => pull(channel, image).await,
        ["start", count, flying] => pods.start(count.parse()?, flying.parse()?).await,
        ["remove", flying] => pods.remove(flying.parse()?).await,
        ["exec-sync", count] => pods.exec_sync(count.parse()?).await,
        ["serve", port] => pods.serve(port.parse()?).await,
        ["exec", way, wire, mib] => streams::exec(pods, way.parse()?, wire.parse()?, mib.parse()?).await,
        ["forward", way, wire, mib] => {
            streams::forward(pods, way.parse()?, wire.parse()?, mib.parse()?).await
        }
        _ => Err(format!("no such thing: {line}").into()),
    }
}

async fn pull(channel: &Channel, image: &str) -> Outcome<Value> {
    let image = Some(make::image(image));
    let request = PullImageRequest { image, ..PullImageRequest::default() };
    ImageServiceClient::new(channel.clone()).pull_image(request).await?;
    Ok(json!({}))
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}
