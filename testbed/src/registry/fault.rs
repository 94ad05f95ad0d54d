//! What the registry is told to do wrong, and for which requests.

mod meeting;

use std::time::Duration;

use meeting::Meeting;

/// A rule: which requests are answered wrongly, how often, and in which way. Without further words all of them are,
/// for ever.
///
/// ```
/// use testbed::registry::{Fault, Wrong};
///
/// // The second and third blob are cut after 100 bytes.
/// let fault = Fault::new(Wrong::Cut { after: 100 }).method("GET").path("/v2/*/blobs/*").after(1).times(2);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    wrong: Wrong,
    method: Option<String>,
    path: Option<String>,
    skip: u32,
    left: u32,
}

/// How an answer is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// The connection ends after this many bytes of the body, whatever length the head promised.
    Cut { after: usize },
    /// After this many bytes of the body nothing comes any more, and the connection stays.
    Stall { after: usize },
    /// The byte at this place of the body is another one, so that no digest fits. In a shorter body it is the last.
    Flip { at: usize },
    /// The body comes no faster than this.
    Slow { bytes_per_second: u32 },
    /// A header of the answer is another one, or one that was not there; the connection ends after it.
    Header { name: String, value: String },
    /// `Range` is not understood: the whole is sent.
    NoRanges,
    /// Success with this body, without asking the registry.
    Says(String),
    /// An answer without asking the registry.
    Status { code: u16, headers: Vec<(String, String)> },
    /// The connection ends without an answer.
    Close,
    /// None is answered before all have come; if they do not, with 504.
    Meet(Meeting),
}

// === impl Wrong ===

impl Wrong {
    pub fn unauthorized(challenge: &str) -> Self {
        Self::Status { code: 401, headers: vec![("WWW-Authenticate".into(), challenge.into())] }
    }

    pub fn too_many_requests(retry_after: Duration) -> Self {
        let seconds = retry_after.as_secs().to_string();
        Self::Status { code: 429, headers: vec![("Retry-After".into(), seconds)] }
    }

    pub fn header(name: &str, value: &str) -> Self {
        Self::Header { name: name.to_owned(), value: value.to_owned() }
    }

    /// Sends the client to another place.
    pub fn redirect(to: &str) -> Self {
        Self::Status { code: 307, headers: vec![("Location".into(), to.into())] }
    }

    /// So many requests must be under way at once.
    pub fn meet(requests: usize) -> Self {
        Self::Meet(Meeting::of(requests))
    }

    pub fn server_error() -> Self {
        Self::Status { code: 500, headers: Vec::new() }
    }
}

// === impl Fault ===

impl Fault {
    pub fn new(wrong: Wrong) -> Self {
        Self { wrong, method: None, path: None, skip: 0, left: u32::MAX }
    }

    /// Only requests with this method.
    #[must_use]
    pub fn method(mut self, method: &str) -> Self {
        self.method = Some(method.to_owned());
        self
    }

    /// Only requests whose path fits this pattern, in which `*` stands for anything, also for slashes.
    #[must_use]
    pub fn path(mut self, pattern: &str) -> Self {
        self.path = Some(pattern.to_owned());
        self
    }

    /// The first `count` fitting requests go well.
    #[must_use]
    pub fn after(mut self, count: u32) -> Self {
        self.skip = count;
        self
    }

    /// After `count` wrong answers the rule is used up.
    #[must_use]
    pub fn times(mut self, count: u32) -> Self {
        self.left = count;
        self
    }

    /// Whether this request is one of those; counts it.
    fn strikes(&mut self, method: &str, path: &str) -> bool {
        let fits = self.method.as_deref().is_none_or(|wanted| wanted == method)
            && self.path.as_deref().is_none_or(|pattern| matches(pattern, path));
        if !fits || self.left == 0 {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.left = if self.left == u32::MAX { u32::MAX } else { self.left - 1 };
        true
    }
}

/// The first rule that strikes decides; those before it have counted the request.
pub(super) fn choose(faults: &mut [Fault], method: &str, path: &str) -> Option<Wrong> {
    faults.iter_mut().find_map(|fault| fault.strikes(method, path).then(|| fault.wrong.clone()))
}

fn matches(pattern: &str, path: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == path };
    let Some(tail) = path.strip_prefix(start) else { return false };
    (0..=tail.len()).filter(|at| tail.is_char_boundary(*at)).any(|at| matches(rest, &tail[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        let path = "/v2/a/b/blobs/sha256:1";
        assert!(matches("*", path) && matches("/v2/*/blobs/*", path) && matches(path, path));
        assert!(matches("/v2/*1", path) && matches("*blobs*", path));
        assert!(!matches("/v2/*/manifests/*", path) && !matches("/v2/a", path) && !matches("blobs", path));
    }

    #[test]
    fn a_rule_lets_some_go_and_is_used_up() {
        let mut faults = [Fault::new(Wrong::Close).method("GET").path("/b*").after(1).times(2)];
        let requests =
            [("GET", "/b"), ("PUT", "/b"), ("GET", "/a"), ("GET", "/b"), ("GET", "/b1"), ("GET", "/b")];
        let struck: Vec<_> = requests.iter().map(|(m, p)| choose(&mut faults, m, p).is_some()).collect();
        assert_eq!(struck, [false, false, false, true, true, false]);
    }

    #[test]
    fn without_words_a_rule_strikes_always() {
        let mut faults = [Fault::new(Wrong::server_error())];
        assert!((0..1000).all(|_| choose(&mut faults, "GET", "/").is_some()));
    }
}
