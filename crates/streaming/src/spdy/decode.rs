//! Bytes to frames, however the bytes were cut.
//!
//! Control frames are small and awaited whole. Data comes out as it comes in, in pieces, so that a frame of 16 MiB costs
//! no more memory than one of a byte.

use bytes::{Buf, Bytes, BytesMut};

use super::frame::{
    FLAG_FIN, Frame, GoAwayStatus, HEAD, LONGEST_CONTROL, Reset, STREAM_BITS, SpdyError, StreamId, VERSION,
    kind,
};
use super::headers::Inflater;

const FLAG_UNIDIRECTIONAL: u8 = 2;

/// One direction of a connection. After an error it says the same error again.
#[derive(Debug, Default)]
pub struct Decoder {
    input: BytesMut,
    headers: Inflater,
    state: State,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Between,
    /// Inside a data frame of this length, of which so many bytes are still to come.
    Data { id: StreamId, fin: bool, length: usize, left: usize },
    /// Inside a control frame of a kind that nobody knows: passed over, as the protocol asks for.
    Unknown { left: usize },
}

struct Control {
    kind: u16,
    flags: u8,
    body: Bytes,
}

// === impl Decoder ===

impl Decoder {
    /// Where bytes from the peer go: read into its end.
    pub fn input(&mut self) -> &mut BytesMut {
        &mut self.input
    }

    /// How much to read next, about `most`. Of a frame that fills a read its rest and the next one's head: who writes such
    /// frames one after the other would otherwise have each cut in two, wherever a read happened to end.
    pub fn wanted(&self, most: usize) -> usize {
        match self.state {
            State::Data { length, left, .. } if length >= most && left <= most => left + HEAD,
            _ => most,
        }
    }

    /// The next frame, or none until more bytes have come.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, SpdyError> {
        loop {
            match &mut self.state {
                State::Data { id, fin, left, .. } => {
                    let Some(bytes) = take(&mut self.input, left) else { return Ok(None) };
                    let (id, last) = (*id, *left == 0);
                    let fin = *fin && last;
                    if last {
                        self.state = State::Between;
                    }
                    return Ok(Some(Frame::Data { id, fin, bytes }));
                }
                State::Unknown { left } => {
                    if take(&mut self.input, left).is_none() {
                        return Ok(None);
                    }
                    if *left == 0 {
                        self.state = State::Between;
                    }
                }
                State::Between => match self.begin()? {
                    Some(Begun::Frame(frame)) => return Ok(Some(frame)),
                    Some(Begun::Longer) => {}
                    None => return Ok(None),
                },
            }
        }
    }

    fn begin(&mut self) -> Result<Option<Begun>, SpdyError> {
        let Some(head) = self.input.first_chunk::<HEAD>() else { return Ok(None) };
        let [a, b, c, d, flags, e, f, g] = *head;
        let word = u32::from_be_bytes([a, b, c, d]);
        let length = u32::from_be_bytes([0, e, f, g]) as usize;
        if word & !STREAM_BITS == 0 {
            return self.begin_data(word, flags, length).map(Some);
        }
        let version = u16::from_be_bytes([a & 0x7f, b]);
        if version != VERSION {
            return Err(SpdyError::Version(version));
        }
        self.begin_control(u16::from_be_bytes([c, d]), flags, length)
    }

    fn begin_data(&mut self, id: StreamId, flags: u8, length: usize) -> Result<Begun, SpdyError> {
        if id == 0 {
            return Err(SpdyError::StreamZero);
        }
        self.input.advance(HEAD);
        let fin = flags & FLAG_FIN != 0;
        if length == 0 {
            return Ok(Begun::Frame(Frame::Data { id, fin, bytes: Bytes::new() }));
        }
        self.state = State::Data { id, fin, length, left: length };
        Ok(Begun::Longer)
    }

    fn begin_control(&mut self, kind: u16, flags: u8, length: usize) -> Result<Option<Begun>, SpdyError> {
        if !known(kind) {
            self.input.advance(HEAD);
            self.state = if length == 0 { State::Between } else { State::Unknown { left: length } };
            return Ok(Some(Begun::Longer));
        }
        if length > LONGEST_CONTROL {
            return Err(SpdyError::Length { kind, length });
        }
        if self.input.len() < HEAD + length {
            return Ok(None);
        }
        self.input.advance(HEAD);
        let body = self.input.split_to(length).freeze();
        self.control(Control { kind, flags, body }).map(|frame| Some(Begun::Frame(frame)))
    }

    fn control(&mut self, mut control: Control) -> Result<Frame, SpdyError> {
        let fin = control.flags & FLAG_FIN != 0;
        match control.kind {
            kind::SYN_STREAM => self.syn_stream(control),
            kind::SYN_REPLY => {
                let id = control.stream(4)?;
                Ok(Frame::SynReply { id, fin, headers: self.headers.read(&control.body)? })
            }
            kind::HEADERS => {
                let id = control.stream(4)?;
                Ok(Frame::Headers { id, fin, headers: self.headers.read(&control.body)? })
            }
            kind::RST_STREAM => {
                let (id, status) = (control.exactly(8)?.stream(8)?, control.body.get_u32());
                if status == 0 {
                    Err(SpdyError::NumberZero)
                } else {
                    Ok(Frame::Rst { id, status: Reset(status) })
                }
            }
            kind::GOAWAY => {
                control.exactly(8)?;
                let (last, status) = (control.body.get_u32() & STREAM_BITS, control.body.get_u32());
                Ok(Frame::GoAway { last, status: GoAwayStatus(status) })
            }
            kind::WINDOW_UPDATE => {
                control.exactly(8)?;
                let (id, delta) =
                    (control.body.get_u32() & STREAM_BITS, control.body.get_u32() & STREAM_BITS);
                Ok(Frame::WindowUpdate { id, delta })
            }
            kind::PING => match control.exactly(4)?.body.get_u32() {
                0 => Err(SpdyError::NumberZero),
                number => Ok(Frame::Ping(number)),
            },
            _ => control.settings(),
        }
    }

    fn syn_stream(&mut self, mut control: Control) -> Result<Frame, SpdyError> {
        let id = control.stream(10)?;
        let associated = control.body.get_u32() & STREAM_BITS;
        let priority = control.body.get_u8() >> 5;
        control.body.advance(1);
        let fin = control.flags & FLAG_FIN != 0;
        let unidirectional = control.flags & FLAG_UNIDIRECTIONAL != 0;
        let headers = self.headers.read(&control.body)?;
        Ok(Frame::SynStream { id, associated, priority, fin, unidirectional, headers })
    }
}

