//! Names of images in registries, as pods write them.
//!
//! The grammar is that of Docker and OCI (`distribution/reference`); a property test holds it against oci-client's. It
//! is written out here because an error must say which part is wrong, and because addresses may be IPv6 ones.

mod part;

use std::fmt;

/// A whole name: registry, repository, and a tag or a digest or both. Defaults are filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not the name of an image ({why}): wanted [REGISTRY/]NAME[:TAG][@DIGEST], NAME in lower case"
)]
pub struct ReferenceError {
    text: String,
    why: String,
}

pub(crate) const DEFAULT_TAG: &str = "latest";
const DOCKER: &str = "docker.io";
/// What Docker's registry was once called.
const OLD_DOCKER: &str = "index.docker.io";
/// Where Docker keeps images that have no owner.
const LIBRARY: &str = "library";

// === impl Reference ===

impl Reference {
    pub fn parse(text: &str) -> Result<Reference, ReferenceError> {
        read(text).map_err(|why| ReferenceError { text: text.to_owned(), why })
    }

    /// The registry's host, with its port if it has one.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The name within the registry.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// Kubernetes pulls such an image always unless told otherwise: its name may mean another one tomorrow.
    pub fn is_latest(&self) -> bool {
        self.tag() == Some(DEFAULT_TAG)
    }

    /// Whether the registry is on this host: only there is plain HTTP good enough.
    pub fn is_local(&self) -> bool {
        crate::hosts::is_local(&self.registry)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.repository)?;
        self.tag.as_ref().map_or(Ok(()), |tag| write!(f, ":{tag}"))?;
        self.digest.as_ref().map_or(Ok(()), |digest| write!(f, "@{digest}"))
    }
}

fn read(text: &str) -> Result<Reference, String> {
    part::characters(text)?;
    let (name, digest) = match text.split_once('@') {
        Some((name, digest)) => (name, Some(part::digest(digest)?)),
        None => (text, None),
    };
    let (registry, rest) = part::registry(name)?;
    let (path, tag) = part::tag(rest)?;
    let registry = match registry {
        None | Some(OLD_DOCKER) => DOCKER.to_owned(),
        Some(other) => other.to_owned(),
    };
    part::repository(path)?;
    let alone = registry == DOCKER && !path.contains('/');
    let repository = if alone { format!("{LIBRARY}/{path}") } else { path.to_owned() };
    part::length(&repository)?;
    let tag = tag.or_else(|| digest.is_none().then_some(DEFAULT_TAG)).map(str::to_owned);
    Ok(Reference { registry, repository, tag, digest: digest.map(str::to_owned) })
}

#[cfg(test)]
mod tests;
