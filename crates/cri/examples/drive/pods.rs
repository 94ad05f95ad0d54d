//! The pods of a client: started, used and removed, many at once if need be.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cri::api::runtime_service_client::RuntimeServiceClient;
use cri::api::*;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tonic::transport::Channel;

use crate::make::{Maker, Running};
use crate::{BUSYBOX, Outcome, milliseconds};

const PATIENCE: Duration = Duration::from_secs(60);
/// Two words, `out` or `in` and a number of MiB, and then that much from or to whoever is connected.
const SERVE: &str = "read way mib; \
    if [ $way = out ]; then dd if=/dev/zero bs=65536 count=$((mib * 16)) status=none; \
    else dd of=/dev/null bs=65536 count=$((mib * 16)) iflag=fullblock status=none && echo ok; fi";

/// The pods of one client.
#[derive(Debug)]
pub(crate) struct Pods {
    maker: Maker,
    /// How many were ever made: no name is used twice.
    made: Arc<AtomicUsize>,
    running: Vec<Running>,
    served: Option<Served>,
}

/// The pod that answers at a port.
#[derive(Debug, Clone)]
pub(crate) struct Served {
    pub(crate) pod: String,
    pub(crate) port: u16,
}

// === impl Pods ===

impl Pods {
    pub(crate) fn new(channel: Channel, handler: &str, image: &str) -> Pods {
        let client = RuntimeServiceClient::new(channel);
        let maker = Maker { client, handler: handler.to_owned(), image: image.to_owned() };
        Pods { maker, made: Arc::default(), running: Vec::new(), served: None }
    }

    pub(crate) fn client(&self) -> RuntimeServiceClient<Channel> {
        self.maker.client.clone()
    }

    pub(crate) fn first(&self) -> Outcome<&Running> {
        self.running.first().ok_or_else(|| "no pod runs".into())
    }

    pub(crate) fn served(&self) -> Outcome<&Served> {
        self.served.as_ref().ok_or_else(|| "no pod serves".into())
    }

    /// So many more, so many of them at once, and how long each and all of them took.
    pub(crate) async fn start(&mut self, count: usize, flying: usize) -> Outcome<Value> {
        let last = self.made.load(Ordering::Relaxed) + count;
        let mut tasks = JoinSet::new();
        let begun = Instant::now();
        for _ in 0..flying {
            let (maker, made) = (self.maker.clone(), Arc::clone(&self.made));
            tasks.spawn(async move {
                let (mut all, mut took) = (Vec::new(), Vec::new());
                while let Some(number) = next(&made, last) {
                    let (running, ms) = maker.start(&format!("pod-{number}"), &["sleep", "3600"]).await?;
                    all.push(running);
                    took.push(ms);
                }
                Outcome::Ok((all, took))
            });
        }
        let mut ms = Vec::new();
        while let Some(ended) = tasks.join_next().await {
            let (all, took) = ended??;
            self.running.extend(all);
            ms.extend(took);
        }
        Ok(json!({"ms": ms, "seconds": begun.elapsed().as_secs_f64()}))
    }

    /// All that run, so many at once.
    pub(crate) async fn remove(&mut self, flying: usize) -> Outcome<Value> {
        let (all, done) = (Arc::new(std::mem::take(&mut self.running)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = JoinSet::new();
        for _ in 0..flying {
            let (mut client, all, done) = (self.client(), Arc::clone(&all), Arc::clone(&done));
            tasks.spawn(async move {
                while let Some(at) = next(&done, all.len()) {
                    let pod_sandbox_id = all[at].pod.clone();
                    let request = StopPodSandboxRequest { pod_sandbox_id: pod_sandbox_id.clone() };
                    client.stop_pod_sandbox(request).await?;
                    client.remove_pod_sandbox(RemovePodSandboxRequest { pod_sandbox_id }).await?;
                }
                Outcome::Ok(())
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended??;
        }
        Ok(json!({}))
    }

    /// A program that ends at once, so many times, one after the other.
    pub(crate) async fn exec_sync(&self, count: usize) -> Outcome<Value> {
        let (mut client, mut ms) = (self.client(), Vec::new());
        let container_id = &self.first()?.container;
        for _ in 0..count {
            let cmd = [BUSYBOX, "true"].map(String::from).to_vec();
            let request = ExecSyncRequest { container_id: container_id.clone(), cmd, timeout: 60 };
            let begun = Instant::now();
            let answer = client.exec_sync(request).await?.into_inner();
            ms.push(milliseconds(begun));
            if answer.exit_code != 0 {
                return Err(format!("it ended with {}", answer.exit_code).into());
            }
        }
        Ok(json!({"ms": ms}))
    }

    /// One more pod, which answers at a port.
    pub(crate) async fn serve(&mut self, port: u16) -> Outcome<Value> {
        let text = port.to_string();
        let words = ["nc", "-ll", "-p", &text, "-e", BUSYBOX, "sh", "-c", SERVE];
        let (running, _) = self.maker.start("serving", &words).await?;
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            if begun.elapsed() > PATIENCE {
                return Err(format!("nobody answers at port {port}").into());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.served = Some(Served { pod: running.pod.clone(), port });
        self.running.push(running);
        Ok(json!({}))
    }
}

fn next(counter: &AtomicUsize, last: usize) -> Option<usize> {
    let step = |number: usize| (number < last).then_some(number + 1);
    counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step).ok()
}
