//! The registry program itself, `distribution`, on a socket that only the proxy and [`push`] know.

use std::io::BufReader;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::Registry;
use super::http::Message;
use crate::guard::Guard;
use crate::image::Image;
use crate::process::{Daemon, wait_for};
use crate::tools::go_tool;

/// A layer that registries may name and not hand out.
const FOREIGN: &str = "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip";
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Backend {
    socket: PathBuf,
    daemon: Daemon,
    guard: Guard,
}

// === impl Registry ===

impl Registry {
    /// Puts an image in without its layers: its manifest says that each is to be had at `place` and its digest.
    pub fn push_foreign(&self, image: &Image, reference: &str, place: &str) -> Result<()> {
        let (repository, tag) =
            reference.rsplit_once(':').with_context(|| format!("{reference} has no tag"))?;
        let [document] = image.documents() else { bail!("{reference}: wanted one manifest") };
        let mut manifest: Value = serde_json::from_slice(&document.bytes)?;
        for layer in manifest["layers"].as_array_mut().context("a manifest without layers")? {
            let url = format!("{place}{}", layer["digest"].as_str().context("a layer without a digest")?);
            (layer["mediaType"], layer["urls"]) = (FOREIGN.into(), vec![url].into());
        }
        let config = manifest["config"]["digest"].as_str().context("a manifest without configuration")?;
        self.backend.push_blob(
            repository,
            config,
            image.blobs().get(config).context("its configuration")?,
        )?;
        self.backend.push_document(repository, tag, document.media_type, manifest.to_string().as_bytes())
    }
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
            self.push_document(repository, name, document.media_type, &document.bytes)?;
        }
        Ok(())
    }

    fn push_document(&self, repository: &str, name: &str, media_type: &str, bytes: &[u8]) -> Result<()> {
        let target = format!("/v2/{repository}/manifests/{name}");
        let mut request = Message::request("PUT", &target).with("Content-Type", media_type);
        request.body = bytes.to_vec();
        self.expect(request, 201).with_context(|| format!("push {target}")).map(drop)
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
    // Relative addresses, because clients come through the proxy. Without a word, it takes no layer that is elsewhere.
    format!(
        "version: 0.1\n\
         log: {{level: warn}}\n\
         storage: {{filesystem: {{rootdirectory: '{}'}}, delete: {{enabled: true}}}}\n\
         http: {{net: unix, addr: '{socket}', secret: testbed, relativeurls: true}}\n\
         validation: {{manifests: {{urls: {{allow: ['^http://127\\.0\\.0\\.1:']}}}}}}\n",
        storage.display()
    )
}
