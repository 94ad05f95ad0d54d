//! Where CRI is served: a socket, a pipe, or for those who ask for it a port of this host.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::str::FromStr;

use os::channel::Endpoint;
use plan::Style;
use runtime::layout::Layout;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// A socket that only its owner and root can open, or a pipe that only administrators can.
    Channel(Endpoint),
    /// Whoever is on this host can do everything: not protected at all.
    Tcp(SocketAddr),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListenError {
    #[error("cannot listen at {0:?}: wanted unix:///PATH, npipe:////./pipe/NAME or tcp://127.0.0.1:PORT")]
    Unknown(String),
    #[error("cannot listen at {uri:?} on this host: {wanted}")]
    NotHere { uri: String, wanted: &'static str },
    #[error("cannot listen at {0:?}: anybody could come from outside; wanted tcp://127.0.0.1:PORT")]
    NotLoopback(String),
}

/// What administrators know from others, for the node of this machine.
const PIPE: &str = r"\\.\pipe\porthole-cri";

// === impl Listen ===

impl Listen {
    pub fn parse(uri: &str, style: Style) -> Result<Listen, ListenError> {
        let unknown = || ListenError::Unknown(uri.to_owned());
        if let Some(path) = uri.strip_prefix("unix://") {
            let wanted = "sockets are for Linux: npipe:////./pipe/NAME";
            return match style {
                Style::Windows => Err(ListenError::NotHere { uri: uri.to_owned(), wanted }),
                Style::Unix if path.starts_with('/') && path.len() > 1 && !path.contains('\0') => {
                    Ok(channel(path))
                }
                Style::Unix => Err(unknown()),
            };
        }
        if let Some(pipe) = uri.strip_prefix("npipe:") {
            let wanted = "pipes are for Windows: unix:///PATH";
            let name = pipe.replace('/', "\\");
            let name = name.strip_prefix(r"\\.\pipe\").or_else(|| name.strip_prefix(r"\\\\.\pipe\"));
            let name = name.filter(|name| !name.is_empty() && !name.contains('\0')).ok_or_else(unknown)?;
            return match style {
                Style::Unix => Err(ListenError::NotHere { uri: uri.to_owned(), wanted }),
                Style::Windows => Ok(channel(&format!(r"\\.\pipe\{name}"))),
            };
        }
        let address = uri.strip_prefix("tcp://").ok_or_else(unknown)?;
        let address: SocketAddr = address.parse().map_err(|_| unknown())?;
        if address.ip().is_loopback() {
            Ok(Listen::Tcp(address))
        } else {
            Err(ListenError::NotLoopback(uri.to_owned()))
        }
    }

    /// Of the node at this root: the machine's own has the plain name.
    pub fn default_for(layout: &Layout, machine: &Path, style: Style) -> Listen {
        match style {
            Style::Unix => channel(&layout.run().join("cri.sock").to_string_lossy()),
            Style::Windows if layout.root() == machine => channel(PIPE),
            Style::Windows => Listen::Channel(os::channel::endpoint(&layout.run(), "cri")),
        }
    }
}

fn channel(name: &str) -> Listen {
    // Any text is the name of an endpoint.
    let Ok(endpoint) = Endpoint::from_str(name);
    Listen::Channel(endpoint)
}

impl fmt::Display for Listen {
    /// As it is written in a kubelet's `--container-runtime-endpoint`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Listen::Tcp(address) => write!(f, "tcp://{address}"),
            Listen::Channel(endpoint) => {
                let text = endpoint.to_string();
                match text.strip_prefix(r"\\.\pipe\") {
                    Some(name) => write!(f, "npipe:////./pipe/{}", name.replace('\\', "/")),
                    None => write!(f, "unix://{text}"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: RT-01 pure
    #[test]
    fn where_one_can_listen() {
        let unix = |uri: &str| Listen::parse(uri, Style::Unix);
        let windows = |uri: &str| Listen::parse(uri, Style::Windows);
        for uri in ["unix:///run/porthole/cri.sock", "tcp://127.0.0.1:7777", "tcp://[::1]:0"] {
            assert_eq!(unix(uri).unwrap().to_string(), uri);
        }
        for uri in ["npipe:////./pipe/porthole-cri", r"npipe:\\.\pipe\porthole-cri"] {
            assert_eq!(windows(uri).unwrap().to_string(), "npipe:////./pipe/porthole-cri", "{uri}");
        }
        for uri in
            ["", "/run/x", "unix://run/x", "unix:///", "http://127.0.0.1:1", "tcp://localhost:1", "npipe:x"]
        {
            assert!(matches!(unix(uri), Err(ListenError::Unknown(_))), "{uri}");
        }
        assert!(matches!(unix("tcp://0.0.0.0:1"), Err(ListenError::NotLoopback(_))));
        assert!(matches!(unix("npipe:////./pipe/x"), Err(ListenError::NotHere { .. })));
        assert!(matches!(windows("unix:///x"), Err(ListenError::NotHere { .. })));
    }
}
