//! `--platform`: which of an image's platforms is meant.

use std::str::FromStr;

use clap::Args;
use images::document::Platform;
use images::platform::Host;
use images::platform::builds::Version;

use crate::failure::{Exit, Failure};

#[derive(Debug, Args)]
pub(super) struct PlatformArgs {
    /// The platform, as linux/arm64/v8 or windows/amd64:10.0.20348 [default: this host's, or what the name means here]
    #[arg(long, value_name = "OS/ARCH[/VARIANT][:OS.VERSION]")]
    platform: Option<Named>,
}

/// A platform as it is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named(Platform);

const WANTED: &str = "wanted OS/ARCH[/VARIANT][:OS.VERSION], as windows/amd64:10.0.20348";

// === impl PlatformArgs ===

impl PlatformArgs {
    /// The host that the image is for.
    pub(super) fn host(&self) -> Result<Host, Failure> {
        match &self.platform {
            Some(Named(platform)) => Ok(of(platform)),
            None => this_host(),
        }
    }

    /// The host, if one was named.
    pub(super) fn named(&self) -> Option<Host> {
        self.platform.as_ref().map(|Named(platform)| of(platform))
    }
}

/// The machine that this runs on.
pub(super) fn this_host() -> Result<Host, Failure> {
    let facts = os::host::facts().or_environment()?;
    let host = Host::new(&facts.os, &facts.architecture);
    Ok(match facts.windows_build {
        Some(build) => host.with_version(&build.to_string()),
        None => host,
    })
}

fn of(platform: &Platform) -> Host {
    Host {
        os: platform.os.clone(),
        architecture: platform.architecture.clone(),
        variant: platform.variant.clone(),
        os_version: platform.os_version.clone(),
    }
}

// === impl Named ===

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Named, String> {
        let wrong = |why: &str| format!("{WANTED}: {why}");
        let (rest, version) = match text.split_once(':') {
            Some((rest, version)) => (rest, Some(version)),
            None => (text, None),
        };
        let mut parts = rest.split('/');
        let mut part = |name| parts.next().filter(|part| plain(part)).ok_or_else(|| wrong(name));
        let (os, architecture) = (part("the system is missing")?, part("the processor is missing")?);
        let variant = parts.next();
        if parts.next().is_some() || variant.is_some_and(|variant| !plain(variant)) {
            return Err(wrong("found more than three parts, or an odd one"));
        }
        match version {
            Some(_) if os != "windows" => return Err(wrong("only windows has an os.version")),
            Some(version) if Version::parse(version).is_none() => {
                return Err(wrong(&format!("{version:?} is no version of Windows")));
            }
            _ => {}
        }
        let mut platform = Platform::new(os, architecture);
        platform.variant = variant.map(str::to_owned);
        platform.os_version = version.map(str::to_owned);
        Ok(Named(platform))
    }
}

fn plain(part: &str) -> bool {
    !part.is_empty()
        && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-.".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_as_they_are_typed() {
        let said = |text: &str| text.parse::<Named>().map(|Named(platform)| platform.to_string());
        assert_eq!(said("linux/amd64").unwrap(), "linux/amd64");
        assert_eq!(said("linux/arm64/v8").unwrap(), "linux/arm64/v8");
        assert_eq!(said("windows/amd64:10.0.20348.1").unwrap(), "windows/amd64 10.0.20348.1");
        for (bad, why) in [
            ("", "the system is missing"),
            ("linux", "the processor is missing"),
            ("Linux/amd64", "the system is missing"),
            ("linux/amd64/v8/x", "more than three"),
            ("linux/amd64/", "an odd one"),
            ("linux/amd64:10.0.1", "only windows"),
            ("windows/amd64:ltsc2022", "no version of Windows"),
        ] {
            let error = said(bad).unwrap_err();
            assert!(error.contains(why) && error.starts_with("wanted OS/ARCH"), "{bad}: {error}");
        }
    }
}
