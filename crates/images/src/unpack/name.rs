//! Which names may become files on this host: pure, so that Windows' rules are tested everywhere.

use super::error::{UnpackError, shown};
use super::{Layout, Limits};

pub(super) use link::Way;

mod link;

/// What names mean to the system that is to hold them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Names {
    /// Characters, devices and endings that Windows reads as something else.
    pub windows: bool,
    /// Whether case tells names apart no more.
    pub fold: bool,
}

/// The parts of a name below the image's root.
pub(super) type Parts<'n> = Vec<&'n [u8]>;

const FILES: &[u8] = b"Files";

// === impl Names ===

impl Names {
    pub fn of_this_host() -> Names {
        Names { windows: os::path::WINDOWS, fold: os::tree::FOLDS_CASE }
    }

    /// The parts of a name, or `None` if it is no file of the image.
    pub(super) fn parts<'n>(
        self,
        name: &'n [u8],
        layout: Layout,
        limits: &Limits,
    ) -> Result<Option<Parts<'n>>, UnpackError> {
        if name.len() > limits.path {
            return Err(UnpackError::Long { name: shown(name), limit: limits.path });
        }
        let mut parts = Vec::new();
        for part in name.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".") {
            if part == b".." {
                return Err(UnpackError::Escapes { name: shown(name) });
            }
            parts.push(part);
        }
        if layout == Layout::Windows {
            if parts.first().is_none_or(|first| *first != FILES) {
                return Ok(None);
            }
            parts.remove(0);
        }
        for (at, part) in parts.iter().enumerate() {
            // A stream of a file is told from a name by who knows the layout.
            let stream = layout == Layout::Windows && at + 1 == parts.len();
            let checked = if stream { split_stream(part).0 } else { part };
            self.check(checked).map_err(|why| UnpackError::Name { name: shown(name), why })?;
        }
        if parts.len() > limits.depth {
            return Err(UnpackError::Deep { name: shown(name), limit: limits.depth });
        }
        Ok(Some(parts))
    }

    /// A part must mean the same to the host as to the image.
    pub(super) fn check(self, part: &[u8]) -> Result<(), &'static str> {
        if part.contains(&0) {
            return Err("it holds a null character");
        }
        if !self.windows {
            return Ok(());
        }
        let Ok(text) = std::str::from_utf8(part) else { return Err("it is not UTF-8") };
        if text.contains(|c: char| c.is_control() || "\\:*?\"<>|".contains(c)) {
            Err("it holds a character that means something to Windows")
        } else if text.ends_with([' ', '.']) {
            Err("it ends with a dot or a space, which Windows drops")
        } else if is_reserved(text) {
            Err("it is a device on Windows")
        } else {
            Ok(())
        }
    }

    /// What tells a name apart from others on this system.
    pub(super) fn key(self, name: &[u8]) -> Vec<u8> {
        if !self.fold {
            return name.to_vec();
        }
        let upper = |c: char| {
            let mut upper = c.to_uppercase();
            if upper.len() == 1 { upper.next().unwrap_or(c) } else { c }
        };
        String::from_utf8_lossy(name).chars().map(upper).collect::<String>().into_bytes()
    }
}

/// Windows layers write a file's further streams as entries `file:stream` after it.
pub(super) fn split_stream(part: &[u8]) -> (&[u8], Option<&[u8]>) {
    match part.iter().position(|byte| *byte == b':') {
        Some(at) if at > 0 => (&part[..at], Some(&part[at + 1..])),
        _ => (part, None),
    }
}

/// Names that mean a device on Windows, in every directory and with any extension.
pub(crate) fn is_reserved(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or_default().trim_end().to_ascii_uppercase();
    let numbered = |prefix: &str| {
        stem.strip_prefix(prefix)
            .is_some_and(|n| ["1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³"].contains(&n))
    };
    ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].contains(&stem.as_str())
        || numbered("COM")
        || numbered("LPT")
}
