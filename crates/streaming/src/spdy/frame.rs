//! What two ends say to each other.

use bytes::Bytes;
use thiserror::Error;

use super::headers::Headers;

/// 31 bits; odd ones are the client's.
pub type StreamId = u32;

pub(super) const VERSION: u16 = 3;
pub(super) const HEAD: usize = 8;
pub(super) const FLAG_FIN: u8 = 1;
pub(super) const STREAM_BITS: u32 = 0x7fff_ffff;
pub(crate) const LAST_STREAM: StreamId = STREAM_BITS;
/// A frame's length has 24 bits.
pub const LONGEST_DATA: usize = (1 << 24) - 1;
/// No client sends a tenth of this in one control frame; only data may be longer.
pub const LONGEST_CONTROL: usize = 16 << 10;
/// What a header block may become once inflated.
pub const LONGEST_HEADERS: usize = 64 << 10;

pub(super) mod kind {
    pub(in crate::spdy) const SYN_STREAM: u16 = 1;
    pub(in crate::spdy) const SYN_REPLY: u16 = 2;
    pub(in crate::spdy) const RST_STREAM: u16 = 3;
    pub(in crate::spdy) const SETTINGS: u16 = 4;
    pub(in crate::spdy) const PING: u16 = 6;
    pub(in crate::spdy) const GOAWAY: u16 = 7;
    pub(in crate::spdy) const HEADERS: u16 = 8;
    pub(in crate::spdy) const WINDOW_UPDATE: u16 = 9;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    SynStream {
        id: StreamId,
        associated: StreamId,
        priority: u8,
        fin: bool,
        unidirectional: bool,
        headers: Headers,
    },
    SynReply {
        id: StreamId,
        fin: bool,
        headers: Headers,
    },
    Rst {
        id: StreamId,
        status: Reset,
    },
    /// Pairs of number and value.
    Settings(Vec<(u32, u32)>),
    Ping(u32),
    GoAway {
        last: StreamId,
        status: GoAwayStatus,
    },
    Headers {
        id: StreamId,
        fin: bool,
        headers: Headers,
    },
    WindowUpdate {
        id: StreamId,
        delta: u32,
    },
    /// A whole data frame, or a piece of a long one; `fin` comes with the last piece only.
    Data {
        id: StreamId,
        fin: bool,
        bytes: Bytes,
    },
}

/// Why a stream was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reset(pub u32);

/// Why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoAwayStatus(pub u32);

/// What a peer did that ends the connection.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum SpdyError {
    #[error("a control frame of version {0} came, of {VERSION} was expected")]
    Version(u16),
    #[error("a control frame of kind {kind} has {length} bytes; it cannot have so many")]
    Length { kind: u16, length: usize },
    #[error("stream 0 exists nowhere")]
    StreamZero,
    #[error("a reset or ping carries no number")]
    NumberZero,
    #[error("settings say they are {said} and are {found}")]
    Settings { said: u32, found: usize },
    #[error("headers cannot be inflated: {0}")]
    Deflate(String),
    #[error("headers grow beyond {LONGEST_HEADERS} bytes")]
    HeadersTooLong,
    #[error("headers end early or go on too long")]
    HeaderBlock,
    #[error("a header's name is empty, not lower-case or there twice")]
    HeaderName,
    #[error("a header is not UTF-8")]
    HeaderText,
}

// === impl Reset ===

impl Reset {
    pub const PROTOCOL_ERROR: Reset = Reset(1);
    pub const INVALID_STREAM: Reset = Reset(2);
    pub const REFUSED_STREAM: Reset = Reset(3);
    pub const CANCEL: Reset = Reset(5);
    pub const INTERNAL_ERROR: Reset = Reset(6);
}

// === impl GoAwayStatus ===

impl GoAwayStatus {
    pub const OK: GoAwayStatus = GoAwayStatus(0);
    pub const PROTOCOL_ERROR: GoAwayStatus = GoAwayStatus(1);
    pub const INTERNAL_ERROR: GoAwayStatus = GoAwayStatus(2);
}
