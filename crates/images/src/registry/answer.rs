//! What a registry answered, and whether it is worth asking again.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use oci_client::errors::{DigestError, OciDistributionError as Oci, OciEnvelope, OciErrorCode};

use crate::blobs::ContentError;

/// Why an image did not come.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    #[error(
        "{registry} wants a login (401): it may be a private image, or one that does not exist; \
         logging in is not supported yet, a private image can be given as oci-archive:PATH"
    )]
    Unauthorized { registry: String },
    #[error("{registry} refused it ({message}): it may be a private image, or one that does not exist")]
    Denied { registry: String, message: String },
    #[error("{registry} does not have it (404): check the name and the tag")]
    NotFound { registry: String },
    #[error("{registry} takes no more requests from here now (429): wait a while and try again")]
    TooManyRequests { registry: String },
    #[error("{registry} answered {code}{message}: ask those who run it, or try again later")]
    Status { registry: String, code: u16, message: String },
    #[error("{registry} refused the request: {message}")]
    Refused { registry: String, message: String },
    #[error(
        "{registry} could not be asked: check its name and the network; it must speak HTTPS unless it is on this host"
    )]
    Network { registry: String, source: Box<Oci> },
    #[error("the connection to {registry} broke in the middle of {digest}")]
    Cut { registry: String, digest: String, source: io::Error },
    #[error("{registry} gave an answer that is none of a registry's")]
    Strange { registry: String, source: Box<Oci> },
    #[error("{digest} goes on after the {longest} bytes its manifest says")]
    TooLong { digest: String, longest: u64 },
    #[error("the manifest does not say how large {0} is")]
    NoSize(String),
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error("write {path}")]
    Write { path: PathBuf, source: io::Error },
    #[error("the client for registries cannot be made: are this host's root certificates installed?")]
    Client(#[source] Box<Oci>),
    #[error("the runtime for the network cannot be made")]
    Runtime(#[source] io::Error),
    #[error("interrupted")]
    GaveUp,
}

// === impl PullError ===

impl PullError {
    pub(super) fn of(registry: &str, error: Oci) -> PullError {
        let registry = registry.to_owned();
        match error {
            Oci::UnauthorizedError { .. } => PullError::Unauthorized { registry },
            Oci::AuthenticationFailure(message) => PullError::Denied { registry, message: short(&message) },
            Oci::ServerError { code, message, .. } => status(registry, code, &message),
            Oci::RegistryError { envelope, .. } => refusal(registry, &envelope),
            Oci::DigestError(DigestError::VerificationError { expected, actual }) => {
                damaged(expected, actual)
            }
            Oci::RequestError(_) => PullError::Network { registry, source: Box::new(error) },
            other => PullError::Strange { registry, source: Box::new(other) },
        }
    }

    /// A blob that stopped coming, or came and is another one.
    pub(super) fn cut(registry: &str, digest: &str, error: io::Error) -> PullError {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<DigestError>()) {
            Some(DigestError::VerificationError { expected, actual }) => {
                damaged(expected.clone(), actual.clone())
            }
            _ => PullError::Cut { registry: registry.to_owned(), digest: digest.to_owned(), source: error },
        }
    }

    /// Whether the same question may get another answer soon.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            PullError::Network { .. } | PullError::Cut { .. } | PullError::TooManyRequests { .. } => true,
            PullError::Status { code, .. } => *code >= 500,
            _ => false,
        }
    }

    /// The error and its deepest cause, which is what the network said.
    pub(super) fn line(&self) -> String {
        let mut deepest: &dyn Error = self;
        while let Some(cause) = deepest.source() {
            deepest = cause;
        }
        let (text, cause) = (self.to_string(), deepest.to_string());
        if text.ends_with(&cause) { text } else { format!("{text}: {cause}") }
    }
}

fn damaged(wanted: String, found: String) -> PullError {
    ContentError::Damaged { wanted, found }.into()
}

fn status(registry: String, code: u16, message: &str) -> PullError {
    match code {
        404 => PullError::NotFound { registry },
        429 => PullError::TooManyRequests { registry },
        401 => PullError::Unauthorized { registry },
        403 => PullError::Denied { registry, message: short(&format!("403 {message}")) },
        code => {
            let message = short(message);
            let message = if message.is_empty() { message } else { format!(" ({message})") };
            PullError::Status { registry, code, message }
        }
    }
}

/// The status is lost here, but the code in the body says the same.
fn refusal(registry: String, envelope: &OciEnvelope) -> PullError {
    let Some(first) = envelope.errors.first() else {
        return PullError::Refused { registry, message: "it does not say why".to_owned() };
    };
    let message = short(&first.message);
    match first.code {
        OciErrorCode::ManifestUnknown
        | OciErrorCode::NameUnknown
        | OciErrorCode::BlobUnknown
        | OciErrorCode::ManifestBlobUnknown
        | OciErrorCode::NotFound => PullError::NotFound { registry },
        OciErrorCode::Unauthorized => PullError::Unauthorized { registry },
        OciErrorCode::Denied => PullError::Denied { registry, message },
        OciErrorCode::Toomanyrequests => PullError::TooManyRequests { registry },
        _ => PullError::Refused { registry, message },
    }
}

/// Foreign text for one line of ours.
fn short(text: &str) -> String {
    const LONGEST: usize = 200;
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    text.trim().chars().take(LONGEST).map(printable).collect()
}

#[cfg(test)]
mod tests;
