//! What an unquoted YAML word means to kubectl.
//!
//! kubectl reads YAML 1.1 and sends JSON: `yes` is true, `0777` is octal, `1.0` arrives as the integer 1. A word that
//! means something else here than there would make `check` say yes to what the API server refuses.

use std::borrow::Cow;

use super::tree::Content;

/// The value of a plain scalar without a tag.
pub(super) fn resolve(word: Cow<'_, str>) -> Content<'_> {
    let meant = match word.as_bytes().first() {
        None => Some(Content::Null),
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => named(&word),
        Some(b'0'..=b'9' | b'+' | b'-' | b'.') => number(&word),
        Some(_) => None,
    };
    meant.unwrap_or(Content::Str(word))
}

/// The value of a scalar with a tag of YAML's own, by the tag's last word; nothing if the two do not fit.
pub(super) fn tagged<'t>(suffix: &str, word: Cow<'t, str>) -> Option<Content<'t>> {
    let plain = resolve(Cow::Borrowed(&*word));
    match (suffix, plain) {
        ("null", Content::Null) => Some(Content::Null),
        ("bool", Content::Bool(value)) => Some(Content::Bool(value)),
        ("int" | "float", Content::Int(value)) => Some(Content::Int(value)),
        ("int" | "float", Content::Uint(value)) => Some(Content::Uint(value)),
        ("float", Content::Float(value)) => Some(Content::Float(value)),
        ("null" | "bool" | "int" | "float" | "binary", _) => None,
        _ => Some(Content::Str(word)),
    }
}

/// What stands before the colon becomes a JSON key, hence a string.
pub(super) fn key(content: Content<'_>) -> Option<Cow<'_, str>> {
    match content {
        Content::Str(text) => Some(text),
        Content::Bool(value) => Some(value.to_string().into()),
        Content::Int(value) => Some(value.to_string().into()),
        Content::Uint(value) => Some(value.to_string().into()),
        Content::Float(value) => Some(value.to_string().into()),
        Content::Null | Content::Seq | Content::Map { .. } | Content::Alias(_) => None,
    }
}

fn named(word: &str) -> Option<Content<'static>> {
    match word {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Some(Content::Bool(true))
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Some(Content::Bool(false))
        }
        "~" | "null" | "Null" | "NULL" => Some(Content::Null),
        _ => None,
    }
}

fn number(word: &str) -> Option<Content<'static>> {
    match word {
        ".nan" | ".NaN" | ".NAN" => return Some(Content::Float(f64::NAN)),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Some(Content::Float(f64::INFINITY)),
        "-.inf" | "-.Inf" | "-.INF" => return Some(Content::Float(f64::NEG_INFINITY)),
        _ => {}
    }
    let plain = if word.contains('_') { Cow::Owned(word.replace('_', "")) } else { Cow::Borrowed(word) };
    integer(&plain).or_else(|| float(&plain))
}

fn integer(word: &str) -> Option<Content<'static>> {
    let (negative, digits) = match word.as_bytes().first()? {
        b'-' => (true, &word[1..]),
        b'+' => (false, &word[1..]),
        _ => (false, word),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    // A second sign is no number; `from_str_radix` would take it.
    if !digits.as_bytes().first()?.is_ascii_alphanumeric() {
        return None;
    }
    let value = u64::from_str_radix(digits, radix).ok()?;
    match i64::try_from(value) {
        Ok(value) => Some(Content::Int(if negative { -value } else { value })),
        Err(_) if negative => (value == i64::MIN.unsigned_abs()).then_some(Content::Int(i64::MIN)),
        Err(_) => Some(Content::Uint(value)),
    }
}

fn float(word: &str) -> Option<Content<'static>> {
    if !is_float(word.as_bytes()) {
        return None;
    }
    let value: f64 = word.parse().ok()?;
    // On its way to the API server a whole number loses its point, up to 1e21.
    #[expect(clippy::cast_possible_truncation, reason = "guarded by the range")]
    let whole = (value.fract() == 0.0 && value.abs() < 9e18).then_some(Content::Int(value as i64));
    value.is_finite().then(|| whole.unwrap_or(Content::Float(value)))
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(word: &[u8]) -> bool {
    let word = word.strip_prefix(b"-").or_else(|| word.strip_prefix(b"+")).unwrap_or(word);
    let (whole, rest) = digits(word);
    let (fraction, rest) = match rest.split_first() {
        Some((b'.', rest)) => digits(rest),
        _ => (0, rest),
    };
    if whole + fraction == 0 {
        return false;
    }
    match rest.split_first() {
        None => true,
        Some((b'e' | b'E', exponent)) => {
            let sign = exponent.first().is_some_and(|c| matches!(c, b'+' | b'-'));
            let (count, rest) = digits(&exponent[usize::from(sign)..]);
            count > 0 && rest.is_empty()
        }
        Some(_) => false,
    }
}

fn digits(word: &[u8]) -> (usize, &[u8]) {
    let count = word.iter().take_while(|c| c.is_ascii_digit()).count();
    (count, &word[count..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(word: &str) -> String {
        match resolve(word.into()) {
            Content::Str(text) => format!("{text:?}"),
            Content::Int(value) => format!("int {value}"),
            Content::Uint(value) => format!("int {value}"),
            Content::Float(value) => format!("float {value}"),
            Content::Bool(value) => format!("{value}"),
            Content::Null => "null".into(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn words_mean_what_kubectl_takes_them_for() {
        for (word, expected) in [
            ("yes", "true"),
            ("On", "true"),
            ("y", "true"),
            ("n", "false"),
            ("OFF", "false"),
            ("yEs", "\"yEs\""),
            ("~", "null"),
            ("", "null"),
            ("nginx", "\"nginx\""),
            ("1", "int 1"),
            ("+1", "int 1"),
            ("-0x1F", "int -31"),
            ("0777", "int 511"),
            ("0o17", "int 15"),
            ("08", "int 8"),
            ("0b11", "int 3"),
            ("1_000", "int 1000"),
            ("--1", "\"--1\""),
            ("-", "\"-\""),
            ("18446744073709551615", "int 18446744073709551615"),
            ("-9223372036854775808", "int -9223372036854775808"),
            ("1.5", "float 1.5"),
            ("1.0", "int 1"),
            ("1e3", "int 1000"),
            (".5", "float 0.5"),
            (".", "\".\""),
            ("1e", "\"1e\""),
            ("1e400", "\"1e400\""),
            ("1.2.3", "\"1.2.3\""),
            ("500m", "\"500m\""),
            ("128Mi", "\"128Mi\""),
            ("2001-01-01", "\"2001-01-01\""),
            (".inf", "float inf"),
        ] {
            assert_eq!(meant(word), expected, "{word}");
        }
    }

    #[test]
    fn a_tag_decides() {
        assert!(matches!(tagged("str", "1".into()), Some(Content::Str(text)) if text == "1"));
        assert!(matches!(tagged("int", "7".into()), Some(Content::Int(7))));
        assert!(tagged("int", "x".into()).is_none());
        assert_eq!(key(resolve("on".into())).as_deref(), Some("true"));
        assert!(key(Content::Null).is_none());
    }
}
