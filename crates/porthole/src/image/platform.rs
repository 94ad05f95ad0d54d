//! `--platform`: which of an image's platforms is meant.

use std::str::FromStr;

use clap::Args;
use images::document::Platform;
use images::platform::builds::Version;
use images::platform::{Host, Processor};

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
        let (os, processor) = rest.split_once('/').ok_or_else(|| wrong("the processor is missing"))?;
        let os = os.to_ascii_lowercase();
        if os.is_empty() || !os.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(wrong(&format!("{os:?} is no system")));
        }
        let Processor { architecture, variant } = processor.parse().map_err(|e| wrong(&format!("{e}")))?;
        match version {
            Some(_) if os != "windows" => return Err(wrong("only windows has an os.version")),
            Some(version) if Version::parse(version).is_none() => {
                return Err(wrong(&format!("{version:?} is no version of Windows")));
            }
            _ => {}
        }
        Ok(Named(Platform { os, architecture, variant, os_version: version.map(str::to_owned) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_as_they_are_typed() {
        let said = |text: &str| text.parse::<Named>().map(|Named(platform)| platform.to_string());
        assert_eq!(said("linux/amd64").unwrap(), "linux/amd64");
        assert_eq!(said("Linux/aarch64/v8").unwrap(), "linux/arm64");
        assert_eq!(said("linux/arm/v6").unwrap(), "linux/arm/v6");
        assert_eq!(said("windows/amd64:10.0.20348.1").unwrap(), "windows/amd64 10.0.20348.1");
        for (bad, why) in [
            ("", "the processor is missing"),
            ("linux", "the processor is missing"),
            ("/amd64", "\"\" is no system"),
            ("linux/amd64/v8/x", "found \"amd64/v8/x\""),
            ("linux/amd64/", "found \"amd64/\""),
            ("linux/amd64:10.0.1", "only windows"),
            ("windows/amd64:ltsc2022", "no version of Windows"),
        ] {
            let error = said(bad).unwrap_err();
            assert!(error.contains(why) && error.starts_with("wanted OS/ARCH"), "{bad}: {error}");
        }
    }
}
