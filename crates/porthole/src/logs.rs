//! `porthole logs`: what a container wrote.

use std::io::{self, Write};
use std::time::Duration;

use anyhow::anyhow;
use holder::log::{Entry, Stream};
use runtime::layout::Layout;
use runtime::logs::{LogReader, write_text};
use runtime::view::{self, ContainerView, PodView, State};

use crate::cli::LogsArgs;
use crate::failure::{Exit, Failure, Outcome, code};

/// How often a followed log is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

pub fn logs(args: &LogsArgs) -> Outcome {
    let layout = Layout::new(&args.root.path().or_environment()?);
    let boot_id = os::host::facts().or_environment()?.boot_id;
    let look = || view::pods(&layout, &boot_id).or_environment();
    let (pod, container) = find(&look()?, args)?;
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

fn find(pods: &[PodView], args: &LogsArgs) -> Result<(PodView, ContainerView), Failure> {
    let (namespace, name) = args.pod.split_once('/').unwrap_or(("default", &args.pod));
    let pod = pods.iter().find(|pod| pod.namespace == namespace && pod.name == name);
    let pod = pod.ok_or_else(|| {
        not_found(
            &format!("pod {namespace}/{name}"),
            pods.iter().map(|p| format!("{}/{}", p.namespace, p.name)),
        )
    })?;
    let container = match &args.container {
        Some(wanted) => pod.containers.iter().find(|container| container.name == *wanted),
        None => pod.containers.iter().find(|container| container.kind == runtime::record::Kind::Regular),
    };
    let container = container.ok_or_else(|| {
        let wanted = args.container.as_deref().unwrap_or_default();
        not_found(
            &format!("container {wanted:?} in {}", args.pod),
            pod.containers.iter().map(|c| c.name.clone()),
        )
    })?;
    Ok((pod.clone(), container.clone()))
}

fn not_found(what: &str, there: impl Iterator<Item = String>) -> Failure {
    let there: Vec<_> = there.collect();
    let there =
        if there.is_empty() { "there is none".to_owned() } else { format!("there is {}", there.join(", ")) };
    Failure::new(code::NO, anyhow!("no {what}; {there}"))
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
