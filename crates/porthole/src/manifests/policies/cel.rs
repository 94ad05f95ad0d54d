//! Pieces of CEL, the API server's language for such rules.

use std::fmt::Write;

use rules::policy::Field;

/// A text as a literal: printable ASCII only, so that it is one line in every file and message.
pub(super) fn literal(text: &str) -> String {
    let mut quoted = String::from("'");
    for c in text.chars() {
        match c {
            '\\' | '\'' => quoted.extend(['\\', c]),
            ' '..='~' => quoted.push(c),
            // A write to a String does not fail.
            '\0'..='\u{ffff}' => drop(write!(quoted, "\\u{:04x}", u32::from(c))),
            _ => drop(write!(quoted, "\\U{:08x}", u32::from(c))),
        }
    }
    quoted.push('\'');
    quoted
}

/// Whether everything that the object has of this field matches.
pub(super) fn judge(field: Field, regex: &str) -> String {
    let regex = literal(regex);
    match field {
        Field::Namespaces => format!("request.namespace.matches({regex})"),
        Field::ServiceAccounts => format!("variables.account.matches({regex})"),
        Field::Users => format!("request.kind.kind == 'Pod' && request.userInfo.username.matches({regex})"),
        Field::Images => format!("variables.images.all(i, i.matches({regex}))"),
        Field::RunAsUserNames => format!("variables.users.all(u, u.matches({regex}))"),
        Field::HostPaths => format!("!variables.unclear && variables.paths.all(p, p.matches({regex}))"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What CEL's grammar makes of a single-quoted literal; `None` if it is none.
    fn read(literal: &str) -> Option<String> {
        let inner = literal.strip_prefix('\'')?.strip_suffix('\'')?;
        let (mut text, mut rest) = (String::new(), inner.chars());
        while let Some(c) = rest.next() {
            let length = match c {
                '\'' | '\n' | '\r' => return None,
                '\\' => match rest.next()? {
                    c @ ('\\' | '\'') => {
                        text.push(c);
                        continue;
                    }
                    'u' => 4,
                    'U' => 8,
                    _ => return None,
                },
                c => {
                    text.push(c);
                    continue;
                }
            };
            let digits: String = rest.by_ref().take(length).collect();
            text.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
        }
        Some(text)
    }

    proptest! {
        #[test]
        fn every_text_is_a_literal_of_one_ascii_line(text in any::<String>()) {
            let literal = literal(&text);
            prop_assert!(literal.chars().all(|c| (' '..='~').contains(&c)), "{literal}");
            prop_assert_eq!(read(&literal), Some(text));
        }
    }

    #[test]
    fn signs_are_escaped() {
        assert_eq!(literal(r"^a\.b'c$"), r"'^a\\.b\'c$'");
        assert_eq!(literal("\u{7f}\n\u{e9}\u{1f600}"), r"'\u007f\u000a\u00e9\U0001f600'");
        assert_eq!(literal("\u{ffff}\u{10000}"), r"'\uffff\U00010000'");
    }
}
