//! One document as a flat list of nodes in reading order: what both YAML and JSON become before they get a type.
//!
//! Text is borrowed, children follow their parent, and a node knows where its subtree ends: building one is little
//! more than parsing, and a path or a line is worked out only for what somebody asks about.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;

/// More than any manifest has: 16 MiB of ordinary YAML are about 1.5 million.
const MOST_NODES: usize = 2_000_000;
/// No object of Kubernetes is half as deep.
const DEEPEST: usize = 128;
/// Up to here comparing each with each is cheaper than hashing.
const FEW_KEYS: usize = 24;

#[derive(Debug, Default)]
pub(crate) struct Tree<'t> {
    nodes: Vec<Node<'t>>,
    open: Vec<u32>,
    /// Keys that their map had already: one of the two values would be lost. Sorted once the tree is whole.
    twice: Vec<u32>,
}

#[derive(Debug)]
pub(crate) struct Node<'t> {
    pub(crate) content: Content<'t>,
    /// Where it begins in the document's text.
    at: u32,
    /// The node after its last descendant.
    end: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content<'t> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Str(Cow<'t, str>),
    Seq,
    /// Keys (always `Str`) and values in turn; `merges` if one of the keys is YAML's `<<`.
    Map {
        merges: bool,
    },
    Alias(u32),
}

/// What is wrong with a document, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) message: String,
    pub(crate) place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Unknown,
    Node(u32),
    Byte(usize),
}

/// A map's entries, as (key, value).
#[derive(Debug, Clone)]
pub(crate) struct Entries<'a, 't> {
    tree: &'a Tree<'t>,
    next: u32,
    end: u32,
}

/// A sequence's items.
#[derive(Debug, Clone)]
pub(crate) struct Items<'a, 't> {
    tree: &'a Tree<'t>,
    next: u32,
    end: u32,
}

// === impl Tree: building ===

impl<'t> Tree<'t> {
    pub(super) fn push(&mut self, content: Content<'t>, at: usize) -> Result<u32, Fault> {
        if self.nodes.len() >= MOST_NODES {
            return Err(Fault::new(
                format!("more than {MOST_NODES} values in one document"),
                Place::Byte(at),
            ));
        }
        let index = self.len();
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        self.nodes.push(Node { content, at, end: index + 1 });
        Ok(index)
    }

    pub(super) fn open(&mut self, content: Content<'t>, at: usize) -> Result<u32, Fault> {
        if self.open.len() >= DEEPEST {
            return Err(Fault::new(format!("nested more than {DEEPEST} deep"), Place::Byte(at)));
        }
        let index = self.push(content, at)?;
        self.open.push(index);
        Ok(index)
    }

    /// Ends the innermost sequence or map.
    pub(super) fn close(&mut self) {
        let Some(index) = self.open.pop() else { return };
        let end = self.len();
        let node = &mut self.nodes[index as usize];
        node.end = end;
        if matches!(node.content, Content::Map { .. }) {
            let twice = self.find_twice(index);
            self.twice.extend(twice);
        }
    }

    pub(super) fn finish(mut self) -> Self {
        self.twice.sort_unstable();
        self
    }

    pub(super) fn is_open(&self, index: u32) -> bool {
        self.open.contains(&index)
    }

    pub(super) fn innermost(&self) -> Option<u32> {
        self.open.last().copied()
    }

    pub(super) fn mark_merge(&mut self, map: u32) {
        self.nodes[map as usize].content = Content::Map { merges: true };
    }

    pub(super) fn set_at(&mut self, index: u32, at: usize) {
        self.nodes[index as usize].at = u32::try_from(at).unwrap_or(u32::MAX);
    }

    pub(super) fn len(&self) -> u32 {
        // Bounded by MOST_NODES.
        u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)
    }

    fn find_twice(&self, map: u32) -> Option<u32> {
        let mut keys = self.entries(map).map(|(key, _)| key);
        if keys.clone().nth(FEW_KEYS).is_some() {
            let mut seen = HashSet::new();
            return keys.find(|key| !seen.insert(self.text(*key)));
        }
        let before = |end: u32| self.entries(map).map(|(key, _)| key).take_while(move |key| *key < end);
        keys.find(|key| before(*key).any(|other| self.text(other) == self.text(*key)))
    }
}

// === impl Tree: reading ===

impl<'t> Tree<'t> {
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The first key under a root that is there twice.
    pub(crate) fn twice(&self, root: u32) -> Option<u32> {
        let from = self.twice.partition_point(|key| *key < root);
        self.twice.get(from).copied().filter(|key| self.holds(root, *key))
    }

