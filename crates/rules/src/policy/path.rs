//! Paths on the host, in one form: HostProcess pods are Windows pods, so case and the kind of slash do not count.

use std::sync::LazyLock;

use regex::Regex;

use super::list::glob;

/// Normal paths that Windows may read as another one: it drops dots and spaces at the end of a name, and what
/// follows a colon is a stream of the same file. They match no list.
pub const UNCLEAR: &str = "(?s:[. ](?:/|$)|:[^/]|^:|^[^:]{2,}:|:.*:)";

static IS_UNCLEAR: LazyLock<Regex> = LazyLock::new(|| Regex::new(UNCLEAR).expect("a constant"));

/// `\\.\C:\Var\.\lib\` → `c:/var/lib`. The kubelet puts `c:` before a path that begins with a slash.
pub(super) fn normal(path: &str) -> String {
    let path = path.to_ascii_lowercase().replace('\\', "/");
    let mut segments: Vec<_> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let device = segments.first() == Some(&".");
    segments.retain(|segment| *segment != ".");
    let lead: &[&str] = match path.as_str() {
        path if path.starts_with("//") && device => &["", "", "?"],
        path if path.starts_with("//") => &["", ""],
        path if path.starts_with('/') => &["c:"],
        _ => &[],
    };
    let whole = [lead, &segments].concat().join("/");
    match whole.strip_prefix("//?/") {
        Some(rest) if is_drive(rest) => rest.to_owned(),
        _ => whole,
    }
}

/// As [`normal`], unless the path is unclear.
pub(super) fn clear(path: &str) -> Option<String> {
    let normal = normal(path);
    if IS_UNCLEAR.is_match(&normal) { None } else { Some(normal) }
}

pub(super) fn regex(pattern: &str) -> Result<String, &'static str> {
    let normal =
        clear(pattern).ok_or("a path without \"..\", and names that do not end in a dot or space")?;
    let after_device = normal.strip_prefix("//?/").unwrap_or(&normal);
    if after_device.contains(['?', '"', '<', '>', '|']) {
        return Err("a path: only \"*\" is a wildcard");
    }
    if !(normal.starts_with(['*', '/']) || is_drive(&normal)) {
        return Err("a whole path, from a drive or a slash on, or \"*\"");
    }
    Ok(glob(&normal, ".*"))
}

fn is_drive(path: &str) -> bool {
    let bytes = path.as_bytes();
    let letter = bytes.first().is_some_and(u8::is_ascii_lowercase);
    letter && bytes.get(1) == Some(&b':') && matches!(bytes.get(2), None | Some(b'/'))
}
