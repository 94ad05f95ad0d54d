//! What all requests share.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::Semaphore;

use crate::judge::Judge;
use crate::metrics::Metrics;
use crate::tls::{Pair, Serving};

/// Where lines for the operator go.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// KiB of request bodies that are held at once: the bound on memory, whatever arrives.
const BODIES_KIB: usize = 32 << 10;

pub(crate) struct State {
    judge: RwLock<Arc<Judge>>,
    pub(crate) serving: Arc<Serving>,
    pub(crate) metrics: Metrics,
    pub(crate) bodies: Semaphore,
    leaving: AtomicBool,
    say: Say,
}

// === impl State ===

impl State {
    pub(crate) fn new(judge: Judge, pair: Pair, say: Say) -> Self {
        let metrics = Metrics::new();
        metrics.policy_generation.set(1);
        metrics.certificate_expiry.set(pair.not_after);
        Self {
            judge: RwLock::new(Arc::new(judge)),
            serving: Arc::new(Serving::new(pair)),
            metrics,
            bodies: Semaphore::new(BODIES_KIB),
            leaving: AtomicBool::new(false),
            say,
        }
    }

    pub(crate) fn judge(&self) -> Arc<Judge> {
        Arc::clone(&self.judge.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set_judge(&self, judge: Judge) {
        *self.judge.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(judge);
        self.metrics.policy_generation.inc();
    }

    pub(crate) fn set_pair(&self, pair: Pair) {
        self.metrics.certificate_expiry.set(pair.not_after);
        self.serving.swap(pair);
    }

    pub(crate) fn leave(&self) {
        self.leaving.store(true, Ordering::Relaxed);
    }

    /// Why no requests should come here now.
    pub(crate) fn unready(&self) -> Option<&'static str> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let expired = u64::try_from(self.serving.not_after()).map_or(true, |end| end <= now);
        match (self.leaving.load(Ordering::Relaxed), expired) {
            (true, _) => Some("shutting down"),
            (_, true) => Some("the certificate has expired"),
            _ => None,
        }
    }

    /// One line. Names come from users: nothing in them may start another line.
    pub(crate) fn say(&self, line: &str) {
        (self.say)(&line.replace(|c: char| c.is_control(), " "));
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("serving", &self.serving).finish_non_exhaustive()
    }
}
