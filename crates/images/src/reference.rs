//! Names of images in registries, as pods write them.
//!
//! The grammar is oci-client's. What it lets through that no registry takes, and what it does not know, is
//! settled here: tags are ASCII, digests are those that we can check, an address may be an IPv6 one.

use std::fmt;
use std::net::Ipv6Addr;

/// A whole name: registry, repository, and a tag or a digest or both. Defaults are filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference(oci_client::Reference);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not the name of an image ({why}): wanted [REGISTRY/]NAME[:TAG][@DIGEST], NAME in lower case"
)]
pub struct ReferenceError {
    text: String,
    why: String,
}

pub(crate) const DEFAULT_TAG: &str = "latest";
/// Stands for an IPv6 address while the rest is parsed.
const PLACEHOLDER: &str = "ipv6.invalid";

// === impl Reference ===

impl Reference {
    pub fn parse(text: &str) -> Result<Reference, ReferenceError> {
        read(text).map(Reference).map_err(|why| ReferenceError { text: text.to_owned(), why })
    }

    /// The registry's host, with its port if it has one.
    pub fn registry(&self) -> &str {
        self.0.registry()
    }

    /// Kubernetes pulls such an image always unless told otherwise: its name may mean another one tomorrow.
    pub fn is_latest(&self) -> bool {
        self.0.tag() == Some(DEFAULT_TAG)
    }

    /// Whether the registry is on this host: only there is plain HTTP good enough.
    pub fn is_local(&self) -> bool {
        crate::hosts::is_local(self.registry())
    }

    /// The name within the registry.
    pub fn repository(&self) -> &str {
        self.0.repository()
    }

    pub fn tag(&self) -> Option<&str> {
        self.0.tag()
    }

    pub fn digest(&self) -> Option<&str> {
        self.0.digest()
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn read(text: &str) -> Result<oci_client::Reference, String> {
    if let Some(strange) = text.chars().find(|c| !c.is_ascii()) {
        return Err(format!("{strange:?} is not an ASCII character"));
    }
    let parsed = match text.strip_prefix('[') {
        Some(rest) => at_ipv6(rest)?,
        None => oci_client::Reference::try_from(text).map_err(|e| e.to_string())?,
    };
    // `A/b` reads as a host, but without a dot or a port it is none: the crate then takes it for a repository.
    if parsed.repository().contains(|c: char| c.is_ascii_uppercase()) {
        return Err("its name has upper-case letters".to_owned());
    }
    match parsed.digest() {
        Some(digest) if !crate::blobs::is_digest(digest) => {
            Err("its digest is not sha256 in lower case".to_owned())
        }
        _ => Ok(parsed),
    }
}

/// The crate knows no addresses in brackets: it parses the rest and the address is put back.
fn at_ipv6(text: &str) -> Result<oci_client::Reference, String> {
    let (address, rest) = text.split_once(']').ok_or("a bracket is not closed")?;
    let address: Ipv6Addr = address.parse().map_err(|_| format!("{address:?} is not an IPv6 address"))?;
    if !rest.starts_with([':', '/']) {
        return Err("after an address comes a port or a slash".to_owned());
    }
    let parsed =
        oci_client::Reference::try_from(format!("{PLACEHOLDER}{rest}")).map_err(|e| e.to_string())?;
    let port = parsed.registry().strip_prefix(PLACEHOLDER).ok_or("no name follows the address")?;
    let (registry, repository) = (format!("[{address}]{port}"), parsed.repository().to_owned());
    let (tag, digest) = (parsed.tag().map(str::to_owned), parsed.digest().map(str::to_owned));
    Ok(match (tag, digest) {
        (Some(tag), Some(digest)) => {
            oci_client::Reference::with_tag_and_digest(registry, repository, tag, digest)
        }
        (None, Some(digest)) => oci_client::Reference::with_digest(registry, repository, digest),
        (tag, None) => {
            let tag = tag.unwrap_or_else(|| DEFAULT_TAG.to_owned());
            oci_client::Reference::with_tag(registry, repository, tag)
        }
    })
}

#[cfg(test)]
mod tests;
