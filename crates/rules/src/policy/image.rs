//! Images: by repository, at the border of a path component, or by digest.

use super::list::glob;

const HUB: &str = "docker.io";
const DIGEST: &str = "sha256:";

const WANTED: &str = "a registry or repository (\"registry.example/team\"), with a digest or not, a digest (\"sha256:…\"), or \"*\"";
const NO_TAG: &str = "no tag, which can be moved: name the repository, or a digest";
const NO_STAR: &str = "a registry without \"*\": what follows it could be in any registry";
const BAD_DIGEST: &str = "a digest of sha256: and 64 lower-case hexadecimal digits";

/// The full name, as a runtime would complete it.
pub(super) fn normal(image: &str) -> String {
    match image.split_once('/') {
        Some((HUB | "index.docker.io", rest)) if rest.contains('/') => format!("{HUB}/{rest}"),
        Some((HUB | "index.docker.io", rest)) => format!("{HUB}/library/{rest}"),
        Some((first, _)) if is_registry(first) => image.to_owned(),
        Some(_) => format!("{HUB}/{image}"),
        // Porthole's own forms, which name no registry.
        None if image.starts_with("dir:") || image.starts_with("oci-archive:") => image.to_owned(),
        None => format!("{HUB}/library/{image}"),
    }
}

/// A pattern as an expression for full names. A star stays within the repository: a tag must not complete a name.
pub(super) fn regex(pattern: &str) -> Result<String, &'static str> {
    if pattern == "*" {
        return Ok(".*".to_owned());
    }
    if pattern.starts_with(DIGEST) {
        return Ok(format!("[^@]*@{}", digest(pattern)?));
    }
    match pattern.split_once('@') {
        Some((name, of)) => {
            let name = repository(name)?.ok_or(WANTED)?;
            Ok(format!("{name}(?::[^/@]*)?@{}", digest(of)?))
        }
        None => Ok(match repository(pattern)? {
            Some(name) => format!("{name}(?:[/:@].*)?"),
            None => format!("{}/.*", regex::escape(pattern.trim_end_matches('/'))),
        }),
    }
}

/// The expression for a repository's name; none if only a registry is named.
fn repository(name: &str) -> Result<Option<String>, &'static str> {
    let good = |c: char| c.is_ascii_alphanumeric() || "._:/*-".contains(c);
    if !name.chars().all(good) || name.starts_with('/') || name.contains("//") {
        return Err(WANTED);
    }
    let (first, rest) = name.split_once('/').unwrap_or((name, ""));
    let rest = rest.trim_end_matches('/');
    if rest.contains(':') || (first.contains(':') && !name.contains('/')) {
        return Err(NO_TAG);
    }
    let glob = |name: &str| glob(name, "[^:@]*");
    match (first, rest) {
        ("", _) => Err(WANTED),
        (first, _) if is_registry(first) && first.contains('*') => Err(NO_STAR),
        (first, "") if is_registry(first) => Ok(None),
        (HUB, rest) if !rest.contains('/') => Ok(Some(format!("docker\\.io/(?:library/)?{}", glob(rest)))),
        (first, rest) if is_registry(first) => Ok(Some(format!("{}/{}", regex::escape(first), glob(rest)))),
        (first, "") if !name.contains('/') => Ok(Some(format!("docker\\.io/library/{}", glob(first)))),
        _ => Ok(Some(format!("docker\\.io/{}", glob(name.trim_end_matches('/'))))),
    }
}

/// Docker's rule: a first component with a dot, a port or a capital, or `localhost`.
fn is_registry(first: &str) -> bool {
    first == "localhost" || first.contains(|c: char| c == '.' || c == ':' || c.is_ascii_uppercase())
}

fn digest(text: &str) -> Result<&str, &'static str> {
    let hex = text.strip_prefix(DIGEST).ok_or(BAD_DIGEST)?;
    let good = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    if hex.len() == 64 && hex.chars().all(good) { Ok(text) } else { Err(BAD_DIGEST) }
}
