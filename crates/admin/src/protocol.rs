//! What the command line and the agent say to each other.
//!
//! The frames are the holder's ([`holder::protocol`]): a length, a version, one JSON value, with its limits. The words
//! have a version of their own, told in the first frame. After [`Answer::Streaming`] the connection carries
//! [chunks](holder::stream).

use holder::protocol::FrameError;
use os::job::JobStats;
use os::terminal::Size;
use runtime::{ContainerId, PodId};
use serde::{Deserialize, Serialize};

/// The version this build speaks. The next one may have more requests and more fields.
pub const VERSION: u8 = 1;

/// What is asked of the agent. Every request gets exactly one [`Answer`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Request {
    Hello {
        version: u8,
    },
    /// Ends a pod within its grace period or the one given; answered when it has ended.
    Stop {
        pod: PodId,
        #[serde(default)]
        grace_ms: Option<u64>,
    },
    /// Takes a pod off the host; refused while something of it runs, unless forced.
    Remove {
        pod: PodId,
        #[serde(default)]
        force: bool,
    },
    /// What the running containers of these pods use; of all pods with none.
    Stats {
        pods: Vec<PodId>,
    },
    /// One more process in a running container.
    Exec(Exec),
    /// The streams of a running container.
    Attach {
        container: ContainerId,
        #[serde(default)]
        stdin: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exec {
    pub container: ContainerId,
    pub argv: Vec<String>,
    #[serde(default)]
    pub stdin: bool,
    /// With a terminal of this size instead of pipes.
    #[serde(default)]
    pub terminal: Option<Size>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    Hello {
        version: u8,
        pid: u32,
    },
    Done,
    Stats(Vec<PodUsage>),
    /// From here on the connection carries chunks, until its end.
    Streaming {
        pid: u32,
    },
    Refused(Refused),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PodUsage {
    pub pod: PodId,
    pub containers: Vec<ContainerUsage>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContainerUsage {
    pub id: ContainerId,
    pub name: String,
    pub job: JobStats,
    /// What it has written into its image, as last measured.
    #[serde(default)]
    pub writable_bytes: Option<u64>,
}

/// Why something was not done. The message is for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    pub why: Refusal,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// No such pod or container.
    Unknown,
    /// It is not in a state in which that can be done.
    State,
    /// The program cannot be run.
    Start,
    /// What was said cannot be understood.
    Malformed,
    /// Too many clients.
    Busy,
    /// The host did not allow it.
    System,
}

// === impl Refused ===

impl Refused {
    pub fn new(why: Refusal, message: impl Into<String>) -> Refused {
        Refused { why, message: message.into() }
    }

    /// What to say to a frame that is none; nothing if nobody would hear it.
    pub(crate) fn of_frame(error: &FrameError) -> Option<Refused> {
        match error {
            FrameError::Closed | FrameError::Io(_) => None,
            other => Some(Refused::new(Refusal::Malformed, runtime::error::chain(other))),
        }
    }
}

#[cfg(test)]
mod tests {
    use holder::protocol::{LONGEST_FRAME, decode, encode, receive};
    use proptest::prelude::*;

    use super::*;

    fn received(bytes: &[u8]) -> Result<Request, FrameError> {
        receive(&mut &bytes[..])
    }

    fn container() -> ContainerId {
        ContainerId::of(&PodId::parse("p").unwrap(), "main", 0)
    }

    #[test]
    fn every_request_is_read_as_it_was_written() {
        let pod = PodId::parse("p-1").unwrap();
        let exec = Exec {
            container: container(),
            argv: vec!["a".into(), "b \"c\"".into()],
            stdin: true,
            terminal: Some(Size { columns: 80, rows: 24 }),
        };
        for request in [
            Request::Hello { version: VERSION },
            Request::Stop { pod: pod.clone(), grace_ms: Some(7) },
            Request::Remove { pod: pod.clone(), force: true },
            Request::Stats { pods: vec![pod] },
            Request::Exec(exec),
            Request::Attach { container: container(), stdin: true },
        ] {
            assert_eq!(received(&encode(&request).unwrap()).unwrap(), request);
        }
    }

    #[test]
    fn fields_of_another_version_do_no_harm() {
        let json = br#"_{"Stop":{"pod":"p","colour":"red"}}"#;
        let mut body = json.to_vec();
        body[0] = holder::protocol::VERSION;
        let stop = Request::Stop { pod: PodId::parse("p").unwrap(), grace_ms: None };
        assert_eq!(decode::<Request>(&body).unwrap(), stop);
    }

    #[test]
    fn what_is_no_request_is_named_and_ids_that_climb_are_none() {
        let said = |bytes: &[u8]| Refused::of_frame(&received(bytes).unwrap_err()).map(|it| it.why);
        let frame = |json: &str| encode(&serde_json::from_str::<serde_json::Value>(json).unwrap()).unwrap();
        let malformed = Some(Refusal::Malformed);
        assert_eq!(said(&frame(r#"{"Fly":{}}"#)), malformed);
        assert_eq!(said(&frame(r#"{"Stop":{"pod":"../x"}}"#)), malformed);
        assert_eq!(said(&frame(r#"{"Attach":{"container":"x"}}"#)), malformed);
        assert_eq!(said(&(LONGEST_FRAME + 1).to_le_bytes()), malformed);
        assert_eq!(said(&[0; 4]), malformed);
        assert_eq!(said(&[1, 0, 0, 0, 99]), malformed);
        assert_eq!(said(&[]), None);
        assert_eq!(said(&[9, 0, 0, 0, 2]), None);
    }

    proptest! {
        #[test]
        fn foreign_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(request) = received(&bytes) {
                prop_assert_eq!(received(&encode(&request).unwrap()).unwrap(), request);
            }
        }

        #[test]
        fn foreign_json_is_a_request_or_malformed(text in r#"\{"(Hello|Stop|Remove|Stats|Exec|Attach)":.{0,60}\}"#) {
            let mut body = vec![holder::protocol::VERSION];
            body.extend_from_slice(text.as_bytes());
            if let Err(e) = decode::<Request>(&body) {
                prop_assert_eq!(Refused::of_frame(&e).unwrap().why, Refusal::Malformed);
            }
        }
    }
}
