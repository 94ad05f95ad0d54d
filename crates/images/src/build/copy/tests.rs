use super::super::path::place;
use super::*;

mod links;

struct World {
    dir: tempfile::TempDir,
    ignore: Ignore,
    known: Tree,
}

impl World {
    fn new(files: &[&str], ignore: &str) -> World {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, file).unwrap();
        }
        World { dir, ignore: Ignore::parse(ignore).unwrap(), known: Tree::new(false) }
    }

    fn copy(&self, sources: &[&str], target: &str, exclude: &[&str]) -> Result<Vec<String>, BuildError> {
        let tree = self.tree(Root::Host(self.dir.path()), sources, target, exclude)?;
        Ok(tree
            .iter()
            .filter(|(_, node)| !matches!(node, Node::Directory { .. }))
            .map(|(path, _)| path.into())
            .collect())
    }

    fn tree(
        &self,
        root: Root<'_>,
        sources: &[&str],
        target: &str,
        exclude: &[&str],
    ) -> Result<Tree, BuildError> {
        let copying = Copying {
            line: 3,
            root,
            ignore: &self.ignore,
            exclude: exclude.iter().map(|text| Glob::parse(text, true).unwrap()).collect(),
            chmod: None,
            windows: false,
            add: false,
            known: &self.known,
        };
        let sources: Vec<_> = sources.iter().map(|source| (*source).to_owned()).collect();
        let mut tree = Tree::new(false);
        copying.add(&sources, &place(target, "w", false).unwrap(), &mut tree)?;
        Ok(tree)
    }
}

#[test]
fn files_and_directories_go_where_docker_puts_them() {
    let world = World::new(&["a.txt", "b.txt", "d/x", "d/e/y"], "");
    for (sources, target, expected) in [
        (vec!["a.txt"], "/c", vec!["c"]),
        (vec!["a.txt"], "/c/", vec!["c/a.txt"]),
        (vec!["a.txt"], ".", vec!["w/a.txt"]),
        (vec!["a.txt", "b.txt"], "/c/", vec!["c/a.txt", "c/b.txt"]),
        (vec!["*.txt"], "c/", vec!["w/c/a.txt", "w/c/b.txt"]),
        (vec!["d"], "/c", vec!["c/e/y", "c/x"]),
        (vec!["d/"], "/c/", vec!["c/e/y", "c/x"]),
        (vec!["d/*"], "/c/", vec!["c/x", "c/y"]),
        (vec!["./d/../a.txt"], "/", vec!["a.txt"]),
        (vec!["../../a.txt"], "/", vec!["a.txt"]),
        (vec!["."], "/", vec!["a.txt", "b.txt", "d/e/y", "d/x"]),
        (vec!["*.none"], "/", vec![]),
    ] {
        assert_eq!(world.copy(&sources, target, &[]).unwrap(), expected, "{sources:?} to {target}");
    }
}

#[test]
fn what_cannot_be_copied_is_named() {
    let world = World::new(&["a", "b", "secret/x"], "secret");
    assert_eq!(
        world.copy(&["a", "b"], "/c", &[]).unwrap_err().to_string(),
        "line 3: several files to \"c\": wanted a directory, with a slash at the end"
    );
    let missing = world.copy(&["none"], "/", &[]).unwrap_err().to_string();
    assert!(missing.starts_with("line 3: \"none\" is not in "), "{missing}");
    let ignored = world.copy(&["secret/x"], "/", &[]).unwrap_err().to_string();
    assert!(ignored.ends_with("leaves it out"), "{ignored}");
    let pattern = world.copy(&["[a"], "/", &[]).unwrap_err().to_string();
    assert_eq!(pattern, "line 3: \"[a\" is no pattern: a bracket or an escape is not finished");
}

#[test]
fn what_is_ignored_is_not_there() {
    let files = ["a.md", "README.md", "dir/keep", "dir/other", "dir/deep/keep", "x/y.log"];
    let world = World::new(&files, "*.md\n!README.md\ndir\n!dir/keep\n**/*.log");
    assert_eq!(world.copy(&["."], "/", &[]).unwrap(), ["README.md", "dir/keep"]);
    assert_eq!(world.copy(&["dir"], "/c/", &[]).unwrap(), ["c/keep"]);
    assert_eq!(world.copy(&["*.md"], "/c/", &[]).unwrap(), ["c/README.md"]);
}

#[test]
fn what_is_excluded_is_not_copied_whether_a_source_names_it_or_a_directory_has_it() {
    let files = ["home.txt", "homely", "d/x.txt", "d/y", "d/e/z.txt", "d/e/w", "hom.d/v", "hom.d/u.txt"];
    let world = World::new(&files, "");
    for (sources, exclude, target, expected) in [
        (vec!["hom*"], vec!["*.txt"], "/c/", vec!["c/homely", "c/v"]),
        (vec!["home*"], vec!["*.txt"], "/c", vec!["c"]),
        (vec!["hom*"], vec!["*.txt", "homel?"], "/c/", vec!["c/v"]),
        (vec!["home.txt", "homely"], vec!["home.*"], "/c/", vec!["c/homely"]),
        (vec!["home.txt"], vec!["home.txt"], "/c", vec![]),
        (vec!["*.txt"], vec!["*"], "/c/", vec![]),
        (vec!["d/*"], vec!["*.txt"], "/c/", vec!["c/w", "c/y"]),
        (vec!["d/*"], vec!["d/*.txt"], "/c/", vec!["c/w", "c/y", "c/z.txt"]),
        (vec!["d/x.txt", "d/y"], vec!["d/x*"], "/c/", vec!["c/y"]),
        (vec!["d/x.txt"], vec!["e/x.txt"], "/c/", vec!["c/x.txt"]),
        (vec!["d"], vec!["*.txt"], "/c", vec!["c/e/w", "c/y"]),
        (vec!["d"], vec!["d/*.txt"], "/c", vec!["c/e/w", "c/e/z.txt", "c/y"]),
        (vec!["."], vec!["**/*.txt"], "/", vec!["d/e/w", "d/y", "hom.d/v", "homely"]),
        (vec!["."], vec!["d", "hom*"], "/", vec![]),
        // A directory that a source names is not something in it.
        (vec!["d"], vec!["d"], "/c", vec!["c/e/w", "c/e/z.txt", "c/x.txt", "c/y"]),
        (vec!["d"], vec!["*"], "/c", vec![]),
    ] {
        let copied = world.copy(&sources, target, &exclude).unwrap();
        assert_eq!(copied, expected, "{sources:?} without {exclude:?} to {target}");
    }
    let missing = world.copy(&["none"], "/", &["none"]).unwrap_err().to_string();
    assert!(missing.starts_with("line 3: \"none\" is not in "), "{missing}");
}
