//! The builds of Windows that containers know, and how old an image may be for each, with where that is from.
//!
//! Sources: hcsshim `osversion` (names and builds; the floor as the newest LTSC build below the host's), containerd
//! `platforms` (the floor as the LTSC before the host's generation, since its pull request 34 of 2026), Microsoft's
//! page "Windows container version compatibility", Kubernetes' `pause` and `agnhost` image lists (tags).
//!
//! **Where they disagree:** on hosts past Server 2025 (26200 and later) hcsshim wants images of 26100 or newer,
//! containerd takes those of 20348 too. Here containerd's rule stands: the stable ABI that Microsoft promises since
//! Server 2022 reaches one LTSC back over a whole generation, and nodes of both kinds then pull the same image.

use std::fmt;

/// A Windows version; revisions only break ties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
    pub build: u32,
    pub revision: Option<u32>,
}

/// A release that images or hosts are known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    pub build: u32,
    pub name: &'static str,
    /// The tag of Microsoft's base images for it, if there are any.
    pub tag: Option<&'static str>,
    pub channel: Channel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// Long-term servicing.
    Ltsc,
    /// Semi-annual, all at their end of life.
    Sac,
    /// Annual: host only, runs the images of the LTSC before it.
    Annual,
    /// Windows 10 and 11.
    Client,
}

use Channel::{Annual, Client, Ltsc, Sac};

/// Ascending.
pub const RELEASES: &[Release] = &[
    Release { build: 14393, name: "Server 2016", tag: Some("ltsc2016"), channel: Ltsc },
    Release { build: 16299, name: "Server 1709", tag: Some("1709"), channel: Sac },
    Release { build: 17134, name: "Server 1803", tag: Some("1803"), channel: Sac },
    Release { build: 17763, name: "Server 2019", tag: Some("ltsc2019"), channel: Ltsc },
    Release { build: 18362, name: "Server 1903", tag: Some("1903"), channel: Sac },
    Release { build: 18363, name: "Server 1909", tag: Some("1909"), channel: Sac },
    Release { build: 19041, name: "Server 2004", tag: Some("2004"), channel: Sac },
    Release { build: 19042, name: "Server 20H2", tag: Some("20H2"), channel: Sac },
    Release { build: 19044, name: "Windows 10 21H2", tag: None, channel: Client },
    Release { build: 19045, name: "Windows 10 22H2", tag: None, channel: Client },
    Release { build: 20348, name: "Server 2022", tag: Some("ltsc2022"), channel: Ltsc },
    Release { build: 22000, name: "Windows 11 21H2", tag: None, channel: Client },
    Release { build: 22621, name: "Windows 11 22H2", tag: None, channel: Client },
    Release { build: 25398, name: "Server 23H2", tag: None, channel: Annual },
    Release { build: 26100, name: "Server 2025", tag: Some("ltsc2025"), channel: Ltsc },
];

/// LTSC builds with the stable ABI, ascending: from the first on, a host runs images of other builds.
pub const STABLE: &[u32] = &[20348, 26100];

/// The oldest build that this host runs with process isolation, or `None` if it takes only its own.
///
/// The generation is the newest stable LTSC that is not newer than the host; the floor is the one before it, or
/// itself if it is the first.
pub fn process_floor(host: Version) -> Option<u32> {
    let generation = STABLE.iter().rposition(|build| *build <= host.build)?;
    Some(STABLE[generation.saturating_sub(1)])
}

/// The version as a user knows it: `10.0.20348 (Server 2022)`.
pub(super) fn name_of(version: Version) -> String {
    match RELEASES.iter().find(|release| release.build == version.build) {
        Some(release) => format!("{version} ({})", release.name),
        None => version.to_string(),
    }
}

// === impl Version ===

impl Version {
    /// Reads `10.0.20348` and `10.0.20348.2031`, and nothing else.
    pub fn parse(text: &str) -> Option<Version> {
        let mut parts = text.split('.').map(number);
        let version = Version {
            major: parts.next()??,
            minor: parts.next()??,
            build: parts.next()??,
            revision: match parts.next() {
                None => None,
                Some(revision) => Some(revision?),
            },
        };
        parts.next().is_none().then_some(version)
    }

    pub(super) fn build_only(self) -> (u32, u32, u32) {
        (self.major, self.minor, self.build)
    }
}

fn number(text: &str) -> Option<u32> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.build)?;
        self.revision.map_or(Ok(()), |revision| write!(f, ".{revision}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_in_order() {
        assert!(RELEASES.is_sorted_by_key(|release| release.build));
        assert!(STABLE.is_sorted());
        for build in STABLE {
            let release = RELEASES.iter().find(|release| release.build == *build).unwrap();
            assert_eq!(release.channel, Channel::Ltsc);
        }
    }

    #[test]
    fn floors_as_containerd_has_them() {
        let floor = |build| process_floor(Version { major: 10, minor: 0, build, revision: None });
        for (host, oldest) in [
            (17763, None),
            (19045, None),
            (20347, None),
            (20348, Some(20348)),
            (22621, Some(20348)),
            (25398, Some(20348)),
            (26100, Some(20348)),
            // hcsshim says 26100 here.
            (26200, Some(20348)),
            (29000, Some(20348)),
        ] {
            assert_eq!(floor(host), oldest, "{host}");
        }
    }

    #[test]
    fn versions_as_images_write_them() {
        let parsed = |text| Version::parse(text).map(|version| version.to_string());
        for good in ["10.0.17763", "10.0.20348.2031", "6.3.9600"] {
            assert_eq!(parsed(good).as_deref(), Some(good));
        }
        for bad in
            ["", "10", "10.0", "10.0.", "10.0.x", "10.0.+1", "10.0.1.2.3", "10.0.99999999999", "v10.0.1"]
        {
            assert_eq!(parsed(bad), None, "{bad}");
        }
    }
}
