//! Whether somebody is still there whose words nobody takes.
//!
//! A connection that is not read from does not say that its peer has left: what the peer said last stands before it, and
//! may not even have left the peer's machine. But whatever is sent to a peer that has closed is answered with a reset,
//! and then no more can be sent. So whoever waits before he reads on says something now and then that means nothing.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::mux::Gone;

/// As long as a client that has left may hold up its process.
pub(crate) const EVERY: Duration = Duration::from_secs(2);

/// What one reader says while it waits.
#[derive(Debug)]
pub(crate) struct Pulse {
    every: Duration,
    /// Begun and not known to have ended.
    last: Option<JoinHandle<Result<(), Gone>>>,
}

// === impl Pulse ===

/// A client's.
impl Default for Pulse {
    fn default() -> Pulse {
        Pulse::new(EVERY)
    }
}

impl Pulse {
    pub(crate) fn new(every: Duration) -> Pulse {
        Pulse { every, last: None }
    }

    /// Waits for the work, or until it is known that the peer is gone.
    pub(crate) async fn or<T, W>(
        &mut self,
        work: impl Future<Output = T>,
        murmur: impl Fn() -> W,
    ) -> Result<T, Gone>
    where
        W: Future<Output = Result<(), Gone>> + Send + 'static,
    {
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                said = self.beat(&murmur) => said?,
            }
        }
    }

    /// A word that was begun is ended by a task of its own: half of one would break the connection, and a peer that does
    /// not read must not get a second one behind it.
    async fn beat<W>(&mut self, murmur: impl Fn() -> W) -> Result<(), Gone>
    where
        W: Future<Output = Result<(), Gone>> + Send + 'static,
    {
        sleep(self.every).await;
        let said = self.last.get_or_insert_with(|| tokio::spawn(murmur())).await;
        self.last = None;
        said.unwrap_or(Err(Gone))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const SHORT: Duration = Duration::from_millis(10);

    #[tokio::test]
    async fn words_are_said_while_somebody_waits_until_one_cannot_be() {
        let said = Arc::new(AtomicUsize::new(0));
        let murmur = || {
            let count = said.fetch_add(1, Ordering::SeqCst);
            async move { if count < 3 { Ok(()) } else { Err(Gone) } }
        };
        let mut pulse = Pulse::new(SHORT);
        assert_eq!(pulse.or(async { 7 }, murmur).await, Ok(7));
        assert_eq!(said.load(Ordering::SeqCst), 0, "who does not wait says nothing");
        assert_eq!(pulse.or(std::future::pending::<()>(), murmur).await, Err(Gone));
        assert_eq!(said.load(Ordering::SeqCst), 4);
    }

    #[tokio::test]
    async fn one_word_at_a_time_is_under_way() {
        let begun = Arc::new(AtomicUsize::new(0));
        let murmur = || {
            begun.fetch_add(1, Ordering::SeqCst);
            std::future::pending()
        };
        let mut pulse = Pulse::new(SHORT);
        for _ in 0..3 {
            assert_eq!(pulse.or(sleep(5 * SHORT), murmur).await, Ok(()));
        }
        assert_eq!(begun.load(Ordering::SeqCst), 1);
    }
}
