//! Variants of processors (`v7`, `v8.1`): a processor runs what was made for an older one of its kind.

use super::Host;

/// The candidate's variant as a number to rank by, or why the host does not run it.
pub(super) fn fits(architecture: &str, found: Option<&str>, host: &Host) -> Result<(u32, u32), String> {
    let usual = usual(architecture);
    let read = |text: Option<&str>| match text.filter(|text| !text.is_empty()) {
        None => Some(usual),
        Some(text) => number(text),
    };
    let mine = read(host.variant.as_deref());
    match read(found) {
        Some(theirs) if mine.is_some_and(|mine| theirs <= mine) => Ok(theirs),
        // What cannot be compared must be the same.
        None if found == host.variant.as_deref() => Ok((0, 0)),
        _ => {
            let mine = host.variant.clone().unwrap_or_else(|| format!("v{}", usual.0));
            Err(format!("it is for the variant {}, the host is {mine}", found.unwrap_or_default()))
        }
    }
}

/// The variant that is meant when none is said.
fn usual(architecture: &str) -> (u32, u32) {
    match architecture {
        "amd64" => (1, 0),
        "arm" => (7, 0),
        "arm64" => (8, 0),
        _ => (0, 0),
    }
}

/// Reads `v8` and `v8.1`.
fn number(text: &str) -> Option<(u32, u32)> {
    let digits = text.strip_prefix('v')?;
    let (major, minor) = digits.split_once('.').unwrap_or((digits, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_variant_runs_and_a_newer_one_does_not() {
        for (architecture, host, image, runs) in [
            ("amd64", None, None, true),
            ("amd64", None, Some("v1"), true),
            ("amd64", None, Some("v3"), false),
            ("amd64", Some("v3"), Some("v2"), true),
            ("arm64", None, Some("v8"), true),
            ("arm64", Some("v8"), None, true),
            ("arm64", Some("v8"), Some("v8.1"), false),
            ("arm", None, Some("v6"), true),
            ("arm", Some("v6"), Some("v7"), false),
            ("arm", Some("v6"), None, false),
            ("mips", Some("odd"), Some("odd"), true),
            ("mips", Some("odd"), Some("other"), false),
        ] {
            let host = Host { variant: host.map(str::to_owned), ..Host::new("linux", architecture) };
            let found = fits(architecture, image, &host);
            assert_eq!(found.is_ok(), runs, "{architecture} {host} {image:?}: {found:?}");
        }
    }
}
