//! Which entry of an index is for this host, and why the others are not.
//!
//! Windows entries carry an `os.version`, and what it means depends on the isolation: a process-isolated container
//! shares the host's kernel, a Hyper-V one brings its own, a HostProcess one uses the host's files and minds neither.
//! The builds and floors are data, in [`builds`]; [`pick`] and [`explain`] are one judgement, told in two ways.

pub mod builds;
mod typed;
mod variant;

use std::cmp::Reverse;
use std::fmt;

use serde::Serialize;

pub(crate) use typed::os_and_processor;
pub use typed::{Os, PlatformError, Processor};

use crate::document::Platform;
use builds::{Version, name_of, process_floor};

/// The host that an image is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Host {
    pub os: String,
    pub architecture: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// `10.0.BUILD` or `10.0.BUILD.REVISION`. Without it, any version is as good as another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os_version: Option<String>,
}

/// How a container is kept apart from the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    #[default]
    HostProcess,
    Process,
    #[serde(rename = "hyper-v")]
    HyperV,
}

/// One image that is on offer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// Its digest.
    pub digest: String,
    /// What its index or its configuration says; many writers of single images say nothing.
    pub platform: Option<Platform>,
}

/// What is to be said of one candidate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    pub fits: bool,
    pub chosen: bool,
    /// A sentence for the user.
    pub why: String,
    #[serde(skip)]
    rank: Option<Rank>,
}

/// Nothing on offer is for this host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no image for {host}{}: it offers {offers}", with(*isolation))]
pub struct NoMatch {
    pub host: Box<Host>,
    pub isolation: Isolation,
    /// Every candidate's platform, in the index's order.
    pub offers: String,
}

/// Greater is better; among equals the first of the index wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    kind: Kind,
    variant: (u32, u32),
    version: Nearness,
}

/// How well a candidate fits, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// It does not say what it is for.
    Silent,
    /// Its version cannot be read.
    Unreadable,
    Newer,
    Older,
    /// For any version.
    AnyVersion,
    Matches,
}

/// Among older builds the newest is best, among newer ones the oldest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    None,
    Above(Reverse<Version>),
    UpTo(Version),
}

/// The candidate to take.
pub fn pick(candidates: &[Candidate], host: &Host, isolation: Isolation) -> Result<usize, NoMatch> {
    let chosen = explain(candidates, host, isolation).iter().position(|verdict| verdict.chosen);
    chosen.ok_or_else(|| NoMatch { host: Box::new(host.clone()), isolation, offers: offers(candidates) })
}

/// Why each candidate would run on this host or not, in their order; at most one is chosen.
pub fn explain(candidates: &[Candidate], host: &Host, isolation: Isolation) -> Vec<Verdict> {
    let mut verdicts: Vec<_> = candidates.iter().map(|each| judge(each, host, isolation)).collect();
    let best = verdicts.iter().filter_map(|verdict| verdict.rank).max();
    if let Some(first) = verdicts.iter_mut().find(|verdict| best.is_some() && verdict.rank == best) {
        first.chosen = true;
    }
    verdicts
}

/// What is on offer, for a refusal.
pub fn offers(candidates: &[Candidate]) -> String {
    let offers: Vec<_> =
        candidates.iter().filter_map(|each| each.platform.as_ref()).map(Platform::to_string).collect();
    if offers.is_empty() { "nothing".to_owned() } else { offers.join(", ") }
}

fn judge(candidate: &Candidate, host: &Host, isolation: Isolation) -> Verdict {
    let Some(platform) = &candidate.platform else {
        let rank = Rank { kind: Kind::Silent, variant: (0, 0), version: Nearness::None };
        return Verdict::yes(rank, "it does not say what it is for");
    };
    if platform.os != host.os {
        return Verdict::no(format!("it is for {}, the host is {}", platform.os, host.os));
    }
    if platform.architecture != host.architecture {
        return Verdict::no(format!(
            "it is for {}, the host is {}",
            platform.architecture, host.architecture
        ));
    }
    let variant = match variant::fits(&platform.architecture, platform.variant.as_deref(), host) {
        Ok(variant) => variant,
        Err(why) => return Verdict::no(why),
    };
    let (judged, why) = if host.os == "windows" {
        version(platform.os_version.as_deref(), host.os_version.as_deref(), isolation)
    } else {
        (Some((Kind::Matches, Nearness::None)), "system and architecture are the host's".to_owned())
    };
    match judged {
        Some((kind, version)) => Verdict::yes(Rank { kind, variant, version }, why),
        None => Verdict::no(why),
    }
}

