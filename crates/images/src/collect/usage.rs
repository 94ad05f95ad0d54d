//! How much of the disk the store takes up, known at once.

use crate::content::{Content, DepotError, INGEST, Key};

/// What the files hold together; blocks and directories come on top.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// All of it.
    pub bytes: u64,
    /// Files and directories, as far as their layers count them.
    pub inodes: u64,
    pub blobs: u64,
    /// Layers and flat images.
    pub unpacked: u64,
    /// Downloads that are not whole.
    pub partial: u64,
}

// === impl Content ===

impl Content {
    /// Sums what directories and notes say: no tree is walked, no image waits for it.
    pub fn usage(&self) -> Result<Usage, DepotError> {
        let mut usage = Usage::default();
        for part in self.parts()? {
            usage.inodes += part.inodes;
            match part.key {
                Key::Blob(_) => usage.blobs += part.size,
                Key::Layer(_) | Key::Flat(_) => usage.unpacked += part.size,
            }
        }
        for digest in self.names_in(INGEST)? {
            if let Ok(found) = std::fs::metadata(self.ingest_path(&digest)) {
                usage.partial += found.len();
                usage.inodes += 1;
            }
        }
        usage.bytes = usage.blobs + usage.unpacked + usage.partial;
        Ok(usage)
    }
}

#[cfg(test)]
mod tests {
    use crate::content::tests::World;

    #[test]
    fn what_is_used_is_read_from_notes_and_no_tree_is_walked() {
        let world = World::new();
        let record = world.image("one");
        let before = world.content.usage().unwrap();
        let layer = world.content.layer(&record.layers[0].diff_id).unwrap().unwrap();
        std::fs::write(layer.files.join("made by nobody"), "x".repeat(10_000)).unwrap();
        assert_eq!(world.content.usage().unwrap(), before);
    }
}
