//! What of a table a terminal can show so that it can be erased again.

use os::terminal::Size;

/// As much of a table as the terminal shows line for line: a line that went on in the next, or one that left at the
/// top, could not be erased.
pub(super) fn fitted(table: &str, terminal: Option<Size>) -> String {
    let Some(Size { columns, rows }) = terminal.filter(|size| size.columns > 1 && size.rows > 2) else {
        return table.to_owned();
    };
    let (columns, room) = (usize::from(columns), usize::from(rows) - 1);
    let cut = |line: &str| line.chars().take(columns).collect::<String>() + "\n";
    let lines = table.lines().count();
    if lines <= room {
        return table.lines().map(cut).collect();
    }
    let more = format!("… and {} more: porthole ps", lines - (room - 1));
    table.lines().take(room - 1).chain([more.as_str()]).map(cut).collect()
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
}
