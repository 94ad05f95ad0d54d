//! A process between its runtime and its client.
//!
//! The runtime blocks, so one thread starts the process and then carries what it says, and another, begun by the
//! client's first word, carries what it is told. Neither holds more than one piece.

use std::io;
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;

use super::outputs::{Outputs, Which};
use crate::mux::Gone;
use crate::request::Request;
use crate::session::{Ending, Failure, Input, Process, Said, Sessions, Size};
use crate::status::Outcome;

/// Reserved, not used: a session's threads touch a few pages of it.
const STACK: usize = 1 << 20;
/// A runtime gets no more than this in one call.
const LONGEST_INPUT: usize = 32 << 10;

pub(super) struct Command {
    pub(super) sessions: Arc<dyn Sessions>,
    pub(super) request: Request,
    pub(super) outputs: Outputs,
    pub(super) told: mpsc::Receiver<Told>,
}

/// What the client says to the process.
#[derive(Debug)]
pub(super) enum Told {
    Stdin(Bytes),
    Close,
    Resize(Size),
}

/// What is left of a process once its output is being read.
struct Started {
    input: Box<dyn Input>,
    hang_up: Box<dyn FnOnce() + Send>,
}

/// The thread that starts the process and listens to it.
struct Listener {
    sessions: Arc<dyn Sessions>,
    request: Request,
    outputs: Outputs,
    runtime: Handle,
    cancelled: watch::Receiver<bool>,
}

/// Waits for the client's first word and then has a thread that passes words on. Ends with it.
struct Feeder {
    task: AbortHandle,
}

// === impl Command ===

impl Command {
    /// Runs to the end of the process, or until the client is gone, when the process is hung up on.
    pub(super) async fn run(self, gone: impl Future<Output = ()>) {
        let (cancel, cancelled) = watch::channel(false);
        let (ready, started) = oneshot::channel();
        let (done, ended) = oneshot::channel::<()>();
        let outputs = self.outputs.clone();
        let listener = Listener {
            sessions: self.sessions,
            request: self.request,
            outputs: self.outputs,
            runtime: Handle::current(),
            cancelled,
        };
        let listen = move || {
            listener.run(ready);
            drop(done);
        };
        if let Err(e) = spawn("session", listen) {
            let _ = outputs.finish(&Outcome::Failed(format!("no thread for the session: {e}"))).await;
            return;
        }
        let started = started.await.ok();
        let (hang_up, feeder) = match started {
            Some(Started { input, hang_up }) => (Some(hang_up), Some(Feeder::begin(self.told, input))),
            None => (None, None),
        };
        tokio::select! {
            _ = ended => {}
            () = gone => {
                let _ = cancel.send(true);
            }
        }
        if let Some(hang_up) = hang_up {
            hang_up();
        }
        drop(feeder);
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).stack_size(STACK).spawn(work).map(|_| ())
}

// === impl Listener ===

impl Listener {
    fn run(mut self, ready: oneshot::Sender<Started>) {
        let ended = self.start().and_then(|process| {
            let Process { output, input, hang_up } = process;
            let _ = ready.send(Started { input, hang_up });
            self.listen(output)
        });
        let outcome = Outcome::of(ended);
        let outputs = self.outputs.clone();
        let _ = self.wait(outputs.finish(&outcome));
    }

    fn start(&self) -> Result<Process, Failure> {
        match &self.request {
            Request::Exec(request) => self.sessions.exec(request),
            Request::Attach(request) => self.sessions.attach(request),
            Request::PortForward(_) => Err("a port has no streams of a process".into()),
        }
    }

    fn listen(
        &mut self,
        output: Box<dyn Iterator<Item = Result<Said, Failure>> + Send>,
    ) -> Result<Ending, Failure> {
        let outputs = self.outputs.clone();
        for said in output {
            let (which, bytes) = match said? {
                Said::Stdout(bytes) => (Which::Stdout, bytes),
                Said::Stderr(bytes) => (Which::Stderr, bytes),
                Said::Ended(ending) => return Ok(ending),
            };
            self.wait(outputs.write(which, &bytes))?;
        }
        Err("the process's streams ended before it did".into())
    }

    /// Waits on this thread, but not for a client who is gone.
    fn wait(&mut self, work: impl Future<Output = Result<(), Gone>>) -> Result<(), Gone> {
        let cancelled = &mut self.cancelled;
        self.runtime.block_on(async {
            tokio::select! {
                result = work => result,
                // Also when the session itself is no more.
                _ = cancelled.wait_for(|cancelled| *cancelled) => Err(Gone),
            }
        })
    }
}

// === impl Feeder ===

impl Feeder {
    fn begin(mut told: mpsc::Receiver<Told>, input: Box<dyn Input>) -> Feeder {
        let task = tokio::spawn(async move {
            match told.recv().await {
                Some(first) => {
                    // Without a thread nobody listens, and the client's words end here.
                    let _ = spawn("input", move || tell(first, told, input));
                }
                None => {
                    // Nothing will ever be said; but the input lives as long as the session.
                    let _input = input;
                    std::future::pending::<()>().await;
                }
            }
        });
        Feeder { task: task.abort_handle() }
    }
}

impl Drop for Feeder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Passes words on until there are no more. Once the process takes none, they are only taken from the client.
fn tell(first: Told, mut told: mpsc::Receiver<Told>, input: Box<dyn Input>) {
    let mut input = Some(input);
    let mut next = Some(first);
    while let Some(word) = next {
        if input.as_mut().is_some_and(|input| pass(word, input.as_mut()).is_err()) {
            input = None;
        }
        next = told.blocking_recv();
    }
}

fn pass(word: Told, input: &mut dyn Input) -> Result<(), Failure> {
    match word {
        Told::Stdin(bytes) => bytes.chunks(LONGEST_INPUT).try_for_each(|piece| input.stdin(piece)),
        Told::Close => input.close(),
        Told::Resize(size) => input.resize(size),
    }
}
