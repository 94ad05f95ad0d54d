//! What a pull has to bring, from the documents alone.

use std::collections::BTreeSet;

use crate::blobs::ContentError;
use crate::digest::Digest;
use crate::document::{Configuration, Descriptor, Manifest};

/// So many at once, whatever the machine has: memory grows with each.
const MOST_AT_ONCE: usize = 16;
/// A registry answers several requests faster than one after the other, also for a machine with one core.
const FEWEST_AT_ONCE: usize = 4;

/// What the names of all layers that a pull puts side by side may take in memory. Such a layer remembers directories
/// only, each for less than a kilobyte with a path of 100 bytes, so this is room for more than 300,000 of them: the
/// largest images have some millions of files, in a tenth as many directories. Nothing comes back when a layer is done,
/// because what it did not describe is looked at with that of all others, to stack them; what a try took that failed
/// does.
pub(super) const MOST_NAMES: usize = 256 << 20;

/// Docker makes images of up to 127 layers. A mount takes some more, as long as all fit into a page of numbers.
const MOST_STACKED: usize = 150;

/// A layer of an image, as manifest and configuration name it together.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) blob: Descriptor,
    pub(crate) digest: Digest,
    pub(crate) diff_id: Digest,
}

/// The layers of an image, the bottom one first. Both lists are others' words: they must agree.
pub(crate) fn parts(manifest: &Manifest, configuration: &Configuration) -> Result<Vec<Part>, ContentError> {
    let diff_ids = &configuration.rootfs.diff_ids;
    if diff_ids.len() != manifest.layers.len() {
        let (layers, diff_ids) = (manifest.layers.len(), diff_ids.len());
        return Err(ContentError::DiffIds { layers, diff_ids });
    }
    let part = |(blob, diff_id): (&Descriptor, &String)| {
        let (digest, diff_id) = (Digest::parse(&blob.digest)?, Digest::parse(diff_id)?);
        Ok(Part { blob: blob.clone(), digest, diff_id })
    };
    manifest.layers.iter().zip(diff_ids).map(part).collect()
}

/// Each layer once, the largest first: what takes longest must not begin last.
pub(crate) fn in_order(parts: &[Part]) -> Vec<&Part> {
    let mut known = BTreeSet::new();
    let mut order: Vec<&Part> = parts.iter().filter(|part| known.insert(&part.diff_id)).collect();
    order.sort_by_key(|part| std::cmp::Reverse(part.blob.size));
    order
}

/// The layers to be stacked, the top one first. One that comes twice counts where it is higher: whatever it says
/// below, it says again above, and no overlay takes a directory twice.
pub(crate) fn stacked(parts: &[Part]) -> Vec<&Part> {
    let mut known = BTreeSet::new();
    parts.iter().rev().filter(|part| known.insert(&part.diff_id)).collect()
}

/// Whether a mount takes so many layers; it takes at least one.
pub(crate) fn can_be_stacked(parts: &[Part]) -> bool {
    (1..=MOST_STACKED).contains(&stacked(parts).len())
}

/// How many layers are brought at once.
pub(crate) fn at_once(cores: usize) -> usize {
    cores.clamp(FEWEST_AT_ONCE, MOST_AT_ONCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(letter: char) -> String {
        format!("sha256:{}", letter.to_string().repeat(64))
    }

    /// Layers by letter, with their sizes; the diff id of `a` is `a` again.
    fn manifest(layers: &[(char, u64)]) -> (Manifest, Configuration) {
        let layers: Vec<_> = layers
            .iter()
            .map(|(letter, size)| serde_json::json!({"digest": digest(*letter), "size": size}))
            .collect();
        let ids: Vec<_> = layers.iter().map(|layer| layer["digest"].clone()).collect();
        let manifest = serde_json::json!({"config": {"digest": digest('c')}, "layers": layers});
        let configuration =
            serde_json::json!({"os": "linux", "architecture": "amd64", "rootfs": {"diff_ids": ids}});
        (serde_json::from_value(manifest).unwrap(), serde_json::from_value(configuration).unwrap())
    }

    fn letters(parts: &[&Part]) -> String {
        parts.iter().filter_map(|part| part.diff_id.hex().chars().next()).collect()
    }

    #[test]
    fn the_largest_begins_and_each_comes_once() {
        let (manifest, configuration) = manifest(&[('a', 5), ('b', 9), ('a', 5), ('d', 7)]);
        let parts = parts(&manifest, &configuration).unwrap();
        assert_eq!(letters(&in_order(&parts)), "bda");
        assert_eq!(letters(&stacked(&parts)), "dab");
    }

    #[test]
    fn manifest_and_configuration_must_agree() {
        let (manifest, mut configuration) = manifest(&[('a', 5), ('b', 9)]);
        configuration.rootfs.diff_ids.pop();
        let error = parts(&manifest, &configuration).unwrap_err().to_string();
        assert!(error.contains("2 layers") && error.contains("1 diff id"), "{error}");
        configuration.rootfs.diff_ids.push("sha256:../../x".into());
        assert!(matches!(parts(&manifest, &configuration), Err(ContentError::Digest(_))));
    }

    #[test]
    fn what_no_mount_takes_is_not_stacked() {
        let part = |number: usize| {
            let digest = Digest::of(number.to_string().as_bytes());
            let (blob, _) = manifest(&[('a', 1)]);
            Part { blob: blob.layers[0].clone(), digest: digest.clone(), diff_id: digest }
        };
        let parts: Vec<_> = (0..151).map(part).collect();
        assert!(!can_be_stacked(&[]) && can_be_stacked(&parts[..1]) && can_be_stacked(&parts[..127]));
        assert!(can_be_stacked(&parts[..150]) && !can_be_stacked(&parts));
    }

    #[test]
    fn neither_one_by_one_nor_without_bound() {
        assert_eq!([1, 2, 8, 128].map(at_once), [4, 4, 8, 16]);
    }
}
