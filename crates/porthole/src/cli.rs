//! The arguments, and who acts on them.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::check::args::CheckArgs;
use crate::failure::{Outcome, code};
use crate::{
    attach, check, cri, debug, doctor, exec, image, logs, manifests, names, port_forward, ps, rm, root, stats,
};
use crate::{stop, up, webhook};

/// Windows nodes for Kubernetes in one binary.
#[derive(Debug, Parser)]
#[command(name = "porthole", version, about, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

const EXIT_CODES: &str = "Exit codes: 0 ok, 1 the answer is no, 2 wrong use, 3 the environment does not allow it, 130 stopped\n\
     by Ctrl-C before the work was done. `up --once` and `exec` end with the code of what they ran.";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run the pods in these files on this machine, without a cluster
    #[command(after_help = "Examples:\n  porthole up hello.yaml\n  porthole up --once job.yaml; echo $?\n\n\
        A container's image may be dir:PATH or oci-archive:PATH, relative to the file, or a reference.\n\
        Ctrl-C stops the pods with their grace period and removes them; a second Ctrl-C does not wait.\n\
        If porthole is killed its containers go on; the same command takes them up again.")]
    Up(UpArgs),
    /// Show the pods of this machine and how they are
    #[command(after_help = "Examples:\n  porthole ps\n  porthole ps -o json")]
    Ps(PsArgs),
    /// Print what a container wrote
    #[command(
        after_help = "Examples:\n  porthole logs hello\n  porthole logs -f default/hello -c main\n  porthole logs --previous hello"
    )]
    Logs(LogsArgs),
    /// Run a command in a container that runs
    #[command(after_help = exec::EXAMPLES)]
    Exec(exec::ExecArgs),
    /// Show what a container writes, and type into it
    #[command(after_help = attach::EXAMPLES)]
    Attach(attach::AttachArgs),
    /// Show what containers use: processor, memory, processes
    #[command(after_help = stats::EXAMPLES)]
    Stats(stats::StatsArgs),
    /// Listen on ports of this machine for a pod
    #[command(after_help = port_forward::EXAMPLES)]
    PortForward(port_forward::PortForwardArgs),
    /// End pods within their grace period
    #[command(after_help = stop::EXAMPLES)]
    Stop(stop::StopArgs),
    /// Take pods off this machine
    #[command(after_help = rm::EXAMPLES)]
    Rm(rm::RmArgs),
    /// Say whether Kubernetes will take these manifests, and what they may do; offline
    #[command(after_help = check::args::EXAMPLES)]
    Check(CheckArgs),
    /// Say what this host can do, what it cannot, and what follows
    #[command(
        after_help = "Examples:\n  porthole doctor\n  porthole doctor -o json\n\nExit code 1 if HostProcess containers cannot run here."
    )]
    Doctor(DoctorArgs),
    /// Images of this machine: pull, push, build, save, load, look at, free
    #[command(subcommand)]
    Image(image::ImageVerb),
    /// Render what a cluster needs beside its nodes, ready to apply
    #[command(subcommand)]
    Manifests(manifests::Manifests),
    /// Only the runtime: CRI v1 on a socket or pipe, for a stock kubelet, crictl or critest
    #[command(after_help = cri::EXAMPLES)]
    Cri(cri::CriArgs),
    /// For those who test porthole itself
    #[command(subcommand, hide = true)]
    Debug(debug::DebugVerb),
    /// Judge pods for an API server: the pod rules and the HostProcess policy as an admission webhook
    #[command(after_help = webhook::EXAMPLES)]
    Webhook(Box<webhook::WebhookArgs>),
}

#[derive(Debug, Args)]
pub struct Root {
    /// Where state is kept [default: the machine's directory for an administrator, else the user's]
    #[arg(long, env = root::VARIABLE, value_name = "DIR")]
    root: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct UpArgs {
    /// Files with pods, YAML or JSON
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Run every container once and exit with the first code that is not zero
    #[arg(long)]
    pub once: bool,
    /// Plain lines, also on a terminal
    #[arg(long)]
    pub plain: bool,
    /// Keep how often each known failure was met in this file, as Prometheus reads it
    #[arg(long, value_name = "FILE")]
    pub metrics_file: Option<PathBuf>,
    #[command(flatten)]
    pub root: Root,
}

#[derive(Debug, Args)]
pub struct PsArgs {
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Output,
    #[command(flatten)]
    pub root: Root,
}

#[derive(Debug, Args)]
pub struct LogsArgs {
    #[arg(help = names::POD_HELP)]
    pub pod: String,
    /// The container [default: the first one]
    #[arg(short, long)]
    pub container: Option<String>,
    /// Go on until the container ends
    #[arg(short, long)]
    pub follow: bool,
    /// The run before the last restart
    #[arg(short, long)]
    pub previous: bool,
    /// Time stamps before the lines
    #[arg(short, long)]
    pub timestamps: bool,
    #[command(flatten)]
    pub root: Root,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Output,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    #[default]
    Table,
    Json,
    Yaml,
}

// === impl Root ===

impl Root {
    pub fn path(&self) -> std::io::Result<PathBuf> {
        os::path::canonical(&self.root.clone().unwrap_or_else(root::default))
    }
}

/// Does what the arguments say; the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> i32 {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(e) => {
            // A closed output is no reason for another error.
            drop(e.print());
            return e.exit_code();
        }
    };
    match cli.act() {
        Ok(code) => code,
        Err(failure) => {
            up::say(&failure.line());
            failure.code
        }
    }
}

impl Cli {
    fn act(&self) -> Outcome {
        match &self.verb {
            Verb::Up(args) => up::up(args),
            Verb::Ps(args) => ps::ps(args),
            Verb::Logs(args) => logs::logs(args),
            Verb::Exec(args) => exec::exec(args),
            Verb::Attach(args) => attach::attach(args),
            Verb::Stats(args) => stats::stats(args),
            Verb::PortForward(args) => port_forward::port_forward(args),
            Verb::Stop(args) => stop::stop(args),
            Verb::Rm(args) => rm::rm(args),
            Verb::Check(args) => check::check(args),
            Verb::Cri(args) => cri::cri(args),
            Verb::Debug(verb) => debug::debug(verb),
            Verb::Doctor(args) => doctor::doctor(args),
            Verb::Image(verb) => image::image(verb),
            Verb::Manifests(which) => manifests::manifests(which),
            Verb::Webhook(args) => webhook::webhook(args),
        }
    }
}

/// Prints facts. A reader that has seen enough (`| head`) is no error.
pub fn print(text: &str) -> Outcome {
    use std::io::Write;
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(crate::failure::Failure::new(code::ENVIRONMENT, e))
        }
        _ => Ok(code::OK),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declarations_are_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn wrong_use_is_code_2_and_help_code_0() {
        let run = |line: &str| run(line.split(' ').map(Into::into));
        assert_eq!(run("porthole up"), code::USAGE);
        assert_eq!(run("porthole fly"), code::USAGE);
        assert_eq!(run("porthole ps -o xml"), code::USAGE);
        assert_eq!(run("porthole --help"), code::OK);
    }
}
