//! `// proves: ID LEVEL` directly above a test.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::level::Level;
use crate::results::Record;

const MARK: &str = "// proves: ";
/// Where tests live.
const ROOTS: &[&str] = &["crates", "testbed", "xtask"];

/// One claim of one test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Annotation {
    pub(super) id: String,
    pub(super) level: Level,
    pub(super) file: PathBuf,
    pub(super) function: String,
}

pub(super) fn read(root: &Path) -> Result<Vec<Annotation>> {
    let mut found = Vec::new();
    for dir in ROOTS {
        walk(&root.join(dir), &mut |path| {
            let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
            found.extend(parse(path.strip_prefix(root)?, &text)?);
            Ok(())
        })?;
    }
    found.sort_by(|a, b| (&a.id, a.level, &a.file, &a.function).cmp(&(&b.id, b.level, &b.file, &b.function)));
    Ok(found)
}

fn walk(dir: &Path, visit: &mut impl FnMut(&Path) -> Result<()>) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| format!("read {}", dir.display()))? {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("target") {
            walk(&path, visit)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            visit(&path)?;
        }
    }
    Ok(())
}

/// The annotations of one file; one that stands above no test is an error, or it would silently prove nothing.
pub(super) fn parse(file: impl AsRef<Path>, text: &str) -> Result<Vec<Annotation>> {
    let file = file.as_ref();
    let mut found = Vec::new();
    let mut claims: Vec<(&str, Level)> = Vec::new();
    let mut is_test = false;
    for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line.trim())) {
        let place = || format!("{}:{number}", file.display());
        if let Some(claim) = line.strip_prefix(MARK) {
            claims.push(parsed(claim).with_context(place)?);
        } else if claims.is_empty() || line.starts_with("//") {
            continue;
        } else if line.starts_with('#') {
            is_test |= line == "#[test]" || line.starts_with("#[tokio::test");
        } else if let (true, Some(function)) = (is_test, function(line)) {
            found.extend(claims.drain(..).map(|(id, level)| Annotation {
                id: id.into(),
                level,
                file: file.into(),
                function: function.into(),
            }));
            is_test = false;
        } else {
            bail!("{}: a `proves` comment stands above something that is not a test", place());
        }
    }
    if !claims.is_empty() {
        bail!("{}: a `proves` comment stands above nothing", file.display());
    }
    Ok(found)
}

fn parsed(claim: &str) -> Result<(&str, Level)> {
    let (id, level) = claim.split_once(' ').with_context(|| format!("wanted ID LEVEL, found {claim}"))?;
    let level = Level::parse(level.trim()).with_context(|| format!("{level} is no level of proof"))?;
    Ok((id, level))
}

fn function(line: &str) -> Option<&str> {
    let (_, after) = line.split_once("fn ")?;
    after.split(['(', '<']).next()
}

// === impl Annotation ===

impl Annotation {
    /// The claim as the page shows it: where to look and what to search for.
    pub(super) fn shown(&self) -> String {
        format!("`{}` {}", self.file.display(), self.function.replace('_', " "))
    }

    /// Whether a record is of this test: same file as far as a test program's names tell, same function.
    pub(super) fn is_test(&self, record: &Record) -> bool {
        let Some((package_dir, rest)) = self.split() else { return false };
        let (modules, function) = record.name.rsplit_once("::").unwrap_or(("", &record.name));
        let same_place = match rest.strip_prefix("tests/") {
            // A test program of several files: the directory is the target, the rest its modules.
            Some(test) => match test.split_once('/') {
                Some((target, inner)) => target == record.target && modules.starts_with(&module(inner)),
                None => test.trim_end_matches(".rs") == record.target,
            },
            None => modules.starts_with(&module(&rest)),
        };
        same_place && function == self.function && Path::new(&package_dir).ends_with(&record.package)
    }

    fn split(&self) -> Option<(String, String)> {
        let text = self.file.to_str()?;
        let at = text.find("/src/").or_else(|| text.find("/tests/"))?;
        Some((text[..at].to_owned(), text[at + 1..].to_owned()))
    }
}

