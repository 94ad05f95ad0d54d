//! What the administrator decides: the file of `--config`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use rules::policy::{Field, Policy, PolicyError};
use runtime::config::{Options, RunAs};
use serde::Deserialize;

use crate::wire::{Handler, WireError};

/// As the file says it. Anything it does not know is an error: a setting that is not read must not seem to be.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct File {
    default_handler: Option<String>,
    annotation_policy: Option<PathBuf>,
    node_ip: Option<IpAddr>,
    stream_address: Option<SocketAddr>,
    host_process: HostProcess,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct HostProcess {
    run_as: RunAs,
}

#[derive(Debug, Clone)]
pub struct Settings {
    /// What an empty handler means.
    pub default_handler: Handler,
    /// Who may have HostProcess pods by the alpha annotation (HP-06); nobody without.
    pub annotation_policy: Option<Policy>,
    /// The address that pods are told to have; found out without.
    pub node_ip: Option<IpAddr>,
    /// Where exec, attach and port-forward are served.
    pub stream_address: SocketAddr,
    pub options: Options,
}

#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("read {path}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}: {message}")]
    Yaml { path: PathBuf, message: String },
    #[error("{path}: default-handler")]
    Handler { path: PathBuf, source: WireError },
    #[error("{path}: annotation-policy {policy}")]
    Policy { path: PathBuf, policy: PathBuf, source: Box<PolicyError> },
    #[error(
        "{path}: annotation-policy {policy}: rule {rule:?} speaks of {field}, of which CRI tells nothing: \
         such a rule would allow what it should not"
    )]
    Untold { path: PathBuf, policy: PathBuf, rule: String, field: &'static str },
}

// === impl Settings ===

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            default_handler: Handler::HostProcess,
            annotation_policy: None,
            node_ip: None,
            stream_address: SocketAddr::from(([127, 0, 0, 1], 0)),
            options: Options::default(),
        }
    }
}

impl Settings {
    pub fn read(path: &Path) -> Result<Settings, SettingsError> {
        let read = |path: &Path| {
            std::fs::read_to_string(path)
                .map_err(|source| SettingsError::Read { path: path.to_owned(), source })
        };
        let file: File = serde_saphyr::from_str(&read(path)?)
            .map_err(|e| SettingsError::Yaml { path: path.to_owned(), message: e.to_string() })?;
        let mut settings = Settings { node_ip: file.node_ip, ..Settings::default() };
        settings.options.run_as = file.host_process.run_as;
        if let Some(address) = file.stream_address {
            settings.stream_address = address;
        }
        if let Some(handler) = &file.default_handler {
            settings.default_handler = Handler::parse(handler, &Handler::HostProcess)
                .map_err(|source| SettingsError::Handler { path: path.to_owned(), source })?;
        }
        if let Some(policy) = &file.annotation_policy {
            // Relative to the file that names it.
            let policy = path.parent().unwrap_or_else(|| Path::new("")).join(policy);
            settings.annotation_policy = Some(judged(path, &policy, &read(&policy)?)?);
        }
        Ok(settings)
    }
}

fn judged(path: &Path, policy: &Path, text: &str) -> Result<Policy, SettingsError> {
    let (path, policy) = (path.to_owned(), policy.to_owned());
    let parsed = match Policy::parse(text) {
        Ok(parsed) => parsed,
        Err(e) => return Err(SettingsError::Policy { path, policy, source: Box::new(e) }),
    };
    for rule in parsed.rules() {
        for field in [Field::Users, Field::ServiceAccounts] {
            if rule.list(field).is_some() {
                let (rule, field) = (rule.label().to_owned(), field.name());
                return Err(SettingsError::Untold { path, policy, rule, field });
            }
        }
    }
    Ok(parsed)
}

/// The address by which others reach this host: the one it would use itself. Nothing is sent.
pub fn own_address() -> IpAddr {
    let asked = || {
        let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
        socket.connect("192.0.2.1:9").ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    asked().filter(|ip| !ip.is_unspecified()).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, policy: &str) -> Result<Settings, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cri.yaml");
        std::fs::write(&path, text).unwrap();
        std::fs::write(dir.path().join("policy.yaml"), policy).unwrap();
        Settings::read(&path).map_err(|e| runtime::error::chain(&e))
    }

    const POLICY: &str =
        "apiVersion: porthole.dev/v1alpha1\nkind: HostProcessPolicy\nrules:\n- namespaces: [old]\n";

    // proves: HP-06 pure
    #[test]
    fn what_a_file_says_is_read_whole_or_refused() {
        let all = "default-handler: process\nnode-ip: 192.0.2.7\nstream-address: 127.0.0.1:7\n\
                   host-process: {run-as: inherit}\nannotation-policy: policy.yaml\n";
        let settings = read(all, POLICY).unwrap();
        assert_eq!(settings.default_handler, Handler::Process);
        assert_eq!(settings.options.run_as, RunAs::Inherit);
        assert!(settings.annotation_policy.is_some() && settings.node_ip.is_some());
        assert!(read("{}", "").unwrap().annotation_policy.is_none(), "off by default");
        for (text, policy, why) in [
            ("annotation-polices: x", "", "unknown field"),
            ("default-handler: runc", "", "wanted hostprocess"),
            ("annotation-policy: policy.yaml", "{}", "annotation-policy"),
            ("annotation-policy: other.yaml", "", "read"),
            ("annotation-policy: policy.yaml", &format!("{POLICY}  users: [a]\n"), "CRI tells nothing"),
        ] {
            let error = read(text, policy).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
