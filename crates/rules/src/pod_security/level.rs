//! The two levels that refuse anything; `privileged` refuses nothing and needs no code.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// What a namespace demands of its pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Baseline,
    /// All of baseline, and more.
    Restricted,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Pod Security level {0:?}: must be baseline or restricted")]
pub struct LevelError(String);

// === impl Level ===

impl Level {
    pub const ALL: [Self; 2] = [Self::Baseline, Self::Restricted];

    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Restricted => "restricted",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Level {
    type Err = LevelError;

    fn from_str(text: &str) -> Result<Self, LevelError> {
        let found = Self::ALL.into_iter().find(|level| level.name() == text);
        found.ok_or_else(|| LevelError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_written_as_in_the_label() {
        for level in Level::ALL {
            assert_eq!(level.to_string().parse(), Ok(level));
            assert_eq!(serde_json::to_value(level).expect("text"), level.name());
        }
        let error = "Baseline".parse::<Level>().expect_err("case matters").to_string();
        assert_eq!(error, "Pod Security level \"Baseline\": must be baseline or restricted");
        assert!("privileged".parse::<Level>().is_err());
    }
}
