//! Between clients and the registry program: asks for passwords, does wrong what it is told to, writes everything
//! down.

use std::collections::HashMap;
use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::auth::{Auth, Tokens};
use super::backend::ask;
use super::fault::{self, Fault, Wrong};
use super::http::Message;
use super::log::{Log, Request};

/// How often a slow answer sends a piece.
const TICK: Duration = Duration::from_millis(50);

/// What all connections share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) socket: PathBuf,
    pub(super) address: SocketAddr,
    pub(super) auth: Auth,
    pub(super) tokens: Tokens,
    pub(super) faults: Mutex<Vec<Fault>>,
    pub(super) log: Log,
    closing: AtomicBool,
    next: AtomicU64,
    streams: Mutex<HashMap<u64, TcpStream>>,
}

/// A listener and its connections; both end when it is dropped.
#[derive(Debug)]
pub(super) struct Proxy {
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

// === impl Shared ===

impl Shared {
    pub(super) fn new(socket: PathBuf, address: SocketAddr, auth: Auth) -> Self {
        Self {
            socket,
            address,
            auth,
            tokens: Tokens::default(),
            faults: Mutex::default(),
            log: Log::default(),
            closing: AtomicBool::new(false),
            next: AtomicU64::new(0),
            streams: Mutex::default(),
        }
    }

    pub(super) fn faults(&self) -> MutexGuard<'_, Vec<Fault>> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn streams(&self) -> MutexGuard<'_, HashMap<u64, TcpStream>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connection(&self, stream: &TcpStream) {
        let mut reader = BufReader::new(stream);
        while let Ok(Some(request)) = Message::read_head(&mut reader) {
            self.log.begin();
            let (kept, record) = self.exchange(request, &mut reader, stream);
            self.log.end(record);
            if !kept {
                break;
            }
        }
        let _ = stream.shutdown(Shutdown::Both);
    }

    /// One request and its answer; whether the connection is good for another.
    fn exchange(
        &self,
        mut request: Message,
        reader: &mut BufReader<&TcpStream>,
        mut stream: &TcpStream,
    ) -> (bool, Option<Request>) {
        if request.header("Expect").is_some() && stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").is_err() {
            return (false, None);
        }
        if request.read_body(reader, false).is_err() {
            return (false, None);
        }
        let path = request.target().split('?').next().unwrap_or_default();
        let wrong = fault::choose(&mut self.faults(), request.method(), path);
        let keep = !request.header("Connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        let mut record = Request::of(&request);
        let Some(answer) = self.answer(request, wrong.as_ref()) else { return (false, Some(record)) };
        record.status = answer.status();
        let sent = send(&answer, wrong.as_ref(), stream, &mut record.bytes);
        (keep && sent.is_ok_and(|whole| whole), Some(record))
    }

    fn answer(&self, mut request: Message, wrong: Option<&Wrong>) -> Option<Message> {
        match wrong {
            Some(Wrong::Close) => return None,
            Some(Wrong::Meet(meeting)) if !meeting.join() => {
                return Some(Message::response(504, "the others did not come"));
            }
            Some(Wrong::NoRanges) => request.remove("Range"),
            Some(Wrong::Says(body)) => return Some(Message::response(200, body.as_str())),
            Some(Wrong::Status { code, headers }) => {
                let plain = Message::response(*code, "");
                return Some(headers.iter().fold(plain, |answer, (name, value)| answer.with(name, value)));
            }
            _ => {}
        }
        if let Some(answer) = self.auth.answer(&request, &self.tokens, &self.address.to_string()) {
            return Some(answer);
        }
        let answer = ask(&self.socket, request);
        let mut answer = answer.unwrap_or_else(|error| Message::response(502, format!("{error:#}")));
        if let Some(Wrong::Header { name, value }) = wrong {
            answer.remove(name);
            answer = answer.with(name, value);
        }
        Some(answer)
    }
}

// === impl Proxy ===

impl Proxy {
    pub(super) fn start(listener: TcpListener, shared: Arc<Shared>) -> Self {
        shared.closing.store(false, Ordering::SeqCst);
        let accepting = thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Self { shared, accepting: Some(accepting) }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for the next connection.
        let _ = TcpStream::connect(self.shared.address);
        let _ = self.accepting.take().map(JoinHandle::join);
        for stream in self.shared.streams().values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.closing.load(Ordering::SeqCst) {
            return;
        }
        if let Err(error) = stream.context("accept").and_then(|stream| serve(stream, Arc::clone(shared))) {
            eprintln!("registry: {error:#}");
        }
    }
}

fn serve(stream: TcpStream, shared: Arc<Shared>) -> Result<()> {
    let id = shared.next.fetch_add(1, Ordering::SeqCst);
    // Heads and bodies are written apart: without this each small answer costs the client's delayed acknowledgement.
    stream.set_nodelay(true).context("send at once")?;
    shared.streams().insert(id, stream.try_clone().context("share a connection")?);
    thread::spawn(move || {
        shared.connection(&stream);
        shared.streams().remove(&id);
    });
    Ok(())
}

/// Sends the answer as right or wrong as wanted; whether all of it went.
fn send(answer: &Message, wrong: Option<&Wrong>, mut stream: &TcpStream, sent: &mut u64) -> io::Result<bool> {
    let mut body = answer.body.clone();
    match wrong {
        Some(Wrong::Cut { after } | Wrong::Stall { after }) => body.truncate(*after),
        Some(Wrong::Flip { at }) => flip(&mut body, *at),
        _ => {}
    }
    stream.write_all(&answer.head_bytes())?;
    match wrong {
        Some(Wrong::Slow { bytes_per_second }) => slowly(&body, *bytes_per_second, stream, sent)?,
        _ => {
            stream.write_all(&body)?;
            *sent += body.len() as u64;
        }
    }
    if matches!(wrong, Some(Wrong::Stall { .. })) {
        until_closed(stream);
    }
    Ok(!matches!(wrong, Some(Wrong::Cut { .. } | Wrong::Stall { .. } | Wrong::Header { .. })))
}

/// Says nothing until the client has enough, or the proxy ends.
fn until_closed(mut stream: &TcpStream) {
    let _ = stream.read(&mut [0]);
}

fn flip(body: &mut [u8], at: usize) {
    let last = body.len().saturating_sub(1);
    if let Some(byte) = body.get_mut(at.min(last)) {
        *byte ^= 1;
    }
}

fn slowly(body: &[u8], bytes_per_second: u32, mut stream: &TcpStream, sent: &mut u64) -> io::Result<()> {
    let begun = Instant::now();
    let mut rest = body;
    while !rest.is_empty() {
        let due = (begun.elapsed() + TICK).as_millis() * u128::from(bytes_per_second) / 1000;
        let due = usize::try_from(due).unwrap_or(usize::MAX).saturating_sub(body.len() - rest.len());
        let (piece, later) = rest.split_at(due.min(rest.len()));
        stream.write_all(piece)?;
        *sent += piece.len() as u64;
        rest = later;
        // The pace is the point: this is no wait for anything.
        thread::sleep(TICK);
    }
    Ok(())
}
