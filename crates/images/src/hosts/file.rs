//! One directory of `certs.d` with its `hosts.toml`.
//!
//! Headers may be secrets: no error quotes a value.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::{Table, Value};

use super::{Abilities, EVERYTHING, Host, HostsError, docker, duration};

const FILE: &str = "hosts.toml";

/// One table of the file: of a host, or the top, which is the registry itself.
#[derive(Clone, Copy)]
struct Section<'a> {
    table: &'a Table,
    host: &'a str,
    path: &'a Path,
}

pub(super) fn read(dir: &Path, registry: &str) -> Result<Vec<Host>, HostsError> {
    let path = dir.join(FILE);
    match std::fs::read_to_string(&path) {
        Ok(text) => parse(&text, &path, registry),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![docker::read(dir, registry)?]),
        Err(source) => Err(HostsError::Read { path, source }),
    }
}

pub(super) fn parse(text: &str, path: &Path, registry: &str) -> Result<Vec<Host>, HostsError> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| syntax(text, path, &error))?;
    let top = Section { table: &table, host: registry, path };
    let mut hosts = Vec::new();
    if let Some(named) = table.get("host") {
        let named = named.as_table().ok_or_else(|| top.wrong("host", "a table of hosts"))?;
        for (address, rules) in named {
            let table = rules.as_table().ok_or_else(|| top.wrong("host", "a table of hosts"))?;
            let section = Section { table, host: address, path };
            let host = Host::at(address, registry, section.flag("override_path")?);
            hosts.push(section.fill(host.map_err(|why| section.nowhere(why))?)?);
        }
    }
    let server = top.text("server")?.filter(|server| !server.is_empty());
    let exactly = top.flag("override_path")?;
    let itself = match server {
        None => Host::itself(registry)?,
        Some(host) => {
            let found = Host::at(host, registry, exactly);
            found.map_err(|why| Section { host, ..top }.nowhere(why)).and_then(answering)?
        }
    };
    hosts.push(top.fill(itself)?);
    Ok(hosts)
}

/// `https://docker.io` is what people write, and it is not what answers.
fn answering(host: Host) -> Result<Host, HostsError> {
    if host.base.host_str() == Some(super::DOCKER.0) { Host::itself(super::DOCKER.0) } else { Ok(host) }
}

/// Where it is and what, but not the line itself.
fn syntax(text: &str, path: &Path, error: &toml::de::Error) -> HostsError {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    HostsError::Toml { path: path.to_owned(), why: format!("line {line}: {}", error.message()) }
}

// === impl Section ===

impl Section<'_> {
    fn nowhere(&self, why: String) -> HostsError {
        HostsError::Elsewhere { path: self.path.to_owned(), host: self.host.to_owned(), why }
    }

    fn fill(&self, host: Host) -> Result<Host, HostsError> {
        Ok(Host {
            abilities: self.abilities()?,
            ca: self.paths("ca")?,
            client: self.client()?,
            skip_verify: self.flag("skip_verify")?,
            headers: self.headers()?,
            dial_timeout: self.dial_timeout()?,
            ..host
        })
    }

    fn abilities(&self) -> Result<Abilities, HostsError> {
        const WANTED: &str = "a list of \"pull\", \"resolve\" and \"push\"";
        let Some(value) = self.table.get("capabilities") else { return Ok(EVERYTHING) };
        let mut abilities = Abilities { pull: false, resolve: false, push: false };
        for word in value.as_array().ok_or_else(|| self.wrong("capabilities", WANTED))? {
            match word.as_str().map(str::to_ascii_lowercase).as_deref() {
                Some("pull") => abilities.pull = true,
                Some("resolve") => abilities.resolve = true,
                Some("push") => abilities.push = true,
                // Of containerd's later ones we have no use.
                Some("referrers") => {}
                _ => return Err(self.wrong("capabilities", WANTED)),
            }
        }
        Ok(abilities)
    }

    /// One path or a list; relative ones begin at the file.
    fn paths(&self, key: &'static str) -> Result<Vec<PathBuf>, HostsError> {
        let dir = self.path.parent().unwrap_or_else(|| Path::new(""));
        let texts = texts(self.table.get(key)).ok_or_else(|| self.wrong(key, "a path or a list of paths"))?;
        Ok(texts.into_iter().map(|text| dir.join(text)).collect())
    }

    /// A file with both, or certificate and key.
    fn client(&self) -> Result<Option<(PathBuf, Option<PathBuf>)>, HostsError> {
        const WANTED: &str = "one file with certificate and key, or one pair [certificate, key]";
        let dir = self.path.parent().unwrap_or_else(|| Path::new(""));
        let nested = self.table.get("client").and_then(Value::as_array).filter(|list| list.len() == 1);
        let value = nested.map_or_else(|| self.table.get("client"), |list| list.first());
        let texts = texts(value).ok_or_else(|| self.wrong("client", WANTED))?;
        match &texts[..] {
            [] => Ok(None),
            [both] => Ok(Some((dir.join(both), None))),
            [certificate, key] => {
                let key = Some(key).filter(|key| !key.is_empty()).map(|key| dir.join(key));
                Ok(Some((dir.join(certificate), key)))
            }
            _ => Err(self.wrong("client", WANTED)),
        }
    }

    fn headers(&self) -> Result<Vec<(String, String)>, HostsError> {
        const WANTED: &str = "a table of texts or lists of texts";
        let Some(value) = self.table.get("header") else { return Ok(Vec::new()) };
        let mut headers = Vec::new();
        for (name, value) in value.as_table().ok_or_else(|| self.wrong("header", WANTED))? {
            let values = texts(Some(value)).ok_or_else(|| self.wrong("header", WANTED))?;
            headers.extend(values.into_iter().map(|value| (name.clone(), value)));
        }
        Ok(headers)
    }

    fn dial_timeout(&self) -> Result<Option<Duration>, HostsError> {
        const KEY: &str = "dial_timeout";
        const WANTED: &str = "a duration, such as \"3s\" or \"1m30s\"";
        match self.table.get(KEY).map(Value::as_str) {
            // To containerd an empty text is as good as none.
            None | Some(Some("")) => Ok(None),
            Some(text) => {
                let limit = text.and_then(duration::parse).ok_or_else(|| self.wrong(KEY, WANTED))?;
                // To Go, which dials for containerd, zero is no limit: as good as none said.
                Ok(Some(limit).filter(|limit| !limit.is_zero()))
            }
        }
    }

    fn text(&self, key: &'static str) -> Result<Option<&str>, HostsError> {
        let value = self.table.get(key);
        value.map(|value| value.as_str().ok_or_else(|| self.wrong(key, "a text"))).transpose()
    }

    fn flag(&self, key: &'static str) -> Result<bool, HostsError> {
        let value = self.table.get(key);
        value.map_or(Ok(false), |value| value.as_bool().ok_or_else(|| self.wrong(key, "true or false")))
    }

    fn wrong(&self, what: &'static str, wanted: &'static str) -> HostsError {
        HostsError::Setting { path: self.path.to_owned(), host: self.host.to_owned(), what, wanted }
    }
}

/// One text or a list of them; none where nothing is said.
fn texts(value: Option<&Value>) -> Option<Vec<String>> {
    match value {
        None => Some(Vec::new()),
        Some(Value::String(text)) => Some(vec![text.clone()]),
        Some(Value::Array(list)) => list.iter().map(|each| each.as_str().map(str::to_owned)).collect(),
        Some(_) => None,
    }
}
