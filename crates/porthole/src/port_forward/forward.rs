//! `[ADDRESS:]LOCAL:REMOTE`, read.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forward {
    /// Port 0 is a free one.
    pub local: SocketAddr,
    pub remote: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadForward {
    #[error("{0:?} is not a port: wanted 1 to 65535")]
    Port(String),
    #[error("{0:?} is not an address of this machine: wanted one like 127.0.0.1 or [::1]")]
    Address(String),
}

// === impl Forward ===

impl FromStr for Forward {
    type Err = BadForward;

    fn from_str(text: &str) -> Result<Forward, BadForward> {
        let (before, remote) = text.rsplit_once(':').unwrap_or((text, text));
        let remote = Some(port(remote)?).filter(|port| *port > 0);
        let remote = remote.ok_or_else(|| BadForward::Port("0".to_owned()))?;
        let (ip, local) = match before.rsplit_once(':') {
            Some((ip, local)) => (address(ip)?, local),
            None => (IpAddr::V4(Ipv4Addr::LOCALHOST), before),
        };
        let local = if local.is_empty() { 0 } else { port(local)? };
        Ok(Forward { local: SocketAddr::new(ip, local), remote })
    }
}

fn port(text: &str) -> Result<u16, BadForward> {
    text.parse().map_err(|_| BadForward::Port(text.to_owned()))
}

fn address(text: &str) -> Result<IpAddr, BadForward> {
    if text == "localhost" {
        return Ok(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    let plain = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    plain.parse().map_err(|_| BadForward::Address(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read_as_kubectl_reads_them() {
        for (text, local, remote) in [
            ("8080:80", "127.0.0.1:8080", 80),
            ("80", "127.0.0.1:80", 80),
            (":80", "127.0.0.1:0", 80),
            ("0:80", "127.0.0.1:0", 80),
            ("0.0.0.0:8080:80", "0.0.0.0:8080", 80),
            ("localhost:1:2", "127.0.0.1:1", 2),
            ("[::1]:8080:80", "[::1]:8080", 80),
            ("[::1]::80", "[::1]:0", 80),
        ] {
            let forward: Forward = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!((forward.local.to_string().as_str(), forward.remote), (local, remote), "{text}");
        }
    }

    #[test]
    fn what_is_no_port_is_named() {
        for text in ["", "0", "x", "80:x", "8080:0", "70000", "host:1:2", "1:2:3:4", "::80x"] {
            assert!(text.parse::<Forward>().is_err(), "{text:?}");
        }
        let said = "80:http".parse::<Forward>().unwrap_err().to_string();
        assert_eq!(said, "\"http\" is not a port: wanted 1 to 65535");
    }
}
