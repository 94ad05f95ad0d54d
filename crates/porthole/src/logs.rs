//! `porthole logs`: what a container wrote.

use std::io::{self, Write};
use std::time::Duration;

use anyhow::anyhow;
use holder::log::{Entry, Stream};
use runtime::logs::{LogReader, write_text};
use runtime::view::{ContainerView, PodView, State};

use crate::cli::LogsArgs;
use crate::failure::{Exit, Failure, Outcome, code};
use crate::names;

/// How often a followed log is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

pub fn logs(args: &LogsArgs) -> Outcome {
    let look = || names::look(&args.root);
    let named = names::find(&look()?, &args.pod)?;
    let (pod, container) = (named.pod.clone(), named.container(args.container.as_deref())?);
    let attempt = attempt(&container, args.previous)?;
    let path = if args.previous { &container.previous_log } else { &container.log };
    // One that was never started has written nothing.
    let Some(path) = path else { return Ok(code::OK) };
    let mut reader = LogReader::new(path);
    loop {
        // Ask before reading: what was written before the end is then read after it.
        let over =
            !args.follow || args.previous || !is_still_writing(&look()?, &pod, &container.name, attempt);
        match reader.read(|entry| show(entry, args.timestamps)) {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => return Ok(code::OK),
            other => other.or_environment()?,
        }
        if over {
            return Ok(code::OK);
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

fn show(entry: &Entry<'_>, timestamps: bool) -> io::Result<()> {
    let (mut stdout, mut stderr) = (io::stdout().lock(), io::stderr().lock());
    if timestamps {
        match entry.stream {
            Stream::Stdout => write!(stdout, "{} ", entry.time)?,
            Stream::Stderr => write!(stderr, "{} ", entry.time)?,
        }
    }
    write_text(entry, &mut stdout, &mut stderr)?;
    stdout.flush()
}

fn attempt(container: &ContainerView, previous: bool) -> Result<u32, Failure> {
    if !previous {
        return Ok(container.restarts);
    }
    let none = || Failure::new(code::NO, anyhow!("container {:?} has not been restarted", container.name));
    container.restarts.checked_sub(1).ok_or_else(none)
}

fn is_still_writing(pods: &[PodView], pod: &PodView, container: &str, attempt: u32) -> bool {
    let pod = pods.iter().find(|known| known.uid == pod.uid);
    let container = pod.and_then(|pod| pod.containers.iter().find(|known| known.name == container));
    container.is_some_and(|container| container.restarts == attempt && container.state != State::Exited)
}
