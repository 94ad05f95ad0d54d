//! Stopping with a grace period: a program that stops when asked, and one that does not.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::Walk;

/// For the container that ends itself when it is asked to.
const LONG_GRACE: u64 = 90;
/// For the one that does not.
const SHORT_GRACE: u64 = 4;

// === impl Walk ===

impl Walk<'_> {
    pub(super) fn stopped_in_its_grace(&mut self, id: &str) -> Result<()> {
        let took = self.stop(id, LONG_GRACE)?;
        ensure!(took < Duration::from_secs(LONG_GRACE), "it took {took:?} to stop what stops when asked");
        self.wait_for_log(id, "bye")?;
        self.expect_end(id, 0)?;
        self.saw(
            format!("stop --timeout {LONG_GRACE} of a program that stops when asked"),
            "it was told, said its last word, ended itself with 0 before its grace was over",
        );
        Ok(())
    }

    pub(super) fn killed_after_its_grace(&mut self) -> Result<()> {
        let id = self.started("stubborn", &["stubborn"])?;
        self.wait_for_log(&id, "ready")?;
        let took = self.stop(&id, SHORT_GRACE)?;
        ensure!(took >= Duration::from_secs(SHORT_GRACE), "it was killed after {took:?}, before its grace");
        self.wait_for_log(&id, "ignored")?;
        self.expect_end(&id, 137)?;
        self.saw(
            format!("stop --timeout {SHORT_GRACE} of a program that does not"),
            "it was told, ignored that, was killed after its grace: 137",
        );
        Ok(())
    }

    fn stop(&self, id: &str, grace: u64) -> Result<Duration> {
        let begun = Instant::now();
        self.says(&["stop", "--timeout", &grace.to_string(), id])?;
        Ok(begun.elapsed())
    }

    fn expect_end(&self, id: &str, code: i64) -> Result<()> {
        let status = &self.document(&["inspect", id])?["status"];
        let (state, found) = (&status["state"], &status["exitCode"]);
        ensure!(state == "CONTAINER_EXITED" && found == code, "inspect: {status}");
        Ok(())
    }
}
