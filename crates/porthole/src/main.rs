//! `porthole`: Windows nodes for Kubernetes in one binary.

use std::process::exit;

fn main() {
    let code = porthole::cli::run(std::env::args_os());
    // A container's exit code may need 32 bits on Windows; `ExitCode` has eight.
    exit(code);
}
