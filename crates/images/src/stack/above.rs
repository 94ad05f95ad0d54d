//! What has to stand above the layers, so that together they mean what they mean one upon the other.
//!
//! A layer often brings `usr/bin/tool` without describing `usr` and `usr/bin`. Unpacked alone, those directories have
//! to be made, and in the stack they hide the owner and the mode that a layer below gave them. A directory above all
//! layers, with the attributes of the one that was described, sets that right. Where a lower layer has a *link* of
//! that name, the files belong where the link leads, and no stack can say that: such an image is unpacked as a whole.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use os::overlay::Said;

use super::{Found, Merged, find};

/// A directory to be made above all layers, like one of theirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Above {
    /// From the stack's root.
    pub path: PathBuf,
    /// A directory of a layer, with the attributes it is to have.
    pub like: PathBuf,
}

/// Whether layers can be stacked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stacked {
    /// Yes, with these directories above them, parents first.
    With(Vec<Above>),
    /// No: a layer wrote through this link of a layer below it.
    ThroughLink(PathBuf),
}

/// One layer: its directory, and the directories in it that it does not describe.
pub(crate) type Layer<'a> = (&'a Path, &'a [PathBuf]);

/// What these layers, the top one first, need above them.
pub(crate) fn above(layers: &[Layer<'_>]) -> io::Result<Stacked> {
    // Some are written with a slash at their end.
    let plain = |path: &PathBuf| path.components().as_path().to_owned();
    let implied: Vec<Vec<PathBuf>> =
        layers.iter().map(|(_, implied)| implied.iter().map(plain).collect()).collect();
    let implied: Vec<&[PathBuf]> = implied.iter().map(Vec::as_slice).collect();
    let look = |layer: usize, inside: &Path| os::overlay::look(layers[layer].0, inside);
    Ok(match conclude(&implied, look)? {
        Concluded::With(all) => Stacked::With(
            all.into_iter().map(|(path, layer)| Above { like: layers[layer].0.join(&path), path }).collect(),
        ),
        Concluded::ThroughLink(path) => Stacked::ThroughLink(path),
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Concluded {
    /// From a path to the layer whose directory it is to be like.
    With(BTreeMap<PathBuf, usize>),
    ThroughLink(PathBuf),
}

fn conclude(
    implied: &[&[PathBuf]],
    look: impl Fn(usize, &Path) -> io::Result<Said>,
) -> io::Result<Concluded> {
    let sets: Vec<BTreeSet<&Path>> =
        implied.iter().map(|paths| paths.iter().map(PathBuf::as_path).collect()).collect();
    for (top, paths) in implied.iter().enumerate() {
        let mut walk = Walk { look: &look, known: HashMap::new(), from: top, count: implied.len() };
        for path in *paths {
            let merged = walk.directory(path)?;
            if merged.over_link
                && merged.layers.last().is_some_and(|last| sets[*last].contains(path.as_path()))
            {
                return Ok(Concluded::ThroughLink(path.clone()));
            }
        }
    }
    let mut walk = Walk { look: &look, known: HashMap::new(), from: 0, count: implied.len() };
    let mut all = BTreeMap::new();
    for path in implied.iter().copied().flatten() {
        if let (Some(layer), true) = walk.describer(path, &sets)? {
            all.insert(path.clone(), layer);
        }
    }
    let parents: BTreeSet<PathBuf> =
        all.keys().flat_map(|path| path.ancestors().skip(1)).map(Path::to_owned).collect();
    for parent in parents.into_iter().filter(|parent| parent != Path::new("")) {
        if let (Some(layer), _) = walk.describer(&parent, &sets)? {
            all.entry(parent).or_insert(layer);
        }
    }
    Ok(Concluded::With(all))
}

/// Directories of the layers from one on, each looked at once.
struct Walk<'a, L> {
    look: &'a L,
    known: HashMap<PathBuf, Merged>,
    from: usize,
    count: usize,
}

// === impl Walk ===

impl<L: Fn(usize, &Path) -> io::Result<Said>> Walk<'_, L> {
    /// The layers that make up the directory of this path; none if it is not seen as one.
    fn directory(&mut self, path: &Path) -> io::Result<Merged> {
        let Some(parent) = path.parent() else {
            return Ok(Merged { layers: (self.from..self.count).collect(), over_link: false });
        };
        if let Some(known) = self.known.get(path) {
            return Ok(known.clone());
        }
        let within = self.directory(parent)?;
        let merged = match find(&within.layers, path, self.look)? {
            Found::Directory(merged) => merged,
            _ => Merged::default(),
        };
        self.known.insert(path.to_owned(), merged.clone());
        Ok(merged)
    }

    /// The layer that describes the directory as it is to be seen, else the top one that has it; and whether what is
    /// seen without further ado is another one.
    fn describer(&mut self, path: &Path, implied: &[BTreeSet<&Path>]) -> io::Result<(Option<usize>, bool)> {
        let layers = self.directory(path)?.layers;
        let top = layers.first().copied();
        let describes = layers.iter().copied().find(|layer| !implied[*layer].contains(path));
        Ok((describes.or(top), describes.is_some() && describes != top))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::tests::{Fake, layer};

    fn concluded(layers: &[Fake], implied: &[&[&str]]) -> Concluded {
        let owned: Vec<Vec<PathBuf>> =
            implied.iter().map(|paths| paths.iter().map(PathBuf::from).collect()).collect();
        let implied: Vec<&[PathBuf]> = owned.iter().map(Vec::as_slice).collect();
        conclude(&implied, |at, path| Ok(layers[at].look(path))).unwrap()
    }

    fn with(all: &[(&str, usize)]) -> Concluded {
        Concluded::With(all.iter().map(|(path, layer)| (PathBuf::from(path), *layer)).collect())
    }

    #[test]
    fn what_a_lower_layer_describes_is_set_right_above_all() {
        let layers = [layer("tmp/ tmp/new"), layer("tmp/ tmp/a/ tmp/a/b/"), layer("tmp/ tmp/a/")];
        assert_eq!(concluded(&layers, &[&["tmp"], &[], &[]]), with(&[("tmp", 1)]));
        assert_eq!(concluded(&layers, &[&["tmp"], &["tmp"], &[]]), with(&[("tmp", 2)]));
        // The parent of a directory that has to be made must be made too, like the one that is seen.
        let all = with(&[("tmp", 0), ("tmp/a", 2)]);
        assert_eq!(concluded(&layers, &[&[], &["tmp/a"], &[]]), all);
        assert_eq!(concluded(&layers, &[&["tmp"], &["tmp"], &["tmp"]]), with(&[]), "nobody describes it");
        assert_eq!(concluded(&layers, &[&[], &[], &["tmp"]]), with(&[]), "the top one does");
    }

    #[test]
    fn a_slash_at_the_end_makes_no_difference() {
        let dir = tempfile::tempdir().unwrap();
        let [top, bottom] = ["top", "bottom"].map(|name| dir.path().join(name));
        std::fs::create_dir_all(top.join("lib")).unwrap();
        std::fs::create_dir_all(bottom.join("usr/lib")).unwrap();
        os::tree::Dir::open(&bottom).unwrap().symlink("lib".as_ref(), "usr/lib".as_ref(), true).unwrap();
        let implied = [PathBuf::from("lib/")];
        let layers: [Layer<'_>; 2] = [(&top, &implied), (&bottom, &[])];
        assert_eq!(above(&layers).unwrap(), Stacked::ThroughLink("lib".into()));
    }

    #[test]
    fn what_is_hidden_describes_nothing() {
        let layers = [layer("a/ a/x"), layer("a!"), layer("a/")];
        assert_eq!(concluded(&layers, &[&["a"], &[], &[]]), with(&[]));
        let opaque = [layer("a/*"), layer("a/")];
        assert_eq!(concluded(&opaque, &[&["a"], &[]]), with(&[]));
    }

    #[test]
    fn who_writes_through_a_link_cannot_be_stacked() {
        let layers = [layer("lib/ lib/x.so"), layer("lib@usr/lib usr/ usr/lib/")];
        let through = |path: &str| Concluded::ThroughLink(PathBuf::from(path));
        assert_eq!(concluded(&layers, &[&["lib"], &[]]), through("lib"));
        assert_eq!(concluded(&layers, &[&[], &[]]), with(&[]), "a directory in the place of the link");
        let between = [layer("lib/ lib/y"), layer("lib/"), layer("lib@usr/lib")];
        assert_eq!(concluded(&between, &[&["lib"], &[], &[]]), with(&[("lib", 1)]));
        let later = [layer("lib!"), layer("lib/ lib/x"), layer("lib@usr/lib")];
        assert_eq!(
            concluded(&later, &[&[], &["lib"], &[]]),
            through("lib"),
            "its file is where the link led"
        );
        let gone = [layer("lib/* lib/x"), layer("lib@usr/lib")];
        assert_eq!(concluded(&gone, &[&["lib"], &[]]), with(&[]), "the layer hides the link itself");
    }
}
