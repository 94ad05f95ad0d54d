//! Bytes to text: UTF-8, with or without a mark, or UTF-16 with one, as Windows editors write it.

use std::borrow::Cow;

use thiserror::Error;

/// Bytes that are no text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TextError {
    #[error("not UTF-8 text: byte {byte:#04x} on line {line}")]
    Encoding { byte: u8, line: usize },
    #[error("not UTF-16 text, which its first two bytes promise")]
    Wide,
    #[error("a NUL byte on line {line}: this is no text")]
    Nul { line: usize },
}

/// The text that the bytes are.
pub fn text(bytes: &[u8]) -> Result<Cow<'_, str>, TextError> {
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => Cow::Owned(wide(rest, u16::from_le_bytes)?),
        [0xfe, 0xff, rest @ ..] => Cow::Owned(wide(rest, u16::from_be_bytes)?),
        [0xef, 0xbb, 0xbf, rest @ ..] => narrow(rest)?,
        bytes => narrow(bytes)?,
    };
    match text.as_bytes().iter().position(|byte| *byte == 0) {
        None => Ok(text),
        Some(at) => Err(TextError::Nul { line: line(&text.as_bytes()[..at]) }),
    }
}

fn narrow(bytes: &[u8]) -> Result<Cow<'_, str>, TextError> {
    std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|error| {
        let at = error.valid_up_to();
        TextError::Encoding { byte: bytes.get(at).copied().unwrap_or_default(), line: line(&bytes[..at]) }
    })
}

fn wide(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, TextError> {
    let (units, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(TextError::Wide);
    }
    let units = units.iter().map(|pair| unit(*pair));
    char::decode_utf16(units).collect::<Result<_, _>>().map_err(|_| TextError::Wide)
}

fn line(before: &[u8]) -> usize {
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_understood_and_taken_off() {
        assert_eq!(text(b"a: 1").unwrap(), "a: 1");
        assert_eq!(text(b"\xef\xbb\xbfa: 1").unwrap(), "a: 1");
        assert_eq!(text(b"\xff\xfea\0\xe4\0").unwrap(), "aä");
        assert_eq!(text(b"\xfe\xff\0a\0\xe4").unwrap(), "aä");
    }

    #[test]
    fn what_is_no_text_is_said_with_its_line() {
        assert_eq!(text(b"a\nb\xff"), Err(TextError::Encoding { byte: 0xff, line: 2 }));
        assert_eq!(text(b"a\n\nb\0"), Err(TextError::Nul { line: 3 }));
        assert_eq!(text(b"\xff\xfea"), Err(TextError::Wide));
        assert_eq!(text(b"\xff\xfe\x00\xd8"), Err(TextError::Wide));
        assert_eq!(text(b"\xff\xfea\0\0\0"), Err(TextError::Nul { line: 1 }));
    }
}
