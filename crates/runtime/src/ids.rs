//! The names by which pods and containers are known here, in paths and on the wire.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A pod: its uid when a file asked for it, whatever a kubelet was told otherwise.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PodId(String);

/// A container: 64 hexadecimal digits that follow from pod, name and attempt, so that making the same one again
/// after a crash finds the first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ContainerId(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{found:?} is not the id of a {of}: wanted {wanted}")]
pub struct BadId {
    found: String,
    of: &'static str,
    wanted: &'static str,
}

const LONGEST_POD: usize = 64;
const DIGITS: usize = 64;

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

// === impl PodId ===

impl PodId {
    /// Ids become names of directories: nothing that could climb or nest.
    pub fn parse(text: &str) -> Result<PodId, BadId> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let good = (1..=LONGEST_POD).contains(&text.len())
            && text.bytes().all(|b| plain(b) || b == b'-')
            && text.bytes().next().is_some_and(plain);
        let wanted = "1 to 64 lower-case letters, digits and '-'";
        if good {
            Ok(PodId(text.to_owned()))
        } else {
            Err(BadId { found: text.to_owned(), of: "pod", wanted })
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<uuid::Uuid> for PodId {
    fn from(uid: uuid::Uuid) -> PodId {
        PodId(uid.to_string())
    }
}

impl TryFrom<String> for PodId {
    type Error = BadId;

    fn try_from(text: String) -> Result<PodId, BadId> {
        PodId::parse(&text)
    }
}

impl From<PodId> for String {
    fn from(id: PodId) -> String {
        id.0
    }
}

impl fmt::Display for PodId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// === impl ContainerId ===

impl ContainerId {
    pub fn of(pod: &PodId, name: &str, attempt: u32) -> ContainerId {
        ContainerId(hex(&Sha256::digest(format!("{pod}\0{name}\0{attempt}"))))
    }

    pub fn parse(text: &str) -> Result<ContainerId, BadId> {
        let good =
            text.len() == DIGITS && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        let bad = || BadId { found: text.to_owned(), of: "container", wanted: "64 hexadecimal digits" };
        good.then(|| ContainerId(text.to_owned())).ok_or_else(bad)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ContainerId {
    type Error = BadId;

    fn try_from(text: String) -> Result<ContainerId, BadId> {
        ContainerId::parse(&text)
    }
}

impl From<ContainerId> for String {
    fn from(id: ContainerId) -> String {
        id.0
    }
}

impl fmt::Display for ContainerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_containers_id_follows_from_what_it_is() {
        let pod = PodId::parse("p1").unwrap();
        let id = ContainerId::of(&pod, "main", 0);
        assert_eq!(id, ContainerId::of(&pod, "main", 0));
        assert_eq!(ContainerId::parse(id.as_str()), Ok(id.clone()));
        let others = [("main", 1), ("main0", 0)].map(|(name, attempt)| ContainerId::of(&pod, name, attempt));
        assert!(!others.contains(&id));
        assert_ne!(id, ContainerId::of(&PodId::parse("p").unwrap(), "1main", 0));
    }

    #[test]
    fn what_could_leave_its_directory_is_no_id() {
        for text in ["", "..", "a/b", "A", "a_b", "-a", "a.gone", &"a".repeat(65)] {
            assert!(PodId::parse(text).is_err(), "{text:?}");
            assert!(ContainerId::parse(text).is_err(), "{text:?}");
        }
        let said = PodId::parse("../x").unwrap_err().to_string();
        assert!(said.contains("\"../x\"") && said.contains("wanted"), "{said}");
        assert!(serde_json::from_str::<PodId>("\"../x\"").is_err());
    }
}
