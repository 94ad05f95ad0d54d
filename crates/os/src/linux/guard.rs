//! A second process that ends our jobs if we are killed.
//!
//! The kernel kills the first process of a container with us, and nothing else: a cgroup does not end with its maker,
//! as a job object does. So a fork of ours waits for our end at a pipe and then ends whatever jobs we still had.
//! It costs a few pages, as almost everything is shared with us.

use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::sync::OnceLock;

use super::job::{group_tree, sweep};
use super::spawn::fork;
use crate::job::JobName;

/// What the guard's process is called, beside the program's own name.
const NAME: &str = "hold-guard";

/// Room for what a holder says at once.
const LINE: usize = 512;

static GUARD: OnceLock<PipeWriter> = OnceLock::new();

/// Starts the guard. Before any other thread: the fork goes on as an ordinary program.
pub(crate) fn end_with_us() -> io::Result<()> {
    if group_tree().is_err() {
        // Jobs are pid namespaces then, which end with their first process.
        return Ok(());
    }
    let (reader, writer) = io::pipe()?;
    // A guard that does not read must not hold us up.
    rustix::io::ioctl_fionbio(&writer, true)?;
    let (mut ours, mut theirs) = (Some(writer), Some(reader));
    fork(|| {
        // The guard must not keep open what it waits to see closed.
        drop(ours.take());
        if let Some(reader) = theirs.take() {
            watch(reader);
        }
        super::born::leave(0)
    })?;
    if let Some(writer) = ours {
        // Only a second call could find it set, and the first guard does the work.
        drop(GUARD.set(writer));
    }
    Ok(())
}

/// Tells the guard of a job that is about to be made, or that is gone.
pub(crate) fn tell(sign: char, name: &JobName) {
    if let Some(mut guard) = GUARD.get() {
        // A guard that was killed leaves us as we were without one.
        drop(guard.write_all(format!("{sign}{}/{}\n", name.parent, name.id).as_bytes()));
    }
}

fn watch(reader: PipeReader) {
    // Only a name, for people who look at a process list.
    drop(std::fs::write("/proc/self/comm", NAME));
    super::born::own_session();
    let (mut reader, mut line) = (BufReader::with_capacity(LINE, reader), String::new());
    // A pod has few at a time, and in a program this small the code of a set is larger than all it would hold.
    let mut jobs: Vec<String> = Vec::new();
    loop {
        if reader.buffer().is_empty() {
            super::rest::rest();
        }
        line.clear();
        // Its end is ours; nothing else ends this pipe.
        if reader.read_line(&mut line).unwrap_or_default() == 0 {
            break;
        }
        match line.trim_end().split_at_checked(1) {
            Some(("+", job)) => jobs.push(job.to_owned()),
            Some(("-", job)) => jobs.retain(|known| known != job),
            _ => {}
        }
    }
    for (parent, id) in jobs.iter().filter_map(|job| job.split_once('/')) {
        // Nobody is left to hear of a failure; the next agent sweeps again.
        drop(sweep(&JobName { parent: parent.to_owned(), id: id.to_owned() }));
    }
}
