//! The files of one layer before it is written: paths in the image, where their bytes come from, their modes.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// Paths are relative to the image's root, with slashes, in the order in which they are written.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    nodes: BTreeMap<String, Node>,
    /// On Windows `App` and `app` are one; from the folded name to the first spelling.
    spelling: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// `implied` if only something below it was asked for.
    Directory {
        mode: u32,
        implied: bool,
    },
    File {
        from: From,
        mode: u32,
    },
    /// `directory` is what Windows must know of the target.
    Link {
        target: String,
        directory: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum From {
    Path(PathBuf),
    Bytes(Vec<u8>),
}

// === impl Node ===

impl Node {
    pub(super) fn is_directory(&self) -> bool {
        matches!(self, Node::Directory { .. })
    }
}

// === impl Tree ===

impl Tree {
    pub(super) fn new(windows: bool) -> Tree {
        Tree { nodes: BTreeMap::new(), spelling: windows.then(BTreeMap::new) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Whether a directory was asked for itself, not only for what is in it.
    pub(super) fn has_own_directory(&self) -> bool {
        self.nodes.values().any(|node| matches!(node, Node::Directory { implied: false, .. }))
    }

    /// Whether there is nothing but directories that were not asked for.
    pub(super) fn is_implied(&self) -> bool {
        self.nodes.values().all(|node| matches!(node, Node::Directory { implied: true, .. }))
    }

    /// These directories are there: nobody asks for them any more.
    pub(super) fn imply_those(&mut self, there: impl Fn(&str) -> bool) {
        for (path, node) in &mut self.nodes {
            if let Node::Directory { implied, .. } = node {
                *implied |= there(path);
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.nodes.iter().map(|(path, node)| (path.as_str(), node))
    }

    pub(super) fn is_directory(&self, path: &str) -> bool {
        path.is_empty() || matches!(self.nodes.get(&self.spelled(path)), Some(Node::Directory { .. }))
    }

    pub(super) fn directory(&mut self, path: &str) {
        if !path.is_empty() {
            self.put(path, Node::Directory { mode: 0o755, implied: false });
        }
    }

    fn imply(&mut self, path: &str) {
        if !self.is_directory(path) {
            self.put(path, Node::Directory { mode: 0o755, implied: true });
        }
    }

    /// Replaces what was there. The directories above it come by themselves.
    pub(super) fn put(&mut self, path: &str, node: Node) {
        for (at, _) in path.match_indices('/') {
            self.imply(&path[..at]);
        }
        let path = self.spell(path);
        if !node.is_directory() {
            self.remove_below(&path);
        }
        self.nodes.insert(path, node);
    }

    fn remove_below(&mut self, path: &str) {
        let below = format!("{path}/");
        self.nodes.retain(|each, _| !each.starts_with(&below));
    }

    /// As it was first written, part by part.
    fn spelled(&self, path: &str) -> String {
        let Some(spelling) = &self.spelling else { return path.to_owned() };
        let mut whole = String::new();
        for part in path.split('/') {
            let longer = if whole.is_empty() { part.to_owned() } else { format!("{whole}/{part}") };
            whole = spelling.get(&fold(&longer)).cloned().unwrap_or(longer);
        }
        whole
    }

    fn spell(&mut self, path: &str) -> String {
        let path = self.spelled(path);
        if let Some(spelling) = &mut self.spelling {
            spelling.entry(fold(&path)).or_insert_with(|| path.clone());
        }
        path
    }
}

fn fold(path: &str) -> String {
    path.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Node {
        Node::File { from: From::Bytes(text.into()), mode: 0o644 }
    }

    fn names(tree: &Tree) -> Vec<&str> {
        tree.iter().map(|(path, _)| path).collect()
    }

    #[test]
    fn directories_come_by_themselves_and_the_last_file_wins() {
        let mut tree = Tree::new(false);
        tree.put("a/b/c", file("1"));
        tree.put("a/B", file("2"));
        tree.put("a/b/c", file("3"));
        assert_eq!(names(&tree), ["a", "a/B", "a/b", "a/b/c"]);
        assert!(tree.is_directory("a/b") && tree.is_directory("") && !tree.is_directory("a/b/c"));
        tree.put("a/b", file("4"));
        assert_eq!(names(&tree), ["a", "a/B", "a/b"]);
    }

    #[test]
    fn on_windows_case_does_not_make_another_file() {
        let mut tree = Tree::new(true);
        tree.put("App/x", file("1"));
        tree.put("app/X", file("2"));
        tree.put("APP/y", file("3"));
        assert_eq!(names(&tree), ["App", "App/x", "App/y"]);
        assert!(tree.is_directory("aPP"));
    }
}
