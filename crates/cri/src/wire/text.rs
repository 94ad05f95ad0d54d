//! Names, paths and ids, as far as they can be judged without asking anybody.

use plan::Style;

use super::WireError;

/// Of names of pods and containers, and of ids.
const LONGEST: usize = 253;

/// An id or the beginning of one. What it means is for whoever knows the ids.
pub fn id<'t>(field: &'static str, text: &'t str) -> Result<&'t str, WireError> {
    match text {
        "" => Err(WireError::Missing(field)),
        text if text.len() > LONGEST || text.chars().any(char::is_control) => {
            Err(WireError::invalid(field, text, "an id of at most 253 characters"))
        }
        text => Ok(text),
    }
}

/// A name that is shown to people and becomes part of other names.
pub(super) fn name(field: &'static str, text: &str) -> Result<String, WireError> {
    let strange = |c: char| c.is_control() || c == '/' || c == '\\';
    match text {
        "" => Err(WireError::Missing(field)),
        text if text.len() > LONGEST || text.contains(strange) => Err(WireError::invalid(
            field,
            text,
            "at most 253 characters, without slashes and control characters",
        )),
        text => Ok(text.to_owned()),
    }
}

pub(super) fn without_nul(field: &str, text: &str) -> Result<String, WireError> {
    if text.contains('\0') {
        return Err(WireError::invalid(field, text, "a text without the character 0"));
    }
    Ok(text.to_owned())
}

/// A path of the host from its root. A kubelet on Windows may leave the drive out.
pub(super) fn host_path(field: &str, text: &str, style: Style) -> Result<String, WireError> {
    let rooted = match style {
        Style::Unix => text.starts_with('/'),
        Style::Windows => text.starts_with(['/', '\\']) || text.get(1..2) == Some(":"),
    };
    if !rooted {
        return Err(WireError::invalid(field, text, "an absolute path"));
    }
    if climbs(text) {
        return Err(WireError::invalid(field, text, "a path without .."));
    }
    without_nul(field, text)
}

/// A path below another one.
pub(super) fn inner_path(field: &str, text: &str) -> Result<String, WireError> {
    let drive = text.get(1..2) == Some(":");
    if text.starts_with(['/', '\\']) || drive || climbs(text) {
        return Err(WireError::invalid(field, text, "a path below the pod's log directory"));
    }
    without_nul(field, text)
}

fn climbs(path: &str) -> bool {
    path.split(['/', '\\']).any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_stays_in_its_directory() {
        for good in ["main/0.log", "0.log", "a.b/c..d"] {
            assert_eq!(inner_path("log_path", good).as_deref(), Ok(good));
        }
        for bad in ["/etc/passwd", "../0.log", "a/../../b", "c:\\x", "\\x", "a\0b"] {
            assert!(inner_path("log_path", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_host_path_has_a_root() {
        assert!(host_path("p", "/var/log", Style::Unix).is_ok());
        assert!(host_path("p", "var", Style::Unix).is_err());
        assert!(host_path("p", "c:/var/../etc", Style::Windows).is_err());
        for good in ["\\var\\log\\pods", "/var/log", "c:\\x", "\\\\server\\share"] {
            assert!(host_path("p", good, Style::Windows).is_ok(), "{good}");
        }
    }
}
