//! The policy version of a namespace: the checks as that minor release of Kubernetes had them.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// `latest` or `v1.N`. A minor that is newer than every check means the same as `latest`, yet is printed as given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Version {
    V1(u64),
    #[default]
    Latest,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Pod Security version {0:?}: must be \"latest\" or \"v1.N\"")]
pub struct VersionError(String);

// === impl Version ===

impl Version {
    /// Whether a check that came with v1.`since` is part of this version.
    pub(super) fn has(self, since: u64) -> bool {
        Self::V1(since) <= self
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V1(minor) => write!(f, "v1.{minor}"),
            Self::Latest => f.write_str("latest"),
        }
    }
}

impl Serialize for Version {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        if text == "latest" {
            return Ok(Self::Latest);
        }
        let minor = text.strip_prefix("v1.").and_then(|minor| minor.parse().ok()).map(Self::V1);
        // What a number's parser takes beyond the canonical form (`+1`, `01`) the API server does not.
        minor.filter(|version| version.to_string() == text).ok_or_else(|| VersionError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_form_is_a_version() {
        for text in ["latest", "v1.0", "v1.9", "v1.36", "v1.37", "v1.100"] {
            let version: Version = text.parse().expect(text);
            assert_eq!(version.to_string(), text);
            assert_eq!(serde_json::to_value(version).expect("text"), text);
        }
        for text in ["", "1.2", "v1", "v1.", "v2.0", "v1.01", "v1.+1", "v1.-1", "v1.2.3", "Latest", " v1.2"] {
            let error = text.parse::<Version>().expect_err(text).to_string();
            assert_eq!(error, format!("Pod Security version {text:?}: must be \"latest\" or \"v1.N\""));
        }
    }

    #[test]
    fn a_version_has_what_came_with_it_or_before() {
        assert!(Version::V1(8).has(8) && Version::V1(9).has(8) && !Version::V1(7).has(8));
        assert!(Version::Latest.has(u64::MAX) && Version::default() == Version::Latest);
    }
}
