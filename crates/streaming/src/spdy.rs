//! SPDY/3.1 as bytes: what came in becomes frames, what is to be said becomes bytes. Does no I/O.
//!
//! | module | what it knows |
//! |---|---|
//! | [`frame`] | the frames, their numbers, and what is wrong with a peer's |
//! | [`decode`] | bytes to frames, however the bytes were cut |
//! | [`encode`] | frames to bytes |
//! | [`headers`] | the name/value block and its zlib stream |
//! | [`dictionary`] | the text that both ends of that stream start from |
//!
//! Flow control is TCP's. The library behind every Kubernetes client and server (moby/spdystream) neither sends window
//! updates nor heeds them: whoever counted windows would stop for ever after 64 KiB. WINDOW_UPDATE and SETTINGS are
//! read, checked and passed over. A slow stream therefore holds back its connection, and that bounds memory.

pub mod decode;
pub mod dictionary;
pub mod encode;
pub mod frame;
pub mod headers;

pub use decode::Decoder;
pub use encode::Encoder;
pub use frame::{Frame, GoAwayStatus, Reset, SpdyError, StreamId};
pub use headers::Headers;
