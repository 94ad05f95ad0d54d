//! `cargo xtask`: builds, tests, benches and proofs of this repository.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod tools;
mod windows;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "Builds, tests, benches and proofs of Porthole")]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Make the named tools of the testbed (all of them with no name) and print their paths
    Tools(tools::Options),
    /// Build porthole.exe into target/windows and say its size and hash
    Windows(windows::Options),
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> anyhow::Result<()> {
    match task {
        Task::Tools(options) => tools::run(&options),
        Task::Windows(options) => windows::run(&options),
    }
}
