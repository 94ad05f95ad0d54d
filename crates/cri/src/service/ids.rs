//! Whom an id means: people type as much of it as tells it from others.

use runtime::{ContainerId, PodId};

use super::Inner;
use crate::error::CriError;
use crate::wire;

// === impl Inner ===

impl Inner {
    pub(super) fn pod_id(&self, field: &'static str, text: &str) -> Result<PodId, CriError> {
        let text = wire::id(field, text)?;
        let known = one("pod", text, self.runtime.pod_ids(text), PodId::as_str)?;
        // One whose record is damaged is known by its whole name only, and to the runtime.
        known.or_else(|| PodId::parse(text).ok()).ok_or_else(|| not_found("pod", text))
    }

    pub(super) fn container_id(&self, field: &'static str, text: &str) -> Result<ContainerId, CriError> {
        let text = wire::id(field, text)?;
        let known = one("container", text, self.runtime.container_ids(text), ContainerId::as_str)?;
        known.ok_or_else(|| not_found("container", text))
    }
}

/// For verbs to which what is not there is done already.
pub(super) fn if_there<T>(found: Result<T, CriError>) -> Result<Option<T>, CriError> {
    match found {
        Err(CriError::NotFound { .. }) => Ok(None),
        other => other.map(Some),
    }
}

fn not_found(what: &'static str, id: &str) -> CriError {
    CriError::NotFound { what, id: id.to_owned() }
}

fn one<T>(
    what: &'static str,
    text: &str,
    mut found: Vec<T>,
    id: fn(&T) -> &str,
) -> Result<Option<T>, CriError> {
    if found.len() < 2 {
        return Ok(found.pop());
    }
    let all = found.iter().map(|each| id(each).to_owned()).collect();
    match found.into_iter().find(|each| id(each) == text) {
        Some(exact) => Ok(Some(exact)),
        None => Err(CriError::Ambiguous { what, id: text.to_owned(), all }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_that_could_be_two_is_neither_unless_it_is_one_of_them() {
        let find = |text: &str, all: &[&'static str]| {
            let found: Vec<_> = all.iter().filter(|id| id.starts_with(text)).copied().collect();
            one("pod", text, found, |id| id)
        };
        assert_eq!(find("a", &["abc", "b"]).unwrap(), Some("abc"));
        assert_eq!(find("x", &["abc"]).unwrap(), None);
        assert_eq!(find("ab", &["ab", "abc"]).unwrap(), Some("ab"));
        assert!(matches!(find("a", &["ab", "abc"]), Err(CriError::Ambiguous { .. })));
    }
}
