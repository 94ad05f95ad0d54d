//! A server on a free port and a runtime whose processes do what their command says.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use streaming::client::{Dialled, Heard, Remote};
use streaming::protocol::{Agreed, Codec, Version};
use streaming::status::Outcome;
use streaming::{
    AttachRequest, Config, Ending, ExecRequest, Failure, Input, Process, Said, Server, Sessions, Size,
    Streams, Tickets,
};
use tokio::sync::oneshot;

/// Generous: the machine may be busy with other things.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) const ALL: [Agreed; 9] = [
    Agreed::Command(Version::V4),
    Agreed::Command(Version::V3),
    Agreed::Command(Version::V2),
    Agreed::Command(Version::V1),
    Agreed::Channels(Version::V5, Codec::Binary),
    Agreed::Channels(Version::V4, Codec::Binary),
    Agreed::Channels(Version::V4, Codec::Base64),
    Agreed::Channels(Version::V1, Codec::Binary),
    Agreed::Channels(Version::V1, Codec::Base64),
];
pub(crate) const NEW: [Agreed; 2] =
    [Agreed::Command(Version::V4), Agreed::Channels(Version::V5, Codec::Binary)];

pub(crate) fn streams(letters: &str) -> Streams {
    let has = |letter| letters.contains(letter);
    Streams { stdin: has('i'), stdout: has('o'), stderr: has('e'), tty: has('t') }
}

/// A server that runs until it is dropped.
pub(crate) struct House {
    pub(crate) address: SocketAddr,
    pub(crate) tickets: Tickets,
    pub(crate) runtime: Arc<Runtime>,
    stop: Option<oneshot::Sender<()>>,
    pub(crate) ended: tokio::task::JoinHandle<bool>,
}

/// What the test's processes have done.
#[derive(Default)]
pub(crate) struct Runtime {
    pub(crate) sizes: Mutex<Vec<Size>>,
    pub(crate) heard: Mutex<Vec<u8>>,
    pub(crate) running: AtomicUsize,
    pub(crate) hung_up: AtomicUsize,
    pub(crate) produced: AtomicUsize,
    /// What `gate` waits for before it reads.
    pub(crate) gates: Mutex<HashMap<String, Receiver<()>>>,
}

/// A process's input: to a thread that acts, through a queue that holds one piece.
struct Words(SyncSender<Word>, Arc<Runtime>);

enum Word {
    Bytes(Vec<u8>),
    End,
    Gone,
}

struct Life(Arc<Runtime>);

impl House {
    pub(crate) async fn open() -> House {
        House::with(Config::default()).await
    }

    pub(crate) async fn with(config: Config) -> House {
        let runtime = Arc::new(Runtime::default());
        let sessions = Arc::new(Doors(runtime.clone()));
        let server = Server::bind(config, sessions).await.expect("a free port");
        let (address, tickets) = (server.address().expect("bound"), server.tickets());
        let (stop, stopped) = oneshot::channel::<()>();
        let ended = tokio::spawn(server.run(async {
            let _ = stopped.await;
        }));
        House { address, tickets, runtime, stop: Some(stop), ended }
    }

    pub(crate) fn stop(&mut self) {
        self.stop = None;
    }

    pub(crate) fn exec_url(&self, command: &str, letters: &str) -> String {
        let command = command.split(' ').map(str::to_owned).collect();
        let request = ExecRequest { container: "c".to_owned(), command, streams: streams(letters) };
        self.tickets.exec(request).expect("a ticket")
    }

    pub(crate) async fn exec(&self, command: &str, letters: &str, how: Agreed) -> Remote {
        let url = self.exec_url(command, letters);
        Remote::open(Dialled::to(&url).await.expect("reached"), streams(letters), how).await.expect("opened")
    }

    /// Waits until so many processes run.
    pub(crate) async fn until_running(&self, count: usize) {
        until("processes to run", || self.runtime.running.load(Ordering::SeqCst) == count).await;
    }
}

pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = tokio::time::Instant::now() + LONG;
    while !condition() {
        assert!(tokio::time::Instant::now() < end, "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// All that a session says: both outputs, and the end.
pub(crate) async fn all(remote: &mut Remote) -> (Vec<u8>, Vec<u8>, Outcome) {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let whole = async {
        loop {
            match remote.next().await.expect("an end comes first") {
                Heard::Stdout(bytes) => stdout.extend_from_slice(&bytes),
                Heard::Stderr(bytes) => stderr.extend_from_slice(&bytes),
                Heard::Ended(outcome) => return outcome,
            }
        }
    };
    let outcome = tokio::time::timeout(LONG, whole).await.expect("in time");
    (stdout, stderr, outcome)
}

struct Doors(Arc<Runtime>);

impl Sessions for Doors {
    fn exec(&self, request: &ExecRequest) -> Result<Process, Failure> {
        let words: Vec<&str> = request.command.iter().map(String::as_str).collect();
        if words[0] == "refuse" {
            return Err("no such program".into());
        }
        Ok(process(&self.0, &request.command))
    }

    fn attach(&self, request: &AttachRequest) -> Result<Process, Failure> {
        Ok(process(&self.0, &["attached".to_owned(), request.container.clone()]))
    }

    fn connect(&self, pod: &str, port: u16) -> Result<TcpStream, Failure> {
        assert_eq!(pod, "pod");
        Ok(TcpStream::connect((Ipv4Addr::LOCALHOST, port))?)
    }
}

/// A thread acts the process; the queue between it and the server holds one piece, as a pipe does.
fn process(runtime: &Arc<Runtime>, command: &[String]) -> Process {
    let (say, said) = sync_channel::<Result<Said, Failure>>(1);
    let (tell, told) = sync_channel(1);
    let (words, command) = (Words(tell.clone(), runtime.clone()), command.to_vec());
    runtime.running.fetch_add(1, Ordering::SeqCst);
    let life = Life(runtime.clone());
    let gone = runtime.clone();
    let acting = runtime.clone();
    std::thread::Builder::new()
        .stack_size(256 << 10)
        .spawn(move || {
            let _life = life;
            // Nobody listens any more: the act is over.
            let _ = act(&acting, &command, &say, &told);
        })
        .expect("a thread");
    Process {
        output: Box::new(said.into_iter()),
        input: Box::new(words),
        hang_up: Box::new(move || {
            gone.hung_up.fetch_add(1, Ordering::SeqCst);
            let _ = tell.try_send(Word::Gone);
        }),
    }
}

type Say = SyncSender<Result<Said, Failure>>;

fn act(runtime: &Runtime, command: &[String], say: &Say, told: &Receiver<Word>) -> Option<()> {
    let argument = command.get(1).map(String::as_str).unwrap_or_default();
    let number: usize = argument.parse().unwrap_or_default();
    let mut code = 0;
    match command[0].as_str() {
        "exit" => code = u32::try_from(number).expect("small"),
        "say" => {
            say.send(Ok(Said::Stdout(b"to stdout".to_vec()))).ok()?;
            say.send(Ok(Said::Stderr(b"to stderr".to_vec()))).ok()?;
        }
        "attached" => {
            say.send(Ok(Said::Stdout(format!("attached to {argument}").into_bytes()))).ok()?;
            return say.send(Ok(Said::Ended(Ending::Detached))).ok();
        }
        "cat" => {
            while let Ok(Word::Bytes(bytes)) = told.recv() {
                say.send(Ok(Said::Stdout(bytes))).ok()?;
            }
        }
        "produce" => {
            let chunk: Vec<u8> = (0..=255).cycle().take(64 << 10).collect();
            for _ in 0..number {
                say.send(Ok(Said::Stdout(chunk.clone()))).ok()?;
                runtime.produced.fetch_add(chunk.len(), Ordering::SeqCst);
            }
        }
        "consume" => {
            let mut total = 0;
            while let Ok(Word::Bytes(bytes)) = told.recv() {
                total += bytes.len();
            }
            say.send(Ok(Said::Stdout(total.to_string().into_bytes()))).ok()?;
        }
        "gate" => {
            let gate = runtime.gates.lock().expect("unpoisoned").remove(argument).expect("a gate");
            gate.recv().ok()?;
            while let Ok(Word::Bytes(bytes)) = told.recv() {
                runtime.heard.lock().expect("unpoisoned").extend_from_slice(&bytes);
            }
        }
        "sleep" => while let Ok(Word::Bytes(_) | Word::End) = told.recv() {},
        // Reads nothing, and so hears of its client's end another way.
        "deaf" => {
            while runtime.hung_up.load(Ordering::SeqCst) < number {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        "break" => return say.send(Err("the holder is gone".into())).ok(),
        "vanish" => return Some(()),
        other => panic!("no program {other}"),
    }
    say.send(Ok(Said::Ended(Ending::Exited(code)))).ok()
}

impl Input for Words {
    fn stdin(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.0.send(Word::Bytes(bytes.to_vec())).map_err(|_| "it does not listen".into())
    }

    fn close(&mut self) -> Result<(), Failure> {
        self.0.send(Word::End).map_err(|_| "it does not listen".into())
    }

    fn resize(&mut self, size: Size) -> Result<(), Failure> {
        self.1.sizes.lock().expect("unpoisoned").push(size);
        Ok(())
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A pod's port: what comes back is what was sent, after the client has ended, with its length before it.
pub(crate) fn port(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream));
        }
    });
    port
}

/// Answers once the client has said all.
pub(crate) fn echo_at_the_end(mut stream: TcpStream) {
    let mut all = Vec::new();
    if stream.read_to_end(&mut all).is_ok() {
        let _ = stream.write_all(format!("{}:", all.len()).as_bytes());
        let _ = stream.write_all(&all);
    }
}

/// The highest resident memory of this process so far, in KiB.
pub(crate) fn peak_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("there");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

/// Forgets the highest, so that the next one is this moment's.
pub(crate) fn forget_peak() {
    std::fs::write("/proc/self/clear_refs", "5").expect("allowed for one's own process");
}

pub(crate) fn gate(runtime: &Runtime, name: &str) -> Sender<()> {
    let (open, gate) = channel();
    runtime.gates.lock().expect("unpoisoned").insert(name.to_owned(), gate);
    open
}
