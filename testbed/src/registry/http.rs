//! As much of HTTP/1.1 as stands between a client and a registry on this host: heads, bodies, nothing clever.
//!
//! Bodies are read whole. The images of tests are small, and a whole body can be cut, changed and counted.

use std::io::{self, BufRead, Read, Write};

use anyhow::{Context, Result, bail, ensure};

/// A request or a response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Message {
    /// The request line or the status line.
    pub(super) start: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

// === impl Message ===

impl Message {
    pub(super) fn request(method: &str, target: &str) -> Self {
        Self { start: format!("{method} {target} HTTP/1.1"), ..Self::default() }
    }

    pub(super) fn response(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let length = body.len().to_string();
        Self { start: format!("HTTP/1.1 {status} Testbed"), body, ..Self::default() }
            .with("Content-Length", &length)
    }

    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    }

    pub(super) fn method(&self) -> &str {
        self.start.split(' ').next().unwrap_or_default()
    }

    pub(super) fn target(&self) -> &str {
        self.start.split(' ').nth(1).unwrap_or_default()
    }

    pub(super) fn status(&self) -> u16 {
        self.start.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default()
    }

    /// Start line and headers; None at the end of the stream.
    pub(super) fn read_head(stream: &mut impl BufRead) -> Result<Option<Self>> {
        let Some(start) = line(stream)? else { return Ok(None) };
        let mut message = Self { start, ..Self::default() };
        loop {
            let line = line(stream)?.context("the stream ended inside a head")?;
            if line.is_empty() {
                return Ok(Some(message));
            }
            let (name, value) = line.split_once(':').with_context(|| format!("{line:?} is no header"))?;
            message.headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }

    /// Reads the body that the head announces, which then has its length instead of chunks.
    pub(super) fn read_body(&mut self, stream: &mut impl BufRead, until_close: bool) -> Result<()> {
        let chunked = self.header("Transfer-Encoding").is_some_and(|how| how.eq_ignore_ascii_case("chunked"));
        if chunked {
            self.body = chunks(stream)?;
            self.remove("Transfer-Encoding");
            self.remove("Content-Length");
            self.headers.push(("Content-Length".into(), self.body.len().to_string()));
        } else if let Some(length) = self.header("Content-Length") {
            let length: u64 = length.parse().with_context(|| format!("length {length:?}"))?;
            stream.take(length).read_to_end(&mut self.body).context("read a body")?;
            ensure!(self.body.len() as u64 == length, "{} of {length} bytes came", self.body.len());
        } else if until_close {
            stream.read_to_end(&mut self.body).context("read a body")?;
        }
        Ok(())
    }

    pub(super) fn head_bytes(&self) -> Vec<u8> {
        let headers: String =
            self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        format!("{}\r\n{headers}\r\n", self.start).into_bytes()
    }

    pub(super) fn write(&self, stream: &mut impl Write) -> io::Result<()> {
        stream.write_all(&self.head_bytes())?;
        stream.write_all(&self.body)?;
        stream.flush()
    }
}

fn line(stream: &mut impl BufRead) -> Result<Option<String>> {
    let mut bytes = Vec::new();
    stream.take(64 * 1024).read_until(b'\n', &mut bytes).context("read a line")?;
    match bytes.strip_suffix(b"\r\n").or_else(|| bytes.strip_suffix(b"\n")) {
        Some(line) => Ok(Some(String::from_utf8_lossy(line).into_owned())),
        None if bytes.is_empty() => Ok(None),
        None => bail!("the stream ended inside a line"),
    }
}

fn chunks(stream: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(stream)?.context("the stream ended between chunks")?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).with_context(|| format!("chunk size {size:?}"))?;
        let before = body.len() as u64;
        stream.take(size).read_to_end(&mut body).context("read a chunk")?;
        ensure!(body.len() as u64 == before + size, "the stream ended inside a chunk");
        // The line end of the chunk; after the last one trailers may come before it.
        while !line(stream)?.context("the stream ended behind a chunk")?.is_empty() {}
        if size == 0 {
            return Ok(body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, until_close: bool) -> Result<Message> {
        let mut stream = text.as_bytes();
        let mut message = Message::read_head(&mut stream)?.context("empty")?;
        message.read_body(&mut stream, until_close)?;
        Ok(message)
    }

    #[test]
    fn chunks_become_a_length() {
        let text =
            "PATCH /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1;x=y\r\n!\r\n0\r\n\r\n";
        let message = read(text, false).expect("read");
        assert_eq!((message.method(), message.target(), &message.body[..]), ("PATCH", "/x", &b"hello!"[..]));
        assert_eq!(message.headers, [("Content-Length".to_owned(), "6".to_owned())]);
    }

    #[test]
    fn a_short_body_is_an_error() {
        read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", true).expect_err("short");
        read("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", false).expect_err("short");
        read("PUT / HTTP/1.1\r\nContent-Le", false).expect_err("short");
    }

    #[test]
    fn only_a_response_without_a_length_goes_on_until_the_end() {
        assert_eq!(read("HTTP/1.1 200 OK\r\n\r\nabc", true).expect("read").body, b"abc");
        assert_eq!(read("GET / HTTP/1.1\r\n\r\nabc", false).expect("read").body, b"");
        assert_eq!(Message::read_head(&mut &b""[..]).expect("read"), None);
    }
}
