//! A tree as a source of typed values, with Go's leniency: null is the empty value of whatever type is wanted.
//!
//! Nothing is tracked on the way but what cannot be found later: which fields nobody asked for, and how often aliases
//! were followed.

use std::cell::{Cell, RefCell};

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::tree::{Content, Entries, Fault, Items, Place, Tree};

/// Aliases may make a document this much larger than it is written.
const MOST_REPEATED: u32 = 500_000;
/// The depth of nesting with aliases followed.
const DEEPEST: u8 = 128;

/// What was noticed while a value was read.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// The values of fields that the type does not have.
    unknown: RefCell<Vec<u32>>,
    visits: Cell<u32>,
}

/// One value of the tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a, 't> {
    tree: &'a Tree<'t>,
    notes: &'a Notes,
    node: u32,
    depth: u8,
}

struct Map<'a, 't> {
    at: Cursor<'a, 't>,
    entries: Pairs<'a, 't>,
    value: u32,
}

/// A map's entries; with merges they have to be gathered first.
enum Pairs<'a, 't> {
    Own(Entries<'a, 't>),
    Merged(std::vec::IntoIter<(u32, u32)>),
}

struct Seq<'a, 't> {
    at: Cursor<'a, 't>,
    items: Items<'a, 't>,
}

// === impl Notes ===

impl Notes {
    pub(crate) fn into_unknown(self) -> Vec<u32> {
        self.unknown.into_inner()
    }
}

// === impl Cursor ===

impl<'a, 't> Cursor<'a, 't> {
    pub(crate) fn new(tree: &'a Tree<'t>, node: u32, notes: &'a Notes) -> Self {
        Self { tree, notes, node, depth: 0 }
    }

    fn to(self, node: u32) -> Self {
        Self { node, ..self }
    }

    fn content(self) -> &'a Content<'t> {
        self.tree.content(self.node)
    }

    /// At what the node stands for, if the document has not repeated itself too often.
    fn enter(self) -> Result<Self, Fault> {
        let visits = self.notes.visits.get() + 1;
        self.notes.visits.set(visits);
        if visits > self.tree.len().saturating_add(MOST_REPEATED) {
            return Err(Fault::new("aliases make the document too large", Place::Node(self.node)));
        }
        Ok(self.to(self.tree.target(self.node)))
    }

    fn deeper(self) -> Result<Self, Fault> {
        if self.depth >= DEEPEST {
            return Err(Fault::new(format!("nested more than {DEEPEST} deep"), Place::Node(self.node)));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }

    fn map(self, merges: bool) -> Result<Map<'a, 't>, Fault> {
        let at = self.deeper()?;
        let entries = if merges {
            let mut pairs = Vec::new();
            at.gather(&mut pairs)?;
            Pairs::Merged(pairs.into_iter())
        } else {
            Pairs::Own(self.tree.entries(self.node))
        };
        Ok(Map { at, entries, value: self.node })
    }

    /// Merged entries first, so that the map's own win; of several merged maps the first wins.
    fn gather(self, pairs: &mut Vec<(u32, u32)>) -> Result<(), Fault> {
        let here = self.deeper()?.enter()?;
        let own = || self.tree.entries(here.node);
        let is_merge = |key: u32| self.tree.text(key) == Some("<<");
        for (_, value) in own().filter(|(key, _)| is_merge(*key)) {
            let value = self.tree.target(value);
            let sources: Vec<u32> = match self.tree.content(value) {
                Content::Seq => self.tree.items(value).map(|item| self.tree.target(item)).collect(),
                _ => vec![value],
            };
            for source in sources.into_iter().rev() {
                if !matches!(self.tree.content(source), Content::Map { .. }) {
                    return Err(Fault::new("only a map can be merged", Place::Node(value)));
                }
                here.to(source).gather(pairs)?;
            }
        }
        pairs.extend(own().filter(|(key, _)| !is_merge(*key)));
        if pairs.len() > MOST_REPEATED as usize {
            return Err(Fault::new("merges make the document too large", Place::Node(here.node)));
        }
        Ok(())
    }

    fn visit<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.content() {
            Content::Null => visitor.visit_unit(),
            Content::Bool(value) => visitor.visit_bool(*value),
            Content::Int(value) => visitor.visit_i64(*value),
            Content::Uint(value) => visitor.visit_u64(*value),
            Content::Float(value) => visitor.visit_f64(*value),
            Content::Str(text) => visitor.visit_borrowed_str(text),
            Content::Seq => visitor.visit_seq(Seq { at: self.deeper()?, items: self.tree.items(self.node) }),
            Content::Map { merges } => visitor.visit_map(self.map(*merges)?),
            Content::Alias(target) => self.to(*target).enter()?.visit(visitor),
        }
    }

    fn is_null(self) -> bool {
        matches!(self.content(), Content::Null)
    }

    /// Visits, with something else in place of null.
    fn or_empty<V: Visitor<'a>>(
        self,
        visitor: V,
        empty: impl FnOnce(V) -> Result<V::Value, Fault>,
    ) -> Result<V::Value, Fault> {
        let here = self.enter()?;
        let read = if here.is_null() { empty(visitor) } else { here.visit(visitor) };
        read.map_err(|fault| fault.at(self.node))
    }
}

/// Types whose empty value stands for null.
macro_rules! or_empty {
    ($($method:ident => $empty:expr;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            self.or_empty(visitor, $empty)
        }
    )*};
}

impl<'de> Deserializer<'de> for Cursor<'de, '_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.enter()?.visit(visitor).map_err(|fault| fault.at(self.node))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.enter()?.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let here = self.enter()?;
        let read = if here.is_null() {
            visitor.visit_newtype_struct("0".into_deserializer())
        } else {
            visitor.visit_newtype_struct(here)
        };
        read.map_err(|fault: Fault| fault.at(self.node))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_map(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.notes.unknown.borrow_mut().push(self.node);
        visitor.visit_unit()
    }

    or_empty! {
        deserialize_bool => |visitor| visitor.visit_bool(false);
        deserialize_i32 => |visitor| visitor.visit_i64(0);
        deserialize_i64 => |visitor| visitor.visit_i64(0);
        deserialize_str => |visitor| visitor.visit_str("");
        deserialize_string => |visitor| visitor.visit_str("");
        deserialize_seq => |visitor| visitor.visit_seq(serde::de::value::SeqDeserializer::new(std::iter::empty::<()>()));
        deserialize_map => |visitor| visitor.visit_map(serde::de::value::MapDeserializer::new(std::iter::empty::<((), ())>()));
    }

    forward_to_deserialize_any! {
        i8 i16 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct enum identifier
    }
}

// === impl Map ===

impl<'a> MapAccess<'a> for Map<'a, '_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let Some((key, value)) = self.entries.next() else { return Ok(None) };
        self.value = value;
        let key = self.at.tree.text(key).unwrap_or_default();
        seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some).map_err(|fault: Fault| fault.at(value))
    }

    fn next_value_seed<S: DeserializeSeed<'a>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        seed.deserialize(self.at.to(self.value)).map_err(|fault| fault.at(self.value))
    }
}

// === impl Pairs ===

impl Iterator for Pairs<'_, '_> {
    type Item = (u32, u32);

    fn next(&mut self) -> Option<(u32, u32)> {
        match self {
            Self::Own(entries) => entries.next(),
            Self::Merged(pairs) => pairs.next(),
        }
    }
}

// === impl Seq ===

impl<'a> SeqAccess<'a> for Seq<'a, '_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'a>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        self.items.next().map(|item| seed.deserialize(self.at.to(item))).transpose()
    }
}
