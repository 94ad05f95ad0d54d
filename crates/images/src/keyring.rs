//! Credentials for registries: those of docker's `config.json`, of the programs it names, and of Kubernetes' pull
//! secrets.
//!
//! What is secret here stays out of every error, log and debug output. A pull secret is a tenant's word: it never makes
//! this host run a program.

mod config;
mod helper;
mod matching;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use helper::Helper;
use matching::{Key, Target};

/// All credentials that a pull may use, in the order in which they were added.
#[derive(Debug, Clone, Default)]
pub struct Keyring {
    rings: Vec<Arc<Ring>>,
}

/// The credentials of one file or of all pull secrets.
#[derive(Debug, Default)]
struct Ring {
    /// The more special first.
    entries: Vec<(Key, Credential)>,
    /// Programs that know the credentials of one registry.
    helpers: BTreeMap<String, String>,
    /// The program that knows all others.
    store: Option<String>,
}

/// What may open a registry when its turn comes.
#[derive(Debug)]
pub(crate) enum Candidate {
    Known(Credential),
    Helper(Helper),
}

/// One way to log in.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Credential {
    Password {
        user: String,
        password: String,
    },
    /// What `docker login` got from an identity provider: good for tokens.
    Identity(String),
    /// Handed to the registry as it is.
    Token(String),
}

/// Why credentials cannot be used. None of these says what they are.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    #[error("read {path}")]
    Read { path: PathBuf, source: io::Error },
    #[error("{origin} is not the JSON of docker's credentials: line {line}, column {column}")]
    Json { origin: String, line: usize, column: usize },
    #[error("the entry {key:?} of {origin}: {why}")]
    Entry { origin: String, key: String, why: &'static str },
    #[error(
        "a secret of type {0:?} holds no credentials: wanted kubernetes.io/dockerconfigjson or kubernetes.io/dockercfg"
    )]
    SecretType(String),
    #[error("{name:?} cannot be the name of a credential helper: wanted letters, digits, '.', '_' and '-'")]
    HelperName { name: String },
    #[error("docker-credential-{name}, which docker's configuration names for {server}")]
    HelperStart { name: String, server: String, source: io::Error },
    #[error("docker-credential-{name} gave no credentials for {server}: {why}")]
    Helper { name: String, server: String, why: String },
}

// === impl Keyring ===

impl Keyring {
    /// The credentials of whoever runs this program: `config.json` in `$DOCKER_CONFIG` or `~/.docker`, if it is there.
    pub fn of_user() -> Result<Keyring, KeyringError> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = || set("HOME").or_else(|| set("USERPROFILE")).map(|home| home.join(".docker"));
        match set("DOCKER_CONFIG").or_else(home).map(|dir| dir.join("config.json")) {
            Some(path) if path.exists() => Keyring::default().with_docker_config(&path),
            _ => Ok(Keyring::default()),
        }
    }

    /// Adds docker's `config.json`, with the programs it names.
    pub fn with_docker_config(mut self, path: &Path) -> Result<Keyring, KeyringError> {
        let read = |source| KeyringError::Read { path: path.to_owned(), source };
        let bytes = std::fs::read(path).map_err(read)?;
        self.rings.push(Arc::new(config::docker(&bytes, &path.display().to_string())?));
        Ok(self)
    }

    /// Adds pull secrets, which are tried in their order: each its name for errors, its type and the one value in it.
    pub fn with_pull_secrets<'s>(
        mut self,
        secrets: impl IntoIterator<Item = (&'s str, &'s str, &'s [u8])>,
    ) -> Result<Keyring, KeyringError> {
        let mut all = Ring::default();
        for (name, kind, bytes) in secrets {
            all.entries.extend(config::pull_secret(kind, bytes, name)?);
        }
        matching::sort(&mut all.entries);
        self.rings.push(Arc::new(all));
        Ok(self)
    }

    /// Adds a password for one registry.
    #[must_use]
    pub fn with_password(mut self, registry: &str, user: &str, password: &str) -> Keyring {
        let credential = Credential::Password { user: user.to_owned(), password: password.to_owned() };
        let entries = Key::parse(registry).map(|key| (key, credential)).into_iter().collect();
        self.rings.push(Arc::new(Ring { entries, ..Ring::default() }));
        self
    }

    /// Those of another one after these.
    #[must_use]
    pub fn and(mut self, others: Keyring) -> Keyring {
        self.rings.extend(others.rings);
        self
    }

    /// What may open a repository, in the order in which it is to be tried. No program is run for that yet.
    pub(crate) fn candidates(&self, registry: &str, repository: &str) -> Vec<Candidate> {
        let Some(target) = Target::parse(registry, repository) else { return Vec::new() };
        self.rings.iter().flat_map(|ring| ring.candidates(&target)).collect()
    }
}

// === impl Ring ===

impl Ring {
    fn candidates(&self, target: &Target) -> Vec<Candidate> {
        let helper = self.helper(target).map(|name| Candidate::Helper(Helper::new(name, target.server())));
        let fitting = self.entries.iter().filter(|(key, _)| key.fits(target));
        let known = fitting.map(|(_, credential)| Candidate::Known(credential.clone()));
        helper.into_iter().chain(known).collect()
    }

    fn helper(&self, target: &Target) -> Option<&str> {
        let named = self.helpers.iter().find(|(registry, _)| target.is_registry(registry));
        named.map(|(_, name)| name).or(self.store.as_ref()).map(String::as_str)
    }
}

// === impl Candidate ===

impl Candidate {
    /// The credential, for which a program may have to be asked first.
    pub(crate) async fn credential(&self) -> Option<&Credential> {
        match self {
            Candidate::Known(credential) => Some(credential),
            Candidate::Helper(helper) => helper.credential().await,
        }
    }

    /// Whether there is a credential, as far as was asked.
    pub(crate) fn is_known(&self) -> bool {
        match self {
            Candidate::Known(_) => true,
            Candidate::Helper(helper) => helper.known().is_some(),
        }
    }

    /// Why the program gave none when it was asked.
    pub(crate) fn failure(&self) -> Option<Arc<KeyringError>> {
        match self {
            Candidate::Known(_) => None,
            Candidate::Helper(helper) => helper.failure(),
        }
    }
}

// === impl Credential ===

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Credential::Password { .. } => "Password",
            Credential::Identity(_) => "Identity",
            Credential::Token(_) => "Token",
        })
    }
}

#[cfg(test)]
mod tests;
