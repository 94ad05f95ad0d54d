//! The names that clients and servers agree on, and what each means. Pure.

/// A version of the remote command protocol. What it adds: 2 an end of input, 3 window sizes, 4 exit codes as JSON,
/// 5 (WebSocket only) an end of input there too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    V1,
    V2,
    V3,
    V4,
    V5,
}

/// How a WebSocket message carries a channel's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    Binary,
    /// Text for those who cannot send bytes, such as browsers of old.
    Base64,
}

/// What was agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreed {
    /// exec or attach, a SPDY stream each for input, outputs, errors and sizes.
    Command(Version),
    /// exec or attach, each message on a channel of a WebSocket.
    Channels(Version, Codec),
    /// port-forward, two SPDY streams for each connection.
    Forward,
    /// The same inside a WebSocket.
    Tunnel,
    /// port-forward, two channels of a WebSocket for each port.
    ForwardChannels(Codec),
}

/// Names and their meaning; the empty name is a client that asks for none.
pub type Names = &'static [(&'static str, Agreed)];

pub const COMMAND_SPDY: Names = &[
    ("v4.channel.k8s.io", Agreed::Command(Version::V4)),
    ("v3.channel.k8s.io", Agreed::Command(Version::V3)),
    ("v2.channel.k8s.io", Agreed::Command(Version::V2)),
    ("channel.k8s.io", Agreed::Command(Version::V1)),
];
pub const COMMAND_WEBSOCKET: Names = &[
    ("v5.channel.k8s.io", Agreed::Channels(Version::V5, Codec::Binary)),
    ("v4.channel.k8s.io", Agreed::Channels(Version::V4, Codec::Binary)),
    ("v4.base64.channel.k8s.io", Agreed::Channels(Version::V4, Codec::Base64)),
    ("channel.k8s.io", Agreed::Channels(Version::V1, Codec::Binary)),
    ("base64.channel.k8s.io", Agreed::Channels(Version::V1, Codec::Base64)),
    ("", Agreed::Channels(Version::V1, Codec::Binary)),
];
pub const FORWARD_SPDY: Names = &[("portforward.k8s.io", Agreed::Forward)];
pub const FORWARD_WEBSOCKET: Names = &[
    ("SPDY/3.1+portforward.k8s.io", Agreed::Tunnel),
    ("v4.channel.k8s.io", Agreed::ForwardChannels(Codec::Binary)),
    ("v4.base64.channel.k8s.io", Agreed::ForwardChannels(Codec::Base64)),
    ("", Agreed::ForwardChannels(Codec::Binary)),
];

// === impl Version ===

impl Version {
    /// Whether a client with a terminal opens a stream for its sizes.
    pub fn resizes(self) -> bool {
        self >= Version::V3
    }

    /// Whether the error stream ends with a JSON status; before, it had a text if something failed.
    pub fn has_status(self) -> bool {
        self >= Version::V4
    }
}

/// The first of the client's names that is known: its order counts.
pub fn choose(names: Names, offered: &[&str]) -> Option<(&'static str, Agreed)> {
    offered.iter().find_map(|offer| names.iter().find(|(name, _)| name == offer).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_order_counts() {
        let table: &[(&[&str], Option<&str>)] = &[
            (&["v4.channel.k8s.io", "v3.channel.k8s.io"], Some("v4.channel.k8s.io")),
            (&["v2.channel.k8s.io", "v4.channel.k8s.io"], Some("v2.channel.k8s.io")),
            (&["v9.channel.k8s.io", "channel.k8s.io"], Some("channel.k8s.io")),
            (&["v5.channel.k8s.io"], None),
            (&[], None),
        ];
        for (offered, expected) in table {
            assert_eq!(choose(COMMAND_SPDY, offered).map(|(name, _)| name), *expected, "{offered:?}");
        }
    }

    #[test]
    fn sizes_came_with_the_third_version_and_codes_with_the_fourth() {
        assert_eq!(
            [Version::V1, Version::V2, Version::V3, Version::V4].map(Version::resizes),
            [false, false, true, true]
        );
        assert_eq!(
            [Version::V2, Version::V3, Version::V4, Version::V5].map(Version::has_status),
            [false, false, true, true]
        );
    }
}
