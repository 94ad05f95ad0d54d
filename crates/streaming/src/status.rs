//! How a command ended, as the error stream says it.

use serde::{Deserialize, Serialize};

use crate::protocol::Version;
use crate::session::{Ending, Failure};

/// What a client learns at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Succeeded,
    /// A code other than zero.
    Exited(u32),
    Failed(String),
}

/// The parts of a Kubernetes Status that matter here.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Status {
    #[serde(default)]
    metadata: Empty,
    #[serde(default)]
    status: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    message: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    details: Option<Details>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<i32>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Empty {}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Details {
    #[serde(default)]
    causes: Vec<Cause>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Cause {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    reason: String,
    #[serde(default)]
    message: String,
}

const SUCCESS: &str = "Success";
const FAILURE: &str = "Failure";
const NON_ZERO: &str = "NonZeroExitCode";
const EXIT_CODE: &str = "ExitCode";

// === impl Outcome ===

impl Outcome {
    pub(crate) fn of(ended: Result<Ending, Failure>) -> Outcome {
        match ended {
            Ok(Ending::Exited(0) | Ending::Detached) => Outcome::Succeeded,
            Ok(Ending::Exited(code)) => Outcome::Exited(code),
            Err(failure) => Outcome::Failed(whole(&failure)),
        }
    }

    /// What is written to the error stream; nothing where old clients take silence for success.
    pub(crate) fn write(&self, version: Version) -> Vec<u8> {
        if version.has_status() {
            return serde_json::to_vec(&self.status()).unwrap_or_default();
        }
        match self {
            Outcome::Succeeded => Vec::new(),
            Outcome::Exited(code) => {
                format!("command terminated with non-zero exit code: {code}").into_bytes()
            }
            Outcome::Failed(why) => why.clone().into_bytes(),
        }
    }

    fn status(&self) -> Status {
        match self {
            Outcome::Succeeded => Status { status: SUCCESS.to_owned(), ..Status::default() },
            Outcome::Exited(code) => Status {
                status: FAILURE.to_owned(),
                message: format!("command terminated with non-zero exit code: {code}"),
                reason: NON_ZERO.to_owned(),
                details: Some(Details {
                    causes: vec![Cause { reason: EXIT_CODE.to_owned(), message: code.to_string() }],
                }),
                ..Status::default()
            },
            Outcome::Failed(why) => Status {
                status: FAILURE.to_owned(),
                message: format!("Internal error occurred: {why}"),
                reason: "InternalError".to_owned(),
                details: Some(Details {
                    causes: vec![Cause { reason: String::new(), message: why.clone() }],
                }),
                code: Some(500),
                ..Status::default()
            },
        }
    }

    /// What a client makes of all that was on the error stream.
    pub fn read(version: Version, bytes: &[u8]) -> Outcome {
        if !version.has_status() {
            let text = String::from_utf8_lossy(bytes);
            return if text.is_empty() { Outcome::Succeeded } else { Outcome::Failed(text.into_owned()) };
        }
        match serde_json::from_slice::<Status>(bytes) {
            Ok(status) => status.outcome(),
            Err(e) => Outcome::Failed(format!("the error stream has no status: {e}")),
        }
    }
}

// === impl Status ===

impl Status {
    fn outcome(self) -> Outcome {
        if self.status == SUCCESS {
            return Outcome::Succeeded;
        }
        let causes = self.details.iter().flat_map(|details| &details.causes);
        let code =
            causes.filter(|cause| cause.reason == EXIT_CODE).find_map(|cause| cause.message.parse().ok());
        match code {
            Some(code) if self.reason == NON_ZERO => Outcome::Exited(code),
            _ => Outcome::Failed(self.message),
        }
    }
}

/// An error and its causes in one line, without those that the one above tells already.
fn whole(failure: &Failure) -> String {
    let mut text = failure.to_string();
    let mut cause = failure.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(outcome: &Outcome) -> String {
        String::from_utf8(outcome.write(Version::V4)).expect("text")
    }

    // proves: HP-23 pure
    #[test]
    fn the_status_is_what_kubectl_reads() {
        assert_eq!(json(&Outcome::Succeeded), r#"{"metadata":{},"status":"Success"}"#);
        assert_eq!(
            json(&Outcome::Exited(3)),
            r#"{"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code: 3","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}"#
        );
        assert_eq!(
            json(&Outcome::Failed("no".to_owned())),
            r#"{"metadata":{},"status":"Failure","message":"Internal error occurred: no","reason":"InternalError","details":{"causes":[{"message":"no"}]},"code":500}"#
        );
    }

    #[test]
    fn old_clients_get_a_text_or_silence() {
        for version in [Version::V1, Version::V2, Version::V3] {
            assert_eq!(Outcome::Succeeded.write(version), b"");
            assert_eq!(Outcome::Failed("no".to_owned()).write(version), b"no");
            assert!(String::from_utf8_lossy(&Outcome::Exited(7).write(version)).ends_with(": 7"));
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for outcome in [Outcome::Succeeded, Outcome::Exited(1), Outcome::Exited(0xC000_013A)] {
            assert_eq!(Outcome::read(Version::V5, &outcome.write(Version::V5)), outcome);
        }
        let failed = Outcome::read(Version::V4, &Outcome::Failed("why".to_owned()).write(Version::V4));
        assert_eq!(failed, Outcome::Failed("Internal error occurred: why".to_owned()));
        assert!(matches!(Outcome::read(Version::V4, b"{"), Outcome::Failed(_)));
    }

    #[test]
    fn a_failure_is_told_with_its_causes_and_nothing_twice() {
        #[derive(Debug, thiserror::Error)]
        #[error("cannot start")]
        struct Outer(#[source] std::io::Error);
        let cause = || std::io::Error::other("no such file");
        assert_eq!(whole(&Outer(cause()).into()), "cannot start: no such file");
        assert_eq!(whole(&cause().into()), "no such file");
    }
}
