//! Which image a name meant when it was last pulled, so that a host without a registry can still use it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use os::lock::{Held, Mode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::content::{At, Cache, DepotError};
use crate::digest::Digest;
use crate::fail;
use crate::reference::Reference;

/// The file `names.json` of a store. Several processes read and write it.
#[derive(Debug)]
pub struct Names {
    path: PathBuf,
    lock: PathBuf,
    cache: Cache<File>,
}

/// What a name leads to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// The image for this host: its configuration's digest.
    pub id: Digest,
    /// What the registry gave for the name: an index or a manifest.
    pub target: Digest,
    /// The indexes between the target and the manifests that came, if it is an index of indexes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indexes: Vec<Digest>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct File {
    v: u32,
    /// By whole names. The first version had ids only, of images that stood elsewhere: they are pulled again.
    #[serde(default)]
    names: BTreeMap<String, Value>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

const VERSION: u32 = 2;

// === impl Names ===

impl Names {
    pub(crate) fn of(store: &Path) -> Names {
        let lock = store.join("locks").join("index");
        Names { path: store.join("names.json"), lock, cache: Cache::default() }
    }

    pub fn get(&self, reference: &Reference) -> Result<Option<Named>, DepotError> {
        Ok(self.read()?.get(&reference.to_string()))
    }

    pub fn set(&self, reference: &Reference, named: &Named) -> Result<(), DepotError> {
        let value = serde_json::to_value(named).map_err(|e| self.not_json(e))?;
        self.change(|names| names.insert(reference.to_string(), value.clone()) != Some(value.clone()))?;
        fail::point("name-written");
        Ok(())
    }

    /// Forgets a name; says what it led to.
    pub fn remove(&self, reference: &Reference) -> Result<Option<Named>, DepotError> {
        let found = self.get(reference)?;
        self.forget(&[reference.to_string()])?;
        Ok(found)
    }

    pub(crate) fn forget(&self, names: &[String]) -> Result<(), DepotError> {
        self.change(|all| {
            let before = all.len();
            all.retain(|name, _| !names.contains(name));
            all.len() < before
        })
    }

    /// Every name, in order.
    pub fn all(&self) -> Result<BTreeMap<String, Named>, DepotError> {
        let file = self.read()?;
        Ok(file.names.keys().filter_map(|name| Some((name.clone(), file.get(name)?))).collect())
    }

    /// The names of one image.
    pub fn of_image(&self, id: &Digest) -> Result<Vec<String>, DepotError> {
        Ok(self.all()?.into_iter().filter(|(_, named)| named.id == *id).map(|(name, _)| name).collect())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads, changes and replaces, while no other process does.
    fn change(&self, act: impl FnOnce(&mut BTreeMap<String, Value>) -> bool) -> Result<(), DepotError> {
        let _held = Held::take(&self.lock, Mode::Exclusive).at("lock", &self.lock)?;
        let mut file = (*self.read()?).clone();
        if !act(&mut file.names) {
            return Ok(());
        }
        file.v = VERSION;
        file.names.retain(|_, value| Named::deserialize(&*value).is_ok());
        let bytes = serde_json::to_vec_pretty(&file).map_err(|e| self.not_json(e))?;
        os::file::write_durable(&self.path, &bytes).at("write", &self.path)
    }

    fn read(&self) -> Result<Arc<File>, DepotError> {
        let none = || Arc::new(File { v: VERSION, names: BTreeMap::new(), unknown: Map::new() });
        let file = self.cache.read(&self.path)?.unwrap_or_else(none);
        if file.v <= VERSION {
            return Ok(file);
        }
        Err(DepotError::Version { path: self.path.clone(), found: file.v, wanted: VERSION })
    }

    fn not_json(&self, source: serde_json::Error) -> DepotError {
        DepotError::Json { path: self.path.clone(), source }
    }
}

// === impl Named ===

impl Named {
    /// What leads from the name to manifests.
    pub(crate) fn documents(&self) -> impl Iterator<Item = &Digest> {
        std::iter::once(&self.target).chain(&self.indexes)
    }
}

// === impl File ===

impl File {
    fn get(&self, name: &str) -> Option<Named> {
        self.names.get(name).and_then(|value| Named::deserialize(value).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Named {
        let id = Digest::of(text.as_bytes());
        Named { target: Digest::of(id.as_str().as_bytes()), indexes: Vec::new(), id }
    }

    fn world() -> (tempfile::TempDir, Names) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("locks")).unwrap();
        let names = Names::of(dir.path());
        (dir, names)
    }

    #[test]
    fn names_are_kept_and_replaced_and_forgotten() {
        let (dir, names) = world();
        let [one, two] = ["app:1", "app:2"].map(|text| Reference::parse(text).unwrap());
        assert_eq!(names.get(&one).unwrap(), None);
        assert!(!names.path().exists(), "asking writes nothing");
        names.set(&one, &named("a")).unwrap();
        names.set(&two, &named("b")).unwrap();
        names.set(&one, &named("b")).unwrap();
        let again = Names::of(dir.path());
        assert_eq!(again.get(&one).unwrap(), Some(named("b")));
        assert_eq!(again.of_image(&named("b").id).unwrap(), [one.to_string(), two.to_string()]);
        assert_eq!(again.remove(&two).unwrap(), Some(named("b")));
        assert_eq!(names.all().unwrap().into_keys().collect::<Vec<_>>(), [one.to_string()]);
    }

    #[test]
    fn what_a_later_porthole_wrote_is_kept_or_refused() {
        let (_dir, names) = world();
        let app = Reference::parse("app").unwrap();
        std::fs::write(names.path(), r#"{"v":2,"names":{},"used":{"x":3}}"#).unwrap();
        names.set(&app, &named("a")).unwrap();
        assert!(std::fs::read_to_string(names.path()).unwrap().contains("\"used\""));
        for bad in [r#"{"v":3,"names":{}}"#, "{"] {
            std::fs::write(names.path(), bad).unwrap();
            names.get(&app).unwrap_err();
            names.set(&app, &named("a")).unwrap_err();
            assert_eq!(std::fs::read_to_string(names.path()).unwrap(), bad, "it was overwritten");
        }
    }

    #[test]
    fn names_of_the_first_version_lead_nowhere() {
        let (_dir, names) = world();
        let app = Reference::parse("app").unwrap();
        let old = format!(r#"{{"v":1,"names":{{"{app}":"{}"}}}}"#, Digest::of(b"x"));
        std::fs::write(names.path(), old).unwrap();
        assert_eq!(names.get(&app).unwrap(), None);
        names.set(&Reference::parse("other").unwrap(), &named("a")).unwrap();
        assert_eq!(names.all().unwrap().len(), 1);
        assert!(std::fs::read_to_string(names.path()).unwrap().contains("\"v\": 2"));
    }

    #[test]
    fn many_writers_lose_no_name() {
        let (dir, names) = world();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let path = dir.path();
                scope.spawn(move || {
                    let reference = Reference::parse(&format!("app:{writer}")).unwrap();
                    Names::of(path).set(&reference, &named(&writer.to_string())).unwrap();
                });
            }
        });
        assert_eq!(names.all().unwrap().len(), 8);
    }
}
