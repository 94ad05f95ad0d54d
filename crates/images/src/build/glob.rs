//! Patterns for names, as `COPY` and `.dockerignore` write them: `*`, `?`, `[a-z]`, an escape, and `**`.

/// A pattern that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Glob {
    tokens: Vec<Token>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Char(char),
    /// `?`: any but a slash.
    One,
    /// `*`: any number of those.
    Star,
    /// `[a-z]` and `[^a-z]`.
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
    /// `**` at the end: everything below.
    Deep,
    /// `**/`: any number of directories, also none.
    Directories,
}

// === impl Glob ===

impl Glob {
    /// `None` if a bracket or an escape is not finished. `deep` is whether `**` means more than `*`.
    pub(super) fn parse(text: &str, deep: bool) -> Option<Glob> {
        let mut tokens = Vec::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            tokens.push(match c {
                '*' if deep && chars.peek() == Some(&'*') => {
                    chars.next();
                    chars.next_if_eq(&'/');
                    if chars.peek().is_some() { Token::Directories } else { Token::Deep }
                }
                '*' => Token::Star,
                '?' => Token::One,
                '[' => class(&mut chars)?,
                '\\' => Token::Char(chars.next()?),
                c => Token::Char(c),
            });
        }
        // Docker takes `**x` for "ends with x", not for "a name x, however deep".
        if text.starts_with("**") && !text.starts_with("**/") && plain(&tokens[1..]) {
            tokens[0] = Token::Deep;
        }
        Some(Glob { tokens })
    }

    /// Whether it is one name and no pattern.
    pub(super) fn is_plain(&self) -> bool {
        plain(&self.tokens)
    }

    pub(super) fn matches(&self, path: &str) -> bool {
        let path: Vec<char> = path.chars().collect();
        // here[i]: the tokens so far can match path[..i].
        let mut here = vec![false; path.len() + 1];
        here[0] = true;
        for token in &self.tokens {
            here = step(token, &path, &here);
        }
        here[path.len()]
    }
}

fn plain(tokens: &[Token]) -> bool {
    tokens.iter().all(|token| matches!(token, Token::Char(_)))
}

fn step(token: &Token, path: &[char], before: &[bool]) -> Vec<bool> {
    let mut after = vec![false; before.len()];
    let mut reached = false;
    for at in 0..before.len() {
        let last = at.checked_sub(1).map(|i| path[i]);
        let from_last = at > 0 && before[at - 1];
        after[at] = match token {
            Token::Star => {
                reached = before[at] || reached && last != Some('/');
                reached
            }
            Token::Deep => {
                reached |= before[at];
                reached
            }
            Token::Directories => {
                let now = before[at] || reached && last == Some('/');
                reached |= before[at];
                now
            }
            Token::Char(c) => from_last && last == Some(*c),
            Token::One => from_last && last != Some('/'),
            Token::Class { negated, ranges } => {
                let within = |c: char| ranges.iter().any(|(low, high)| (*low..=*high).contains(&c));
                from_last && last.is_some_and(|c| c != '/' && within(c) != *negated)
            }
        };
    }
    after
}

fn class(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<Token> {
    let negated = chars.next_if_eq(&'^').is_some();
    let mut ranges = Vec::new();
    loop {
        let low = match chars.next()? {
            ']' if ranges.is_empty() => return None,
            ']' => return Some(Token::Class { negated, ranges }),
            '\\' => chars.next()?,
            c => c,
        };
        let high = if chars.next_if_eq(&'-').is_some() {
            match chars.next()? {
                ']' => return None,
                '\\' => chars.next()?,
                c => c,
            }
        } else {
            low
        };
        ranges.push((low, high));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_one_level() {
        for (pattern, path, expected) in [
            ("a.txt", "a.txt", true),
            ("*.txt", "a.txt", true),
            ("*.txt", "d/a.txt", false),
            ("*", "", true),
            ("d/*", "d/a", true),
            ("d/*", "d/a/b", false),
            ("?.txt", "ab.txt", false),
            ("[a-c]x", "bx", true),
            ("[^a-c]x", "bx", false),
            ("[^a-c]x", "/x", false),
            ("\\*", "*", true),
            ("\\*", "x", false),
            ("a**b", "axxb", true),
            ("a*b*c", "abbbc", true),
        ] {
            assert_eq!(Glob::parse(pattern, false).unwrap().matches(path), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn two_stars_as_docker_reads_them() {
        for (pattern, path, expected) in [
            ("**", "a/b", true),
            ("**/x", "x", true),
            ("**/x", "a/b/x", true),
            ("**/x", "ax", false),
            ("**x", "a/bx", true),
            ("a/**", "a/b/c", true),
            ("a/**", "a", false),
            ("a**", "ab/c", true),
            ("a/**/b", "a/b", true),
            ("a/**/b", "a/c/d/b", true),
            ("a/**/b", "a/cb", false),
            ("**/*.go", "x.go", true),
            ("**/*.go", "a/b/x.go", true),
            ("**/a?", "d/ab", true),
        ] {
            assert_eq!(Glob::parse(pattern, true).unwrap().matches(path), expected, "{pattern} on {path}");
        }
    }

    #[test]
    fn unfinished_patterns_are_none() {
        for bad in ["[", "[]", "[a", "[a-]", "[^", "x\\"] {
            assert_eq!(Glob::parse(bad, true), None, "{bad}");
        }
    }
}
