//! Columns that line up.

use unicode_width::UnicodeWidthStr;

/// Rows under a heading, each column as wide as its widest cell. The last column is not padded.
pub fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let heading: Vec<_> = heading.iter().map(|cell| (*cell).to_owned()).collect();
    let rows: Vec<Vec<_>> = std::iter::once(&heading)
        .chain(rows)
        .map(|row| row.iter().map(|cell| shown(cell)).collect())
        .collect();
    let mut widths = vec![0; heading.len()];
    for row in &rows {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = (*widest).max(cell.width());
        }
    }
    rows.iter().map(|row| line(row, &widths)).collect()
}

/// A cell may hold a container's own words: none of them ends the line, moves the cursor, or is as wide as it likes.
fn shown(cell: &str) -> String {
    cell.replace(char::is_control, " ")
}

fn line(row: &[String], widths: &[usize]) -> String {
    let mut text = String::new();
    for (cell, widest) in row.iter().zip(widths) {
        text.push_str(cell);
        text.extend(std::iter::repeat_n(' ', widest - cell.width() + 3));
    }
    format!("{}\n", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows =
            [vec!["ä".to_owned(), "1".into(), "x".into()], vec!["longer".into(), "22".into(), String::new()]];
        assert_eq!(table(&["A", "B", "C"], &rows), "A        B    C\nä        1    x\nlonger   22\n");
        let rows = [vec!["日本".to_owned(), "1".into()], vec!["longer".into(), "2".into()]];
        assert_eq!(table(&["A", "B"], &rows), "A        B\n日本     1\nlonger   2\n");
    }

    #[test]
    fn a_row_is_a_line_whatever_a_cell_says() {
        let rows = [vec!["a\tb".to_owned(), "one\r\ntwo\x1b[2J".into()], vec!["c".into(), "d".into()]];
        assert_eq!(table(&["A", "B"], &rows), "A     B\na b   one  two [2J\nc     d\n");
    }
}
