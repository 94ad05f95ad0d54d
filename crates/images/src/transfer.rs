//! Images to files and from files: what travels where no registry is reachable.
//!
//! | module | what it knows |
//! |---|---|
//! | `package` | the members of an archive or a directory, by name; compressed archives and streams |
//! | `layout` | the OCI layout: `index.json` lists images |
//! | `docker` | Docker's archive: `manifest.json` lists images, older and newer forms |
//! | `load` | what is listed there, into the store |
//! | `save` | what is in the store, out again |
//! | `shelf` | where the members go: a directory or a tar stream |

#[cfg(test)]
mod desk;
mod docker;
mod error;
mod layout;
mod load;
mod package;
mod save;
mod shelf;

pub use error::TransferError;
pub use load::{Found, Imported, format_of, import};
pub use package::Package;
pub use save::{Chosen, Platforms, Saved, SavedImage, root, save};
pub use shelf::Target;

/// How images lie in a file or a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A directory with `index.json` and `blobs/`.
    OciDir,
    /// The same as a tar file.
    OciArchive,
    /// What `docker save` writes and `docker load` reads: `manifest.json` and plain layers.
    DockerArchive,
}

// === impl Format ===

impl Format {
    pub fn name(self) -> &'static str {
        match self {
            Format::OciDir => "oci-dir",
            Format::OciArchive => "oci-archive",
            Format::DockerArchive => "docker-archive",
        }
    }
}
