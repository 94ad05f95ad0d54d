//! Paths in the image, as Dockerfiles write them for either system.

/// A place in the image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// From the root, with slashes, without one at either end; empty for the root.
    pub(super) path: String,
    /// It was written as a directory.
    pub(super) directory: bool,
}

/// What is wrong with a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("{0:?} is on another drive than C:, and an image has only that one")]
    Drive(String),
    #[error("{path:?} has the part {part:?}, which Windows does not take as a name")]
    Name { path: String, part: String },
}

/// Reads a path; a relative one starts at `from`, which is a place already.
pub(super) fn place(text: &str, from: &str, windows: bool) -> Result<Place, PathError> {
    let whole = if windows { text.replace('\\', "/") } else { text.to_owned() };
    let (drive, rest) = if windows { without_drive(&whole) } else { (None, whole.as_str()) };
    if drive.is_some_and(|drive| !drive.eq_ignore_ascii_case(&'c')) {
        return Err(PathError::Drive(text.to_owned()));
    }
    let absolute = drive.is_some() || rest.starts_with('/');
    let start = if absolute { "" } else { from };
    let mut parts: Vec<&str> = start.split('/').filter(|part| !part.is_empty()).collect();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    if windows && let Some(part) = parts.iter().find(|part| !windows_takes(part)) {
        return Err(PathError::Name { path: text.to_owned(), part: (*part).to_owned() });
    }
    let directory = rest.is_empty() || rest.ends_with('/') || rest.ends_with("/.") || rest == ".";
    Ok(Place { path: parts.join("/"), directory })
}

/// The place as the configuration of an image has it.
pub(super) fn shown(place: &str, windows: bool) -> String {
    if windows { format!("C:\\{}", place.replace('/', "\\")) } else { format!("/{place}") }
}

/// Whether Windows takes this as the name of a file.
pub(super) fn windows_takes(part: &str) -> bool {
    !part.contains(|c: char| c.is_control() || "\\/:*?\"<>|".contains(c))
        && !part.ends_with([' ', '.'])
        && !crate::unpack::is_reserved(part)
}

fn without_drive(text: &str) -> (Option<char>, &str) {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(drive), Some(':')) if drive.is_ascii_alphabetic() => (Some(drive), chars.as_str()),
        _ => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_on_both_systems() {
        for (text, windows, path, directory) in [
            ("/a/b", false, "a/b", false),
            ("/a/b/", false, "a/b", true),
            ("b", false, "w/b", false),
            (".", false, "w", true),
            ("./", false, "w", true),
            ("../x", false, "x", false),
            ("/../../x", false, "x", false),
            ("/", false, "", true),
            ("C:\\app\\", true, "app", true),
            ("c:/app/x.exe", true, "app/x.exe", false),
            ("\\app", true, "app", false),
            ("sub\\x", true, "w/sub/x", false),
            ("C:", true, "", true),
            ("a\\b", false, "w/a\\b", false),
        ] {
            let place = place(text, "w", windows).unwrap();
            assert_eq!((place.path.as_str(), place.directory), (path, directory), "{text}");
        }
        assert_eq!(shown("a/b", true), "C:\\a\\b");
        assert_eq!((shown("", true).as_str(), shown("", false).as_str()), ("C:\\", "/"));
    }

    #[test]
    fn names_that_windows_does_not_take_are_refused_for_it_only() {
        for bad in ["/a/con", "/nul.txt", "/a:b", "/a*", "/a./b", "/x "] {
            assert!(matches!(place(bad, "", true), Err(PathError::Name { .. })), "{bad}");
            place(bad, "", false).unwrap();
        }
        assert!(matches!(place("D:\\x", "", true), Err(PathError::Drive(_))));
    }
}
