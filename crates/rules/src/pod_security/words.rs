//! How findings name things: containers, setters, lists of values, all as the plugin's texts have them.

use std::collections::BTreeSet;
use std::fmt::{Display, Write as _};

use super::pod::Container;

/// Why a check refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) reason: &'static str,
    pub(super) detail: String,
}

pub(super) fn refusal(reason: &'static str, detail: String) -> Refusal {
    Refusal { reason, detail }
}

/// `container "a"` or `containers "a", "b"`; nothing when there are none.
pub(super) fn containers<'a>(found: impl Iterator<Item = Container<'a>>) -> Option<String> {
    let names: Vec<_> = found.map(|container| container.name).collect();
    (!names.is_empty()).then(|| format!("{} {}", plural("container", names.len()), quoted(&names)))
}

/// The pod, its containers, or both; nothing when neither did it.
pub(super) fn setters(pod: bool, containers: Option<String>) -> Option<String> {
    match (pod, containers) {
        (true, Some(containers)) => Some(format!("pod and {containers}")),
        (true, None) => Some("pod".to_owned()),
        (false, containers) => containers,
    }
}

/// `"a", "b"`, in the order given.
pub(super) fn quoted<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    joined(items.into_iter().map(|item| format!("\"{item}\"")))
}

pub(super) fn joined(items: impl IntoIterator<Item = String>) -> String {
    items.into_iter().collect::<Vec<_>>().join(", ")
}

pub(super) fn plural(word: &str, count: usize) -> String {
    format!("{word}{}", if count == 1 { "" } else { "s" })
}

/// The verb is the one that loses its s.
pub(super) fn uses(count: usize) -> &'static str {
    if count == 1 { "uses" } else { "use" }
}

/// Sorts as the plugin does: by the finished text, each once.
pub(super) type Values<T = String> = BTreeSet<T>;

/// `key="value"`, quoted as Go's `%q` does.
pub(super) fn annotation(key: &str, value: &str) -> String {
    let mut text = format!("{key}=\"");
    value.chars().for_each(|c| escape(&mut text, c));
    text.push('"');
    text
}

fn escape(text: &mut String, c: char) {
    let short = match c {
        '"' | '\\' => Some(c),
        '\x07' => Some('a'),
        '\x08' => Some('b'),
        '\x0b' => Some('v'),
        '\x0c' => Some('f'),
        '\n' => Some('n'),
        '\r' => Some('r'),
        '\t' => Some('t'),
        _ => None,
    };
    let written = match (short, u32::from(c)) {
        (Some(letter), _) => write!(text, "\\{letter}"),
        (None, code @ (0..0x20 | 0x7f)) => write!(text, "\\x{code:02x}"),
        (None, _) if is_printable(c) => write!(text, "{c}"),
        (None, code @ ..=0xffff) => write!(text, "\\u{code:04x}"),
        (None, code) => write!(text, "\\U{code:08x}"),
    };
    written.expect("a String takes all");
}

/// Rust escapes what Go does, plus the quote (handled above) and marks that combine with the letter before.
fn is_printable(c: char) -> bool {
    c.is_alphanumeric() || c == '\'' || c.escape_debug().len() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_did_it() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(setters(false, None), None);
        assert_eq!(setters(true, None), some("pod"));
        assert_eq!(setters(false, some("container \"a\"")), some("container \"a\""));
        assert_eq!(setters(true, some("container \"a\"")), some("pod and container \"a\""));
    }

    #[test]
    fn values_are_quoted_as_go_does() {
        for (value, quoted) in [
            ("unconfined", r#""unconfined""#),
            ("a'b \"c\" \\d", r#""a'b \"c\" \\d""#),
            ("\x07\x08\x0b\x0c\n\r\t", r#""\a\b\v\f\n\r\t""#),
            ("\0\x1f\x7f ~", r#""\x00\x1f\x7f ~""#),
            ("é世\u{200b}\u{a0}\u{e0001}", "\"é世\\u200b\\u00a0\\U000e0001\""),
        ] {
            assert_eq!(annotation("k", value), format!("k={quoted}"));
        }
    }
}
