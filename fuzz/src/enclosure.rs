//! A directory some levels down, with a file beside each level: whoever finds a way out changes what stands there.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A way out seldom ends at the first level.
const LEVELS: [&str; 3] = ["a", "ab", "abc"];
const BESIDE: &str = "beside";
const UNTOUCHED: &str = "untouched";

#[derive(Debug)]
pub struct Enclosure {
    outermost: TempDir,
}

impl Default for Enclosure {
    fn default() -> Self {
        let outermost = tempfile::tempdir().expect("a temporary directory");
        let made = Self { outermost };
        fs::create_dir_all(made.innermost()).expect("made");
        for level in made.levels() {
            fs::write(level.join(BESIDE), UNTOUCHED).expect("written");
        }
        made
    }
}

impl Enclosure {
    pub fn outermost(&self) -> &Path {
        self.outermost.path()
    }

    pub fn innermost(&self) -> PathBuf {
        self.outermost().join(LEVELS.iter().collect::<PathBuf>())
    }

    /// All but the innermost, which is for who is watched.
    fn levels(&self) -> impl Iterator<Item = PathBuf> {
        (0..LEVELS.len()).map(|depth| self.outermost().join(LEVELS[..depth].iter().collect::<PathBuf>()))
    }

    /// Each level holds the next one and the file beside it as it was; the innermost holds only these.
    pub fn assert_holds(&self, inside: &[&str]) {
        for (level, next) in self.levels().zip(LEVELS) {
            assert_eq!(names(&level), [next, BESIDE], "something was made outside");
            let beside = fs::symlink_metadata(level.join(BESIDE)).expect("there");
            assert!(beside.is_file(), "what stood outside is another thing");
            let text = fs::read(level.join(BESIDE)).expect("readable");
            assert_eq!(text, UNTOUCHED.as_bytes(), "something outside was changed");
        }
        let mut inside = inside.to_vec();
        inside.sort_unstable();
        assert_eq!(names(&self.innermost()), inside, "something was made beside the roots");
    }
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("readable").flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    fn is_noticed(escape: impl FnOnce(&Enclosure)) -> bool {
        let enclosure = Enclosure::default();
        fs::create_dir(enclosure.innermost().join("root")).expect("made");
        enclosure.assert_holds(&["root"]);
        escape(&enclosure);
        catch_unwind(AssertUnwindSafe(|| enclosure.assert_holds(&["root"]))).is_err()
    }

    #[test]
    fn a_way_out_is_noticed_at_every_level() {
        for levels in ["../x", "../../x", "../../../x", "x"] {
            assert!(is_noticed(|e| fs::write(e.innermost().join(levels), "").expect("written")), "{levels}");
        }
        for levels in ["../beside", "../../beside", "../../../beside"] {
            assert!(is_noticed(|e| fs::write(e.innermost().join(levels), "!").expect("written")), "{levels}");
        }
        assert!(is_noticed(|e| fs::remove_file(e.outermost().join(BESIDE)).expect("removed")));
        assert!(!is_noticed(|e| fs::write(e.innermost().join("root/x"), "").expect("written")));
    }
}
