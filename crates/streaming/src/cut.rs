//! The end of a connection for all who still hold a part of it.

use tokio::sync::watch;

use crate::mux::Gone;

/// Cut once, and then for ever.
#[derive(Debug)]
pub(crate) struct Cut(watch::Sender<bool>);

// === impl Cut ===

impl Cut {
    pub(crate) fn new() -> Cut {
        Cut(watch::Sender::new(false))
    }

    pub(crate) fn cut(&self) {
        self.0.send_replace(true);
    }

    pub(crate) fn is_cut(&self) -> bool {
        *self.0.borrow()
    }

    /// Works until it is done or the connection is cut.
    pub(crate) async fn or<T>(&self, work: impl Future<Output = T>) -> Result<T, Gone> {
        let mut cut = self.0.subscribe();
        tokio::select! {
            biased;
            _ = cut.wait_for(|cut| *cut) => Err(Gone),
            done = work => Ok(done),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_waits_is_woken_and_whoever_comes_later_does_not_wait() {
        let cut = Cut::new();
        assert_eq!(cut.or(async { 7 }).await, Ok(7));
        let waiting = cut.or(std::future::pending::<()>());
        let (result, ()) = tokio::join!(waiting, async { cut.cut() });
        assert_eq!(result, Err(Gone));
        assert_eq!(cut.or(async { 7 }).await, Err(Gone));
    }
}