/// What the first bytes of a frame lead to.
enum Begun {
    Frame(Frame),
    /// Its bytes come in pieces.
    Longer,
}

fn known(kind: u16) -> bool {
    matches!(
        kind,
        kind::SYN_STREAM
            | kind::SYN_REPLY
            | kind::RST_STREAM
            | kind::SETTINGS
            | kind::PING
            | kind::GOAWAY
            | kind::HEADERS
            | kind::WINDOW_UPDATE
    )
}

/// What is there of what is awaited; none if nothing is.
fn take(input: &mut BytesMut, left: &mut usize) -> Option<Bytes> {
    if input.is_empty() {
        return None;
    }
    let bytes = input.split_to(input.len().min(*left)).freeze();
    *left -= bytes.len();
    Some(bytes)
}

// === impl Control ===

impl Control {
    /// The number of the stream that this is about, and the promise that so many bytes were there.
    fn stream(&mut self, least: usize) -> Result<StreamId, SpdyError> {
        if self.body.len() < least {
            return Err(self.length());
        }
        match self.body.get_u32() & STREAM_BITS {
            0 => Err(SpdyError::StreamZero),
            id => Ok(id),
        }
    }

    fn exactly(&mut self, length: usize) -> Result<&mut Self, SpdyError> {
        if self.body.len() == length { Ok(self) } else { Err(self.length()) }
    }

    fn length(&self) -> SpdyError {
        SpdyError::Length { kind: self.kind, length: self.body.len() }
    }

    fn settings(mut self) -> Result<Frame, SpdyError> {
        if self.body.len() < 4 {
            return Err(self.length());
        }
        let said = self.body.get_u32();
        let found = self.body.len() / 8;
        if !self.body.len().is_multiple_of(8) || usize::try_from(said) != Ok(found) {
            return Err(SpdyError::Settings { said, found });
        }
        let pairs = (0..found).map(|_| (self.body.get_u32() & 0x00ff_ffff, self.body.get_u32()));
        Ok(Frame::Settings(pairs.collect()))
    }
}

#[cfg(test)]
mod tests;
