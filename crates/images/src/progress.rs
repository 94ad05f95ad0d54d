//! What a pull tells the one who waits for it. This crate has no terminal.

use std::fmt;
use std::time::Duration;

/// Whoever asked for an image: hears how it goes, and may lose patience.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    pub tell: &'a (dyn Fn(&Progress) + Sync),
    /// Asked several times a second while the network is waited for, by every thread of a pull; true ends it, and
    /// stays true.
    pub gave_up: &'a (dyn Fn() -> bool + Sync),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    Pulling { reference: String },
    Retrying { reference: String, why: String, delay: Duration },
    Pulled { reference: String, bytes: u64, took: Duration },
}

// === impl Caller ===

impl Caller<'static> {
    /// Nobody listens, and nobody hurries.
    pub fn silent() -> Caller<'static> {
        Caller { tell: &|_| {}, gave_up: &|| false }
    }
}

impl fmt::Debug for Caller<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").finish_non_exhaustive()
    }
}

// === impl Progress ===

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Progress::Pulling { reference } => write!(f, "pulling {reference}"),
            Progress::Retrying { reference, why, delay } => {
                write!(f, "pulling {reference}: {why}; trying again in {:.1} s", delay.as_secs_f64())
            }
            Progress::Pulled { reference, bytes, took } => {
                let (whole, tenth) = (bytes / 1_000_000, bytes / 100_000 % 10);
                write!(f, "pulled {reference}, {whole}.{tenth} MB in {:.1} s", took.as_secs_f64())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_as_a_user_sees_them() {
        let reference = "example.com/app:1".to_owned();
        let took = Duration::from_millis(2340);
        let pulled = Progress::Pulled { reference: reference.clone(), bytes: 12_345_678, took };
        assert_eq!(pulled.to_string(), "pulled example.com/app:1, 12.3 MB in 2.3 s");
        let again = Progress::Retrying {
            reference,
            why: "it answered 500".into(),
            delay: Duration::from_millis(500),
        };
        assert_eq!(again.to_string(), "pulling example.com/app:1: it answered 500; trying again in 0.5 s");
    }
}
