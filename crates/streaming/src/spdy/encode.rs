//! Frames to bytes.

use bytes::{BufMut, BytesMut};

use super::frame::{FLAG_FIN, Frame, HEAD, STREAM_BITS, StreamId, VERSION, kind};
use super::headers::Deflater;

const FLAG_UNIDIRECTIONAL: u8 = 2;

/// One direction of a connection.
#[derive(Debug, Default)]
pub struct Encoder {
    headers: Deflater,
}

// === impl Encoder ===

impl Encoder {
    /// Appends the frame. Frames must go out in the order in which they were encoded.
    pub fn encode(&mut self, frame: &Frame, out: &mut BytesMut) {
        match frame {
            Frame::SynStream { id, associated, priority, fin, unidirectional, headers } => {
                let block = self.headers.write(headers);
                let flags = flag(*fin, FLAG_FIN) | flag(*unidirectional, FLAG_UNIDIRECTIONAL);
                control(out, kind::SYN_STREAM, flags, 10 + block.len());
                out.put_u32(id & STREAM_BITS);
                out.put_u32(associated & STREAM_BITS);
                out.put_u8(priority << 5);
                out.put_u8(0);
                out.put_slice(&block);
            }
            Frame::SynReply { id, fin, headers } => {
                let block = self.headers.write(headers);
                with_block(out, kind::SYN_REPLY, *id, *fin, &block);
            }
            Frame::Headers { id, fin, headers } => {
                let block = self.headers.write(headers);
                with_block(out, kind::HEADERS, *id, *fin, &block);
            }
            Frame::Rst { id, status } => pair(out, kind::RST_STREAM, id & STREAM_BITS, status.0),
            Frame::GoAway { last, status } => pair(out, kind::GOAWAY, last & STREAM_BITS, status.0),
            Frame::WindowUpdate { id, delta } => {
                pair(out, kind::WINDOW_UPDATE, id & STREAM_BITS, delta & STREAM_BITS);
            }
            Frame::Ping(number) => {
                control(out, kind::PING, 0, 4);
                out.put_u32(*number);
            }
            Frame::Settings(pairs) => settings(out, pairs),
            Frame::Data { id, fin, bytes } => {
                out.put_slice(&data_head(*id, bytes.len(), *fin));
                out.put_slice(bytes);
            }
        }
    }
}

/// What stands before a data frame's bytes, for those who write the bytes from where they are.
pub fn data_head(id: StreamId, length: usize, fin: bool) -> [u8; HEAD] {
    let length = length_of(length) | u32::from(flag(fin, FLAG_FIN)) << 24;
    let mut head = [0; HEAD];
    head[..4].copy_from_slice(&(id & STREAM_BITS).to_be_bytes());
    head[4..].copy_from_slice(&length.to_be_bytes());
    head
}

fn settings(out: &mut BytesMut, pairs: &[(u32, u32)]) {
    control(out, kind::SETTINGS, 0, 4 + 8 * pairs.len());
    out.put_u32(length_of(pairs.len()));
    for (number, value) in pairs {
        out.put_u32(number & 0x00ff_ffff);
        out.put_u32(*value);
    }
}

fn with_block(out: &mut BytesMut, kind: u16, id: StreamId, fin: bool, block: &[u8]) {
    control(out, kind, flag(fin, FLAG_FIN), 4 + block.len());
    out.put_u32(id & STREAM_BITS);
    out.put_slice(block);
}

fn pair(out: &mut BytesMut, kind: u16, first: u32, second: u32) {
    control(out, kind, 0, 8);
    out.put_u32(first);
    out.put_u32(second);
}

fn control(out: &mut BytesMut, kind: u16, flags: u8, length: usize) {
    out.put_u16(0x8000 | VERSION);
    out.put_u16(kind);
    out.put_u32(u32::from(flags) << 24 | length_of(length));
}

fn flag(set: bool, flag: u8) -> u8 {
    if set { flag } else { 0 }
}

/// What does not fit into 24 bits is never given: data is cut before, headers are ours.
fn length_of(length: usize) -> u32 {
    debug_assert!(length <= super::frame::LONGEST_DATA, "a frame of {length} bytes");
    u32::try_from(length).unwrap_or(u32::MAX) & 0x00ff_ffff
}
