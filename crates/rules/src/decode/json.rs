//! JSON to a tree, by serde_json's own parser.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::tree::{Content, Fault, Place, Tree};

/// Fills the tree with one value. The parser names no positions, but keys are slices of the text that it reads.
struct Builder<'b, 't> {
    tree: &'b mut Tree<'t>,
    text: &'t str,
    /// Where the last key was.
    at: &'b mut usize,
    /// An error that serde_json would only know as words.
    fault: &'b mut Option<Fault>,
}

/// Why there is no first value.
pub(super) enum Wrong {
    /// It is no JSON; it may be YAML.
    Syntax(Fault),
    /// It is JSON, and more of it than is taken.
    Limit(Fault),
}

/// The first value of the text and where it ends.
pub(super) fn parse(text: &str) -> Result<(Tree<'_>, usize), Wrong> {
    let (mut tree, mut at, mut fault) = (Tree::default(), first(text), None);
    let mut reader = serde_json::Deserializer::from_str(text);
    let builder = Builder { tree: &mut tree, text, at: &mut at, fault: &mut fault };
    let read = builder.deserialize(&mut reader);
    // Made only to be asked where the value ended; the rest of the text is another document's.
    let end = reader.into_iter::<IgnoredAny>().byte_offset();
    match (read, fault) {
        (_, Some(fault)) => Err(Wrong::Limit(fault)),
        (Err(error), None) => {
            let place = Place::Byte(offset(text, error.line(), error.column()));
            Err(Wrong::Syntax(Fault::new(words(&error), place)))
        }
        (Ok(()), None) => Ok((tree.finish(), end)),
    }
}

fn first(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

/// The message without its position, which is told in lines of the file.
fn words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or_else(|| text.clone(), |(words, _)| words.to_owned())
}

fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    (start + column.saturating_sub(1)).min(text.len())
}

// === impl Builder ===

impl<'b, 't> Builder<'b, 't> {
    fn again(&mut self) -> Builder<'_, 't> {
        Builder { tree: self.tree, text: self.text, at: self.at, fault: self.fault }
    }

    fn scalar<E: Error>(self, content: Content<'t>) -> Result<(), E> {
        let pushed = self.tree.push(content, *self.at);
        pushed.map(drop).map_err(|fault| refuse(self.fault, fault))
    }

    fn open<E: Error>(&mut self, content: Content<'t>) -> Result<u32, E> {
        self.tree.open(content, *self.at).map_err(|fault| refuse(self.fault, fault))
    }
}

fn refuse<E: Error>(slot: &mut Option<Fault>, fault: Fault) -> E {
    let error = E::custom(&fault.message);
    slot.get_or_insert(fault);
    error
}

impl<'t> DeserializeSeed<'t> for Builder<'_, 't> {
    type Value = ();

    fn deserialize<D: Deserializer<'t>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'t> Visitor<'t> for Builder<'_, 't> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.scalar(Content::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.scalar(Content::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.scalar(Content::Int(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.scalar(i64::try_from(value).map_or(Content::Uint(value), Content::Int))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.scalar(Content::Float(value))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'t str) -> Result<(), E> {
        self.scalar(Content::Str(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.scalar(Content::Str(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'t>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.open(Content::Seq)?;
        while items.next_element_seed(self.again())?.is_some() {}
        self.tree.close();
        Ok(())
    }

    fn visit_map<A: MapAccess<'t>>(mut self, mut entries: A) -> Result<(), A::Error> {
        let map = self.open(Content::Map { merges: false })?;
        while entries.next_key_seed(Key(self.again()))?.is_some() {
            if self.tree.len() == map + 2 {
                self.tree.set_at(map, *self.at);
            }
            entries.next_value_seed(self.again())?;
        }
        self.tree.close();
        Ok(())
    }
}

struct Key<'b, 't>(Builder<'b, 't>);

// === impl Key ===

impl<'t> DeserializeSeed<'t> for Key<'_, 't> {
    type Value = ();

    fn deserialize<D: Deserializer<'t>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_str(self)
    }
}

impl<'t> Visitor<'t> for Key<'_, 't> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'t str) -> Result<(), E> {
        *self.0.at = text.as_ptr().addr().saturating_sub(self.0.text.as_ptr().addr());
        self.0.scalar(Content::Str(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.scalar(Content::Str(Cow::Owned(text.to_owned())))
    }
}
