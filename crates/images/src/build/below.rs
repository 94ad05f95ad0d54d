//! Which directories a base has. They have modes and owners of their own, which a layer on top must not change only
//! because an instruction names them: `WORKDIR /tmp` is no reason for another `/tmp`.

use std::collections::BTreeMap;

use crate::unpack::{Budget, Limits, Listed, UnpackError};

/// The directories of an image, and the links that may lead to them.
#[derive(Debug)]
pub(super) struct Below {
    nodes: BTreeMap<String, Node>,
    budget: Budget,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Directory,
    Link(String),
}

/// So many links may be on the way.
const MOST_LINKS: usize = 40;
const LONGEST_PATH: usize = 4096;

// === impl Below ===

impl Below {
    /// With so much memory for names: few bytes of a layer can name many directories.
    pub(super) fn new(Limits { names, .. }: Limits) -> Below {
        Below { nodes: BTreeMap::new(), budget: Budget::new(names) }
    }

    /// Puts a layer on top of those that are known.
    pub(super) fn add(&mut self, layer: Vec<Listed>) -> Result<(), UnpackError> {
        // What a layer hides is below it, wherever in the layer that stands.
        for each in &layer {
            match each {
                Listed::Hidden(path) => self.remove(path),
                Listed::AllHidden(path) => self.remove_below(path),
                _ => {}
            }
        }
        for each in layer {
            match each {
                Listed::Directory(path) => self.directory(&path)?,
                Listed::Symlink(path, to) => self.put(&path, Some(Node::Link(to)))?,
                Listed::Other(path) => self.put(&path, None)?,
                Listed::Hidden(_) | Listed::AllHidden(_) => {}
            }
        }
        Ok(())
    }

    /// Whether there is a directory, perhaps behind links.
    pub(super) fn is_directory(&self, path: &str) -> bool {
        self.real(path).is_some_and(|path| path.is_empty() || self.nodes.get(&path) == Some(&Node::Directory))
    }

    fn directory(&mut self, path: &str) -> Result<(), UnpackError> {
        match self.nodes.get(path) {
            Some(Node::Directory) => Ok(()),
            _ => self.put(path, Some(Node::Directory)),
        }
    }

    /// Something new under a name: what was there goes. Directories above it need no entry.
    fn put(&mut self, path: &str, node: Option<Node>) -> Result<(), UnpackError> {
        let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
        let dir = self.real(dir).unwrap_or_else(|| dir.to_owned());
        for (at, _) in dir.match_indices('/').chain([(dir.len(), "")]).filter(|(at, _)| *at > 0) {
            if self.nodes.get(&dir[..at]) != Some(&Node::Directory) {
                self.budget.take(at)?;
                self.nodes.insert(dir[..at].to_owned(), Node::Directory);
            }
        }
        let path = if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") };
        self.remove(&path);
        if let Some(node) = node {
            self.budget.take(path.len() + node.text().len())?;
            self.nodes.insert(path, node);
        }
        Ok(())
    }

    fn remove(&mut self, path: &str) {
        self.nodes.remove(path);
        self.remove_below(path);
    }

    fn remove_below(&mut self, path: &str) {
        if path.is_empty() {
            return self.nodes.clear();
        }
        let below = format!("{path}/");
        let gone = self.nodes.range(below.clone()..).map(|(path, _)| path);
        let gone: Vec<_> = gone.take_while(|path| path.starts_with(&below)).cloned().collect();
        gone.iter().for_each(|path| drop(self.nodes.remove(path)));
    }

    /// The path without links; `None` if they lead round in a circle, or to where no system would follow.
    fn real(&self, path: &str) -> Option<String> {
        let mut left: Vec<&str> = path.rsplit('/').collect();
        let (mut real, mut links) = (String::new(), 0);
        while let Some(part) = left.pop() {
            let above = match part {
                "" | "." => continue,
                ".." => real.rfind('/').unwrap_or_default(),
                _ => {
                    let above = real.len();
                    real.extend((above > 0).then_some('/'));
                    real.push_str(part);
                    if real.len() > LONGEST_PATH {
                        return None;
                    }
                    let Some(Node::Link(to)) = self.nodes.get(&real) else { continue };
                    links += 1;
                    if links > MOST_LINKS {
                        return None;
                    }
                    left.extend(to.rsplit('/'));
                    if to.starts_with('/') { 0 } else { above }
                }
            };
            real.truncate(above);
        }
        Some(real)
    }
}

// === impl Node ===

impl Node {
    fn text(&self) -> &str {
        match self {
            Self::Directory => "",
            Self::Link(to) => to,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(path: &str) -> Listed {
        Listed::Directory(path.into())
    }

    fn link(path: &str, to: &str) -> Listed {
        Listed::Symlink(path.into(), to.into())
    }

    fn base(layers: &[&[Listed]]) -> Below {
        let mut below = Below::new(Limits::default());
        layers.iter().for_each(|layer| below.add(layer.to_vec()).unwrap());
        below
    }

    #[test]
    fn directories_are_found_also_behind_links() {
        let below = base(&[
            &[directory("tmp"), directory("run"), directory("var"), link("var/run", "../run")],
            &[link("lock", "/var/run/lock"), directory("var/run/lock"), Listed::Other("etc/passwd".into())],
            &[link("a", "b"), link("b", "a")],
        ]);
        for there in ["", "tmp", "run", "var/run", "run/lock", "lock", "var/run/lock", "etc"] {
            assert!(below.is_directory(there), "{there}: {below:?}");
        }
        for missing in ["tmp/x", "etc/passwd", "a", "lock/x", "opt"] {
            assert!(!below.is_directory(missing), "{missing}: {below:?}");
        }
    }

    /// A link may make a short name a deep one, over and over.
    #[test]
    fn few_bytes_that_name_many_directories_are_refused() {
        let deep = ["d"; 200].join("/");
        let mut below = Below::new(Limits { names: 1 << 20, ..Limits::default() });
        let links = (0..100).map(|n| link(&format!("{n}"), &format!("{n}x/{deep}")));
        below.add(links.collect()).unwrap();
        let names = (0..100).map(|n| Listed::Other(format!("{n}/file")));
        let error = below.add(names.collect()).unwrap_err();
        assert!(matches!(error, UnpackError::Names { limit: 0x10_0000 }), "{error}");
    }

    #[test]
    fn a_link_that_leads_to_no_path_of_a_system_is_not_followed() {
        let deep = ["d"; 1000].join("/");
        let links: Vec<_> = (0..10).map(|n| link(&format!("{n}"), &format!("{deep}/../{deep}"))).collect();
        let below = base(&[&links, &[link("a", &deep), directory("a/x")]]);
        assert!(below.is_directory("a/x"));
        assert!(!below.is_directory("0") && !below.is_directory("0/1"));
    }

    #[test]
    fn what_a_later_layer_hides_or_replaces_is_gone() {
        let below = base(&[
            &[directory("a/x"), directory("b/x"), directory("c/x"), directory("ab")],
            &[Listed::Hidden("a".into()), directory("b/y"), Listed::AllHidden("b".into())],
            &[Listed::Other("c".into())],
        ]);
        let found: Vec<_> =
            ["a", "a/x", "b", "b/x", "b/y", "c", "c/x", "ab"].map(|path| below.is_directory(path)).into();
        assert_eq!(found, [false, false, true, false, true, false, false, true]);
    }
}
