//! What a pod's `image:` may say when there is no cluster: a directory, an archive, or a reference.

use std::path::{Path, PathBuf};

use crate::reference::{Reference, ReferenceError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// `dir:PATH`: the directory is the image.
    Dir(PathBuf),
    /// `oci-archive:PATH`: a tar file with an OCI image layout.
    OciArchive(PathBuf),
    /// Anything else: the name of an image in a registry.
    Reference(Reference),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    #[error("the image is empty: wanted dir:PATH, oci-archive:PATH or a reference")]
    Empty,
    #[error("image {0:?} names no path after the colon")]
    NoPath(String),
    #[error(transparent)]
    Reference(#[from] ReferenceError),
}

// === impl Source ===

impl Source {
    /// Reads an image field. Relative paths start at `base`, the directory of the file that said so.
    pub fn parse(text: &str, base: &Path) -> Result<Source, SourceError> {
        let path = |rest: &str| match rest {
            "" => Err(SourceError::NoPath(text.to_owned())),
            rest => Ok(base.join(rest)),
        };
        if let Some(rest) = text.strip_prefix("dir:") {
            Ok(Source::Dir(path(rest)?))
        } else if let Some(rest) = text.strip_prefix("oci-archive:") {
            Ok(Source::OciArchive(path(rest)?))
        } else if text.is_empty() {
            Err(SourceError::Empty)
        } else {
            Ok(Source::Reference(Reference::parse(text)?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pod_may_say() {
        let parsed = |text| Source::parse(text, Path::new("/pods"));
        assert_eq!(parsed("dir:app"), Ok(Source::Dir("/pods/app".into())));
        assert_eq!(parsed("dir:/opt/app"), Ok(Source::Dir("/opt/app".into())));
        assert_eq!(parsed("oci-archive:x.tar"), Ok(Source::OciArchive("/pods/x.tar".into())));
        let busybox = Reference::parse("busybox:1.36").unwrap();
        assert_eq!(parsed("busybox:1.36"), Ok(Source::Reference(busybox)));
        assert!(matches!(parsed("Busybox"), Err(SourceError::Reference(_))));
        assert_eq!(parsed("dir:"), Err(SourceError::NoPath("dir:".into())));
        assert_eq!(parsed("oci-archive:"), Err(SourceError::NoPath("oci-archive:".into())));
        assert_eq!(parsed(""), Err(SourceError::Empty));
    }
}
