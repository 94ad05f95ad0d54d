//! What of a table a terminal can show so that it can be erased again.

use os::terminal::Size;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// As much of a table as the terminal shows line for line: a line that went on in the next, or one that left at the
/// top, could not be erased.
pub(super) fn fitted(table: &str, terminal: Option<Size>) -> String {
    let Some(Size { columns, rows }) = terminal.filter(|size| size.columns > 1 && size.rows > 2) else {
        return table.to_owned();
    };
    let (columns, room) = (usize::from(columns), usize::from(rows) - 1);
    let cut = |line: &str| cut(line, columns) + "\n";
    let lines = table.lines().count();
    if lines <= room {
        return table.lines().map(cut).collect();
    }
    let more = format!("… and {} more: porthole ps", lines - (room - 1));
    table.lines().take(room - 1).chain([more.as_str()]).map(cut).collect()
}

/// The beginning of a line that no terminal shows wider than this. They differ about signs that are made of several:
/// some show the parts, some the whole.
fn cut(line: &str, columns: usize) -> String {
    let mut width = 0;
    let fits = |sign: &char| {
        width += sign.width().unwrap_or(0);
        width <= columns
    };
    let mut part: String = line.chars().take_while(fits).collect();
    while part.width() > columns {
        part.pop();
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(columns: u16, rows: u16) -> Option<Size> {
        Some(Size { columns, rows })
    }

    #[test]
    fn no_line_is_longer_than_the_terminal_is_wide_nor_the_table_higher() {
        let table = "POD   NOTE\na     größer\nb\nc\n";
        assert_eq!(fitted(table, None), table);
        assert_eq!(fitted(table, size(80, 5)), table);
        assert_eq!(fitted(table, size(8, 5)), "POD   NO\na     gr\nb\nc\n");
        assert_eq!(fitted(table, size(80, 4)), "POD   NOTE\na     größer\n… and 2 more: porthole ps\n");
        // Whoever does not say how large it is gets everything.
        assert_eq!(fitted(table, size(0, 0)), table);
    }

    #[test]
    fn signs_that_take_two_columns_are_counted_as_two() {
        for (line, expected) in [
            ("日本語", "日本"),
            ("a日本語", "a日本"),
            ("🚢🚢🚢", "🚢🚢"),
            // A family is three people where they are not shown as one.
            ("👨\u{200d}👩\u{200d}👧", "👨\u{200d}👩\u{200d}"),
            // A heart is as wide as a picture as it is not as a letter.
            ("abcd❤\u{fe0f}", "abcd❤"),
            ("e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}", "e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}"),
        ] {
            assert_eq!(cut(line, 5), expected, "{line}");
        }
    }
}
