//! The levels of proof, weakest claim first.

use crate::tier::Tier;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Pure,
    Twin,
    Wine,
    Sim,
    Cluster,
    Foreign,
    Docs,
    Windows,
}

const NAMES: &[(&str, Level)] = &[
    ("pure", Level::Pure),
    ("twin", Level::Twin),
    ("wine", Level::Wine),
    ("sim", Level::Sim),
    ("cluster", Level::Cluster),
    ("foreign", Level::Foreign),
    ("docs", Level::Docs),
    ("windows", Level::Windows),
];

// === impl Level ===

impl Level {
    pub(super) fn parse(name: &str) -> Option<Level> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, level)| *level)
    }

    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|(_, level)| *level == self).map_or("", |(name, _)| name)
    }

    /// The tier whose run shows this level; pages are tested in any.
    pub(super) fn tier(self) -> Option<Tier> {
        match self {
            Level::Pure => Some(Tier::Unit),
            Level::Twin => Some(Tier::Twin),
            Level::Wine | Level::Sim => Some(Tier::Wine),
            Level::Cluster => Some(Tier::Cluster),
            Level::Foreign => Some(Tier::Foreign),
            Level::Docs | Level::Windows => None,
        }
    }
}
