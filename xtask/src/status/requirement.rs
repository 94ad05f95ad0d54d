//! The list of requirements (`xtask/requirements.txt`) and the notes on what is not shown.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::level::Level;

/// One line `ID | LEAST | TITLE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Requirement {
    pub(super) id: String,
    /// The levels that count as proof; all of them are wanted.
    pub(super) least: Vec<Level>,
    pub(super) title: String,
}

pub(super) fn read(root: &Path) -> Result<Vec<Requirement>> {
    let path = root.join("xtask/requirements.txt");
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| parse(line).with_context(|| format!("{}: {line}", path.display()))).collect()
}

fn parse(line: &str) -> Result<Requirement> {
    let mut fields = line.split('|').map(str::trim);
    let mut field = || fields.next().context("wanted ID | LEAST | TITLE");
    let (id, least, title) = (field()?, field()?, field()?);
    let level = |name: &str| Level::parse(name).with_context(|| format!("{name} is no level of proof"));
    let least = least.split('+').map(level).collect::<Result<_>>()?;
    Ok(Requirement { id: id.into(), least, title: title.into() })
}

/// Lines `ID = "text"`: the part of TOML that notes need.
pub(super) fn notes(text: &str) -> Result<Vec<(String, String)>> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let note = |line: &str| {
        let (id, text) = line.split_once(" = ")?;
        let text = text.strip_prefix('"')?.strip_suffix('"')?;
        Some((id.to_owned(), text.to_owned()))
    };
    lines.map(|line| note(line).with_context(|| format!("wanted ID = \"text\", found {line}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requirement_names_all_levels_it_wants() {
        let requirement = parse("HP-07 | wine+twin | A container is a job").expect("parses");
        assert_eq!(requirement.least, [Level::Wine, Level::Twin]);
        assert!(parse("HP-07 | moon | x").is_err());
        assert!(parse("HP-07 | twin").is_err());
    }

    #[test]
    fn the_committed_list_reads_and_has_no_id_twice() {
        let root = testbed::tools::repo_root().expect("root");
        let list = read(&root).expect("reads");
        let mut ids: Vec<_> = list.iter().map(|requirement| &requirement.id).collect();
        ids.dedup();
        assert_eq!(ids.len(), list.len());
        assert!(ids.len() > 80, "{}", ids.len());
    }

    #[test]
    fn notes_are_id_and_text() {
        let text = "# why\nHP-07 = \"storage: \"later\"\"\n";
        assert_eq!(notes(text).expect("parses"), [("HP-07".into(), "storage: \"later\"".into())]);
        assert!(notes("HP-07: x").is_err());
    }
}
