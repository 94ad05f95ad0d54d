//! From a URL to a connection that speaks something else than HTTP.

use std::io;

use bytes::Bytes;
use http::header::{
    CONNECTION, HOST, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::handshake::{SPDY, STREAM_PROTOCOL};
use crate::mux::Gone;
use crate::protocol::{Agreed, COMMAND_SPDY, COMMAND_WEBSOCKET, FORWARD_SPDY, FORWARD_WEBSOCKET};

#[derive(Debug, Error)]
pub enum ClientError {
    #[error("{0:?} is not a URL of a streaming server")]
    Url(String),
    #[error("cannot reach the server")]
    Io(#[from] io::Error),
    #[error("the server does not speak HTTP as it should")]
    Http(#[from] hyper::Error),
    #[error("the server refuses ({status}): {text}")]
    Refused { status: StatusCode, text: String },
    #[error("the server agrees to something else than was asked for")]
    Handshake,
    #[error("the other end is gone")]
    Gone,
}

/// A connection to a server, before anything was said.
pub struct Dialled {
    io: Box<dyn Io>,
    host: String,
    path: String,
}

trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

impl From<Gone> for ClientError {
    fn from(_: Gone) -> ClientError {
        ClientError::Gone
    }
}

// === impl Dialled ===

impl Dialled {
    /// To an `http://` URL, as tickets give it.
    pub async fn to(url: &str) -> Result<Dialled, ClientError> {
        let wrong = || ClientError::Url(url.to_owned());
        let uri: Uri = url.parse().map_err(|_| wrong())?;
        let (Some("http"), Some(host)) = (uri.scheme_str(), uri.authority()) else { return Err(wrong()) };
        let stream = TcpStream::connect(host.as_str()).await?;
        stream.set_nodelay(true)?;
        Ok(Dialled::over(stream, host.as_str(), uri.path()))
    }

    /// Over a connection that is there already: TLS, a pipe.
    pub fn over(io: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, host: &str, path: &str) -> Dialled {
        Dialled { io: Box::new(io), host: host.to_owned(), path: path.to_owned() }
    }

    /// Asks for one protocol and nothing else.
    pub(super) async fn upgrade(self, wanted: Agreed) -> Result<Upgraded, ClientError> {
        let (name, websocket) = name(wanted).ok_or(ClientError::Handshake)?;
        let key = generate_key();
        let request =
            Request::builder().uri(&self.path).header(HOST, &self.host).header(CONNECTION, "Upgrade");
        let request = if websocket {
            let request = request.header(UPGRADE, "websocket").header(SEC_WEBSOCKET_VERSION, "13");
            request.header(SEC_WEBSOCKET_KEY, &key).header(SEC_WEBSOCKET_PROTOCOL, name)
        } else {
            request.method("POST").header(UPGRADE, SPDY).header(STREAM_PROTOCOL, name)
        };
        let request = request.body(Empty::<Bytes>::new()).map_err(|_| ClientError::Url(self.path))?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(self.io)).await?;
        tokio::spawn(connection.with_upgrades());
        let response = sender.send_request(request).await?;
        let agreed = if websocket {
            let accept = response.headers().get(SEC_WEBSOCKET_ACCEPT);
            accept.is_some_and(|accept| accept.as_bytes() == derive_accept_key(key.as_bytes()).as_bytes())
                && response.headers().get(SEC_WEBSOCKET_PROTOCOL).is_some_and(|agreed| agreed == name)
        } else {
            response.headers().get(STREAM_PROTOCOL).is_some_and(|agreed| agreed == name)
        };
        let response = accepted(response).await?;
        if agreed { Ok(hyper::upgrade::on(response).await?) } else { Err(ClientError::Handshake) }
    }
}

impl std::fmt::Debug for Dialled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dialled").field("host", &self.host).finish_non_exhaustive()
    }
}

async fn accepted(response: Response<Incoming>) -> Result<Response<Incoming>, ClientError> {
    let status = response.status();
    if status == StatusCode::SWITCHING_PROTOCOLS {
        return Ok(response);
    }
    let body = response.into_body().collect().await?.to_bytes();
    Err(ClientError::Refused { status, text: String::from_utf8_lossy(&body).trim().to_owned() })
}

/// What a protocol is called, and whether it is for WebSockets.
fn name(wanted: Agreed) -> Option<(&'static str, bool)> {
    let lists =
        [(COMMAND_SPDY, false), (COMMAND_WEBSOCKET, true), (FORWARD_SPDY, false), (FORWARD_WEBSOCKET, true)];
    lists.into_iter().find_map(|(names, websocket)| {
        names.iter().find(|(_, agreed)| *agreed == wanted).map(|(name, _)| (*name, websocket))
    })
}
