//! Images by name, and the credentials that come with a pull.

use std::fmt;

use images::Reference;
use images::keyring::{Keyring, KeyringError};

use super::{WireError, text};
use crate::api::{AuthConfig, ImageSpec, PullImageRequest};

/// A pull that is asked for.
#[derive(Debug)]
pub struct Pull {
    pub reference: Reference,
    pub login: Option<Login>,
}

/// How a kubelet says to log in. Never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Login(serde_json::Value);

// === impl Login ===

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login")
    }
}

impl Login {
    /// Before everything else this host knows.
    pub fn keyring(&self, reference: &Reference, others: Keyring) -> Result<Keyring, KeyringError> {
        let secret = serde_json::json!({"auths": {reference.registry(): self.0}}).to_string();
        let first = ("the request's auth", "kubernetes.io/dockerconfigjson", secret.as_bytes());
        Ok(Keyring::default().with_pull_secrets([first])?.and(others))
    }
}

/// What an image is called in a request: a name, a digest or an id.
pub fn image_name(image: Option<&ImageSpec>) -> Result<String, WireError> {
    let image = image.ok_or(WireError::Missing("image"))?;
    if image.image.len() > LONGEST {
        return Err(WireError::invalid("image.image", &image.image, "a name of at most 1024 characters"));
    }
    text::without_nul("image.image", &image.image)
        .and_then(|name| if name.is_empty() { Err(WireError::Missing("image.image")) } else { Ok(name) })
}

/// Registries allow less.
const LONGEST: usize = 1024;

pub fn pull(request: &PullImageRequest) -> Result<Pull, WireError> {
    let name = image_name(request.image.as_ref())?;
    let reference = Reference::parse(&name).map_err(|_| {
        WireError::invalid("image.image", &name, "[REGISTRY/]NAME[:TAG][@DIGEST], NAME in lower case")
    })?;
    Ok(Pull { reference, login: request.auth.as_ref().map(login).transpose()?.flatten() })
}

/// An empty one is none. A server address that is not the image's is the kubelet's affair: it chose.
fn login(auth: &AuthConfig) -> Result<Option<Login>, WireError> {
    let entry = match auth {
        AuthConfig { registry_token, .. } if !registry_token.is_empty() => {
            serde_json::json!({"registrytoken": registry_token})
        }
        AuthConfig { identity_token, .. } if !identity_token.is_empty() => {
            serde_json::json!({"identitytoken": identity_token})
        }
        AuthConfig { auth, .. } if !auth.is_empty() => serde_json::json!({"auth": auth}),
        AuthConfig { username, password, .. } if !username.is_empty() => {
            serde_json::json!({"username": username, "password": password})
        }
        AuthConfig { password, .. } if !password.is_empty() => {
            return Err(WireError::Missing("auth.username"));
        }
        _ => return Ok(None),
    };
    Ok(Some(Login(entry)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_never_shown() {
        let auth = AuthConfig { username: "u".into(), password: "hunter2".into(), ..Default::default() };
        let found = login(&auth).unwrap().unwrap();
        assert!(!format!("{found:?}").contains("hunter2"));
        assert_eq!(login(&AuthConfig::default()), Ok(None));
        let nobody = AuthConfig { password: "hunter2".into(), ..Default::default() };
        assert_eq!(login(&nobody), Err(WireError::Missing("auth.username")));
    }
}
