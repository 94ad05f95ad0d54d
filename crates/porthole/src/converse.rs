//! A person, or a script, at the streams of a process: what `exec` and `attach` share.

use std::io::{self, IsTerminal, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::anyhow;
use holder::client::{Heard, Stream, StreamReader, StreamWriter};
use os::terminal::{Raw, Size};

use crate::failure::{Exit, Failure, Outcome, code};
use crate::up::say;

/// How often the window's size is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// Where nobody knows better.
const USUAL: Size = Size { columns: 80, rows: 24 };

/// One writer for those who type and those who resize: their chunks must not mix.
type Writer = Arc<Mutex<StreamWriter>>;

/// The size of the window that we are in.
pub fn size() -> Size {
    let known = |size: &Size| size.columns > 0 && size.rows > 0;
    os::terminal::size().ok().filter(known).unwrap_or(USUAL)
}

/// Passes on everything until the process, the container's output or we end; the exit code.
pub fn converse(stream: Stream, stdin: bool, tty: bool) -> Outcome {
    let typed = stdin && tty && io::stdin().is_terminal();
    let (reader, writer) = stream.split();
    // In raw mode Ctrl-C is a key like any other; only a kill from outside would leave the terminal so.
    let raw = if typed { Some(enter_raw(&writer)?) } else { None };
    let shared = Arc::new(Mutex::new(writer.clone()));
    if tty {
        follow_size(&shared);
    }
    if stdin {
        let shared = shared.clone();
        thread::spawn(move || feed(&shared));
    }
    let ended = listen(reader, &writer);
    drop(raw);
    ended
}

fn enter_raw(writer: &StreamWriter) -> Result<Raw, Failure> {
    let interrupts = os::interrupt::interrupts().or_environment()?;
    let writer = writer.clone();
    thread::spawn(move || {
        while interrupts.recv().is_ok() {
            drop(writer.hang_up());
        }
    });
    Raw::enter().or_environment()
}

fn follow_size(writer: &Writer) {
    let (writer, mut known) = (writer.clone(), size());
    thread::spawn(move || {
        loop {
            let now = size();
            if now != known && writer.lock().unwrap_or_else(PoisonError::into_inner).resize(now).is_err() {
                return;
            }
            known = now;
            thread::sleep(LOOK_AGAIN);
        }
    });
}

/// Ends with our input, or when the process does not listen any more.
fn feed(writer: &Writer) {
    let (mut input, mut bytes) = (io::stdin().lock(), [0; 8 * 1024]);
    let writer = || writer.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        match input.read(&mut bytes) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Ok(read) if read > 0 => {
                if writer().stdin(&bytes[..read]).is_err() {
                    return;
                }
            }
            // An input that cannot be read has ended.
            _ => return drop(writer().close_stdin()),
        }
    }
}

fn listen(reader: StreamReader, writer: &StreamWriter) -> Outcome {
    for heard in reader {
        let written = match heard.or_environment()? {
            Heard::Stdout(bytes) => put(&mut io::stdout().lock(), &bytes),
            Heard::Stderr(bytes) => put(&mut io::stderr().lock(), &bytes),
            Heard::Ended(end) => {
                end.message.iter().for_each(|message| say(message));
                return Ok(i32::from_ne_bytes(end.code.to_ne_bytes()));
            }
            Heard::Detached => return Ok(code::OK),
            Heard::Overrun => {
                let text = "this did not read as fast as the container writes; its log has everything";
                return Err(Failure::new(code::ENVIRONMENT, anyhow!(text)));
            }
        };
        match written {
            // Whoever reads us has seen enough.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {
                drop(writer.hang_up());
                return Ok(code::OK);
            }
            other => other.or_environment()?,
        }
    }
    Err(Failure::new(code::ENVIRONMENT, anyhow!("the stream ended before the process did")))
}

fn put(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes)?;
    to.flush()
}
