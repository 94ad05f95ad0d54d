//! Where a volume is to appear: what pods write, in one spelling, or a refusal.

use crate::Style;

/// A path in the style's own notation: absolute, on a named drive on Windows, without `.`, `..` or a separator at its
/// end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    style: Style,
    /// `C:` on Windows, empty elsewhere.
    drive: String,
    parts: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DestinationError {
    #[error("it is empty")]
    Empty,
    #[error("{0:?} is not an absolute path")]
    Relative(String),
    #[error("{0:?} climbs with '..'")]
    Climbs(String),
    #[error("{0:?} is a path of another machine or of a device, not of a drive")]
    Device(String),
    #[error("{path:?} has a part {part:?}, which Windows takes for something else")]
    Part { path: String, part: String },
}

const DRIVE: &str = "C:";

// === impl Destination ===

impl Destination {
    pub fn parse(path: &str, style: Style) -> Result<Destination, DestinationError> {
        if path.is_empty() {
            return Err(DestinationError::Empty);
        }
        let (drive, rest) = match style {
            Style::Unix => (String::new(), path),
            Style::Windows => drive(path)?,
        };
        let is_drive_alone = rest.is_empty() && !drive.is_empty();
        if !is_drive_alone && !rest.starts_with(|c| style.is_separator(c)) {
            return Err(DestinationError::Relative(path.to_owned()));
        }
        let mut parts = Vec::new();
        for part in rest.split(|c| style.is_separator(c)).filter(|part| !part.is_empty() && *part != ".") {
            if part == ".." {
                return Err(DestinationError::Climbs(path.to_owned()));
            }
            if style == Style::Windows && is_strange(part) {
                return Err(DestinationError::Part { path: path.to_owned(), part: part.to_owned() });
            }
            parts.push(part.to_owned());
        }
        Ok(Destination { style, drive, parts })
    }

    /// The whole path.
    pub fn path(&self) -> String {
        let sign = self.style.sign();
        format!("{}{sign}{}", self.drive, self.parts.join(&sign.to_string()))
    }

    /// The same below another directory, without the drive.
    pub fn below(&self, directory: &str) -> String {
        let inside = self.parts.join(&self.style.sign().to_string());
        if inside.is_empty() { directory.to_owned() } else { self.style.join(directory, &inside) }
    }

    pub fn depth(&self) -> usize {
        self.parts.len()
    }

    /// Whether this is that path.
    pub fn is(&self, other: &Destination) -> bool {
        self.parts.len() == other.parts.len() && self.is_in(other)
    }

    /// Whether this is that path or something below it.
    pub fn is_in(&self, other: &Destination) -> bool {
        self.same(&self.drive, &other.drive)
            && self.parts.len() >= other.parts.len()
            && self.parts.iter().zip(&other.parts).all(|(mine, its)| self.same(mine, its))
    }

    /// Whether both would be one path without their drives.
    pub fn collides_without_drive(&self, other: &Destination) -> bool {
        let without = |it: &Destination| Destination { drive: String::new(), ..it.clone() };
        without(self).is(&without(other))
    }

    fn same(&self, a: &str, b: &str) -> bool {
        match self.style {
            Style::Unix => a == b,
            Style::Windows => a.to_uppercase() == b.to_uppercase(),
        }
    }
}

/// The drive of a path and what follows it. A path that starts at the root is on `C:`, as runtimes have always read it.
fn drive(path: &str) -> Result<(String, &str), DestinationError> {
    let is_sign = |c: char| Style::Windows.is_separator(c);
    if path.starts_with(is_sign) && path[1..].starts_with(is_sign) {
        return Err(DestinationError::Device(path.to_owned()));
    }
    match path.as_bytes() {
        [letter, b':', ..] if letter.is_ascii_alphabetic() => {
            Ok((path[..2].to_ascii_uppercase(), &path[2..]))
        }
        _ => Ok((DRIVE.to_owned(), path)),
    }
}

