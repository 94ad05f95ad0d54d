//! Platforms as they are typed, in `--os`, `--arch`, `--platform` and `FROM --platform`: in any case and by any of the names that
//! Docker takes, they become what images say.

use std::fmt;
use std::str::FromStr;

use crate::document::Platform;

/// A system that images are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Os {
    Windows,
    Linux,
}

/// A processor by the names that images have for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Processor {
    pub architecture: String,
    pub variant: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlatformError {
    #[error("wanted windows or linux, found {0:?}")]
    Os(String),
    #[error("wanted ARCHITECTURE[/VARIANT], as amd64 or arm/v6, found {0:?}")]
    Processor(String),
    #[error("wanted OS/ARCHITECTURE[/VARIANT], found {0:?}")]
    Parts(String),
}

/// Reads `OS/ARCHITECTURE[/VARIANT]`.
pub(crate) fn os_and_processor(text: &str) -> Result<(Os, Processor), PlatformError> {
    let (os, processor) = text.split_once('/').ok_or_else(|| PlatformError::Parts(text.to_owned()))?;
    Ok((os.parse()?, processor.parse()?))
}

/// One name for each, by containerd's table, which Docker uses: the usual variant is left out, but of arm it is said.
fn normal<'a>(architecture: &'a str, variant: &'a str) -> (&'a str, &'a str) {
    match (architecture, variant) {
        ("i386", _) => ("386", ""),
        ("amd64" | "x86_64" | "x86-64", "" | "v1") => ("amd64", ""),
        ("x86_64" | "x86-64", other) => ("amd64", other),
        ("arm64" | "aarch64", "" | "8" | "v8") => ("arm64", ""),
        ("aarch64", other) => ("arm64", other),
        ("armhf", _) | ("arm", "" | "7") => ("arm", "v7"),
        ("armel", _) | ("arm", "6") => ("arm", "v6"),
        ("arm", "5") => ("arm", "v5"),
        ("arm", "8") => ("arm", "v8"),
        other => other,
    }
}

fn plain(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
}

// === impl Os ===

impl Os {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Os::Windows => "windows",
            Os::Linux => "linux",
        }
    }
}

impl FromStr for Os {
    type Err = PlatformError;

    fn from_str(text: &str) -> Result<Os, PlatformError> {
        let known = [Os::Windows, Os::Linux].into_iter().find(|os| os.name().eq_ignore_ascii_case(text));
        known.ok_or_else(|| PlatformError::Os(text.to_owned()))
    }
}

impl fmt::Display for Os {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

// === impl Processor ===

impl Processor {
    pub(crate) fn platform(&self, os: Os) -> Platform {
        Platform { variant: self.variant.clone(), ..Platform::new(os.name(), &self.architecture) }
    }
}

impl FromStr for Processor {
    type Err = PlatformError;

    fn from_str(text: &str) -> Result<Processor, PlatformError> {
        let lower = text.to_ascii_lowercase();
        let (architecture, variant) = match lower.split_once('/') {
            Some((architecture, variant)) if plain(variant) => (architecture, variant),
            Some(_) => return Err(PlatformError::Processor(text.to_owned())),
            None => (lower.as_str(), ""),
        };
        if !plain(architecture) {
            return Err(PlatformError::Processor(text.to_owned()));
        }
        let (architecture, variant) = normal(architecture, variant);
        let variant = (!variant.is_empty()).then(|| variant.to_owned());
        Ok(Processor { architecture: architecture.to_owned(), variant })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        let read = os_and_processor(text).map(|(os, processor)| processor.platform(os).to_string());
        read.map_err(|error| error.to_string())
    }

    #[test]
    fn every_name_of_a_platform_is_read_as_docker_reads_it() {
        for (text, wanted) in [
            ("linux/amd64", "linux/amd64"),
            ("Windows/AMD64", "windows/amd64"),
            ("linux/x86_64", "linux/amd64"),
            ("linux/x86-64/v1", "linux/amd64"),
            ("linux/x86_64/v3", "linux/amd64/v3"),
            ("linux/i386", "linux/386"),
            ("linux/aarch64", "linux/arm64"),
            ("linux/ARM64/v8", "linux/arm64"),
            ("linux/aarch64/v9", "linux/arm64/v9"),
            ("linux/arm", "linux/arm/v7"),
            ("linux/arm/6", "linux/arm/v6"),
            ("linux/arm/V5", "linux/arm/v5"),
            ("linux/armhf", "linux/arm/v7"),
            ("linux/armel", "linux/arm/v6"),
            ("linux/riscv64", "linux/riscv64"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn what_is_no_platform_says_what_was_wanted() {
        for (text, wanted) in [
            ("", "wanted OS/ARCHITECTURE[/VARIANT], found \"\""),
            ("linux", "wanted OS/ARCHITECTURE[/VARIANT], found \"linux\""),
            ("plan9/amd64", "wanted windows or linux, found \"plan9\""),
            ("windows(10.0.17763)/amd64", "wanted windows or linux, found \"windows(10.0.17763)\""),
            ("linux/", "wanted ARCHITECTURE[/VARIANT], as amd64 or arm/v6, found \"\""),
            ("linux/arm/", "wanted ARCHITECTURE[/VARIANT], as amd64 or arm/v6, found \"arm/\""),
            ("linux/arm/v7/x", "wanted ARCHITECTURE[/VARIANT], as amd64 or arm/v6, found \"arm/v7/x\""),
            ("linux/a b", "wanted ARCHITECTURE[/VARIANT], as amd64 or arm/v6, found \"a b\""),
        ] {
            assert_eq!(read(text), Err(wanted.to_owned()), "{text}");
        }
    }
}
