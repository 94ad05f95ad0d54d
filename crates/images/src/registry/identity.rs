//! Who we are to a registry that asks for a certificate of its clients.
//!
//! The files are looked at before anybody is asked: what the HTTP client says of a wrong pair names neither the file nor
//! what is wrong with it.

use std::path::Path;

use reqwest::Identity;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::client::pem;
use crate::hosts::HostsError;

/// A certificate with its key, which is in the same file if no other is named.
pub(super) fn identity(certificate: &Path, key: Option<&Path>) -> Result<Identity, HostsError> {
    // One file may be named as both.
    let key = key.filter(|key| *key != certificate);
    let (mut text, key_text) = (pem(certificate)?, key.map(pem).transpose()?);
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&text).filter_map(Result::ok).collect();
    if chain.is_empty() {
        return Err(bad(certificate, "there is none in it"));
    }
    // To containerd two files in a list are two clients, each with its own key. We show one.
    if key.is_some() && PrivateKeyDer::from_pem_slice(&text).is_ok() {
        return Err(bad(
            certificate,
            "there is a key in it and another file is named beside it: wanted one client",
        ));
    }
    let unlocked = PrivateKeyDer::from_pem_slice(key_text.as_ref().unwrap_or(&text));
    let found =
        unlocked.map_err(|_| bad(key.unwrap_or(certificate), "there is no key in it, or it is encrypted"))?;
    CertifiedKey::from_der(chain, found, &rustls::crypto::ring::default_provider())
        .map_err(|error| bad(certificate, &format!("its key does not do: {error}")))?;
    // A file need not end its last line, and the key must not begin in it.
    text.push(b'\n');
    text.extend(key_text.unwrap_or_default());
    Identity::from_pem(&text).map_err(|error| bad(certificate, &error.to_string()))
}

fn bad(path: &Path, why: &str) -> HostsError {
    HostsError::Certificate { path: path.to_owned(), why: why.to_owned() }
}