type Judged = (Option<(Kind, Nearness)>, String);

fn version(found: Option<&str>, host: Option<&str>, isolation: Isolation) -> Judged {
    let Some(text) = found.filter(|text| !text.is_empty()) else {
        return (Some((Kind::AnyVersion, Nearness::None)), "it has no os.version: for any build".to_owned());
    };
    let lenient = isolation == Isolation::HostProcess;
    let Some(image) = Version::parse(text) else {
        let why = format!("its os.version {text:?} is no Windows version");
        return (lenient.then_some((Kind::Unreadable, Nearness::None)), why);
    };
    let Some(host) = host.and_then(Version::parse) else {
        let why = "the host's build is not known: any is taken".to_owned();
        return (Some((Kind::Matches, Nearness::UpTo(image))), why);
    };
    let (matches, why) = shares_kernel(image, host);
    if matches {
        return (Some((Kind::Matches, Nearness::UpTo(image))), why);
    }
    let older = image.build_only() <= host.build_only();
    match isolation {
        Isolation::Process => (None, why),
        Isolation::HyperV if older => {
            let why = format!("{} is not newer than the host: its own kernel runs in the VM", name_of(image));
            (Some((Kind::Matches, Nearness::UpTo(image))), why)
        }
        Isolation::HyperV => {
            (None, format!("{} is newer than the host's {}: no VM runs it", name_of(image), name_of(host)))
        }
        Isolation::HostProcess if older => {
            let why =
                format!("{} is older than the host: a HostProcess container does not mind", name_of(image));
            (Some((Kind::Older, Nearness::UpTo(image))), why)
        }
        Isolation::HostProcess => {
            let why =
                format!("{} is newer than the host: a HostProcess container does not mind", name_of(image));
            (Some((Kind::Newer, Nearness::Above(Reverse(image)))), why)
        }
    }
}

/// Whether a process-isolated container of this version runs on that host.
fn shares_kernel(image: Version, host: Version) -> (bool, String) {
    let names = (name_of(image), name_of(host));
    if image.build_only() == host.build_only() {
        return (true, format!("{} is the host's build", names.0));
    }
    let Some(floor) = process_floor(host) else {
        return (
            false,
            format!("{} is another build than the host's {}, which takes only its own", names.0, names.1),
        );
    };
    if image.build_only() > host.build_only() {
        (false, format!("{} is newer than the host's {}", names.0, names.1))
    } else if (image.major, image.minor) != (host.major, host.minor) || image.build < floor {
        (
            false,
            format!("{} is older than {floor}, the oldest build that the host's {} runs", names.0, names.1),
        )
    } else {
        (true, format!("{} is between {floor} and the host's {}", names.0, names.1))
    }
}

fn with(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::HostProcess => "",
        Isolation::Process => " with process isolation",
        Isolation::HyperV => " with Hyper-V isolation",
    }
}

// === impl Host ===

impl Host {
    pub fn new(os: &str, architecture: &str) -> Host {
        Host { os: os.to_owned(), architecture: architecture.to_owned(), variant: None, os_version: None }
    }

    /// A host of this system here: the build of Windows matters only where images have one.
    pub fn here(os: &str, architecture: &str) -> Host {
        let host = Host::new(os, architecture);
        match (os == "windows").then(|| os::host::facts().ok()?.windows_build).flatten() {
            Some(build) => host.with_version(&build.to_string()),
            None => host,
        }
    }

    #[must_use]
    pub fn with_version(mut self, version: &str) -> Host {
        self.os_version = Some(version.to_owned());
        self
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        self.variant.as_ref().map_or(Ok(()), |variant| write!(f, "/{variant}"))?;
        self.os_version.as_ref().map_or(Ok(()), |version| write!(f, " {version}"))
    }
}

// === impl Verdict ===

impl Verdict {
    fn yes(rank: Rank, why: impl Into<String>) -> Verdict {
        Verdict { fits: true, chosen: false, why: why.into(), rank: Some(rank) }
    }

    fn no(why: String) -> Verdict {
        Verdict { fits: false, chosen: false, why, rank: None }
    }
}

#[cfg(test)]
mod tests;
