//! How a container ended, as a file that outlives everyone.
//!
//! Written by the holder before it tells anybody, read by whichever agent comes next.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The content of `exit.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExitRecord {
    pub v: u32,
    pub id: String,
    pub code: u32,
    /// The signal that ended it, where the system has signals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    pub reason: ExitReason,
    pub started: String,
    pub finished: String,
    /// For people: what was unusual about this end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The reasons a kubelet knows, plus the one that only we have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExitReason {
    Completed,
    Error,
    /// The program could not be started: code 128, as kubelets expect it.
    StartError,
    /// The memory limit struck, and the container did not end well after that.
    #[serde(rename = "OOMKilled")]
    OomKilled,
    /// The holder ended first and its container with it. Written by the agent that finds out.
    HolderDied,
    /// A word of a later version, whose files an agent that was put back may find.
    #[serde(other)]
    Other,
}

/// The exit code of a container that was never started.
pub const START_ERROR_CODE: u32 = 128;
/// The exit code of a container whose job was killed: 128 + SIGKILL on every system.
pub const KILLED_CODE: u32 = 137;

// === impl ExitRecord ===

impl ExitRecord {
    pub fn write(&self, path: &Path) -> io::Result<()> {
        os::file::write_durable(path, &serde_json::to_vec_pretty(self)?)
    }

    /// `None` if there is no record: the container has not ended, or nobody was there to see it.
    pub fn read(path: &Path) -> io::Result<Option<ExitRecord>> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }
}

// === impl ExitReason ===

impl ExitReason {
    pub fn of_code(code: u32) -> ExitReason {
        if code == 0 { ExitReason::Completed } else { ExitReason::Error }
    }

    /// Of an end before which the memory limit struck so often.
    pub fn of_end(code: u32, memory_limit_hits: u64) -> ExitReason {
        match ExitReason::of_code(code) {
            ExitReason::Error if memory_limit_hits > 0 => ExitReason::OomKilled,
            reason => reason,
        }
    }

    /// For an agent that cannot know the words that came later.
    pub(crate) fn as_in_version_1(self) -> ExitReason {
        match self {
            ExitReason::OomKilled | ExitReason::Other => ExitReason::Error,
            known => known,
        }
    }
}

impl std::fmt::Display for ExitReason {
    /// As kubelets spell it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ExitReason::OomKilled => f.write_str("OOMKilled"),
            ExitReason::Other => f.write_str("Error"),
            other => std::fmt::Debug::fmt(other, f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> ExitRecord {
        ExitRecord {
            v: 1,
            id: "main-0".into(),
            code: 7,
            signal: None,
            reason: ExitReason::of_code(7),
            started: "2026-01-01T00:00:00.000000000Z".into(),
            finished: "2026-01-01T00:00:01.000000000Z".into(),
            message: None,
        }
    }

    #[test]
    fn a_record_reads_back_as_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("exit.json");
        assert_eq!(ExitRecord::read(&path).unwrap(), None);
        record().write(&path).unwrap();
        assert_eq!(ExitRecord::read(&path).unwrap(), Some(record()));
    }

    #[test]
    fn a_damaged_record_is_an_error_not_an_absence() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("exit.json");
        std::fs::write(&path, "{\"v\":1").unwrap();
        assert!(ExitRecord::read(&path).is_err());
        assert!(ExitRecord::read(dir.path()).is_err());
    }

    #[test]
    fn code_zero_alone_is_completed() {
        assert_eq!(ExitReason::of_code(0), ExitReason::Completed);
        assert_eq!(ExitReason::of_code(1), ExitReason::Error);
        assert_eq!(ExitReason::HolderDied.to_string(), "HolderDied");
    }

    #[test]
    fn a_memory_limit_that_struck_is_the_reason_unless_all_went_well() {
        assert_eq!(ExitReason::of_end(137, 1), ExitReason::OomKilled);
        assert_eq!(ExitReason::of_end(1, 3), ExitReason::OomKilled);
        assert_eq!(ExitReason::of_end(0, 1), ExitReason::Completed);
        assert_eq!(ExitReason::of_end(137, 0), ExitReason::Error);
        assert_eq!(ExitReason::OomKilled.to_string(), "OOMKilled");
        assert_eq!(serde_json::to_string(&ExitReason::OomKilled).unwrap(), "\"OOMKilled\"");
    }

    #[test]
    fn a_reason_of_a_later_version_does_not_make_the_record_unreadable() {
        let later = serde_json::to_string(&record()).unwrap().replace("\"Error\"", "\"Bored\"");
        let read: ExitRecord = serde_json::from_str(&later).unwrap();
        assert_eq!((read.reason, read.reason.to_string().as_str()), (ExitReason::Other, "Error"));
    }
}
