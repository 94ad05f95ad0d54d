//! `porthole port-forward`: ports of a pod on this machine's loopback.
//!
//! A HostProcess pod is on the host's own network, so its ports are the host's: no agent is needed to reach them. What
//! this adds is the pod's name, another port or address, and an end when the pod goes.

mod forward;
mod tunnel;

use std::io::Write;
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use os::interrupt::Interrupt;

use crate::cli::Root;
use crate::failure::{Exit, Failure, Outcome, code};
use crate::names::{self, Named};
use crate::up::say;
pub use forward::Forward;

pub const EXAMPLES: &str = "Examples:
  porthole port-forward hello 8080:80
  porthole port-forward default/hello :80 9100
  porthole port-forward hello 0.0.0.0:8080:80

LOCAL:REMOTE listens on 127.0.0.1; one number is both; no LOCAL, or 0, is a free port, and the line printed says which.
Goes on until Ctrl-C, or until the pod is removed (exit code 1).";

#[derive(Debug, Args)]
pub struct PortForwardArgs {
    #[arg(help = names::POD_HELP)]
    pub pod: String,
    /// Where to listen, and the pod's port
    #[arg(required = true, value_name = "[ADDRESS:]LOCAL:REMOTE")]
    pub ports: Vec<Forward>,
    #[command(flatten)]
    pub root: Root,
}

/// How often to look whether the pod is still there.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

pub fn port_forward(args: &PortForwardArgs) -> Outcome {
    let pod = names::find(&names::look(&args.root)?, &args.pod)?;
    if !names::runs(&pod.pod) {
        return Err(Failure::new(code::NO, anyhow!("{} does not run", pod.full_name())));
    }
    let interrupts = os::interrupt::interrupts().or_environment()?;
    // All or none: a script that asked for two ports cannot do with one.
    let open = args.ports.iter().map(listen).collect::<Result<Vec<_>, _>>()?;
    for (listener, forward) in open {
        announce(&listener, forward, &pod)?;
        std::thread::spawn(move || tunnel::serve(&listener, forward.remote));
    }
    stay(args, &pod, &interrupts)
}

fn listen(forward: &Forward) -> Result<(TcpListener, Forward), Failure> {
    let listener = TcpListener::bind(forward.local).with_context(|| format!("listen on {}", forward.local));
    if !forward.local.ip().is_loopback() {
        say(&format!("warning: whoever reaches {} reaches the pod", forward.local.ip()));
    }
    Ok((listener.or_environment()?, *forward))
}

fn announce(listener: &TcpListener, forward: Forward, pod: &Named) -> Result<(), Failure> {
    let local = listener.local_addr().or_environment()?;
    let mut out = std::io::stdout();
    // A reader that is gone is no reason to end: the ports are open.
    drop(writeln!(out, "{local} -> {} port {}", pod.full_name(), forward.remote).and_then(|()| out.flush()));
    Ok(())
}

fn stay(args: &PortForwardArgs, pod: &Named, interrupts: &Receiver<Interrupt>) -> Outcome {
    while interrupts.recv_timeout(LOOK_AGAIN) == Err(RecvTimeoutError::Timeout) {
        if names::look(&args.root)?.iter().all(|known| known.uid != pod.pod.uid) {
            return Err(Failure::new(code::NO, anyhow!("{} was removed", pod.full_name())));
        }
    }
    Ok(code::OK)
}
