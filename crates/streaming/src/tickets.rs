//! URLs that work once: what a kubelet gets from CRI's Exec, Attach and PortForward.
//!
//! Whoever knows the token may do what was asked for, so it cannot be guessed, is good for one request and for a minute
//! only, and there is a limit to how many can be waiting.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::request::{AttachRequest, ExecRequest, PortForwardRequest, Request, RequestError};

/// 128 bits: nobody tries them all in a minute.
const TOKEN_BYTES: usize = 16;

/// Gives tokens for requests, as URLs. Clones give from the same box.
#[derive(Clone)]
pub struct Tickets {
    base: Arc<str>,
    waiting: Arc<Mutex<Waiting>>,
}

/// The pure part: time comes from outside.
#[derive(Debug)]
struct Waiting {
    life: Duration,
    most: usize,
    requests: HashMap<String, (Instant, Request)>,
    /// In the order in which they expire.
    ages: VecDeque<(Instant, String)>,
}

// === impl Tickets ===

impl Tickets {
    /// `base` is what URLs begin with: `http://127.0.0.1:1234`.
    pub(crate) fn new(base: &str, life: Duration, most: usize) -> Tickets {
        let waiting = Waiting { life, most, requests: HashMap::new(), ages: VecDeque::new() };
        Tickets { base: base.into(), waiting: Arc::new(Mutex::new(waiting)) }
    }

    pub fn exec(&self, request: ExecRequest) -> Result<String, RequestError> {
        self.url(Request::Exec(request))
    }

    pub fn attach(&self, request: AttachRequest) -> Result<String, RequestError> {
        self.url(Request::Attach(request))
    }

    pub fn port_forward(&self, request: PortForwardRequest) -> Result<String, RequestError> {
        self.url(Request::PortForward(request))
    }

    fn url(&self, request: Request) -> Result<String, RequestError> {
        request.check()?;
        let token = token()?;
        let url = format!("{}/{}/{token}", self.base, request.verb());
        self.waiting().put(token, request, Instant::now())?;
        Ok(url)
    }

    /// The request behind a token, which is then used up, whatever it was for.
    pub(crate) fn redeem(&self, verb: &str, token: &str) -> Option<Request> {
        let request = self.waiting().take(token, Instant::now());
        request.filter(|request| request.verb() == verb)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Tickets {
    /// Without the tokens, which open doors.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tickets").field("base", &self.base).finish_non_exhaustive()
    }
}

fn token() -> Result<String, RequestError> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|e| RequestError::NoRandom(e.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

// === impl Waiting ===

impl Waiting {
    fn put(&mut self, token: String, request: Request, now: Instant) -> Result<(), RequestError> {
        self.forget_expired(now);
        if self.requests.len() >= self.most {
            return Err(RequestError::TooMany(self.most));
        }
        if self.ages.len() > 2 * self.most {
            // One that nobody uses holds up the queue for a minute; used ones behind it need not wait for it.
            let requests = &self.requests;
            self.ages.retain(|(_, token)| requests.contains_key(token));
        }
        let end = now + self.life;
        self.ages.push_back((end, token.clone()));
        self.requests.insert(token, (end, request));
        Ok(())
    }

    fn take(&mut self, token: &str, now: Instant) -> Option<Request> {
        let (end, request) = self.requests.remove(token)?;
        (now < end).then_some(request)
    }

    /// Used ones too leave the queue here, at the latest a life after they were given.
    fn forget_expired(&mut self, now: Instant) {
        while let Some((end, token)) = self.ages.front() {
            if *end > now && self.requests.contains_key(token) {
                return;
            }
            self.requests.remove(token);
            self.ages.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: Duration = Duration::from_secs(60);

    fn request() -> Request {
        Request::PortForward(PortForwardRequest { pod: "p".to_owned(), ports: vec![] })
    }

    fn waiting(most: usize) -> Waiting {
        Waiting { life: LIFE, most, requests: HashMap::new(), ages: VecDeque::new() }
    }

    #[test]
    fn a_token_is_good_for_one_request() {
        let mut waiting = waiting(2);
        let now = Instant::now();
        waiting.put("a".to_owned(), request(), now).expect("room");
        assert_eq!(waiting.take("b", now), None);
        assert_eq!(waiting.take("a", now), Some(request()));
        assert_eq!(waiting.take("a", now), None);
    }

    #[test]
    fn a_token_is_good_for_a_minute() {
        let mut waiting = waiting(2);
        let now = Instant::now();
        for token in ["a", "b"] {
            waiting.put(token.to_owned(), request(), now).expect("room");
        }
        assert_eq!(waiting.take("a", now + LIFE - Duration::from_millis(1)), Some(request()));
        assert_eq!(waiting.take("b", now + LIFE), None);
    }

    #[test]
    fn a_full_box_refuses_until_one_is_used_or_expires() {
        let mut waiting = waiting(2);
        let now = Instant::now();
        for token in ["a", "b"] {
            waiting.put(token.to_owned(), request(), now).expect("room");
        }
        assert_eq!(waiting.put("c".to_owned(), request(), now), Err(RequestError::TooMany(2)));
        waiting.take("b", now);
        waiting.put("c".to_owned(), request(), now).expect("one was used");
        assert_eq!(waiting.put("d".to_owned(), request(), now), Err(RequestError::TooMany(2)));
        waiting.put("d".to_owned(), request(), now + LIFE).expect("two expired");
    }

    #[test]
    fn used_tokens_leave_no_trace() {
        let mut waiting = waiting(10);
        let now = Instant::now();
        for i in 0..10_000 {
            let token = i.to_string();
            waiting.put(token.clone(), request(), now).expect("room");
            waiting.take(&token, now).expect("there");
        }
        assert!(waiting.ages.len() <= 1 && waiting.requests.is_empty());
    }

    #[test]
    fn used_tokens_leave_no_trace_behind_one_that_waits() {
        let mut waiting = waiting(10);
        let now = Instant::now();
        waiting.put("first".to_owned(), request(), now).expect("room");
        for i in 0..10_000 {
            let token = i.to_string();
            waiting.put(token.clone(), request(), now).expect("room");
            waiting.take(&token, now).expect("there");
        }
        assert!(waiting.ages.len() <= 21, "{}", waiting.ages.len());
        assert_eq!(waiting.take("first", now), Some(request()));
    }

    #[test]
    fn a_token_for_one_verb_does_not_open_another() {
        let tickets = Tickets::new("http://h:1", LIFE, 10);
        let url =
            tickets.port_forward(PortForwardRequest { pod: "p".to_owned(), ports: vec![] }).expect("given");
        let token = url.strip_prefix("http://h:1/portforward/").expect("the URL's shape");
        assert!(token.len() >= 22, "{token}");
        assert_eq!(tickets.redeem("exec", token), None);
        assert_eq!(tickets.redeem("portforward", token), None, "the wrong try used it up");
    }

    #[test]
    fn no_two_tokens_are_alike_and_debugging_does_not_show_them() {
        let tickets = Tickets::new("http://h:1", LIFE, 100);
        let forward = PortForwardRequest { pod: "p".to_owned(), ports: vec![] };
        let mut urls: Vec<_> =
            (0..100).map(|_| tickets.port_forward(forward.clone()).expect("given")).collect();
        urls.sort();
        urls.dedup();
        assert_eq!(urls.len(), 100);
        let token = urls[0].rsplit('/').next().expect("a token");
        assert!(!format!("{tickets:?}").contains(token));
    }
}
