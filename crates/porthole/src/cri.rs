//! `porthole cri`: only the runtime, for a stock kubelet, crictl or critest (RT-01).

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use anyhow::Context;
use clap::{Args, ValueEnum};
use cri::listen::Listen;
use cri::streams::Streams;
use cri::wire::Handler;
use cri::{Cri, Server, Settings};
use os::interrupt::Interrupt;
use runtime::tenure::Tenure;
use runtime::{Node, NodeError, Runtime};

use crate::cli::{Root, print};
use crate::embedded::HOLDER;
use crate::failure::{Exit, Failure, Outcome, code};
use crate::image::access;
use crate::needs;
use crate::root;
use crate::up::{say, settle};
use crate::upkeep;

pub const EXAMPLES: &str = "Examples:
  porthole cri --listen unix:///run/porthole/cri.sock
  crictl --runtime-endpoint unix:///run/porthole/cri.sock ps
  kubelet --container-runtime-endpoint=unix:///run/porthole/cri.sock …
  porthole cri --listen npipe:////./pipe/porthole-cri        (Windows)

Ctrl-C or SIGTERM ends the server once its calls are answered; containers run on, and the next one takes them up.
Exit code 2 if the configuration or the address cannot be used, 3 if the root or the address is in use.";

#[derive(Debug, Args)]
pub struct CriArgs {
    /// Where to listen: unix:///PATH, npipe:////./pipe/NAME, or tcp://127.0.0.1:PORT, which anybody on this host can use
    /// [default: ROOT/run/cri.sock, or the pipe porthole-cri]
    #[arg(long, value_name = "URI")]
    pub listen: Option<String>,
    /// Settings, YAML: docs/cri.md has them all
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// What a pod without a RuntimeClass is [default: hostprocess]
    #[arg(long, value_enum)]
    pub default_handler: Option<DefaultHandler>,
    /// The address that pods are told to have [default: the one this host would use]
    #[arg(long, value_name = "IP")]
    pub node_ip: Option<IpAddr>,
    /// Where exec, attach and port-forward are served; port 0 is a free one
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub stream_address: Option<SocketAddr>,
    #[command(flatten)]
    pub root: Root,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DefaultHandler {
    #[value(name = "hostprocess")]
    HostProcess,
    Process,
}

pub fn cri(args: &CriArgs) -> Outcome {
    let settings = args.settings()?;
    let listen = args.listen()?;
    needs::check_build()?;
    let access = access::of_this_host(&args.root)?;
    let interrupts = os::interrupt::interrupts().or_environment()?;
    let runtime = Runtime::open_with(open(&args.root)?, settings.options.clone());
    // For `porthole exec`, `stop` and their kin beside crictl, until the end of this function.
    let _door = admin::serve(&runtime).context("open the admin socket").or_environment()?;
    let tenure = Tenure::begin(&runtime).context("note that this porthole is here").or_environment()?;
    let remarks = runtime.node().remarks.iter().chain(tenure.remarks());
    remarks.for_each(|remark| say(&format!("warning: {remark}")));
    if let Err(why) = os::job::limits_work() {
        say(&format!("warning: {why}: containers with limits are refused"));
    }
    // What `image pull` and `image load` unpacked, which do not wait for the disk.
    settle(runtime.node());
    let _keeper = upkeep::keep(runtime.node(), say);
    let cri = Cri::new(runtime, settings, access).or_environment()?;
    let threads = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // Each waits for a container to end or a program to finish: a node may have hundreds of both.
        .max_blocking_threads(1024)
        .build()
        .or_environment()?;
    let served = threads.block_on(serve(cri, listen, interrupts));
    // A call that blocks has no right to keep the program from ending.
    threads.shutdown_background();
    served
}

async fn serve(cri: Cri, listen: Listen, interrupts: Receiver<Interrupt>) -> Outcome {
    let server = Server::bind(listen).await.or_environment()?;
    if let Listen::Tcp(address) = server.listen() {
        say(&format!("warning: {address} is open to everybody on this host, who can do everything with it"));
    }
    let streams =
        Streams::serve(&cri).await.context("serve exec, attach and port-forward").or_environment()?;
    let (hang_up, over) = tokio::sync::oneshot::channel::<()>();
    let streaming = tokio::spawn(streams.run(async { drop(over.await) }));
    print(&format!("porthole cri: listening on {}\n", server.listen()))?;
    let (asked, stop) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        // A closed channel means that nobody can ask any more: serve on.
        if interrupts.recv().is_ok() {
            let _ = asked.send(());
        } else {
            std::mem::forget(asked);
        }
    });
    let drained = server.run(cri, async { drop(stop.await) }).await;
    drop(hang_up);
    let hung_up = streaming.await.unwrap_or(false);
    if !(drained && hung_up) {
        say("some calls did not end in time; what they asked for may still happen");
    }
    Ok(code::OK)
}

fn open(root: &Root) -> Result<Node, Failure> {
    let root = root.path().or_environment()?;
    Node::open(&root, HOLDER).map_err(|e| match e {
        NodeError::InUse { .. } => Failure::new(code::ENVIRONMENT, e),
        other => Failure::new(code::ENVIRONMENT, anyhow::Error::new(other).context("open the node")),
    })
}

// === impl CriArgs ===

impl CriArgs {
    /// The file's words, and over them those of the command line.
    fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = match &self.config {
            Some(path) => Settings::read(path).or_usage()?,
            None => Settings::default(),
        };
        if let Some(handler) = self.default_handler {
            settings.default_handler = handler.into();
        }
        settings.node_ip = self.node_ip.or(settings.node_ip);
        settings.stream_address = self.stream_address.unwrap_or(settings.stream_address);
        Ok(settings)
    }

    fn listen(&self) -> Result<Listen, Failure> {
        let style = runtime::prepare::host_style();
        match &self.listen {
            Some(uri) => Listen::parse(uri, style).or_usage(),
            None => {
                let layout = runtime::layout::Layout::new(&self.root.path().or_environment()?);
                let machine = os::path::canonical(&root::default()).or_environment()?;
                Ok(Listen::default_for(&layout, &machine, style))
            }
        }
    }
}

// === impl DefaultHandler ===

impl From<DefaultHandler> for Handler {
    fn from(handler: DefaultHandler) -> Handler {
        match handler {
            DefaultHandler::HostProcess => Handler::HostProcess,
            DefaultHandler::Process => Handler::Process,
        }
    }
}
