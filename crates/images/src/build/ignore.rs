//! `.dockerignore`: what of the context does not exist for the build.

use std::path::{Path, PathBuf};

use super::BuildError;
use super::glob::Glob;

/// The patterns, in their order: the last that matches decides.
#[derive(Debug, Default)]
pub(super) struct Ignore {
    patterns: Vec<Pattern>,
}

#[derive(Debug)]
struct Pattern {
    /// It takes back what an earlier one said.
    keeps: bool,
    glob: Glob,
}

/// Which patterns matched a directory: they hold for what is below.
#[derive(Debug, Clone, Default)]
pub(super) struct Above {
    matched: Option<Vec<bool>>,
}

// === impl Ignore ===

impl Ignore {
    /// `NAME.dockerignore` beside the Dockerfile, or `.dockerignore` in the context, or nothing.
    pub(super) fn of(context: &Path, dockerfile: Option<&Path>) -> Result<Ignore, BuildError> {
        let own = dockerfile.map(|path| PathBuf::from(format!("{}.dockerignore", path.display())));
        let path = own.filter(|path| path.is_file()).unwrap_or_else(|| context.join(".dockerignore"));
        match std::fs::read_to_string(&path) {
            Ok(text) => Ignore::parse(&text).map_err(|line| BuildError::Ignore { path, line }),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Ignore::default()),
            Err(source) => Err(BuildError::Read { path, source }),
        }
    }

    /// The number of the first line that is no pattern is the error.
    pub(super) fn parse(text: &str) -> Result<Ignore, usize> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut patterns = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = if line.starts_with('#') { "" } else { line.trim() };
            let (keeps, line) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest.trim()));
            let cleaned = clean(line);
            if cleaned.is_empty() && (keeps || !line.is_empty()) {
                return Err(index + 1);
            }
            if !cleaned.is_empty() {
                patterns.push(Pattern { keeps, glob: Glob::parse(&cleaned, true).ok_or(index + 1)? });
            }
        }
        Ok(Ignore { patterns })
    }

    /// Whether the path is to be left out, and what to ask with for what is below it.
    pub(super) fn leaves_out(&self, path: &str, above: &Above) -> (bool, Above) {
        let mut out = false;
        let mut matched = vec![false; self.patterns.len()];
        for (index, pattern) in self.patterns.iter().enumerate() {
            let inherited = above.matched.as_ref().is_some_and(|above| above[index]);
            matched[index] = inherited || pattern.keeps == out && pattern.glob.matches(path);
            if matched[index] {
                out = !pattern.keeps;
            }
        }
        (out, Above { matched: Some(matched) })
    }

    /// Whether something below a directory that is left out may come back.
    pub(super) fn has_exceptions(&self) -> bool {
        self.patterns.iter().any(|pattern| pattern.keeps)
    }
}

/// Without `.`, `..`, double and outer slashes. A pattern for everything is `.`, which Docker does not take either.
fn clean(line: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in line.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out(patterns: &str, path: &str) -> bool {
        let ignore = Ignore::parse(patterns).unwrap();
        let mut above = Above::default();
        let mut answer = false;
        for (end, _) in path.match_indices('/').chain([(path.len(), "")]) {
            (answer, above) = ignore.leaves_out(&path[..end], &above);
        }
        answer
    }

    #[test]
    fn patterns_as_docker_documents_them() {
        for (patterns, path, expected) in [
            ("*/temp*", "somedir/temporary.txt", true),
            ("*/temp*", "somedir/sub/temp", false),
            ("*/*/temp*", "somedir/sub/temporary.txt", true),
            ("temp?", "tempa", true),
            ("temp?", "temp", false),
            ("**/*.go", "a/b/c.go", true),
            ("*.md\n!README.md", "README.md", false),
            ("*.md\n!README*.md\nREADME-secret.md", "README-secret.md", true),
            ("*.md\nREADME-secret.md\n!README*.md", "README-secret.md", false),
            ("/foo/bar/", "foo/bar/x", true),
            ("foo/./bar", "foo/bar", true),
            ("# comment\n\n  dir  ", "dir/x", true),
            ("*\n!app", "app/x/y", false),
            ("*\n!app\napp/secret", "app/secret/y", true),
            ("dir\n!dir/keep", "dir/keep", false),
            ("dir\n!dir/keep", "dir/other", true),
            ("**", "a/b", true),
            ("!x\nx", "x", true),
        ] {
            assert_eq!(out(patterns, path), expected, "{patterns:?} on {path}");
        }
    }

    #[test]
    fn lines_that_are_no_pattern_are_counted() {
        assert_eq!(Ignore::parse("a\n[b").unwrap_err(), 2);
        assert_eq!(Ignore::parse("!").unwrap_err(), 1);
        assert_eq!(Ignore::parse("a\n\n/").unwrap_err(), 3);
    }
}
