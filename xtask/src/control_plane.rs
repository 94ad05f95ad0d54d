//! `cargo xtask control-plane`: a real cluster for development that stays until it is taken down.
//!
//! The cluster itself is [`DevCluster`]'s work; here are the words for it.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{self, Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use testbed::control_plane::dev::{DevCluster, Record};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Another cluster than the usual one, which has its place in this directory
    #[arg(long, value_name = "DIR")]
    at: Option<PathBuf>,
    #[command(subcommand)]
    command: ControlPlaneCommand,
}

#[derive(Debug, Subcommand)]
enum ControlPlaneCommand {
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

pub(crate) fn run(options: &Options) -> Result<()> {
    let at = options.at.as_deref().map(path::absolute).transpose().context("the cluster's directory")?;
    let cluster = at.as_deref().map(DevCluster::at).unwrap_or_default();
    let command = command(at.as_deref());
    match &options.command {
        ControlPlaneCommand::Up => up(&cluster, &command),
        ControlPlaneCommand::Down => down(&cluster),
        ControlPlaneCommand::Status => status(&cluster, &command),
        ControlPlaneCommand::Kubectl { args } => kubectl(&cluster, args),
    }
}

/// What a user types to get to the same cluster again.
fn command(at: Option<&Path>) -> String {
    let at = at.map(|dir| format!(" --at {}", dir.display())).unwrap_or_default();
    format!("cargo xtask control-plane{at}")
}

fn up(cluster: &DevCluster, command: &str) -> Result<()> {
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
    print!("{}", usage(command, &record));
    Ok(())
}

fn usage(command: &str, record: &Record) -> String {
    let Record { kubeconfig, logs, join_command, .. } = record;
    format!(
        "
  export KUBECONFIG={}
  {command} kubectl get ns
  {join_command}
  {command} down

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

fn status(cluster: &DevCluster, command: &str) -> Result<()> {
    let Some(record) = cluster.record()? else { bail!("no control plane is up: {command} up") };
    println!("https://{}", record.address);
    for program in &record.programs {
        let word = if program.runs() { "runs" } else { "has ended" };
        println!("  {:<24} {word} (pid {})", program.name, program.pid);
    }
    if record.programs.iter().any(|program| !program.runs()) {
        bail!("not every program runs; see {} or run down and up", record.logs.display());
    }
    print!("{}", usage(command, &record));
    Ok(())
}

/// Becomes kubectl, so that its exit code and its signals are the caller's.
fn kubectl(cluster: &DevCluster, args: &[OsString]) -> Result<()> {
    let error = cluster.kubectl()?.args(args).exec();
    Err(error).context("start kubectl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_leads_to_the_same_cluster() {
        assert_eq!(command(None), "cargo xtask control-plane");
        assert_eq!(command(Some(Path::new("/tmp/mine"))), "cargo xtask control-plane --at /tmp/mine");
    }
}
