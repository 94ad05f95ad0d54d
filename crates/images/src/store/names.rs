//! Which image a name meant when it was last pulled, so that a host without a registry can still use it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::reference::Reference;

const VERSION: u32 = 1;

/// The file `names.json` of a store.
#[derive(Debug)]
pub(crate) struct Names {
    path: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
struct Content {
    v: u32,
    /// From whole names to images' ids.
    names: BTreeMap<String, String>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

// === impl Names ===

impl Names {
    pub(crate) fn of(store: &Path) -> Names {
        Names { path: store.join("names.json") }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn get(&self, reference: &Reference) -> io::Result<Option<String>> {
        Ok(self.read()?.names.remove(&reference.to_string()))
    }

    pub(crate) fn set(&self, reference: &Reference, id: &str) -> io::Result<()> {
        let mut content = self.read()?;
        if content.names.insert(reference.to_string(), id.to_owned()).as_deref() == Some(id) {
            return Ok(());
        }
        os::file::write_durable(&self.path, &serde_json::to_vec_pretty(&content)?)
    }

    fn read(&self) -> io::Result<Content> {
        let bytes = match std::fs::read(&self.path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Ok(Content { v: VERSION, names: BTreeMap::new(), unknown: Map::new() });
            }
            other => other?,
        };
        let content: Content = serde_json::from_slice(&bytes)?;
        if content.v == VERSION {
            Ok(content)
        } else {
            Err(io::Error::other(format!("it is of version {}, wanted {VERSION}", content.v)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_and_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let names = Names::of(dir.path());
        let [one, two] = ["app:1", "app:2"].map(|text| Reference::parse(text).unwrap());
        assert_eq!(names.get(&one).unwrap(), None);
        assert!(!names.path().exists(), "asking writes nothing");
        names.set(&one, "sha256:a").unwrap();
        names.set(&two, "sha256:b").unwrap();
        names.set(&one, "sha256:c").unwrap();
        let again = Names::of(dir.path());
        assert_eq!(again.get(&one).unwrap().as_deref(), Some("sha256:c"));
        assert_eq!(again.get(&two).unwrap().as_deref(), Some("sha256:b"));
    }

    #[test]
    fn what_a_later_porthole_wrote_is_kept_or_refused() {
        let dir = tempfile::tempdir().unwrap();
        let names = Names::of(dir.path());
        let app = Reference::parse("app").unwrap();
        std::fs::write(names.path(), r#"{"v":1,"names":{},"used":{"x":3}}"#).unwrap();
        names.set(&app, "sha256:a").unwrap();
        assert!(std::fs::read_to_string(names.path()).unwrap().contains("\"used\""));
        for bad in [r#"{"v":2,"names":{}}"#, "{"] {
            std::fs::write(names.path(), bad).unwrap();
            names.get(&app).unwrap_err();
            names.set(&app, "sha256:a").unwrap_err();
            assert_eq!(std::fs::read_to_string(names.path()).unwrap(), bad, "it was overwritten");
        }
    }
}
