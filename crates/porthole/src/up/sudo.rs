//! The line that does the same as root.

use std::ffi::{OsStr, OsString};

use crate::root;

/// These words after `sudo`, as a shell must read them to have them again. It hands no variables on: what they say about
/// the root goes by `env`.
pub(super) fn line(root: Option<OsString>, words: impl IntoIterator<Item = OsString>) -> String {
    let root = root.filter(|dir| !dir.is_empty()).into_iter();
    let with_env = root.flat_map(|dir| ["env".into(), assigned(root::VARIABLE, &dir)]);
    let words = std::iter::once("sudo".into()).chain(with_env).chain(words);
    words.map(|word: OsString| quoted(&word)).collect::<Vec<_>>().join(" ")
}

fn assigned(name: &str, value: &OsStr) -> OsString {
    let mut both = OsString::from(format!("{name}="));
    both.push(value);
    both
}

fn quoted(word: &OsStr) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    match word.to_str() {
        Some(text) if !text.is_empty() && text.chars().all(plain) => text.to_owned(),
        Some(text) if !text.contains(char::is_control) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => in_numbers(word.as_encoded_bytes()),
    }
}

/// What a terminal would not show as it is, or a text cannot hold, in the words of bash and its kin.
fn in_numbers(word: &[u8]) -> String {
    let letter = |byte: &u8| match byte {
        b'\\' | b'\'' => format!("\\{}", char::from(*byte)),
        b' '..=b'~' => char::from(*byte).to_string(),
        other => format!("\\x{other:02x}"),
    };
    format!("$'{}'", word.iter().map(letter).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_take_apart_is_quoted() {
        for (word, expected) in [
            ("/usr/bin/porthole", "/usr/bin/porthole"),
            ("--root=/a,b:c", "--root=/a,b:c"),
            ("my pod.yaml", "'my pod.yaml'"),
            ("größer.yaml", "'größer.yaml'"),
            ("it's.yaml", r"'it'\''s.yaml'"),
            ("$HOME;`x`|&<>*?~", "'$HOME;`x`|&<>*?~'"),
            ("", "''"),
            ("a\nb'\\c", r"$'a\x0ab\'\\c'"),
        ] {
            assert_eq!(line(None, [word.into()]), format!("sudo {expected}"), "{word:?}");
        }
        let words = ["porthole", "up", "a b"].map(OsString::from);
        assert_eq!(line(None, words.clone()), "sudo porthole up 'a b'");
        assert_eq!(line(Some("".into()), words.clone()), "sudo porthole up 'a b'");
        let with_root = "sudo env 'PORTHOLE_ROOT=/my root' porthole up 'a b'";
        assert_eq!(line(Some("/my root".into()), words), with_root);
    }

    #[test]
    fn a_name_that_is_no_text_is_written_in_numbers() {
        assert_eq!(in_numbers(b"a\xff b"), r"$'a\xff b'");
    }
}
