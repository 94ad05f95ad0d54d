//! Words: where they end, what quotes and escapes in them mean, and which variables they take.

use super::Wrong;

/// Splits at white space that is neither quoted nor escaped. Quotes and escapes stay.
pub(super) fn split(text: &str, escape: char) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match quote {
            None if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                continue;
            }
            None if c == '"' || c == '\'' => quote = Some(c),
            Some(open) if c == open => quote = None,
            _ => {}
        }
        word.push(c);
        // In single quotes an escape is a character like others.
        if c == escape && quote != Some('\'') {
            word.extend(chars.next());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// The word with its variables in their place, without quotes and escapes.
pub fn expand(word: &str, escape: char, lookup: &dyn Fn(&str) -> Option<String>) -> Result<String, Wrong> {
    Expansion { word, escape, lookup, depth: 0 }.run(word)
}

/// Words in words: deeper is no Dockerfile that somebody wrote.
const DEEPEST: usize = 16;

struct Expansion<'a> {
    word: &'a str,
    escape: char,
    lookup: &'a dyn Fn(&str) -> Option<String>,
    depth: usize,
}

impl Expansion<'_> {
    fn run(&self, text: &str) -> Result<String, Wrong> {
        let mut out = String::new();
        let mut rest = text;
        let mut double = false;
        while let Some(c) = rest.chars().next() {
            let after = &rest[c.len_utf8()..];
            rest = match c {
                '\'' if !double => {
                    let (quoted, after) = after.split_once('\'').ok_or_else(|| self.unclosed())?;
                    out.push_str(quoted);
                    after
                }
                '"' => {
                    double = !double;
                    after
                }
                '$' => self.variable(after, &mut out)?,
                c if c == self.escape => self.escaped(after, double, &mut out),
                c => {
                    out.push(c);
                    after
                }
            };
        }
        if double { Err(self.unclosed()) } else { Ok(out) }
    }

    /// In double quotes only three characters need an escape; before others it stays.
    fn escaped<'t>(&self, after: &'t str, double: bool, out: &mut String) -> &'t str {
        let Some(next) = after.chars().next() else { return after };
        if double && next != '"' && next != '$' && next != self.escape {
            out.push(self.escape);
        }
        out.push(next);
        &after[next.len_utf8()..]
    }

    fn variable<'t>(&self, after: &'t str, out: &mut String) -> Result<&'t str, Wrong> {
        if let Some(inner) = after.strip_prefix('{') {
            let (inner, rest) = closed(inner, self.escape).ok_or_else(|| self.strange(after))?;
            out.push_str(&self.braced(inner)?);
            return Ok(rest);
        }
        let end = name_end(after);
        if end == 0 {
            out.push('$');
        } else {
            out.push_str(&(self.lookup)(&after[..end]).unwrap_or_default());
        }
        Ok(&after[end..])
    }

    fn braced(&self, inner: &str) -> Result<String, Wrong> {
        let (name, rest) = inner.split_at(name_end(inner));
        if name.is_empty() || self.depth >= DEEPEST {
            return Err(self.strange(inner));
        }
        let value = (self.lookup)(name);
        if rest.is_empty() {
            return Ok(value.unwrap_or_default());
        }
        // With a colon an empty value is none.
        let (value, rest) = match rest.strip_prefix(':') {
            Some(rest) => (value.filter(|value| !value.is_empty()), rest),
            None => (value, rest),
        };
        let deeper = Expansion { depth: self.depth + 1, ..*self };
        let mut kinds = rest.chars();
        match (kinds.next(), value) {
            (Some('-'), Some(value)) => Ok(value),
            (Some('-'), None) | (Some('+'), Some(_)) => deeper.run(kinds.as_str()),
            (Some('+'), None) => Ok(String::new()),
            (Some('?'), Some(value)) => Ok(value),
            (Some('?'), None) => {
                Err(Wrong::Unset { name: name.to_owned(), message: deeper.run(kinds.as_str())? })
            }
            _ => Err(self.strange(inner)),
        }
    }

    fn unclosed(&self) -> Wrong {
        Wrong::Quote { word: self.word.to_owned() }
    }

    fn strange(&self, found: &str) -> Wrong {
        Wrong::Variable { word: self.word.to_owned(), found: found.to_owned() }
    }
}

fn name_end(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len())
}

/// What is before the brace that closes, and after it.
fn closed(text: &str, escape: char) -> Option<(&str, &str)> {
    let mut depth = 0;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == escape => drop(chars.next()),
            '{' => depth += 1,
            '}' if depth == 0 => return Some((&text[..at], &text[at + 1..])),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(word: &str) -> Result<String, Wrong> {
        let lookup = |name: &str| match name {
            "A" => Some("one".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        expand(word, '\\', &lookup)
    }

    #[test]
    fn variables_as_docker_expands_them() {
        for (word, value) in [
            ("$A", "one"),
            ("${A}x", "onex"),
            ("$Ax", ""),
            ("$A-$A", "one-one"),
            ("${B:-two}", "two"),
            ("${EMPTY:-two}", "two"),
            ("${EMPTY-two}", ""),
            ("${A:+yes}", "yes"),
            ("${EMPTY:+yes}", ""),
            ("${B:-${A:-x}}", "one"),
            ("${A:?not told}", "one"),
            ("\\$A", "$A"),
            ("'$A'", "$A"),
            ("\"$A b\"", "one b"),
            ("\"a\\\"b\\c\"", "a\"b\\c"),
            ("a\\ b", "a b"),
            ("$", "$"),
            ("5$", "5$"),
            ("", ""),
        ] {
            assert_eq!(expanded(word).as_deref(), Ok(value), "{word}");
        }
    }

    #[test]
    fn what_cannot_be_expanded_is_named() {
        assert!(matches!(expanded("'x"), Err(Wrong::Quote { .. })));
        assert!(matches!(expanded("\"x"), Err(Wrong::Quote { .. })));
        for word in ["${A", "${}", "${A%x}", "${A:}", "${-x}"] {
            assert!(matches!(expanded(word), Err(Wrong::Variable { .. })), "{word}");
        }
        let unset = expanded("${B:?say B}").unwrap_err();
        assert_eq!(unset.to_string(), "B is not set: say B");
        let deep = format!("{}x{}", "${B:-".repeat(40), "}".repeat(40));
        assert!(matches!(expanded(&deep), Err(Wrong::Variable { .. })));
    }

    #[test]
    fn a_backtick_as_escape_leaves_paths_alone() {
        let none = |_: &str| None;
        assert_eq!(expand(r"C:\app\`$x", '`', &none).as_deref(), Ok(r"C:\app\$x"));
    }

    #[test]
    fn words_end_at_bare_space() {
        assert_eq!(split(r#"a "b c" d\ e 'f "' g"#, '\\'), ["a", "\"b c\"", "d\\ e", "'f \"'", "g"]);
        assert_eq!(split("  ", '\\'), Vec::<String>::new());
    }
}
