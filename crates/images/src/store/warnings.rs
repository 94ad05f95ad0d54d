//! What could not be kept when an image was unpacked here.

use std::collections::BTreeSet;

use super::Store;
use crate::content::DepotError;
use crate::record::{Form, Record};

// === impl Store ===

impl Store {
    /// Each once, in the order of the layers. Nothing, while the image is packed.
    pub fn warnings(&self, image: &Record) -> Result<Vec<String>, DepotError> {
        let content = &self.content;
        let unpacked = match image.form {
            Form::Packed => Vec::new(),
            Form::Flat => vec![content.flat(&image.id)?],
            Form::Layers => {
                let layers = image.layers.iter().map(|layer| content.layer(&layer.diff_id));
                layers.collect::<Result<_, _>>()?
            }
        };
        let mut said = BTreeSet::new();
        let all = unpacked.iter().flatten().flat_map(|each| &each.note.warnings);
        Ok(all.filter(|warning| said.insert(warning.as_str())).cloned().collect())
    }
}
