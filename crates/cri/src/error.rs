//! Why something was not done, and the gRPC code that says so: the one place where the two meet.

use images::hosts::HostsError;
use images::registry::answer::PullError;
use images::{DepotError, ImageError};
use runtime::error::{PodRefused, RuntimeError, StartError, chain};
use runtime::prepare::{LimitsRefused, PrepareError};
use tonic::{Code, Status};

use crate::wire::WireError;

#[derive(Debug, thiserror::Error)]
pub enum CriError {
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Depot(#[from] DepotError),
    #[error("the credentials for {image}")]
    Login { image: String, source: images::keyring::KeyringError },
    #[error("no {what} {id:?}")]
    NotFound { what: &'static str, id: String },
    #[error("{what} {id:?} can be several: {}", .all.join(", "))]
    Ambiguous { what: &'static str, id: String, all: Vec<String> },
    #[error("the program did not end within its {seconds} seconds and was killed")]
    ExecTimeout { seconds: u64 },
    #[error("container {id} could not be started: {why}")]
    NeverStarted { id: String, why: String },
    #[error(transparent)]
    Stream(#[from] streaming::RequestError),
    #[error("nothing is streamed here: the server for it is not up")]
    NoStreams,
    #[error("not supported: {0}")]
    Unimplemented(&'static str),
}

/// The text of a status is a header, of which clients take 16 KiB in all, and each of its bytes may become three.
const LONGEST: usize = 4096;

// === impl CriError ===

impl CriError {
    pub fn code(&self) -> Code {
        match self {
            CriError::Wire(error) => of_wire(error),
            CriError::Runtime(error) => of_runtime(error),
            CriError::Image(error) => of_image(error),
            CriError::Depot(error) => of_depot(error),
            CriError::Login { .. } | CriError::Ambiguous { .. } => Code::InvalidArgument,
            CriError::NotFound { .. } => Code::NotFound,
            CriError::ExecTimeout { .. } => Code::DeadlineExceeded,
            CriError::NeverStarted { .. } => Code::FailedPrecondition,
            CriError::Stream(error) => of_stream(error),
            CriError::NoStreams => Code::Unavailable,
            CriError::Unimplemented(_) => Code::Unimplemented,
        }
    }
}

impl From<CriError> for Status {
    fn from(error: CriError) -> Status {
        Status::new(error.code(), clipped(chain(&error)))
    }
}

/// What was found, which comes first, may be as long as a request; why it was refused comes last.
fn clipped(text: String) -> String {
    if text.len() <= LONGEST {
        return text;
    }
    let head = &text[..text.floor_char_boundary(LONGEST / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - LONGEST / 2)..];
    format!("{head} … {tail}")
}

fn of_wire(error: &WireError) -> Code {
    match error {
        WireError::Missing(_) | WireError::Invalid { .. } | WireError::Limits(_) => Code::InvalidArgument,
        WireError::Unsupported { .. } => Code::Unimplemented,
        WireError::Forbidden { .. } => Code::PermissionDenied,
    }
}

fn of_runtime(error: &RuntimeError) -> Code {
    match error {
        RuntimeError::Id(_) => Code::InvalidArgument,
        RuntimeError::NoPod(_) | RuntimeError::NoContainer(_) => Code::NotFound,
        RuntimeError::State { .. } | RuntimeError::PodState { .. } => Code::FailedPrecondition,
        RuntimeError::PodRefused(PodRefused::Isolated) => Code::Unimplemented,
        RuntimeError::PodRefused(_) => Code::InvalidArgument,
        RuntimeError::Taken { .. } => Code::AlreadyExists,
        RuntimeError::Damaged { .. } => Code::DataLoss,
        RuntimeError::Refused { source, .. } | RuntimeError::Exec { source, .. } => of_prepare(source),
        RuntimeError::Start(StartError::Prepare(source)) => of_prepare(source),
        RuntimeError::Start(StartError::Forgotten | StartError::Account { .. }) => Code::FailedPrecondition,
        RuntimeError::Start(StartError::Client(error)) | RuntimeError::Client(error) => of_client(error),
        RuntimeError::ExecRefused { .. } => Code::FailedPrecondition,
        RuntimeError::DidNotEnd { .. } => Code::DeadlineExceeded,
        RuntimeError::Images(error) => of_depot(error),
        RuntimeError::Start(_)
        | RuntimeError::Write { .. }
        | RuntimeError::Undo(_)
        | RuntimeError::Several(_) => Code::Internal,
    }
}

fn of_prepare(error: &PrepareError) -> Code {
    match error {
        PrepareError::Limits(LimitsRefused::Host(_)) | PrepareError::Layers => Code::FailedPrecondition,
        PrepareError::Source { .. } => Code::FailedPrecondition,
        _ => Code::InvalidArgument,
    }
}

/// A holder that is gone took its containers along; the next look will say so.
fn of_client(error: &holder::client::ClientError) -> Code {
    match error {
        holder::client::ClientError::Refused { .. } => Code::FailedPrecondition,
        error if error.is_absent() => Code::Unavailable,
        _ => Code::Internal,
    }
}

fn of_image(error: &ImageError) -> Code {
    match error {
        ImageError::Never { .. } => Code::NotFound,
        ImageError::Pull { source, .. } => of_pull(source),
        ImageError::GaveUp { .. } => Code::DeadlineExceeded,
        ImageError::Depot(error) => of_depot(error),
        ImageError::NotADirectory { .. } => Code::InvalidArgument,
        ImageError::Layer { .. } | ImageError::DiffId { .. } | ImageError::Archive { .. } => Code::DataLoss,
        ImageError::Stored { .. } | ImageError::Store { .. } => Code::Internal,
    }
}

fn of_pull(error: &PullError) -> Code {
    match error {
        PullError::Unauthorized { .. } => Code::Unauthenticated,
        PullError::Denied { .. } => Code::PermissionDenied,
        PullError::NotFound { .. } => Code::NotFound,
        PullError::TooManyRequests { .. } => Code::ResourceExhausted,
        PullError::Status { .. } | PullError::Network { .. } | PullError::Cut { .. } => Code::Unavailable,
        PullError::GaveUp => Code::DeadlineExceeded,
        // No platform fits, or what came is not what was promised.
        PullError::Content(_) | PullError::Untrusted { .. } | PullError::Uncertified { .. } => {
            Code::FailedPrecondition
        }
        PullError::Refused { .. } | PullError::Keyring(_) => Code::InvalidArgument,
        // A name after all rules, of a host that cannot be: `1.2.3.400`.
        PullError::Hosts(HostsError::Address { .. }) => Code::InvalidArgument,
        PullError::Strange { .. }
        | PullError::WrongSize { .. }
        | PullError::TooLong { .. }
        | PullError::NoSize(_)
        | PullError::ForeignUrl { .. }
        | PullError::Hosts(_)
        | PullError::Write { .. }
        | PullError::Client { .. }
        | PullError::Runtime(_) => Code::Internal,
    }
}

fn of_depot(error: &DepotError) -> Code {
    match error {
        DepotError::NoImage(_) => Code::NotFound,
        DepotError::Ambiguous { .. } => Code::InvalidArgument,
        DepotError::InUse { .. } | DepotError::SeveralNames { .. } => Code::FailedPrecondition,
        DepotError::GaveUp(_) => Code::DeadlineExceeded,
        _ => Code::Internal,
    }
}

fn of_stream(error: &streaming::RequestError) -> Code {
    match error {
        streaming::RequestError::TooMany(_) => Code::ResourceExhausted,
        streaming::RequestError::NoRandom(_) => Code::Internal,
        _ => Code::InvalidArgument,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_no_more_than_fits_into_a_header_and_says_why() {
        assert_eq!(clipped("é".repeat(LONGEST / 2)), "é".repeat(LONGEST / 2));
        for length in [LONGEST + 1, LONGEST + 2, 5_000_000] {
            let status =
                Status::from(CriError::NeverStarted { id: "é".repeat(length), why: "too long".into() });
            let said = status.message();
            assert!(said.starts_with("container éé") && said.ends_with("é could not be started: too long"));
            assert!(said.contains("é … é") && said.len() <= LONGEST + " … ".len(), "{}", said.len());
        }
    }
}
