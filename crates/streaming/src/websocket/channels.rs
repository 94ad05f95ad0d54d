//! A message is a channel's number and bytes. Pure.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{BufMut, Bytes, BytesMut};
use thiserror::Error;

use crate::protocol::{Codec, Version};

pub const STDIN: u8 = 0;
pub const STDOUT: u8 = 1;
pub const STDERR: u8 = 2;
pub const ERROR: u8 = 3;
pub const RESIZE: u8 = 4;
/// In version 5: the byte that follows is a channel on which no more comes.
pub const CLOSE: u8 = 255;

/// What a message says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Bytes on a channel; none at all is how a server says that it is there.
    Bytes {
        channel: u8,
        bytes: Bytes,
    },
    Closed(u8),
    /// An empty message says nothing.
    Nothing,
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum ChannelError {
    #[error("a close signal names one channel, not {0} bytes")]
    Close(usize),
    #[error("a message is not base64")]
    Base64,
}

/// Reads one message.
pub fn read(message: Bytes, codec: Codec, version: Version) -> Result<Said, ChannelError> {
    let Some(&first) = message.first() else { return Ok(Said::Nothing) };
    if version >= Version::V5 && first == CLOSE {
        return match message[1..] {
            [channel] => Ok(Said::Closed(channel)),
            _ => Err(ChannelError::Close(message.len() - 1)),
        };
    }
    let bytes = message.slice(1..);
    match codec {
        Codec::Binary => Ok(Said::Bytes { channel: first, bytes }),
        Codec::Base64 => {
            let bytes = STANDARD.decode(&bytes).map_err(|_| ChannelError::Base64)?;
            Ok(Said::Bytes { channel: first.wrapping_sub(b'0'), bytes: bytes.into() })
        }
    }
}

/// Writes one message. In base64 it is text.
pub fn write(channel: u8, bytes: &[u8], codec: Codec) -> Bytes {
    match codec {
        Codec::Binary => {
            let mut message = BytesMut::with_capacity(1 + bytes.len());
            message.put_u8(channel);
            message.put_slice(bytes);
            message.freeze()
        }
        Codec::Base64 => {
            let mut text = String::from(char::from(b'0'.wrapping_add(channel) & 0x7f));
            STANDARD.encode_string(bytes, &mut text);
            text.into()
        }
    }
}

/// Version 5's end of a channel.
pub fn close(channel: u8) -> Bytes {
    Bytes::copy_from_slice(&[CLOSE, channel])
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row = (&'static [u8], Codec, Version, Result<Said, ChannelError>);

    fn bytes(channel: u8, bytes: &'static [u8]) -> Result<Said, ChannelError> {
        Ok(Said::Bytes { channel, bytes: Bytes::from_static(bytes) })
    }

    #[test]
    fn messages_are_read_as_their_version_means_them() {
        use Codec::{Base64, Binary};
        use Version::{V4, V5};
        let table: &[Row] = &[
            (b"\x00foo\n", Binary, V4, bytes(0, b"foo\n")),
            (b"\x01", Binary, V5, bytes(1, b"")),
            (b"", Binary, V5, Ok(Said::Nothing)),
            (b"\xff\x00", Binary, V5, Ok(Said::Closed(0))),
            (b"\xff\x00", Binary, V4, bytes(255, b"\x00")),
            (b"\xff", Binary, V5, Err(ChannelError::Close(0))),
            (b"\xff\x00\x01", Binary, V5, Err(ChannelError::Close(2))),
            (b"0Zm9vCg==", Base64, V4, bytes(0, b"foo\n")),
            (b"4", Base64, V4, bytes(4, b"")),
            (b"0Zm9vC", Base64, V4, Err(ChannelError::Base64)),
            (b"0!", Base64, V4, Err(ChannelError::Base64)),
        ];
        for (message, codec, version, expected) in table {
            let said = read(Bytes::from_static(message), *codec, *version);
            assert_eq!(said, *expected, "{message:?} {codec:?} {version:?}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for codec in [Codec::Binary, Codec::Base64] {
            for channel in [STDIN, STDOUT, STDERR, ERROR, RESIZE] {
                let message = write(channel, b"\x00\xffdata", codec);
                assert_eq!(read(message, codec, Version::V5), bytes(channel, b"\x00\xffdata"));
            }
        }
        assert_eq!(read(close(STDIN), Codec::Binary, Version::V5), Ok(Said::Closed(STDIN)));
    }
}
