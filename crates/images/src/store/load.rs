//! Images that come from a file under a name of their own.

use std::path::Path;

use super::{Image, ImageError, Store, Wanted};
use crate::archive::Archive;
use crate::reference::Reference;
use crate::source::Source;

// === impl Store ===

impl Store {
    /// Takes the image that an archive has for this platform; from now on the name means it.
    pub fn load(
        &self,
        archive: &Path,
        name: &Reference,
        os: &str,
        architecture: &str,
    ) -> Result<Image, ImageError> {
        let bad = |source| ImageError::Archive { path: archive.to_owned(), source };
        let source = Source::OciArchive(archive.to_owned());
        let wanted = Wanted { source: &source, policy: None, os, architecture };
        let blobs = Archive::open(archive).map_err(bad)?;
        let (id, image) = self.take(&blobs, &wanted, &name.to_string(), bad)?;
        self.names.set(name, &id).map_err(|e| self.unlisted(e))?;
        Ok(image)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::PullPolicy;
    use crate::progress::Caller;
    use crate::sample::Sample;
    use crate::store::Files;

    #[test]
    fn what_was_loaded_is_found_by_its_name_without_a_registry() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.tar");
        Sample::default().image("linux", &[("a", "1")]).write(&path);
        let store = Store::open(&dir.path().join("store")).unwrap();
        let name = Reference::parse("example.com/app:1").unwrap();
        let loaded = store.load(&path, &name, "linux", "amd64").unwrap();
        std::fs::remove_file(&path).unwrap();
        let source = Source::Reference(name);
        let policy = Some(PullPolicy::Never);
        let wanted = Wanted { source: &source, policy, os: "linux", architecture: "amd64" };
        assert_eq!(store.ensure(&wanted, Caller::silent()).unwrap(), loaded);
        let Files::Dir(files) = loaded.files else { panic!("{loaded:?}") };
        assert!(files.join("a").is_file());
    }
}
