//! From physical lines to one line per instruction: directives, comments, continuations.

use super::{DockerfileError, Wrong};

/// One instruction with its continuations joined.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) number: usize,
    pub(super) text: String,
}

#[derive(Debug)]
pub(super) struct Split {
    pub(super) escape: char,
    pub(super) lines: Vec<Line>,
}

pub(super) fn split(text: &str) -> Result<Split, DockerfileError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let physical: Vec<_> = text.lines().collect();
    let escape = directives(&physical)?;
    let mut lines = Vec::new();
    let mut ahead = physical.iter().enumerate();
    while let Some((index, first)) = ahead.next() {
        if is_nothing(first) {
            continue;
        }
        let (mut whole, mut goes_on) = continued(first.trim_start(), escape);
        while goes_on && let Some((_, next)) = ahead.next() {
            // Comments and empty lines in between do not end an instruction.
            if is_nothing(next) {
                continue;
            }
            let (part, more) = continued(next, escape);
            whole.push_str(&part);
            goes_on = more;
        }
        let text = whole.trim().to_owned();
        if !text.is_empty() {
            lines.push(Line { number: index + 1, text });
        }
    }
    Ok(Split { escape, lines })
}

/// `# name=value` at the very top, before anything else. One that is not known is a comment and ends them.
fn directives(lines: &[&str]) -> Result<char, DockerfileError> {
    let mut escape = None;
    for (index, line) in lines.iter().enumerate() {
        let Some((name, value)) = line.trim().strip_prefix('#').and_then(|rest| rest.split_once('=')) else {
            break;
        };
        match name.trim().to_ascii_lowercase().as_str() {
            "escape" if escape.is_none() => {
                escape = Some(escape_of(value.trim()).map_err(|e| e.at(index + 1))?)
            }
            "escape" => {
                let (name, found) = ("escape".to_owned(), value.trim().to_owned());
                return Err(Wrong::Directive { name, wanted: "to be given once", found }.at(index + 1));
            }
            "syntax" | "check" => {}
            _ => break,
        }
    }
    Ok(escape.unwrap_or('\\'))
}

fn escape_of(value: &str) -> Result<char, Wrong> {
    match value {
        "\\" => Ok('\\'),
        "`" => Ok('`'),
        other => {
            let (name, found) = ("escape".to_owned(), other.to_owned());
            Err(Wrong::Directive { name, wanted: "a backslash or a backtick", found })
        }
    }
}

fn is_nothing(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// The line without its escape at the end, and whether it had one. Two of them are one character and no end.
fn continued(line: &str, escape: char) -> (String, bool) {
    let bare = line.trim_end_matches([' ', '\t']);
    match bare.strip_suffix(escape) {
        Some(rest) if !rest.ends_with(escape) => (rest.to_owned(), true),
        _ => (line.to_owned(), false),
    }
}
