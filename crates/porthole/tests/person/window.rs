//! What stands on a terminal after everything that was written to it.

use std::collections::BTreeSet;
use std::str::Chars;

/// A terminal as wide as it is, and as high as it needs to be.
#[derive(Debug, Default)]
pub(crate) struct Window {
    columns: usize,
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
    sequences: BTreeSet<String>,
}

// === impl Window ===

impl Window {
    pub(crate) fn showing(written: &str, columns: u16) -> Window {
        let mut window = Window { columns: columns.into(), ..Window::default() };
        let mut rest = written.chars();
        while let Some(sign) = rest.next() {
            match sign {
                '\n' => window.row += 1,
                '\r' => window.column = 0,
                // Of one that is still under way nothing can be seen.
                '\x1b' => sequence(&mut rest).into_iter().for_each(|sequence| window.obey(sequence)),
                sign => window.put(sign),
            }
        }
        window
    }

    /// The lines, without the spaces at their ends.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned()).collect()
    }

    /// The kinds of escape sequences that were written, without the escape sign.
    pub(crate) fn sequences(&self) -> Vec<&str> {
        self.sequences.iter().map(String::as_str).collect()
    }

    /// A line that is full goes on in the next one when something follows, not before.
    fn put(&mut self, sign: char) {
        if self.column == self.columns {
            (self.row, self.column) = (self.row + 1, 0);
        }
        let column = self.column;
        let line = self.line();
        line.resize(line.len().max(column + 1), ' ');
        line[column] = sign;
        self.column += 1;
    }

    fn line(&mut self) -> &mut Vec<char> {
        let rows = self.lines.len();
        self.lines.resize(rows.max(self.row + 1), Vec::new());
        &mut self.lines[self.row]
    }

    /// Only what moves and erases; whoever writes anything else must be looked at with other eyes.
    fn obey(&mut self, sequence: String) {
        let (number, kind) = sequence.split_at(sequence.len() - 1);
        let number = number.strip_prefix('[').and_then(|number| match number {
            "" => Some(None),
            number => number.parse::<usize>().ok().map(Some),
        });
        match (number, kind) {
            (Some(up), "A") => self.row = self.row.checked_sub(up.unwrap_or(1)).expect("above the top"),
            (Some(down), "B") => self.row += down.unwrap_or(1),
            (Some(None | Some(0)), "J") => self.erase_below(),
            (Some(None | Some(0)), "K") => self.erase_right(),
            (Some(Some(2)), "K") => self.line().clear(),
            _ => panic!("nobody knows the sequence {sequence:?}"),
        }
        self.sequences.insert(sequence);
    }

    fn erase_right(&mut self) {
        let column = self.column;
        self.line().truncate(column);
    }

    fn erase_below(&mut self) {
        self.erase_right();
        self.lines.truncate(self.row + 1);
    }
}

/// To its letter; none if there is no letter yet.
fn sequence(rest: &mut Chars<'_>) -> Option<String> {
    let mut sequence = String::new();
    while !sequence.ends_with(|sign: char| sign.is_ascii_alphabetic()) {
        sequence.push(rest.next()?);
    }
    Some(sequence)
}
