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
const UID: &str = "@uid@";
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

/// A review, but for its uid.
#[derive(Debug)]
struct Body {
    before: String,
    after: String,
    allowed: bool,
}

#[derive(Debug, Default)]
pub struct Outcome {
    /// Milliseconds from the first byte sent to the last one read, of every review.
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
        let bodies = self.bodies()?;
        thread::scope(|scope| {
            let workers: Vec<_> =
                (0..self.in_flight).map(|_| scope.spawn(|| self.work(&bodies, &sent, &swapping))).collect();
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

    fn work(&self, bodies: &[Body], sent: &AtomicUsize, swapping: &AtomicBool) -> Result<Outcome> {
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
            match bodies[number % bodies.len()].ask(&mut caller, number) {
                Ok(took) => outcome.latencies.push(took.as_secs_f64() * 1e3),
                Err(error) => outcome.lost.push(format!("review {number}: {error:#}")),
            }
        }
    }

    /// Made once: on two cores, what the callers spend the webhook has not.
    fn bodies(&self) -> Result<Vec<Body>> {
        let body = |(object, allowed): &(serde_json::Value, bool)| {
            let text = review(UID, object, &self.user).to_string();
            let (before, after) = text.split_once(UID).context("a review has its uid")?;
            Ok(Body { before: before.into(), after: after.into(), allowed: *allowed })
        };
        self.objects.iter().map(body).collect()
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

// === impl Body ===

impl Body {
    /// How long the review took, once there was a connection: an API server has one.
    fn ask(&self, caller: &mut Caller, number: usize) -> Result<Duration> {
        let uid = format!("review-{number}");
        let body = [self.before.as_str(), &uid, &self.after].concat();
        caller.certificate()?;
        let begun = Instant::now();
        let answer = caller.post("/validate?timeout=5s", body.as_bytes())?;
        let took = begun.elapsed();
        let response = response(&answer, &uid)?;
        ensure!(response["allowed"] == self.allowed, "{response}");
        Ok(took)
    }
}
