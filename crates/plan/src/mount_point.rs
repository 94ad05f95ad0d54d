//! The variable that names the image's directory, in the spellings people write it in.
//!
//! A HostProcess container has no root of its own, so manifests say `%CONTAINER_SANDBOX_MOUNT_POINT%\bin\agent.exe`
//! (or as PowerShell or a shell writes it) where an ordinary one would say `\bin\agent.exe`. No shell reads the command
//! line of a container: what is not replaced here reaches the program as text.

use crate::{MOUNT_POINT, Style};

/// What opens and closes the name. The longer opening comes first: `$env:` begins with `$`.
const SPELLINGS: [(&str, Option<char>); 5] =
    [("%", Some('%')), ("${env:", Some('}')), ("$env:", None), ("${", Some('}')), ("$", None)];

/// Puts the image's directory, without the separator at its end, in the place of the variable.
pub fn substitute(text: &str, directory: &str, style: Style) -> String {
    let directory = directory.trim_end_matches(|c| style.is_separator(c));
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['%', '$']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match after_the_variable(rest, style) {
            Some(after) => {
                out.push_str(directory);
                rest = after;
            }
            None => {
                out.push_str(&rest[..1]);
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// Whether the text uses the variable at all.
pub fn is_used(text: &str, style: Style) -> bool {
    text.char_indices().any(|(at, _)| after_the_variable(&text[at..], style).is_some())
}

/// What follows, if the text starts with the variable.
fn after_the_variable(text: &str, style: Style) -> Option<&str> {
    SPELLINGS.iter().find_map(|(open, close)| {
        let rest = strip(text, open, style)?;
        let rest = strip(rest, MOUNT_POINT, style)?;
        match close {
            Some(close) => rest.strip_prefix(*close),
            // Another variable whose name only begins like ours.
            None if rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') => None,
            None => Some(rest),
        }
    })
}

fn strip<'t>(text: &'t str, prefix: &str, style: Style) -> Option<&'t str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    let same = match style {
        Style::Unix => start == prefix,
        Style::Windows => start.eq_ignore_ascii_case(prefix),
    };
    same.then_some(rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn windows(text: &str) -> String {
        substitute(text, "C:\\hpc\\", Style::Windows)
    }

    // proves: HP-12 pure
    // proves: HP-15 pure
    #[test]
    fn every_spelling_is_the_directory() {
        for spelling in [
            "%CONTAINER_SANDBOX_MOUNT_POINT%",
            "$env:CONTAINER_SANDBOX_MOUNT_POINT",
            "${env:CONTAINER_SANDBOX_MOUNT_POINT}",
            "$CONTAINER_SANDBOX_MOUNT_POINT",
            "${CONTAINER_SANDBOX_MOUNT_POINT}",
        ] {
            for (form, expected) in
                [("@", "C:\\hpc"), ("@\\bin", "C:\\hpc\\bin"), ("x=@/y;@", "x=C:\\hpc/y;C:\\hpc")]
            {
                assert_eq!(windows(&form.replace('@', spelling)), expected, "{spelling}");
                assert!(is_used(&form.replace('@', spelling), Style::Windows));
            }
            let lower = spelling.to_lowercase();
            assert_eq!(windows(&lower), "C:\\hpc");
            assert_eq!(substitute(spelling, "/image/", Style::Unix), "/image");
        }
    }

    #[test]
    fn case_counts_where_the_system_says_so() {
        let lower = "${container_sandbox_mount_point}/x";
        assert_eq!(substitute(lower, "/image", Style::Unix), lower);
        assert!(!is_used(lower, Style::Unix) && is_used(lower, Style::Windows));
    }

    #[test]
    fn other_text_is_left_alone() {
        for text in [
            "",
            "%",
            "$",
            "100%",
            "%PATH%\\x",
            "$env:CONTAINER_SANDBOX_MOUNT_POINTS",
            "$CONTAINER_SANDBOX_MOUNT_POINT_2",
            "%CONTAINER_SANDBOX_MOUNT_POINT",
            "${env:CONTAINER_SANDBOX_MOUNT_POINT",
            "%CONTAINER_SANDBOX%",
            "CONTAINER_SANDBOX_MOUNT_POINT",
            "$$env:X ä%ö$",
        ] {
            assert_eq!(windows(text), text);
            assert!(!is_used(text, Style::Windows), "{text}");
        }
    }

    proptest! {
        #[test]
        fn text_without_the_name_never_changes(text in "[%${}a-z:ä\\\\]{0,40}") {
            prop_assert_eq!(windows(&text), text);
        }

        #[test]
        fn what_is_replaced_is_gone(before in "[%${}a-z ]{0,8}", after in "[%${} ]{0,8}") {
            let text = format!("{before}%CONTAINER_SANDBOX_MOUNT_POINT%{after}");
            prop_assert!(!is_used(&windows(&text), Style::Windows));
        }
    }
}
