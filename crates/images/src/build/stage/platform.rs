//! What a Dockerfile can ask about platforms: that of the image which is made, and that of the machine which makes it.

use crate::document::Platform;

/// The arguments that every build has. What builds is Linux on amd64 wherever it is, or one Dockerfile would give
/// other digests on another machine.
pub(super) fn arguments(target: &Platform) -> [(&'static str, String); 8] {
    let Platform { os, architecture, .. } = target;
    let variant = variant(target);
    let slash = if variant.is_empty() { "" } else { "/" };
    [
        ("TARGETPLATFORM", format!("{os}/{architecture}{slash}{variant}")),
        ("TARGETOS", os.clone()),
        ("TARGETARCH", architecture.clone()),
        ("TARGETVARIANT", variant.to_owned()),
        ("BUILDPLATFORM", "linux/amd64".to_owned()),
        ("BUILDOS", "linux".to_owned()),
        ("BUILDARCH", "amd64".to_owned()),
        ("BUILDVARIANT", String::new()),
    ]
}

/// Bases say `v8` of arm64 or nothing, and mean the same: Docker says nothing.
fn variant(target: &Platform) -> &str {
    let variant = target.variant.as_deref().unwrap_or_default();
    match (target.architecture.as_str(), variant) {
        ("amd64", "v1") | ("arm64", "v8") => "",
        _ => variant,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str, target: &Platform) -> String {
        arguments(target).into_iter().find(|(known, _)| *known == name).unwrap().1
    }

    #[test]
    fn the_variant_is_said_where_docker_says_it() {
        for (architecture, variant, platform, wanted) in [
            ("amd64", None, "linux/amd64", ""),
            ("amd64", Some("v1"), "linux/amd64", ""),
            ("amd64", Some("v3"), "linux/amd64/v3", "v3"),
            ("arm", Some("v7"), "linux/arm/v7", "v7"),
            ("arm64", Some("v8"), "linux/arm64", ""),
        ] {
            let target =
                Platform { variant: variant.map(str::to_owned), ..Platform::new("linux", architecture) };
            let found = ["TARGETPLATFORM", "TARGETVARIANT"].map(|name| said(name, &target));
            assert_eq!(found, [platform, wanted], "{architecture} {variant:?}");
        }
    }

    #[test]
    fn what_builds_is_the_same_for_every_target() {
        for target in [Platform::new("windows", "arm64"), Platform::new("linux", "arm")] {
            let build = ["BUILDPLATFORM", "BUILDOS", "BUILDARCH", "BUILDVARIANT"];
            assert_eq!(build.map(|name| said(name, &target)), ["linux/amd64", "linux", "amd64", ""]);
        }
    }
}
