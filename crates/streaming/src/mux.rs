//! SPDY streams over a connection: frames become streams that can be read and written on their own.
//!
//! | module | what it knows |
//! |---|---|
//! | [`connection`] | both ends of a connection: accepting, opening, going away |
//! | [`reader`] | the task that reads frames and hands them to streams |
//! | [`table`] | which streams there are and how far each has come |
//! | [`writer`] | one frame at a time onto the wire |
//! | [`stream`] | what the owner of a stream holds |
//!
//! A stream holds at most [`QUEUE`] pieces that nobody has read; then the connection is not read either.

pub(crate) mod connection;
mod reader;
pub(crate) mod stream;
mod table;
mod writer;

pub(crate) use connection::{Connection, Ends, Role};
pub(crate) use stream::{Gone, Outlet, Piece, Stream};

/// Unread pieces per stream, each of one read at most.
pub(crate) const QUEUE: usize = 2;
/// How much a server reads at once.
pub(crate) const PIECE: usize = 32 << 10;
/// Streams of one connection; more are refused. A forwarded connection needs two.
pub(crate) const MOST_STREAMS: usize = 512;