/// The module that a source file is: `src/a/b.rs` is `a::b`, the roots are nothing.
fn module(source: &str) -> String {
    let path = source.trim_start_matches("src/").trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if ["lib", "main", "mod"].contains(&path) { String::new() } else { path.replace('/', "::") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Stamp;
    use crate::tier::Tier;

    fn record(package: &str, target: &str, name: &str) -> Record {
        Stamp { commit: "c".into(), dirty: false }.record(Tier::Unit, package, target, name)
    }

    #[test]
    fn several_claims_and_attributes_belong_to_one_test() {
        let text =
            "// proves: HP-07 twin\n// proves: HP-08 wine\n#[test]\n#[cfg(unix)]\nfn dies_as_one() {\n";
        let found = parse("crates/os/tests/twin_job.rs", text).expect("parses");
        let claims: Vec<_> = found.iter().map(|a| (a.id.as_str(), a.level, a.function.as_str())).collect();
        assert_eq!(claims, [("HP-07", Level::Twin, "dies_as_one"), ("HP-08", Level::Wine, "dies_as_one")]);
    }

    #[test]
    fn a_test_that_waits_is_a_test_too() {
        let text = "// proves: HP-23 twin\n#[tokio::test(flavor = \"multi_thread\")]\nasync fn streams() {\n";
        let found = parse("crates/streaming/tests/twin_streaming/a.rs", text).expect("parses");
        assert_eq!(found[0].function, "streams");
    }

    #[test]
    fn a_claim_above_no_test_is_an_error() {
        for text in [
            "// proves: HP-07 twin\nfn helper() {}\n",
            "// proves: HP-07 twin\n",
            "// proves: HP-07 twin\n\n#[test]",
        ] {
            assert!(parse("crates/os/src/a.rs", text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_unknown_level_is_an_error_with_its_place() {
        let error =
            parse("crates/os/src/a.rs", "\n// proves: HP-07 moon\n#[test]\nfn x() {}").expect_err("no level");
        assert_eq!(format!("{error:#}"), "crates/os/src/a.rs:2: moon is no level of proof");
    }

    #[test]
    fn unit_tests_are_found_by_package_module_and_function() {
        let text = "// proves: HP-35 pure\n#[test]\nfn old() {}";
        let annotation = parse("crates/plan/src/support.rs", text).expect("parses").remove(0);
        assert!(annotation.is_test(&record("plan", "plan", "support::tests::old")));
        assert!(!annotation.is_test(&record("plan", "plan", "other::tests::old")));
        assert!(!annotation.is_test(&record("rules", "rules", "support::tests::old")));
        assert!(!annotation.is_test(&record("plan", "plan", "support::tests::very_old")));
    }

    #[test]
    fn integration_tests_are_found_by_their_target() {
        let text = "// proves: HP-07 twin\n#[test]\nfn dies() {}";
        let annotation = parse("crates/os/tests/twin_job.rs", text).expect("parses").remove(0);
        assert!(annotation.is_test(&record("os", "twin_job", "dies")));
        assert!(!annotation.is_test(&record("os", "twin_file", "dies")));
    }

    #[test]
    fn a_test_program_of_several_files_is_found_by_its_directory() {
        let text = "// proves: HP-07 twin\n#[test]\nfn dies() {}";
        let annotation = parse("crates/os/tests/twin_os/job.rs", text).expect("parses").remove(0);
        assert!(annotation.is_test(&record("os", "twin_os", "job::dies")));
        assert!(!annotation.is_test(&record("os", "twin_os", "file::dies")));
        assert!(!annotation.is_test(&record("os", "job", "job::dies")));
    }

    #[test]
    fn a_longer_name_with_the_same_end_is_another_test() {
        let text = "// proves: HP-07 twin\n#[test]\nfn dies() {}";
        let annotation = parse("crates/os/tests/twin_job.rs", text).expect("parses").remove(0);
        assert!(!annotation.is_test(&record("os", "twin_job", "never_dies")));
    }
}
