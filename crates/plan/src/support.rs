//! Which Windows builds can run HostProcess containers, and how (HP-35).

/// A Windows version as the kernel gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Build {
    pub number: u32,
    /// The update revision (UBR); 0 if it is not known.
    pub revision: u32,
}

/// What a build can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Older than Windows Server 2019: refused.
    TooOld,
    /// HostProcess containers run; volumes at their own paths (bind mode) need a newer update.
    NeedsUpdateForBind,
    Full,
}

/// Windows Server 2019, the first with what pods need.
pub const FIRST_BUILD: u32 = 17763;
/// The first update of Windows Server 2019 with the bind filter calls: July 2022.
pub const FIRST_2019_REVISION_WITH_BIND: u32 = 3165;
/// The first build that had the bind filter calls from its release on.
const FIRST_BUILD_WITH_BIND: u32 = 19041;

// === impl Support ===

impl Support {
    pub fn of(build: Build) -> Support {
        match build {
            Build { number: ..FIRST_BUILD, .. } => Support::TooOld,
            Build { number: FIRST_BUILD, revision: FIRST_2019_REVISION_WITH_BIND.. } => Support::Full,
            Build { number: FIRST_BUILD_WITH_BIND.., .. } => Support::Full,
            _ => Support::NeedsUpdateForBind,
        }
    }

    /// What follows from it, for people.
    pub fn sentence(self) -> &'static str {
        match self {
            Support::TooOld => "not supported: Windows Server 2019 (build 17763) or later is needed",
            Support::NeedsUpdateForBind => {
                "supported with volumes as symbolic links; the July 2022 update brings bind mounts"
            }
            Support::Full => "supported",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: HP-35 pure
    #[test]
    fn from_which_build_on() {
        for (number, revision, expected) in [
            (14393, 9999, Support::TooOld),
            (17762, 0, Support::TooOld),
            (17763, 0, Support::NeedsUpdateForBind),
            (17763, 3164, Support::NeedsUpdateForBind),
            (17763, 3165, Support::Full),
            (18363, 5000, Support::NeedsUpdateForBind),
            (19041, 0, Support::Full),
            (20348, 1, Support::Full),
            (26100, 0, Support::Full),
        ] {
            assert_eq!(Support::of(Build { number, revision }), expected, "{number}.{revision}");
        }
        assert!(Support::TooOld.sentence().contains("17763"));
        assert!(Support::NeedsUpdateForBind.sentence().contains("July 2022"));
        assert_eq!(Support::Full.sentence(), "supported");
    }
}
