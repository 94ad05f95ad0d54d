//! `cargo xtask`: builds, tests, benches and proofs of this repository.
//!
//! Exit codes: 0 the answer is yes, 1 it is no (a test failed, a bar was missed) or could not be had, 2 wrong use, 4 a
//! seeded defect was not caught.

use std::env;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

mod bench;
mod control_plane;
mod defects;
mod e2e;
mod fuzz;
mod gate;
mod lanes;
mod libtest;
mod mutants;
mod results;
mod soak;
mod status;
mod tier;
mod tools;
mod windows;
mod workspace;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "Builds, tests, benches and proofs of Porthole")]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// The gate: every tier, or those named
    Test(gate::Options),
    /// Formatting, lints and licences alone
    FmtLint,
    /// Fuzz the parsers of foreign bytes
    Fuzz(fuzz::Options),
    /// Let programs of other projects judge ours: critest, a stock kubelet
    E2e(e2e::Options),
    /// Measure a promise beside the program a user would pick instead
    Bench(bench::Options),
    /// Thousands of execs and pods: nothing may grow
    Soak,
    /// Change the pure crates' code and see whether their tests notice
    Mutants(mutants::Options),
    /// A cluster for development that stays: up, status, kubectl, down
    ControlPlane(control_plane::Options),
    /// Write docs/status.md from the tests and their results
    Status(status::Options),
    /// Build porthole.exe into target/windows and say its size and hash
    Windows(windows::Options),
    /// Make the named tools of the testbed (all of them with no name) and print their paths
    Tools(tools::Options),
}

fn main() -> ExitCode {
    run(Arguments::parse().command).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(task: Task) -> Result<ExitCode> {
    match task {
        Task::Test(options) if options.no_install && testbed::tools::may_install() => without_installing(),
        Task::Test(options) => gate::run(&options),
        Task::FmtLint => Ok(answer(gate::lint::run_alone())),
        Task::Fuzz(options) => fuzz::run(&options).map(answer),
        Task::E2e(options) => e2e::run(&options).map(answer),
        Task::Bench(options) => bench::run(&options).map(answer),
        Task::Soak => soak::run().map(answer),
        Task::Mutants(options) => mutants::run(&options).map(answer),
        Task::ControlPlane(options) => control_plane::run(&options).map(done),
        Task::Status(options) => status::run(&options).map(done),
        Task::Windows(options) => windows::run(&options).map(done),
        Task::Tools(options) => tools::run(&options).map(done),
    }
}

fn answer(yes: bool) -> ExitCode {
    if yes { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn done((): ()) -> ExitCode {
    ExitCode::SUCCESS
}

/// Everything below reads the environment, so the flag becomes a variable: for us and for the tests.
fn without_installing() -> Result<ExitCode> {
    let program = env::current_exe().context("our own path")?;
    let status = Command::new(program).args(env::args_os().skip(1)).env("PORTHOLE_NO_INSTALL", "1").status();
    let code = status.context("start again")?.code().context("killed")?;
    Ok(u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from))
}
