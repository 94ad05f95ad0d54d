//! Files of manifests, read the way kubectl reads them and a little more strictly.
//!
//! `check` and the fuzz target are the callers: [`text`] makes bytes text, [`documents`] cuts it up, and each
//! [`Object`] of a document is either read as a [`Subject`], named and passed over, or refused with a reason.
//! Nothing here can be made to use more memory than a small multiple of the text's size: depth, values and the
//! repetitions that aliases make are bounded.

use serde_json::Value;

use crate::{Kind, Reason, Subject, Violation};

mod json;
mod scalar;
mod split;
mod text;
mod tree;
mod typed;
mod yaml;

pub use text::{TextError, text};
use tree::{Content, Fault, Place, Tree};
use typed::{Cursor, Notes};

/// The documents of a text, YAML or JSON.
#[derive(Debug, Clone)]
pub struct Documents<'t> {
    text: &'t str,
    at: usize,
    index: usize,
    /// After the first YAML document everything is YAML.
    yaml: bool,
    /// How many lines end before this byte: text is counted once, however many errors it has.
    counted: (usize, usize),
}

/// One document. An empty one has no objects, but counts.
#[derive(Debug)]
pub struct Document<'t> {
    pub index: usize,
    /// Where its text begins in the whole.
    at: usize,
    tree: Result<Tree<'t>, Fault>,
}

/// One object: a document, or a member of the list that a document is.
#[derive(Debug)]
pub struct Object<'d, 't> {
    /// Its place in the list.
    pub item: Option<usize>,
    at: usize,
    tree: Result<&'d Tree<'t>, &'d Fault>,
    root: u32,
    /// What the members of a `PodList` are if they do not say it.
    inherited: Inherited<'d>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Inherited<'d> {
    api_version: &'d str,
    kind: &'d str,
}

/// An object that was read.
#[derive(Debug)]
pub enum Read {
    Subject {
        subject: Box<Subject>,
        /// The paths of fields that Kubernetes does not know.
        unknown: Vec<String>,
    },
    /// A kind without a pod in it.
    PassedOver,
}

/// The groups of Kubernetes' own kinds with a pod in them, and the one they once were in.
const GROUPS: [&str; 4] = ["", "apps", "batch", "extensions"];

/// The documents of a text.
pub fn documents(text: &str) -> Documents<'_> {
    Documents { text, at: 0, index: 0, yaml: false, counted: (0, 0) }
}

// === impl Documents ===

impl<'t> Documents<'t> {
    /// JSON documents need no separator, hence only their parser knows where one ends.
    fn json(&mut self) -> Option<Document<'t>> {
        let rest = &self.text[self.at..];
        let rest_at = self.at + (rest.len() - rest.trim_start().len());
        let rest = &self.text[rest_at..];
        if !rest.starts_with(['{', '[']) {
            return None;
        }
        match json::parse(rest) {
            Ok((tree, end)) => {
                self.at = rest_at + end;
                Some(self.document(rest_at, Ok(tree)))
            }
            // `{a: b}` begins like JSON and is YAML. If it is neither, the JSON parser's words are the better ones.
            Err(json::Wrong::Syntax(_)) if self.is_yaml(rest_at) => None,
            Err(json::Wrong::Syntax(fault) | json::Wrong::Limit(fault)) => {
                self.at = self.text.len();
                Some(self.document(rest_at, Err(fault)))
            }
        }
    }

    fn is_yaml(&self, at: usize) -> bool {
        split::Parts::new(self.text, at).next().is_some_and(|part| yaml::parse(part.text).is_ok())
    }

    fn yaml(&mut self) -> Option<Document<'t>> {
        self.yaml = true;
        let part = split::Parts::new(self.text, self.at).next()?;
        self.at = part.at + part.text.len();
        Some(self.document(part.at, yaml::parse(part.text)))
    }

    fn document(&mut self, at: usize, tree: Result<Tree<'t>, Fault>) -> Document<'t> {
        let tree = tree.map_err(|fault| self.with_line(at, fault));
        self.index += 1;
        Document { index: self.index - 1, at, tree }
    }

    /// A syntax error has no field to name; its line is all that a reader has.
    fn with_line(&mut self, document: usize, fault: Fault) -> Fault {
        let Place::Byte(at) = fault.place else { return fault };
        let (lines, counted) = self.counted;
        let to = (document + at).clamp(counted, self.text.len());
        let more = self.text.as_bytes()[counted..to].iter().filter(|byte| **byte == b'\n').count();
        self.counted = (lines + more, to);
        Fault::new(format!("line {}: {}", lines + more + 1, fault.message), fault.place)
    }
}

impl<'t> Iterator for Documents<'t> {
    type Item = Document<'t>;

    fn next(&mut self) -> Option<Document<'t>> {
        if !self.yaml
            && let Some(document) = self.json()
        {
            return Some(document);
        }
        self.yaml()
    }
}

// === impl Document ===

impl<'t> Document<'t> {
    /// Calls back with every object, in order: a list may have very many.
    pub fn each(&self, mut act: impl FnMut(&Object<'_, 't>)) {
        match &self.tree {
            Err(fault) => act(&Object::new(self.at, Err(fault), 0)),
            Ok(tree) if tree.is_empty() || *tree.content(0) == Content::Null => {}
            Ok(tree) => {
                let object = Object::new(self.at, Ok(tree), 0);
                match object.items() {
                    None => act(&object),
                    Some(_) => object.each_item(&mut 0, &mut act),
                }
            }
        }
    }
}

