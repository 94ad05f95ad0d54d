//! A directory of `certs.d` without a `hosts.toml`, as docker has them: `*.crt` are authorities, `*.cert` with `*.key` is
//! what we show of ourselves.

use std::io;
use std::path::{Path, PathBuf};

use reqwest::Url;

use super::{Host, HostsError};

/// The registry itself, with the certificates that are here.
pub(super) fn read(dir: &Path, registry: &str) -> Result<Host, HostsError> {
    let files = list(dir).map_err(|source| HostsError::Read { path: dir.to_owned(), source })?;
    let ending = |wanted: &str| {
        let fits = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == wanted);
        files.iter().filter(fits).cloned().collect::<Vec<_>>()
    };
    let client = match &ending("cert")[..] {
        [] => None,
        [certificate] => {
            let key = certificate.with_extension("key");
            Some((certificate.clone(), files.contains(&key).then_some(key)))
        }
        several => {
            let why = format!("{} are for clients (*.cert), wanted one", several.len());
            return Err(HostsError::Certificate { path: dir.to_owned(), why });
        }
    };
    Ok(Host { ca: ending("crt"), client, ..sealed(registry)? })
}

/// A directory of certificates, even for a registry on this host, says that it has TLS.
fn sealed(registry: &str) -> Result<Host, HostsError> {
    let mut itself = Host::itself(registry)?;
    itself.base = Url::parse(&itself.base.as_str().replacen("http://", "https://", 1)).unwrap_or(itself.base);
    Ok(itself)
}

fn list(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = std::fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    found.sort();
    Ok(found)
}
