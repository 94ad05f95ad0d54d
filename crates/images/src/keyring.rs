//! Credentials for registries: those of docker's `config.json` and of Kubernetes' pull secrets.
//!
//! What is secret here stays out of every error, log and debug output.

use std::fmt;

/// All credentials that a pull may use.
#[derive(Debug, Clone, Default)]
pub struct Keyring {}

/// One way to log in.
#[derive(Clone, PartialEq, Eq)]
#[expect(dead_code, reason = "push follows")]
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

#[derive(Debug, thiserror::Error)]
pub enum KeyringError {}

// === impl Keyring ===

impl Keyring {
    /// The credentials for a repository, in the order in which they are to be tried.
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "sources follow")]
    pub(crate) fn candidates(
        &self,
        _registry: &str,
        _repository: &str,
    ) -> Result<Vec<Credential>, KeyringError> {
        Ok(Vec::new())
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
