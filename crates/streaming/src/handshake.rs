//! From a request's headers to what both ends will speak. Pure.

use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use thiserror::Error;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::protocol::{Agreed, Names, choose};

pub(crate) const SPDY: &str = "SPDY/3.1";
pub(crate) const STREAM_PROTOCOL: HeaderName = HeaderName::from_static("x-stream-protocol-version");
const ACCEPTED_PROTOCOLS: HeaderName = HeaderName::from_static("x-accepted-stream-protocol-versions");

/// What the server says yes with.
#[derive(Debug)]
pub(crate) struct Agreement {
    pub(crate) agreed: Agreed,
    pub(crate) headers: HeaderMap,
}

/// Why it says no.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum HandshakeError {
    #[error("unable to upgrade: no header {STREAM_PROTOCOL}, or an empty one")]
    NoProtocol,
    #[error("unable to upgrade: no protocol in common; this server has {}", names(.0))]
    NoCommonProtocol(Names),
    #[error("unable to upgrade: the request asks neither for {SPDY} nor for a websocket")]
    NoUpgrade,
    #[error("a websocket needs GET, version 13 and a key")]
    WebSocket,
}

// === impl HandshakeError ===

impl HandshakeError {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            HandshakeError::NoCommonProtocol(_) => StatusCode::FORBIDDEN,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    /// So that a client may try again with what there is.
    pub(crate) fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let HandshakeError::NoCommonProtocol(names) = self {
            for (name, _) in names.iter().filter(|(name, _)| !name.is_empty()) {
                headers.append(ACCEPTED_PROTOCOLS, HeaderValue::from_static(name));
            }
        }
        headers
    }
}

fn names(names: Names) -> String {
    let names: Vec<_> = names.iter().map(|(name, _)| *name).filter(|name| !name.is_empty()).collect();
    names.join(", ")
}

/// Judges a request for an upgrade: by SPDY's names or by WebSocket's.
pub(crate) fn judge(
    method: &Method,
    headers: &HeaderMap,
    spdy: Names,
    websocket: Names,
) -> Result<Agreement, HandshakeError> {
    if has_token(headers, CONNECTION, "upgrade") && has_token(headers, UPGRADE, "websocket") {
        judge_websocket(method, headers, websocket)
    } else {
        judge_spdy(headers, spdy)
    }
}

fn judge_spdy(headers: &HeaderMap, names: Names) -> Result<Agreement, HandshakeError> {
    let offered = list(headers, &STREAM_PROTOCOL);
    if offered.is_empty() {
        return Err(HandshakeError::NoProtocol);
    }
    let (name, agreed) = choose(names, &offered).ok_or(HandshakeError::NoCommonProtocol(names))?;
    if !has_token(headers, CONNECTION, "upgrade") || !has_token(headers, UPGRADE, SPDY) {
        return Err(HandshakeError::NoUpgrade);
    }
    let headers = answer([(UPGRADE, SPDY), (STREAM_PROTOCOL, name)]);
    Ok(Agreement { agreed, headers })
}

fn judge_websocket(method: &Method, headers: &HeaderMap, names: Names) -> Result<Agreement, HandshakeError> {
    let version = headers.get(SEC_WEBSOCKET_VERSION).is_some_and(|version| version == "13");
    let key = headers.get(SEC_WEBSOCKET_KEY).filter(|key| !key.is_empty());
    let (Some(key), true, &Method::GET) = (key, version, method) else {
        return Err(HandshakeError::WebSocket);
    };
    let mut offered = list(headers, &SEC_WEBSOCKET_PROTOCOL);
    if offered.is_empty() {
        offered.push("");
    }
    let (name, agreed) = choose(names, &offered).ok_or(HandshakeError::NoCommonProtocol(names))?;
    let mut headers = answer([(UPGRADE, "websocket")]);
    if let Ok(accept) = HeaderValue::from_str(&derive_accept_key(key.as_bytes())) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    if !name.is_empty() {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(name));
    }
    Ok(Agreement { agreed, headers })
}

fn answer<const N: usize>(pairs: [(HeaderName, &'static str); N]) -> HeaderMap {
    let mut headers: HeaderMap =
        pairs.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value))).collect();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers
}

