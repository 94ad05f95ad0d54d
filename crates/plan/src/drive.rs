//! Which drive a path of the host is on that names none.
//!
//! Windows reads `\tools\x.exe` as a path on the drive that the reading process happens to stand on: for an agent that
//! is wherever its service was started. People mean the drive that the system is on, and so does every manifest that
//! was written for both systems.

use crate::Style;

/// What a host's paths are read by: its notation, and the drive that its system is on (`C:`; none where there are no
/// drives).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Root<'a> {
    pub style: Style,
    pub drive: &'a str,
}

// === impl Root ===

impl Root<'_> {
    /// The path with its drive. Relative ones, and those of devices and of other machines, are as they were.
    pub fn place(&self, path: &str) -> String {
        match self.style {
            Style::Windows if self.starts_at_a_root(path) => {
                self.style.join(self.drive, path.trim_start_matches(|c| self.style.is_separator(c)))
            }
            Style::Windows | Style::Unix => path.to_owned(),
        }
    }

    /// One separator: two begin the name of a machine or of a device.
    fn starts_at_a_root(&self, path: &str) -> bool {
        let is_sign = |c: char| self.style.is_separator(c);
        path.strip_prefix(is_sign).is_some_and(|rest| !rest.starts_with(is_sign))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ON_E: Root<'_> = Root { style: Style::Windows, drive: "E:" };

    // proves: HP-15 pure
    #[test]
    fn a_path_from_the_root_is_on_the_systems_drive() {
        for (written, expected) in [
            (r"\tools\x.exe", r"E:\tools\x.exe"),
            ("/var/log/pods", r"E:\var\log\pods"),
            (r"/a\b/", r"E:\a\b\"),
            ("/", r"E:\"),
            (r"\", r"E:\"),
        ] {
            assert_eq!(ON_E.place(written), expected, "{written}");
        }
    }

    // proves: HP-15 pure
    #[test]
    fn what_names_its_place_keeps_it() {
        for path in [
            r"C:\x",
            "d:/x",
            r"C:x",
            r"\\server\share\x",
            "//server/share",
            r"\\.\pipe\x",
            r"\\?\C:\x",
            r"\/x",
            "bin/x",
            "x",
            "",
        ] {
            assert_eq!(ON_E.place(path), path);
        }
        let unix = Root { style: Style::Unix, drive: "" };
        for path in ["/x", r"\x", "x", ""] {
            assert_eq!(unix.place(path), path);
        }
    }

    proptest! {
        #[test]
        fn a_placed_path_is_placed_for_good(path in "[/\\\\]{0,2}[A-Za-z]?:?[/\\\\a-z. :]{0,20}") {
            let placed = ON_E.place(&path);
            prop_assert_eq!(ON_E.place(&placed), placed);
        }
    }
}
