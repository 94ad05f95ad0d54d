//! Many reviews, several in flight, while the certificate changes under them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};

use super::{Ca, Caller, Target, response, review};
use crate::process::wait_for;

/// Connections are kept, but not for ever: some must meet each new certificate.
const KEPT: usize = 50;
const PATIENCE: Duration = Duration::from_secs(30);

/// What to send.
#[derive(Debug)]
pub struct Load {
    pub target: Target,
    /// Objects and whether they are to be allowed, sent in turn.
    pub objects: Vec<(serde_json::Value, bool)>,
    pub user: String,
    /// At least so many; more while certificates are still being swapped.
    pub reviews: usize,
    pub in_flight: usize,
    pub swaps: usize,
    /// Where the webhook reads `tls.crt` and `tls.key`.
    pub certificates: PathBuf,
}

#[derive(Debug, Default)]
pub struct Outcome {
    /// Milliseconds from the first byte sent to the last one read, of every review, new connections included.
    pub latencies: Vec<f64>,
    /// What went wrong, one line per review that got no answer or a wrong one.
    pub lost: Vec<String>,
    /// Certificates that were seen in use, one after the other.
    pub swapped: usize,
}

// === impl Load ===

impl Load {
    pub fn run(&self, ca: &Ca) -> Result<Outcome> {
        let (sent, swapping) = (AtomicUsize::new(0), AtomicBool::new(true));
        thread::scope(|scope| {
            let workers: Vec<_> =
                (0..self.in_flight).map(|_| scope.spawn(|| self.work(&sent, &swapping))).collect();
            let swapped = self.swap_all(ca);
            swapping.store(false, Ordering::Relaxed);
            let mut outcome = Outcome { swapped: swapped?, ..Outcome::default() };
            for worker in workers {
                let part = worker.join().map_err(|_| anyhow!("a worker panicked"))??;
                outcome.latencies.extend(part.latencies);
                outcome.lost.extend(part.lost);
            }
            Ok(outcome)
        })
    }

    fn work(&self, sent: &AtomicUsize, swapping: &AtomicBool) -> Result<Outcome> {
        let mut caller = Caller::new(&self.target)?;
        let mut outcome = Outcome::default();
        loop {
            let number = sent.fetch_add(1, Ordering::Relaxed);
            if number >= self.reviews && !swapping.load(Ordering::Relaxed) {
                return Ok(outcome);
            }
            if number.is_multiple_of(KEPT) {
                caller.disconnect();
            }
            let begun = Instant::now();
            match self.ask(&mut caller, number) {
                Ok(()) => outcome.latencies.push(begun.elapsed().as_secs_f64() * 1e3),
                Err(error) => outcome.lost.push(format!("review {number}: {error:#}")),
            }
        }
    }

    fn ask(&self, caller: &mut Caller, number: usize) -> Result<()> {
        let (object, expected) = &self.objects[number % self.objects.len()];
        let uid = format!("review-{number}");
        let body = serde_json::to_vec(&review(&uid, object, &self.user))?;
        let response = response(&caller.post("/validate?timeout=5s", &body)?, &uid)?;
        ensure!(response["allowed"] == *expected, "{response}");
        Ok(())
    }

    /// Swaps the certificate and waits until a new connection is greeted with it, again and again.
    fn swap_all(&self, ca: &Ca) -> Result<usize> {
        let name = self.target.address.ip().to_string();
        let mut caller = Caller::new(&self.target)?;
        let mut last = caller.certificate()?;
        for number in 1..=self.swaps {
            ca.issue(&[&name])?.write(&self.certificates)?;
            last = wait_for("the new certificate", PATIENCE, || {
                caller.disconnect();
                let seen = caller.certificate()?;
                Ok((seen != last).then_some(seen))
            })
            .with_context(|| format!("swap {number}"))?;
        }
        Ok(self.swaps)
    }
}
