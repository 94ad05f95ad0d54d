//! When an image is pulled: `imagePullPolicy`, with the default that Kubernetes gives it.

use crate::reference::Reference;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullPolicy {
    /// The registry is asked each time; layers that are here are not moved again.
    Always,
    /// The registry is asked only for what is not here.
    IfNotPresent,
    /// The registry is not asked.
    Never,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("imagePullPolicy: wanted Always, IfNotPresent or Never, found {0:?}")]
pub struct UnknownPolicy(String);

// === impl PullPolicy ===

impl PullPolicy {
    pub fn parse(text: &str) -> Result<PullPolicy, UnknownPolicy> {
        match text {
            "Always" => Ok(PullPolicy::Always),
            "IfNotPresent" => Ok(PullPolicy::IfNotPresent),
            "Never" => Ok(PullPolicy::Never),
            other => Err(UnknownPolicy(other.to_owned())),
        }
    }

    /// What holds when the pod does not say.
    pub fn default_for(reference: &Reference) -> PullPolicy {
        if reference.is_latest() { PullPolicy::Always } else { PullPolicy::IfNotPresent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_kubernetes_own() {
        let digest = format!("sha256:{}", "0".repeat(64));
        for (text, expected) in [
            ("app", PullPolicy::Always),
            ("app:latest", PullPolicy::Always),
            ("app:1", PullPolicy::IfNotPresent),
            (&format!("app@{digest}"), PullPolicy::IfNotPresent),
            (&format!("app:latest@{digest}"), PullPolicy::Always),
        ] {
            assert_eq!(PullPolicy::default_for(&Reference::parse(text).unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn other_words_are_refused() {
        assert_eq!(PullPolicy::parse("Never"), Ok(PullPolicy::Never));
        assert_eq!(PullPolicy::parse("Always"), Ok(PullPolicy::Always));
        assert_eq!(PullPolicy::parse("IfNotPresent"), Ok(PullPolicy::IfNotPresent));
        let said = PullPolicy::parse("never").unwrap_err().to_string();
        assert!(said.contains("found \"never\""), "{said}");
    }
}
