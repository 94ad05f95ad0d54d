//! Requests into the runtime's words. Pure: what comes from a client is judged here completely, before anything is done.

mod annotation;
mod container;
mod exec;
mod handler;
mod image;
mod mounts;
mod pod;
mod resources;
mod text;

pub use annotation::ALPHA;
pub use container::{Asked, OfPod, container};
pub use exec::{Streams, attach, exec, exec_sync, grace, port_forward};
pub use handler::{HYPERVISOR, Handler, PROCESS};
pub use image::{Pull, image_name, pull};
pub use pod::{PodRules, pod, pod_id, pod_resources};
pub use resources::{Change, update};
pub use text::id;

/// Why a request is refused, naming the field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    #[error("{0} is missing")]
    Missing(&'static str),
    #[error("{field} is {found}: wanted {wanted}")]
    Invalid { field: String, found: String, wanted: &'static str },
    #[error("{field}: {why}")]
    Unsupported { field: String, why: &'static str },
    #[error("{field}: {why}")]
    Forbidden { field: String, why: String },
    #[error("{0}")]
    Limits(#[from] plan::limits::LimitError),
}

// === impl WireError ===

impl WireError {
    pub(crate) fn invalid(field: &str, found: impl std::fmt::Debug, wanted: &'static str) -> WireError {
        let mut found = format!("{found:?}");
        // A message is for people: nobody reads on after this.
        if let Some((at, _)) = found.char_indices().nth(LONGEST_FOUND) {
            found.truncate(at);
            found.push('…');
        }
        WireError::Invalid { field: field.to_owned(), found, wanted }
    }

    pub(crate) fn unsupported(field: &str, why: &'static str) -> WireError {
        WireError::Unsupported { field: field.to_owned(), why }
    }
}

const LONGEST_FOUND: usize = 120;