// === impl Object ===

impl<'d, 't> Object<'d, 't> {
    fn new(at: usize, tree: Result<&'d Tree<'t>, &'d Fault>, root: u32) -> Self {
        Self { item: None, at, tree, root, inherited: Inherited::default() }
    }

    pub fn kind(&self) -> &'d str {
        self.word(&["kind"]).unwrap_or(self.inherited.kind)
    }

    pub fn api_version(&self) -> &'d str {
        self.word(&["apiVersion"]).unwrap_or(self.inherited.api_version)
    }

    pub fn namespace(&self) -> &'d str {
        self.word(&["metadata", "namespace"]).unwrap_or_default()
    }

    /// Its name, or what the API server will begin one with.
    pub fn name(&self) -> &'d str {
        let name = self.word(&["metadata", "name"]).filter(|name| !name.is_empty());
        name.or_else(|| self.word(&["metadata", "generateName"])).unwrap_or_default()
    }

    /// Where a field is in the text, or the nearest that there is above it.
    pub fn offset(&self, field: &str) -> usize {
        match self.tree {
            Ok(tree) => self.at + tree.offset(tree.nearest(self.root, field)),
            Err(Fault { place: Place::Byte(at), .. }) => self.at + at,
            Err(_) => self.at,
        }
    }

    /// Reads the whole object: a wrong type anywhere is an error, as it is for the API server.
    pub fn read(&self) -> Result<Read, Violation> {
        let tree = self.tree.map_err(|fault| bad("", "".into(), &fault.message))?;
        if !matches!(tree.content(tree.target(self.root)), Content::Map { .. }) {
            return Err(bad("", tree.json(self.root), "wanted an object with apiVersion and kind"));
        }
        if let Some(key) = tree.twice(tree.target(self.root)) {
            let path = tree.path(self.root, key);
            return Err(bad(&path, tree.json(key + 1), &format!("duplicate field {path:?}")));
        }
        let (api_version, name) =
            (self.named("apiVersion", self.api_version())?, self.named("kind", self.kind())?);
        match Kind::of(api_version, name) {
            Some(kind) => self.subject(tree, kind),
            None => unserved(api_version, name).map_or(Ok(Read::PassedOver), Err),
        }
    }

    fn subject(&self, tree: &Tree<'t>, kind: Kind) -> Result<Read, Violation> {
        let notes = Notes::default();
        let subject = Subject::decode(kind, Cursor::new(tree, self.root, &notes)).map_err(|fault| {
            let (field, value) = match fault.place {
                Place::Node(node) => (tree.path(self.root, node), tree.json(node)),
                Place::Unknown | Place::Byte(_) => (String::new(), "".into()),
            };
            bad(&field, value, &fault.message)
        })?;
        let unknown = notes.into_unknown().into_iter().map(|node| tree.path(self.root, node)).collect();
        Ok(Read::Subject { subject: Box::new(subject), unknown })
    }

    fn named(&self, field: &str, found: &'d str) -> Result<&'d str, Violation> {
        if found.is_empty() {
            let value = self.tree.ok().and_then(|tree| Some(tree.json(tree.get(self.root, field)?)));
            return Err(bad(field, value.unwrap_or_else(|| "".into()), "must be set to a string"));
        }
        Ok(found)
    }

    fn word(&self, path: &[&str]) -> Option<&'d str> {
        let tree = self.tree.ok()?;
        let node = path.iter().try_fold(self.root, |node, key| tree.get(node, key))?;
        tree.text(node)
    }

    /// The members, if this is a list.
    fn items(&self) -> Option<u32> {
        let tree = self.tree.ok()?;
        self.kind().strip_suffix("List")?;
        let items = tree.get(self.root, "items")?;
        matches!(tree.content(items), Content::Seq | Content::Null).then_some(items)
    }

    fn each_item(&self, count: &mut usize, act: &mut impl FnMut(&Object<'_, 't>)) {
        let (Ok(tree), Some(items)) = (self.tree, self.items()) else { return };
        let kind = self.kind().strip_suffix("List").unwrap_or_default();
        let inherited = if kind.is_empty() {
            Inherited::default()
        } else {
            Inherited { api_version: self.api_version(), kind }
        };
        let members = if *tree.content(items) == Content::Null { None } else { Some(tree.items(items)) };
        for root in members.into_iter().flatten() {
            let member = Object { item: Some(*count), inherited, ..Object::new(self.at, Ok(tree), root) };
            if member.items().is_some() {
                member.each_item(count, act);
            } else {
                act(&member);
                *count += 1;
            }
        }
    }
}

/// A kind that has a pod in it, but under a version that is not served: it is refused, not passed over.
fn unserved(api_version: &str, name: &str) -> Option<Violation> {
    let kind = Kind::all().find(|kind| kind.name() == name)?;
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let message = format!("kind {name} is not served in this version; wanted {:?}", kind.api_version());
    GROUPS.contains(&group).then(|| bad("apiVersion", api_version.into(), &message))
}

fn bad(field: &str, value: Value, message: &str) -> Violation {
    Violation { reason: Reason::BadRequest, field: field.to_owned(), value, message: message.to_owned() }
}

#[cfg(test)]
mod tests;
