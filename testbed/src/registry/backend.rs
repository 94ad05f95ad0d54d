//! The registry program itself, `distribution`, on a socket that only the proxy and [`push`] know.

use std::io::BufReader;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::http::Message;
use crate::guard::Guard;
use crate::image::Image;
use crate::process::{Daemon, wait_for};
use crate::tools::go_tool;

const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Backend {
    socket: PathBuf,
    daemon: Daemon,
    guard: Guard,
}

// === impl Backend ===

impl Backend {
    pub(super) fn start() -> Result<Self> {
        let guard = Guard::new("registry")?;
        let socket = guard.dir().join("registry.sock");
        let config = guard.dir().join("registry.yaml");
        std::fs::write(&config, configuration(guard.dir(), &socket))
            .with_context(|| format!("write {}", config.display()))?;
        let mut command = Command::new(go_tool("registry")?);
        command.arg("serve").arg(&config).env("OTEL_TRACES_EXPORTER", "none");
        let mut daemon = Daemon::spawn(&guard, "registry", &mut command, guard.dir())?;
        wait_for("the registry", PATIENCE, || {
            daemon.check()?;
            Ok(ask(&socket, Message::request("GET", "/v2/")).ok().filter(|answer| answer.status() == 200))
        })?;
        Ok(Self { socket, daemon, guard })
    }

    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Puts an image in, past the proxy: neither faults nor the log see it.
    pub(super) fn push(&self, image: &Image, repository: &str, tag: &str) -> Result<()> {
        for (digest, bytes) in image.blobs() {
            self.push_blob(repository, digest, bytes)
                .with_context(|| format!("push {digest} to {repository}"))?;
        }
        for document in image.documents() {
            let name = if document.digest == image.digest() { tag } else { &document.digest };
            let target = format!("/v2/{repository}/manifests/{name}");
            let mut request = Message::request("PUT", &target).with("Content-Type", document.media_type);
            request.body = document.bytes.to_vec();
            self.expect(request, 201).with_context(|| format!("push {target}"))?;
        }
        Ok(())
    }

    fn push_blob(&self, repository: &str, digest: &str, bytes: &[u8]) -> Result<()> {
        let uploads = Message::request("POST", &format!("/v2/{repository}/blobs/uploads/"));
        let answer = self.expect(uploads, 202)?;
        let place = answer.header("Location").context("an upload without a location")?;
        let mark = if place.contains('?') { '&' } else { '?' };
        let mut request = Message::request("PUT", &format!("{place}{mark}digest={digest}"));
        request.body = bytes.to_vec();
        self.expect(request, 201).map(drop)
    }

    fn expect(&self, request: Message, status: u16) -> Result<Message> {
        let start = request.start.clone();
        let answer = ask(&self.socket, request)?;
        let said = String::from_utf8_lossy(&answer.body);
        ensure!(answer.status() == status, "{start} was answered with {}: {said}", answer.start);
        Ok(answer)
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        if let Err(error) = self.guard.teardown() {
            eprintln!("the registry did not end cleanly: {error:#}");
        }
        self.daemon.reap();
    }
}

/// One request to the registry program on a connection of its own.
pub(super) fn ask(socket: &Path, mut request: Message) -> Result<Message> {
    for name in ["Connection", "Expect", "Content-Length"] {
        request.remove(name);
    }
    if request.header("Host").is_none() {
        request.headers.push(("Host".into(), "registry.test".into()));
    }
    let length = request.body.len().to_string();
    let request = request.with("Content-Length", &length).with("Connection", "close");
    let stream = UnixStream::connect(socket).with_context(|| format!("connect to {}", socket.display()))?;
    request.write(&mut &stream).context("send a request to the registry")?;
    let mut reader = BufReader::new(&stream);
    let mut answer = Message::read_head(&mut reader)?.context("the registry closed the connection")?;
    if request.method() != "HEAD" && !matches!(answer.status(), 204 | 304) {
        answer.read_body(&mut reader, true)?;
    }
    answer.remove("Connection");
    Ok(answer)
}

fn configuration(dir: &Path, socket: &Path) -> String {
    let (storage, socket) = (dir.join("storage"), socket.display());
    // Relative addresses, because clients come through the proxy.
    format!(
        "version: 0.1\n\
         log: {{level: warn}}\n\
         storage: {{filesystem: {{rootdirectory: '{}'}}, delete: {{enabled: true}}}}\n\
         http: {{net: unix, addr: '{socket}', secret: testbed, relativeurls: true}}\n",
        storage.display()
    )
}