/// The parts of a header that may be there several times and have commas.
fn list<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Vec<&'a str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn has_token(headers: &HeaderMap, name: HeaderName, token: &str) -> bool {
    list(headers, &name).iter().any(|part| part.eq_ignore_ascii_case(token))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{COMMAND_SPDY, COMMAND_WEBSOCKET, Codec, Version};

    type Row = (Method, &'static [(&'static str, &'static str)], StatusCode);

    fn try_headers(
        method: Method,
        pairs: &[(&'static str, &'static str)],
    ) -> Result<Agreement, HandshakeError> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        judge(&method, &headers, COMMAND_SPDY, COMMAND_WEBSOCKET)
    }

    #[test]
    fn spdy_is_agreed_on_as_kubectl_asks_for_it() {
        let agreement = try_headers(
            Method::POST,
            &[
                ("connection", "Upgrade"),
                ("upgrade", "SPDY/3.1"),
                ("x-stream-protocol-version", "v4.channel.k8s.io"),
                ("x-stream-protocol-version", "v3.channel.k8s.io,v2.channel.k8s.io"),
            ],
        )
        .expect("agreed");
        assert_eq!(agreement.agreed, Agreed::Command(Version::V4));
        assert_eq!(agreement.headers[&STREAM_PROTOCOL], "v4.channel.k8s.io");
        assert_eq!(agreement.headers[UPGRADE], "SPDY/3.1");
        assert_eq!(agreement.headers[CONNECTION], "Upgrade");
    }

    #[test]
    fn a_websocket_is_agreed_on_with_the_standards_own_example() {
        let agreement = try_headers(
            Method::GET,
            &[
                ("connection", "keep-alive, Upgrade"),
                ("upgrade", "WebSocket"),
                ("sec-websocket-version", "13"),
                ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
                ("sec-websocket-protocol", "v5.channel.k8s.io, v4.channel.k8s.io"),
            ],
        )
        .expect("agreed");
        assert_eq!(agreement.agreed, Agreed::Channels(Version::V5, Codec::Binary));
        assert_eq!(agreement.headers[SEC_WEBSOCKET_ACCEPT], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(agreement.headers[SEC_WEBSOCKET_PROTOCOL], "v5.channel.k8s.io");
    }

    #[test]
    fn everything_else_is_refused_with_its_reason() {
        const SPDY_31: (&str, &str) = ("upgrade", "SPDY/3.1");
        const WEBSOCKET: (&str, &str) = ("upgrade", "websocket");
        const UP: (&str, &str) = ("connection", "Upgrade");
        const KEY: (&str, &str) = ("sec-websocket-key", "a");
        const VERSION: (&str, &str) = ("sec-websocket-version", "13");
        let table: &[Row] = &[
            (Method::GET, &[], StatusCode::BAD_REQUEST),
            (Method::GET, &[UP, SPDY_31], StatusCode::BAD_REQUEST),
            (Method::GET, &[UP, SPDY_31, ("x-stream-protocol-version", ", ")], StatusCode::BAD_REQUEST),
            (Method::GET, &[UP, SPDY_31, ("x-stream-protocol-version", "v9")], StatusCode::FORBIDDEN),
            (Method::GET, &[("x-stream-protocol-version", "v4.channel.k8s.io")], StatusCode::BAD_REQUEST),
            (Method::GET, &[UP, WEBSOCKET, VERSION], StatusCode::BAD_REQUEST),
            (Method::GET, &[UP, WEBSOCKET, KEY], StatusCode::BAD_REQUEST),
            (Method::POST, &[UP, WEBSOCKET, KEY, VERSION], StatusCode::BAD_REQUEST),
            (
                Method::GET,
                &[UP, WEBSOCKET, KEY, VERSION, ("sec-websocket-protocol", "x")],
                StatusCode::FORBIDDEN,
            ),
        ];
        for (method, pairs, status) in table {
            let error = try_headers(method.clone(), pairs).expect_err("refused");
            assert_eq!(error.status(), *status, "{pairs:?}");
        }
        let error = try_headers(Method::GET, &[UP, SPDY_31, ("x-stream-protocol-version", "v9")]);
        let accepted = error.expect_err("refused").headers();
        assert_eq!(accepted.get_all(ACCEPTED_PROTOCOLS).iter().count(), COMMAND_SPDY.len());
    }
}
