//! What clients asked for and got: how a test proves that each blob moved once.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::http::Message;

/// How long an answer may still be under way when a test asks for the log.
const SETTLING: Duration = Duration::from_secs(10);

/// One request that a client made, in the order in which their answers ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    /// With the query.
    pub path: String,
    /// The `Range` header.
    pub range: Option<String>,
    /// All headers, as they came.
    pub headers: Vec<(String, String)>,
    /// 0 for a connection that ended without an answer.
    pub status: u16,
    /// Of the answer's body, as sent.
    pub bytes: u64,
}

#[derive(Debug, Default)]
pub(super) struct Log {
    state: Mutex<State>,
    settled: Condvar,
}

#[derive(Debug, Default)]
struct State {
    under_way: usize,
    requests: Vec<Request>,
}

// === impl Request ===

impl Request {
    /// A header's value, whatever the case of its name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn of(message: &Message) -> Self {
        Self {
            method: message.method().to_owned(),
            path: message.target().to_owned(),
            range: message.header("Range").map(str::to_owned),
            headers: message.headers.clone(),
            status: 0,
            bytes: 0,
        }
    }
}

// === impl Log ===

impl Log {
    pub(super) fn begin(&self) {
        self.lock().under_way += 1;
    }

    pub(super) fn end(&self, request: Option<Request>) {
        let mut state = self.lock();
        state.under_way -= 1;
        state.requests.extend(request);
        self.settled.notify_all();
    }

    /// A client has its answer a moment before we have written that down: waits for that moment.
    fn settled(&self) -> MutexGuard<'_, State> {
        let busy = |state: &mut State| state.under_way > 0;
        let waited = self.settled.wait_timeout_while(self.lock(), SETTLING, busy);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.settled().requests.clone()
    }

    /// Settled too: what was answered before must not be written down after.
    pub(super) fn clear(&self) {
        self.settled().requests.clear();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
