//! How long a caller waits: gRPC's `grpc-timeout`.
//!
//! An answer after that is nobody's: the caller hears DeadlineExceeded at the moment it is over, whatever is still going
//! on, and what can be given up is.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tonic::Status;
use tonic::metadata::MetadataMap;

/// Whether the caller still waits. Lost when the deadline passes or the caller goes away.
#[derive(Debug, Clone, Default)]
pub struct Patience(Arc<AtomicBool>);

/// Takes the patience along when the waiting is over.
struct Waiting(Patience);

/// A timeout has at most eight digits and one letter.
const LONGEST: usize = 8;

pub fn of(metadata: &MetadataMap) -> Option<Duration> {
    parse(metadata.get("grpc-timeout")?.to_str().ok()?)
}

fn parse(text: &str) -> Option<Duration> {
    let unit = text.chars().next_back()?;
    let digits = text.strip_suffix(unit)?;
    if digits.is_empty() || digits.len() > LONGEST || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let number = digits.parse().ok()?;
    Some(match unit {
        'H' => Duration::from_secs(number * 3600),
        'M' => Duration::from_secs(number * 60),
        'S' => Duration::from_secs(number),
        'm' => Duration::from_millis(number),
        'u' => Duration::from_micros(number),
        'n' => Duration::from_nanos(number),
        _ => return None,
    })
}

/// Waits for an answer as long as the caller does.
pub async fn within<T>(
    limit: Option<Duration>,
    patience: Patience,
    answer: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    let _waiting = Waiting(patience);
    let Some(limit) = limit else { return answer.await };
    let late = |_| Status::deadline_exceeded(format!("not done within {limit:?}"));
    tokio::time::timeout(limit, answer).await.map_err(late)?
}

// === impl Patience ===

impl Patience {
    pub fn is_lost(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

// === impl Waiting ===

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_as_grpc_writes_them() {
        assert_eq!(parse("1S"), Some(Duration::from_secs(1)));
        assert_eq!(parse("999999u"), Some(Duration::from_micros(999_999)));
        assert_eq!(parse("99999999H"), Some(Duration::from_secs(99_999_999 * 3600)));
        assert_eq!(parse("0n"), Some(Duration::ZERO));
        for bad in ["", "S", "1", "1s", "-1S", "1.5S", "999999999S", "1é"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[tokio::test]
    async fn an_answer_that_comes_too_late_is_no_answer() {
        let patience = Patience::default();
        let never = std::future::pending::<Result<(), Status>>();
        let late = within(Some(Duration::from_millis(1)), patience.clone(), never).await.unwrap_err();
        assert_eq!(late.code(), tonic::Code::DeadlineExceeded);
        assert!(patience.is_lost());
    }
}
