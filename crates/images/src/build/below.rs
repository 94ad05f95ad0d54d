//! Which directories a base has. They have modes and owners of their own, which a layer on top must not change only
//! because an instruction names them: `WORKDIR /tmp` is no reason for another `/tmp`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;

use super::links;
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
                Listed::Hidden(path) => self.remove(&self.place(path)),
                Listed::AllHidden(path) => self.remove_below(&self.led_to(path)),
                _ => {}
            }
        }
        for each in layer {
            match each {
                Listed::Directory(path) => self.put(&path, Some(Node::Directory))?,
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

    /// Something new under a name: what was there goes, unless it is a directory and stays one. Directories above it
    /// need no entry.
    fn put(&mut self, path: &str, node: Option<Node>) -> Result<(), UnpackError> {
        let path = self.place(path);
        if node == Some(Node::Directory) && self.nodes.get(&path) == node.as_ref() {
            return Ok(());
        }
        let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
        for (at, _) in dir.match_indices('/').chain([(dir.len(), "")]).filter(|(at, _)| *at > 0) {
            if self.nodes.get(&dir[..at]) != Some(&Node::Directory) {
                self.budget.take(at)?;
                self.nodes.insert(dir[..at].to_owned(), Node::Directory);
            }
        }
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

    /// Where a name stands: the links on the way are followed, it is not.
    fn place(&self, path: &str) -> String {
        let Some((dir, name)) = path.rsplit_once('/') else { return path.to_owned() };
        match self.led_to(dir) {
            dir if dir.is_empty() => name.to_owned(),
            dir => format!("{dir}/{name}"),
        }
    }

    fn led_to(&self, path: &str) -> String {
        self.real(path).unwrap_or_else(|| path.to_owned())
    }

    /// The path without links, if they lead anywhere.
    fn real(&self, path: &str) -> Option<String> {
        let Ok(real) = links::real::<Infallible>(path, |path| match self.nodes.get(path) {
            Some(Node::Link(to)) => Ok(Some(Cow::Borrowed(to))),
            _ => Ok(None),
        });
        real
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
    fn a_directory_that_is_named_again_through_a_link_keeps_what_it_had() {
        let lower = [link("lib", "usr/lib"), directory("usr/lib/a/x"), directory("usr/lib/b/x")];
        let below = base(&[&lower, &[directory("lib/a"), Listed::Hidden("lib/b".into())]]);
        let found = ["usr/lib/a/x", "lib/a", "lib/b", "usr/lib/b/x"].map(|path| below.is_directory(path));
        assert_eq!(found, [true, true, false, false]);
        let below = base(&[&lower, &[Listed::AllHidden("lib".into()), directory("lib/c")]]);
        let found = ["lib", "lib/c", "lib/a", "usr/lib/b"].map(|path| below.is_directory(path));
        assert_eq!(found, [true, true, false, false]);
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
