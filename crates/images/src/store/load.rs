//! Images that come from a file under a name of their own.

use std::path::Path;

use super::{Image, ImageError, Store, Wanted};
use crate::platform::{Host, Isolation};
use crate::progress::Caller;
use crate::reference::Reference;
use crate::registry::Access;
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
        let source = Source::OciArchive(archive.to_owned());
        let (host, access) = (Host::here(os, architecture), Access::default());
        let isolation = Isolation::HostProcess;
        let wanted =
            Wanted { source: &source, policy: None, host: &host, isolation, access: &access, pin: None };
        let pulled = self.take_archive(archive, &name.to_string(), &wanted, true, Caller::silent())?;
        self.name(name, &pulled)?;
        self.ready(&pulled.record, &wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::PullPolicy;
    use crate::sample::Sample;
    use crate::stack::{Seen, Stack};
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
        let (source, host, access) =
            (Source::Reference(name), Host::new("linux", "amd64"), Access::default());
        let (policy, isolation) = (Some(PullPolicy::Never), Isolation::HostProcess);
        let wanted = Wanted { source: &source, policy, host: &host, isolation, access: &access, pin: None };
        assert_eq!(store.ensure(&wanted, Caller::silent()).unwrap(), loaded);
        match loaded.files {
            Files::Dir(files) => assert!(files.join("a").is_file()),
            Files::Layers { lower, .. } => {
                assert_eq!(Stack::new(&lower).resolve(Path::new("a")).unwrap(), Seen::File);
            }
        }
    }
}