    pub(crate) fn content(&self, index: u32) -> &Content<'t> {
        &self.nodes[index as usize].content
    }

    /// The node that an alias stands for; every other is itself.
    pub(crate) fn target(&self, index: u32) -> u32 {
        match self.content(index) {
            Content::Alias(target) => *target,
            _ => index,
        }
    }

    pub(crate) fn text(&self, index: u32) -> Option<&str> {
        match self.content(self.target(index)) {
            Content::Str(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn entries(&self, map: u32) -> Entries<'_, 't> {
        Entries { tree: self, next: map + 1, end: self.nodes[map as usize].end }
    }

    pub(crate) fn items(&self, seq: u32) -> Items<'_, 't> {
        Items { tree: self, next: seq + 1, end: self.nodes[seq as usize].end }
    }

    /// The value of a map's own key, aliases followed.
    pub(crate) fn get(&self, map: u32, key: &str) -> Option<u32> {
        let map = self.target(map);
        matches!(self.content(map), Content::Map { .. }).then_some(())?;
        let mut entries = self.entries(map);
        entries.find(|(own, _)| self.text(*own) == Some(key)).map(|(_, value)| self.target(value))
    }

    pub(crate) fn offset(&self, index: u32) -> usize {
        self.nodes[index as usize].at as usize
    }

    /// A scalar as JSON; `""` stands for a whole object or list.
    pub(crate) fn json(&self, index: u32) -> Value {
        match self.content(self.target(index)) {
            Content::Null => Value::Null,
            Content::Bool(value) => (*value).into(),
            Content::Int(value) => (*value).into(),
            Content::Uint(value) => (*value).into(),
            Content::Float(value) => (*value).into(),
            Content::Str(text) => text.as_ref().into(),
            Content::Seq | Content::Map { .. } | Content::Alias(_) => "".into(),
        }
    }

    fn end(&self, index: u32) -> u32 {
        self.nodes[index as usize].end
    }

    /// The path of a node under a root, as the API server writes paths; a key's is its value's.
    pub(crate) fn path(&self, root: u32, node: u32) -> String {
        let (mut at, mut path) = (self.target(root), String::new());
        while at != node {
            match self.content(at) {
                Content::Map { .. } => {
                    let found =
                        self.entries(at).find(|(key, value)| *key == node || self.holds(*value, node));
                    let Some((key, value)) = found else { break };
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(self.text(key).unwrap_or_default());
                    at = if key == node { node } else { value };
                }
                Content::Seq => {
                    let Some((i, item)) =
                        self.items(at).enumerate().find(|(_, item)| self.holds(*item, node))
                    else {
                        break;
                    };
                    path.push_str(&format!("[{i}]"));
                    at = item;
                }
                _ => break,
            }
        }
        path
    }

    fn holds(&self, above: u32, node: u32) -> bool {
        (above..self.end(above)).contains(&node)
    }

    /// The node that a path leads to, or the last one on the way that is there. For a map's entry it is the key,
    /// whose line is the one a reader looks for.
    pub(crate) fn nearest(&self, root: u32, path: &str) -> u32 {
        let (mut at, mut shown, mut rest) = (self.target(root), self.target(root), path);
        while !rest.is_empty() {
            let Some((next, show, length)) = self.step(at, rest) else { break };
            (at, shown) = (self.target(next), show);
            rest = rest[length..].trim_start_matches('.');
        }
        shown
    }

    /// The next node on a path, the one to show for it, and how much of the path it takes.
    fn step(&self, at: u32, path: &str) -> Option<(u32, u32, usize)> {
        let bracket = path.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(inner, _)| inner);
        match (self.content(at), bracket) {
            (Content::Seq, Some(index)) => {
                let item = self.items(at).nth(index.parse().ok()?)?;
                Some((item, item, index.len() + 2))
            }
            (Content::Map { .. }, Some(key)) => {
                let (own, value) = self.entries(at).find(|(own, _)| self.text(*own) == Some(key))?;
                Some((value, own, key.len() + 2))
            }
            (Content::Map { .. }, None) => {
                let fits = |key: &&str| {
                    path.strip_prefix(*key).is_some_and(|r| r.is_empty() || r.starts_with(['.', '[']))
                };
                let entries = self
                    .entries(at)
                    .filter_map(|(own, value)| Some((self.text(own).filter(|k| fits(k))?, own, value)));
                let (key, own, value) = entries.max_by_key(|(key, ..)| key.len())?;
                Some((value, own, key.len()))
            }
            _ => None,
        }
    }
}

// === impl Entries ===

impl Iterator for Entries<'_, '_> {
    type Item = (u32, u32);

    fn next(&mut self) -> Option<(u32, u32)> {
        // A map that an error cut short may lack its last value.
        (self.next + 1 < self.end).then(|| {
            let (key, value) = (self.next, self.next + 1);
            self.next = self.tree.end(value);
            (key, value)
        })
    }
}

// === impl Items ===

impl Iterator for Items<'_, '_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        (self.next < self.end).then(|| {
            let item = self.next;
            self.next = self.tree.end(item);
            item
        })
    }
}

// === impl Fault ===

impl Fault {
    pub(crate) fn new(message: impl Into<String>, place: Place) -> Self {
        Self { message: message.into(), place }
    }

    /// The same, at this node unless a better place is known already.
    pub(crate) fn at(mut self, node: u32) -> Self {
        if self.place == Place::Unknown {
            self.place = Place::Node(node);
        }
        self
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl serde::de::Error for Fault {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::new(message.to_string(), Place::Unknown)
    }
}
