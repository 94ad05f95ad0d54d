//! YAML events to a tree.

use std::borrow::Cow;
use std::collections::HashMap;

use granit_parser::{Event, Options, Parser, ScalarStyle, Tag};

use super::scalar;
use super::tree::{Content, Fault, Place, Tree};

struct Builder<'t> {
    tree: Tree<'t>,
    anchors: HashMap<usize, u32>,
    /// For each open collection: whether it is a map, and whether its next node is a key.
    turns: Vec<Turn>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Item,
    Key,
    Value,
}

/// The first document of the text; empty if it has none.
pub(super) fn parse(text: &str) -> Result<Tree<'_>, Fault> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut builder = Builder { tree: Tree::default(), anchors: HashMap::new(), turns: Vec::new() };
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next.map_err(|error| {
            let marker = error.marker();
            let place = marker.byte_offset().map_or(Place::Unknown, Place::Byte);
            Fault::new(error.info(), place)
        })?;
        if matches!(event, Event::DocumentEnd) {
            break;
        }
        builder.take(event, span.start.byte_offset().unwrap_or_default())?;
    }
    Ok(builder.tree.finish())
}

// === impl Builder ===

impl<'t> Builder<'t> {
    fn take(&mut self, event: Event<'t>, at: usize) -> Result<(), Fault> {
        match event {
            Event::Scalar(word, style, anchor, tag) => self.scalar(word, style, anchor, tag.as_deref(), at),
            Event::MappingStart(_, anchor, _) => {
                self.open(Content::Map { merges: false }, Turn::Key, anchor, at)
            }
            Event::SequenceStart(_, anchor, _) => self.open(Content::Seq, Turn::Item, anchor, at),
            Event::MappingEnd | Event::SequenceEnd => {
                self.turns.pop();
                self.tree.close();
                self.turn();
                Ok(())
            }
            Event::Alias(anchor) => self.alias(anchor, at),
            _ => Ok(()),
        }
    }

    fn scalar(
        &mut self,
        word: Cow<'t, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        at: usize,
    ) -> Result<(), Fault> {
        let plain = style == ScalarStyle::Plain;
        let merge = plain && tag.is_none() && word == "<<";
        let content = match tag {
            Some(tag) if tag.is_yaml_core_schema() => {
                let suffix = tag.core_suffix().unwrap_or_default();
                let wrong = || Fault::new(format!("{word:?} is no {suffix}"), Place::Byte(at));
                scalar::tagged(suffix, word.clone()).ok_or_else(wrong)?
            }
            Some(_) => Content::Str(word),
            None if plain => scalar::resolve(word),
            None => Content::Str(word),
        };
        let content =
            if self.turns.last() == Some(&Turn::Key) { self.key(content, merge, at)? } else { content };
        let index = self.tree.push(content, at)?;
        self.remember(anchor, index);
        self.turn();
        Ok(())
    }

    fn key(&mut self, content: Content<'t>, merge: bool, at: usize) -> Result<Content<'t>, Fault> {
        if let (true, Some(map)) = (merge, self.tree.innermost()) {
            self.tree.mark_merge(map);
        }
        scalar::key(content)
            .map(Content::Str)
            .ok_or_else(|| Fault::new("a key must be a word", Place::Byte(at)))
    }

    fn open(&mut self, content: Content<'t>, turn: Turn, anchor: usize, at: usize) -> Result<(), Fault> {
        if self.turns.last() == Some(&Turn::Key) {
            return Err(Fault::new("a key must be a word, not a list or map", Place::Byte(at)));
        }
        let index = self.tree.open(content, at)?;
        self.remember(anchor, index);
        self.turns.push(turn);
        Ok(())
    }

    fn alias(&mut self, anchor: usize, at: usize) -> Result<(), Fault> {
        let target = self.anchors.get(&anchor).copied();
        let target = target.ok_or_else(|| Fault::new("an alias of nothing", Place::Byte(at)))?;
        if self.tree.is_open(target) {
            return Err(Fault::new("an alias of what it is a part of", Place::Byte(at)));
        }
        let content = match self.turns.last() {
            Some(Turn::Key) => {
                let content = self.tree.content(target).clone();
                self.key(content, false, at)?
            }
            _ => Content::Alias(self.tree.target(target)),
        };
        self.tree.push(content, at)?;
        self.turn();
        Ok(())
    }

    fn remember(&mut self, anchor: usize, index: u32) {
        if anchor > 0 {
            self.anchors.insert(anchor, index);
        }
    }

    /// After a node: in a map the next one is of the other sort.
    fn turn(&mut self) {
        if let Some(turn) = self.turns.last_mut() {
            *turn = match turn {
                Turn::Item => Turn::Item,
                Turn::Key => Turn::Value,
                Turn::Value => Turn::Key,
            };
        }
    }
}
