//! What could not be kept of an image when it was unpacked: a few lines, and how many more there are.

use super::bars::Bars;

/// So many are said; somebody who looks for one more has the document.
const MOST: usize = 3;

/// `all` is what prints every one of them.
pub(super) fn tell(warnings: &[String], all: &str, bars: &Bars) {
    lines(warnings, all).iter().for_each(|line| bars.note(line));
}

fn lines(warnings: &[String], all: &str) -> Vec<String> {
    let mut lines: Vec<_> = warnings.iter().take(MOST).map(|warning| format!("warning: {warning}")).collect();
    if let Some(more) = warnings.len().checked_sub(MOST).filter(|more| *more > 0) {
        lines.push(format!("warning: {more} more: {all} lists them"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_are_said_and_the_rest_is_counted() {
        let warnings = |count: usize| (0..count).map(|n| format!("f{n}: no owner")).collect::<Vec<_>>();
        assert!(lines(&warnings(0), "-o json").is_empty());
        assert_eq!(lines(&warnings(1), "-o json"), ["warning: f0: no owner"]);
        assert_eq!(lines(&warnings(MOST), "-o json").len(), MOST);
        let many = lines(&warnings(MOST + 98), "-o json");
        assert_eq!((many.len(), many[MOST].as_str()), (MOST + 1, "warning: 98 more: -o json lists them"));
    }
}
