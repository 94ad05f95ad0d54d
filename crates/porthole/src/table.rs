//! Columns that line up.

/// Rows under a heading, each column as wide as its widest cell. The last column is not padded.
pub fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = heading.iter().map(|cell| width(cell)).collect();
    for row in rows {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = (*widest).max(width(cell));
        }
    }
    let heading = heading.iter().map(|cell| (*cell).to_owned()).collect();
    std::iter::once(&heading).chain(rows).map(|row| line(row, &widths)).collect()
}

fn line(row: &[String], widths: &[usize]) -> String {
    let mut text = String::new();
    for (cell, widest) in row.iter().zip(widths) {
        text.push_str(cell);
        text.extend(std::iter::repeat_n(' ', widest - width(cell) + 3));
    }
    format!("{}\n", text.trim_end())
}

fn width(cell: &str) -> usize {
    cell.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows =
            [vec!["ä".to_owned(), "1".into(), "x".into()], vec!["longer".into(), "22".into(), String::new()]];
        assert_eq!(table(&["A", "B", "C"], &rows), "A        B    C\nä        1    x\nlonger   22\n");
    }
}
