//! Images of this machine by what a user types: a name, an id, or the start of an id.

use anyhow::anyhow;
use images::store::Status;
use images::transfer::{Chosen, Platforms};
use images::{Reference, Store};

use super::platform::PlatformArgs;
use crate::failure::{Exit, Failure, code};

/// The image, or a refusal that names it.
pub(super) fn find(store: &Store, text: &str) -> Result<Status, Failure> {
    let found = store.status(text).or_no()?;
    found.ok_or_else(|| {
        Failure::new(code::NO, anyhow!("{text} is not on this host: `porthole image ls` shows what is"))
    })
}

/// Which of the images' platforms are meant, if that was said.
#[derive(Debug)]
pub(super) struct Choice<'a> {
    pub(super) platform: &'a PlatformArgs,
    pub(super) all: bool,
}

// === impl Choice ===

impl Choice<'_> {
    /// Without a word, the image that the name means here: it may be for another system, built here.
    pub(super) fn of(&self, store: &Store, text: &str) -> Result<Chosen, Failure> {
        let status = find(store, text)?;
        let name = Reference::parse(text).ok().filter(|name| status.names.contains(&name.to_string()));
        let whole = self.all || self.platform.named().is_some();
        let named = match (&name, whole) {
            (Some(name), true) => store.content().names().get(name).or_environment()?,
            _ => None,
        };
        let target = named.map_or(status.manifest, |named| named.target);
        Ok(Chosen { name, target })
    }

    pub(super) fn platforms(&self) -> Platforms {
        self.platform.named().map_or(Platforms::All, Platforms::Of)
    }
}
