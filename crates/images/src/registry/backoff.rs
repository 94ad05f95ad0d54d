//! When a question that failed is asked again: the registry's own word (`Retry-After`) before ours.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, SystemTime};

use super::answer::PullError;

/// How often one question is asked before its error is final.
const TRIES: u32 = 3;
const FIRST_DELAY: Duration = Duration::from_millis(500);
/// Each delay is this many times the one before.
const GROWTH: u32 = 4;
/// A registry may ask for more; whoever pulls has better things to do than to sleep for an hour.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Whoever got this far since the last failure may fail as often again: a large blob over a bad line has many cuts.
pub(super) const PROGRESS: u64 = 64 << 10;

/// The failures of one question.
#[derive(Debug, Default)]
pub(crate) struct Tries {
    failed: u32,
}

// === impl Tries ===

impl Tries {
    /// How long to wait before the next try, or the error again if there is none.
    pub(crate) fn after(
        &mut self,
        error: PullError,
        progress: u64,
    ) -> Result<(PullError, Duration), PullError> {
        if progress >= PROGRESS {
            self.failed = 0;
        }
        self.failed += 1;
        if self.failed >= TRIES || !error.may_pass() {
            return Err(error);
        }
        let ours = jittered(FIRST_DELAY * GROWTH.pow(self.failed - 1), random());
        let delay = error.wait().map_or(ours, |theirs| theirs.max(ours)).min(LONGEST_WAIT);
        Ok((error, delay))
    }
}

/// Between 80 and 120 per cent: those who failed together must not come back together.
fn jittered(delay: Duration, random: u64) -> Duration {
    let percent = 80 + u32::try_from(random % 41).unwrap_or_default();
    delay * percent / 100
}

/// Good enough to spread delays.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The `Retry-After` of an answer: seconds, or a date.
pub(super) fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    if let Ok(seconds) = value.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value.trim()).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(wait: Option<Duration>) -> PullError {
        PullError::Status { registry: "r".into(), code: 503, message: String::new(), wait }
    }

    #[test]
    fn seconds_and_dates_are_read() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        for (value, seconds) in [
            ("7", Some(7)),
            (" 120 ", Some(120)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
            ("Sunday, 06-Nov-94 08:49:40 GMT", Some(3)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(0)),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(retry_after(value, now), seconds.map(Duration::from_secs), "{value}");
        }
    }

    #[test]
    fn the_registrys_word_counts_up_to_a_limit() {
        for (said, least, most) in [(None, 400, 600), (Some(7), 7000, 7000), (Some(3600), 60_000, 60_000)] {
            let error = failure(said.map(Duration::from_secs));
            let (_, delay) = Tries::default().after(error, 0).unwrap();
            assert!((least..=most).contains(&delay.as_millis()), "{said:?}: {delay:?}");
        }
    }

    #[test]
    fn three_failures_are_enough_unless_something_came() {
        let mut tries = Tries::default();
        assert!(tries.after(failure(None), 0).is_ok());
        let (_, delay) = tries.after(failure(None), PROGRESS - 1).unwrap();
        assert!((1600..=2400).contains(&delay.as_millis()), "{delay:?}");
        assert!(tries.after(failure(None), 0).is_err());
        assert!(tries.after(failure(None), PROGRESS).is_ok());
        assert!(Tries::default().after(PullError::GaveUp, 0).is_err());
    }

    #[test]
    fn delays_are_spread_around_their_middle() {
        let all: Vec<_> =
            (0..41).map(|random| jittered(Duration::from_secs(1), random).as_millis()).collect();
        assert_eq!((all[0], all[20], all[40]), (800, 1000, 1200));
    }
}
