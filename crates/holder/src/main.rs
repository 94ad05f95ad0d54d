//! `porthole-hold --endpoint ENDPOINT`: holds one pod's containers. Started by the agent, never by people.

use std::io::Write;
use std::process::ExitCode;

use holder::fail;
use holder::server::{IDLE_LIMIT, Server};
use os::channel::{Endpoint, Listener};

const USAGE: &str = "usage: porthole-hold --endpoint ENDPOINT\n\
                     Holds the containers of one pod for porthole, which starts it. Not for direct use.";
const WRONG_USE: u8 = 2;
const ENVIRONMENT: u8 = 3;

fn main() -> ExitCode {
    let Some(endpoint) = endpoint_from_arguments() else {
        say(USAGE);
        return ExitCode::from(WRONG_USE);
    };
    match hold(&endpoint) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            say(&format!("porthole-hold: {endpoint}: {e}"));
            ExitCode::from(ENVIRONMENT)
        }
    }
}

fn endpoint_from_arguments() -> Option<Endpoint> {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next()?.as_str(), arguments.next(), arguments.next()) {
        ("--endpoint", Some(endpoint), None) => endpoint.parse().ok(),
        _ => None,
    }
}

/// Listens first, then says so: whoever reads "ready" can connect.
fn hold(endpoint: &Endpoint) -> std::io::Result<()> {
    // Early, so that little is mapped that is not used.
    os::process::rest();
    os::job::end_with_us()?;
    let listener = Listener::bind(endpoint)?;
    fail::point("hold-listening");
    writeln!(std::io::stdout(), "ready")?;
    Server::new(IDLE_LIMIT).serve(listener)
}

/// Whoever reads may be gone; that is no reason to panic.
fn say(text: &str) {
    drop(writeln!(std::io::stderr(), "{text}"));
}