/// Windows drops dots and spaces at the end of a name, and a colon opens a stream of a file.
fn is_strange(part: &str) -> bool {
    part.ends_with(['.', ' '])
        || part.contains(['<', '>', ':', '"', '|', '?', '*'])
        || part.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn windows(path: &str) -> Result<String, DestinationError> {
        Destination::parse(path, Style::Windows).map(|it| it.path())
    }

    fn at(path: &str) -> Destination {
        Destination::parse(path, Style::Windows).unwrap()
    }

    // proves: HP-11 pure
    #[test]
    fn what_pods_write_in_one_spelling() {
        for (written, expected) in [
            ("C:\\data", "C:\\data"),
            ("c:/data/", "C:\\data"),
            ("/var/run//secrets", "C:\\var\\run\\secrets"),
            ("\\var\\.\\log", "C:\\var\\log"),
            ("d:\\x y", "D:\\x y"),
            ("D:", "D:\\"),
            ("/", "C:\\"),
        ] {
            assert_eq!(windows(written).as_deref(), Ok(expected), "{written}");
        }
        let unix = |path| Destination::parse(path, Style::Unix).map(|it| it.path());
        assert_eq!(unix("/a//b/./c/").as_deref(), Ok("/a/b/c"));
        assert_eq!(unix("/a\\b").as_deref(), Ok("/a\\b"));
        assert_eq!(unix("/").as_deref(), Ok("/"));
    }

    #[test]
    fn what_is_no_place() {
        assert_eq!(windows(""), Err(DestinationError::Empty));
        assert_eq!(windows("data"), Err(DestinationError::Relative("data".into())));
        assert_eq!(windows("C:data"), Err(DestinationError::Relative("C:data".into())));
        assert_eq!(windows("C:\\a\\..\\b"), Err(DestinationError::Climbs("C:\\a\\..\\b".into())));
        for device in ["\\\\.\\pipe\\x", "//server/share", "\\\\?\\C:\\x"] {
            assert_eq!(windows(device), Err(DestinationError::Device(device.into())));
        }
        for (path, part) in
            [("C:\\a.\\b", "a."), ("C:\\a:s", "a:s"), ("C:\\con*", "con*"), ("C:\\a \\b", "a ")]
        {
            assert_eq!(windows(path), Err(DestinationError::Part { path: path.into(), part: part.into() }));
        }
        let unix = |path| Destination::parse(path, Style::Unix);
        assert_eq!(unix("a"), Err(DestinationError::Relative("a".into())));
        assert_eq!(unix("/a/../b"), Err(DestinationError::Climbs("/a/../b".into())));
    }

    #[test]
    fn inside_and_equal() {
        assert!(
            at("C:\\A\\b").is(&at("c:/a/B"))
                && !at("C:\\a").is(&at("D:\\a"))
                && !at("C:\\a\\b").is(&at("C:\\a"))
        );
        assert!(
            at("C:\\a\\b").is_in(&at("C:\\a"))
                && at("C:\\a").is_in(&at("C:\\a"))
                && at("C:\\a").is_in(&at("C:\\"))
        );
        assert!(!at("C:\\ab").is_in(&at("C:\\a")) && !at("C:\\a").is_in(&at("C:\\a\\b")));
        assert!(
            at("C:\\a").collides_without_drive(&at("D:\\A"))
                && !at("C:\\a").collides_without_drive(&at("D:\\b"))
        );
        let (one, two) = (Destination::parse("/a", Style::Unix), Destination::parse("/A", Style::Unix));
        assert!(!one.unwrap().is(&two.unwrap()));
    }

    #[test]
    fn the_same_below_the_image() {
        assert_eq!(at("D:\\data\\x").below("C:\\hpc\\1"), "C:\\hpc\\1\\data\\x");
        assert_eq!(at("C:\\").below("C:\\hpc"), "C:\\hpc");
        assert_eq!((at("C:\\").depth(), at("C:\\a\\b").depth()), (0, 2));
    }

    proptest! {
        #[test]
        fn one_spelling_is_kept(path in "[/\\\\]?[A-Za-z]?:?[/\\\\a-z. :]{0,30}") {
            for style in [Style::Unix, Style::Windows] {
                if let Ok(destination) = Destination::parse(&path, style) {
                    let again = Destination::parse(&destination.path(), style);
                    prop_assert_eq!(again, Ok(destination));
                }
            }
        }
    }
}
