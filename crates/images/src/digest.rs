//! The one name of a blob, a layer or an image that can be trusted: its hash.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::blobs::{ContentError, is_digest};

/// `sha256:` and 64 lower-case hexadecimal digits. Digests become file names: nothing else gets into this type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

const PREFIX: &str = "sha256:";

// === impl Digest ===

impl Digest {
    pub fn parse(text: &str) -> Result<Digest, ContentError> {
        if is_digest(text) { Ok(Digest(text.to_owned())) } else { Err(ContentError::Digest(text.to_owned())) }
    }

    /// From the digits alone, as file names have them.
    pub(crate) fn from_hex(hex: &str) -> Option<Digest> {
        Digest::parse(&format!("{PREFIX}{hex}")).ok()
    }

    pub fn of(bytes: &[u8]) -> Digest {
        Digest::from_hash(&Sha256::digest(bytes))
    }

    pub(crate) fn from_hash(hash: &[u8]) -> Digest {
        Digest(hash.iter().fold(PREFIX.to_owned(), |text, byte| format!("{text}{byte:02x}")))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Without the algorithm's name.
    pub fn hex(&self) -> &str {
        &self.0[PREFIX.len()..]
    }

    /// Enough of it for people to tell images apart.
    pub fn short(&self) -> &str {
        &self.hex()[..12]
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for Digest {
    type Err = ContentError;

    fn from_str(text: &str) -> Result<Digest, ContentError> {
        Digest::parse(text)
    }
}

impl TryFrom<String> for Digest {
    type Error = ContentError;

    fn try_from(text: String) -> Result<Digest, ContentError> {
        if is_digest(&text) { Ok(Digest(text)) } else { Err(ContentError::Digest(text)) }
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_digest_is_sha256_in_lower_case_or_none() {
        assert_eq!(Digest::of(b"").as_str(), EMPTY);
        assert_eq!(Digest::parse(EMPTY).unwrap(), Digest::of(b""));
        assert_eq!(Digest::of(b"").short(), "e3b0c44298fc");
        let upper = EMPTY.to_uppercase().replace("SHA", "sha");
        for bad in ["", "sha256:", &EMPTY[7..], &EMPTY[..70], &upper, "sha256:../../../../etc/passwd"] {
            assert!(matches!(Digest::parse(bad), Err(ContentError::Digest(found)) if found == bad), "{bad}");
        }
    }

    #[test]
    fn a_digest_in_json_is_checked_like_any_other() {
        let text = format!("{EMPTY:?}");
        assert_eq!(serde_json::to_string(&Digest::of(b"")).unwrap(), text);
        assert_eq!(serde_json::from_str::<Digest>(&text).unwrap(), Digest::of(b""));
        let said = serde_json::from_str::<Digest>(r#""sha256:../x""#).unwrap_err().to_string();
        assert!(said.contains("not a sha256 digest"), "{said}");
    }
}
