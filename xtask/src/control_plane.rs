//! `cargo xtask control-plane`: a real cluster for development that stays until it is taken down.
//!
//! The cluster itself is [`DevCluster`]'s work; here are the words for it.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Subcommand;
use testbed::control_plane::dev::{DevCluster, Record};

#[derive(Debug, Subcommand)]
pub(crate) enum ControlPlaneCommand {
    /// Start the cluster (etcd, kube-apiserver, kube-controller-manager, kube-scheduler) and leave it running
    Up,
    /// Stop the cluster and remove everything of it, also after a start that was killed half way
    Down,
    /// Say what runs; exit code 1 if the cluster is not up
    Status,
    /// Run kubectl against the cluster
    #[command(disable_help_flag = true)]
    Kubectl {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

pub(crate) fn run(command: &ControlPlaneCommand) -> Result<()> {
    let cluster = DevCluster::default();
    match command {
        ControlPlaneCommand::Up => up(&cluster),
        ControlPlaneCommand::Down => down(&cluster),
        ControlPlaneCommand::Status => status(&cluster),
        ControlPlaneCommand::Kubectl { args } => kubectl(&cluster, args),
    }
}

fn up(cluster: &DevCluster) -> Result<()> {
    let begun = Instant::now();
    let (record, already) = cluster.up()?;
    if already {
        println!("The control plane is already up at https://{}.", record.address);
    } else {
        println!(
            "The control plane is up at https://{} after {} s.",
            record.address,
            begun.elapsed().as_secs()
        );
    }
    print!("{}", usage(&record));
    Ok(())
}

fn usage(record: &Record) -> String {
    let Record { kubeconfig, logs, join_command, .. } = record;
    format!(
        "
  export KUBECONFIG={}
  cargo xtask control-plane kubectl get ns
  {join_command}
  cargo xtask control-plane down

Logs are in {}.
",
        kubeconfig.display(),
        logs.display()
    )
}

fn down(cluster: &DevCluster) -> Result<()> {
    match cluster.down()? {
        true => println!("The control plane is down; nothing of it is left."),
        false => println!("No control plane was up."),
    }
    Ok(())
}

fn status(cluster: &DevCluster) -> Result<()> {
    let Some(record) = cluster.record()? else {
        bail!("no control plane is up: cargo xtask control-plane up")
    };
    println!("https://{}", record.address);
    for program in &record.programs {
        let word = if program.runs() { "runs" } else { "has ended" };
        println!("  {:<24} {word} (pid {})", program.name, program.pid);
    }
    if record.programs.iter().any(|program| !program.runs()) {
        bail!("not every program runs; see {} or run down and up", record.logs.display());
    }
    print!("{}", usage(&record));
    Ok(())
}

/// Becomes kubectl, so that its exit code and its signals are the caller's.
fn kubectl(cluster: &DevCluster, args: &[OsString]) -> Result<()> {
    let error = cluster.kubectl()?.args(args).exec();
    Err(error).context("start kubectl")
}
