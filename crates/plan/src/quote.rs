//! Words to a Windows command line, so that the C runtime's parser gives the same words back.
//!
//! The rules that bite: a backslash is only special before a double quote, where it must be doubled; a word
//! with white space or nothing in it needs quotes; a closing quote makes the backslashes before it special.
//! The line is built once and handed over verbatim: nothing goes through `cmd /c`.

/// The command line for these words.
pub fn command_line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let wrap = word.is_empty() || word.contains([' ', '\t', '\n', '\u{b}']);
    let mut out = String::with_capacity(word.len() + 2);
    let mut backslashes = 0;
    if wrap {
        out.push('"');
    }
    for c in word.chars() {
        match c {
            '\\' => backslashes += 1,
            '"' => {
                out.extend(std::iter::repeat_n('\\', backslashes + 1));
                backslashes = 0;
            }
            _ => backslashes = 0,
        }
        out.push(c);
    }
    if wrap {
        out.extend(std::iter::repeat_n('\\', backslashes));
        out.push('"');
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The documented parser of the C runtime (2008 and later), for everything after the program's name.
    fn parse(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        let (mut word, mut started, mut inside, mut backslashes) = (String::new(), false, false, 0);
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            if c == '\\' {
                (backslashes, started) = (backslashes + 1, true);
                continue;
            }
            if c == '"' {
                word.extend(std::iter::repeat_n('\\', backslashes / 2));
                started = true;
                if backslashes % 2 == 1 {
                    word.push('"');
                } else if inside && chars.peek() == Some(&'"') {
                    chars.next();
                    word.push('"');
                } else {
                    inside = !inside;
                }
                backslashes = 0;
                continue;
            }
            word.extend(std::iter::repeat_n('\\', backslashes));
            backslashes = 0;
            if !inside && (c == ' ' || c == '\t') {
                if started {
                    words.push(std::mem::take(&mut word));
                }
                started = false;
            } else {
                word.push(c);
                started = true;
            }
        }
        word.extend(std::iter::repeat_n('\\', backslashes));
        if started {
            words.push(word);
        }
        words
    }

    fn line(words: &[&str]) -> String {
        command_line(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn what_people_type() {
        for (words, expected) in [
            (&["app.exe"][..], "app.exe"),
            (&["C:\\Program Files\\a.exe", "x"], "\"C:\\Program Files\\a.exe\" x"),
            (&["a", ""], "a \"\""),
            (&["a", "say \"hi\""], "a \"say \\\"hi\\\"\""),
            (&["a", "--k=\"v w\""], "a \"--k=\\\"v w\\\"\""),
            (&["a", "C:\\dir\\"], "a C:\\dir\\"),
            (&["a", "C:\\my dir\\"], "a \"C:\\my dir\\\\\""),
            (&["a", "\\\"", "b"], "a \\\\\\\" b"),
            (&["a", "tab\there"], "a \"tab\there\""),
            (&["a", "a&b|c>d^e%f"], "a a&b|c>d^e%f"),
        ] {
            assert_eq!(line(words), expected);
        }
    }

    proptest! {
        #[test]
        fn the_parser_gives_the_words_back(words in proptest::collection::vec("[a \"\\\\\t=]{0,8}", 0..5)) {
            let all: Vec<_> = std::iter::once("app".to_owned()).chain(words).collect();
            prop_assert_eq!(parse(&command_line(&all)), all);
        }
    }
}
