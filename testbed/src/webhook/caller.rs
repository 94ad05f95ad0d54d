//! One keep-alive connection of HTTP/1.1 over TLS.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::Target;

/// Longer than the webhook's own limits, so that those are seen.
const PATIENCE: Duration = Duration::from_secs(30);

type Stream = BufReader<StreamOwned<ClientConnection, TcpStream>>;

/// Connects when it has to and stays connected.
#[derive(Debug)]
pub struct Caller {
    target: Target,
    config: Arc<ClientConfig>,
    stream: Option<Stream>,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
}

// === impl Caller ===

impl Caller {
    pub fn new(target: &Target) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(target.ca.as_bytes()) {
            roots.add(certificate?)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        // Each connection is to see the certificate of its time.
        config.resumption = rustls::client::Resumption::disabled();
        Ok(Self { target: target.clone(), config: Arc::new(config), stream: None })
    }

    pub fn get(&mut self, path: &str) -> Result<Answer> {
        self.send(&format!("GET {path} HTTP/1.1\r\nhost: webhook\r\n\r\n"), &[])
    }

    pub fn post(&mut self, path: &str, body: &[u8]) -> Result<Answer> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: webhook\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.send(&head, body)
    }

    /// Sends exactly this, whatever it is worth. An error ends the connection.
    pub fn send(&mut self, head: &str, body: &[u8]) -> Result<Answer> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.connect()?,
        };
        stream.get_mut().write_all(&[head.as_bytes(), body].concat()).context("send the request")?;
        let (answer, keep) = read(&mut stream).context("read the answer")?;
        if keep {
            self.stream = Some(stream);
        }
        Ok(answer)
    }

    /// Sends a part of a request and waits for nothing.
    pub fn begin(&mut self, part: &[u8]) -> Result<()> {
        if self.stream.is_none() {
            self.stream = Some(self.connect()?);
        }
        let stream = self.stream.as_mut().context("connected")?.get_mut();
        stream.write_all(part).and_then(|()| stream.flush()).context("send a part")
    }

    /// The next call makes a new connection.
    pub fn disconnect(&mut self) {
        self.stream = None;
    }

    /// The certificate that the present connection was greeted with; connects if need be.
    pub fn certificate(&mut self) -> Result<Vec<u8>> {
        if self.stream.is_none() {
            self.stream = Some(self.connect()?);
        }
        let stream = self.stream.as_ref().context("connected")?;
        let chain = stream.get_ref().conn.peer_certificates().and_then(|chain| chain.first());
        Ok(chain.context("the webhook showed no certificate")?.to_vec())
    }

    fn connect(&self) -> Result<Stream> {
        let address = self.target.address;
        let mut socket = TcpStream::connect(address).with_context(|| format!("connect to {address}"))?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let name = ServerName::IpAddress(address.ip().into());
        let mut connection = ClientConnection::new(Arc::clone(&self.config), name)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut socket).context("shake hands")?;
        }
        Ok(BufReader::new(StreamOwned::new(connection, socket)))
    }
}

fn read(stream: &mut Stream) -> Result<(Answer, bool)> {
    let line = line(stream)?;
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok());
    let status = status.with_context(|| format!("no status in {line:?}"))?;
    let (mut length, mut keep) = (0, true);
    loop {
        let header = self::line(stream)?.to_ascii_lowercase();
        match header.split_once(':').map(|(name, value)| (name, value.trim())) {
            None if header.is_empty() => break,
            None => bail!("no header: {header:?}"),
            Some(("content-length", value)) => length = value.parse().context("content-length")?,
            Some(("connection", "close")) => keep = false,
            Some(_) => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok((Answer { status, body }, keep))
}

fn line(stream: &mut Stream) -> Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        bail!("the connection ended");
    }
    Ok(line.trim_end().to_owned())
}

// === impl Answer ===

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}
