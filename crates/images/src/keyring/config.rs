//! Docker's `config.json`, and the two kinds of pull secrets that hold parts of it.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, general_purpose};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::matching::{Key, sort};
use super::{Credential, KeyringError, Ring};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Document {
    auths: Option<BTreeMap<String, Entry>>,
    creds_store: Option<String>,
    cred_helpers: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
    registrytoken: Option<String>,
}

/// Written by many tools, some of which leave the padding out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
const CONFIG_JSON: &str = "kubernetes.io/dockerconfigjson";
const DOCKERCFG: &str = "kubernetes.io/dockercfg";

pub(super) fn docker(bytes: &[u8], origin: &str) -> Result<Ring, KeyringError> {
    let document: Document = parse(bytes, origin)?;
    let mut entries = entries(document.auths.unwrap_or_default(), origin)?;
    sort(&mut entries);
    let store = document.creds_store.filter(|name| !name.is_empty());
    Ok(Ring { entries, helpers: document.cred_helpers.unwrap_or_default(), store })
}

pub(super) fn pull_secret(
    kind: &str,
    bytes: &[u8],
    origin: &str,
) -> Result<Vec<(Key, Credential)>, KeyringError> {
    let auths = match kind {
        CONFIG_JSON => parse::<Document>(bytes, origin)?.auths.unwrap_or_default(),
        DOCKERCFG => parse(bytes, origin)?,
        other => return Err(KeyringError::SecretType(other.to_owned())),
    };
    entries(auths, origin)
}

/// The parser's own words quote what they are about.
fn parse<T: DeserializeOwned>(bytes: &[u8], origin: &str) -> Result<T, KeyringError> {
    serde_json::from_slice(bytes).map_err(|error| KeyringError::Json {
        origin: origin.to_owned(),
        line: error.line(),
        column: error.column(),
    })
}

fn entries(auths: BTreeMap<String, Entry>, origin: &str) -> Result<Vec<(Key, Credential)>, KeyringError> {
    let mut found = Vec::new();
    for (text, entry) in auths {
        let bad = |why| KeyringError::Entry { origin: origin.to_owned(), key: text.clone(), why };
        // Empty where a helper has the credentials.
        let Some(credential) = entry.credential().map_err(bad)? else { continue };
        let key = Key::parse(&text).ok_or_else(|| bad("its name is no address of a registry"))?;
        found.push((key, credential));
    }
    Ok(found)
}

// === impl Entry ===

impl Entry {
    fn credential(self) -> Result<Option<Credential>, &'static str> {
        let some = |text: Option<String>| text.filter(|text| !text.is_empty());
        if let Some(token) = some(self.registrytoken) {
            return Ok(Some(Credential::Token(token)));
        }
        if let Some(token) = some(self.identitytoken) {
            return Ok(Some(Credential::Identity(token)));
        }
        if let Some(auth) = some(self.auth) {
            return decode(&auth).map(Some);
        }
        match (some(self.username), self.password) {
            (Some(user), Some(password)) => Ok(Some(Credential::Password { user, password })),
            (Some(_), None) => Err("it has a username and no password"),
            (None, _) => Ok(None),
        }
    }
}

fn decode(auth: &str) -> Result<Credential, &'static str> {
    let wanted = "its auth is not the base64 of USER:PASSWORD";
    let bytes = BASE64.decode(auth.trim()).or_else(|_| general_purpose::URL_SAFE.decode(auth.trim()));
    let text = String::from_utf8(bytes.map_err(|_| wanted)?).map_err(|_| wanted)?;
    let (user, password) = text.split_once(':').filter(|(user, _)| !user.is_empty()).ok_or(wanted)?;
    // Docker once padded with zeros.
    let (user, password) = (user.to_owned(), password.trim_end_matches('\0').to_owned());
    Ok(Credential::Password { user, password })
}
