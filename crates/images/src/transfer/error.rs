//! What can be wrong with an archive of images, or with what is to be put into one.

use std::io;

use crate::blobs::ContentError;
use crate::content::DepotError;
use crate::platform::NoMatch;
use crate::reference::ReferenceError;

#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    #[error("open {what}")]
    Open { what: String, source: io::Error },
    #[error("{what} is not a readable tar file")]
    Tar { what: String, source: io::Error },
    #[error("{what} ends in the middle of {name}: it was not copied or written to its end")]
    Cut { what: String, name: String },
    #[error("{what} is {found}: wanted a tar file, plain or compressed with gzip or zstd")]
    Packed { what: String, found: String },
    #[error("{what} is neither an OCI layout (index.json) nor a Docker archive (manifest.json): {found}")]
    Unknown { what: String, found: String },
    #[error("{what} has more than {longest} bytes when it is unpacked: no archive of images has so many")]
    TooLarge { what: String, longest: u64 },
    #[error("{what} has more than {most} members: no archive of images has so many")]
    TooManyMembers { what: String, most: usize },
    #[error("{what} leads to more than {most} manifests and indexes: no image has so many")]
    TooManyDocuments { what: String, most: usize },
    #[error("{what} leads to {name:?}, which is not in it")]
    Missing { what: String, name: String },
    #[error("{what} names its member {name:?}, which leads out of it")]
    Outside { what: String, name: String },
    #[error("{what} is an OCI layout of version {found:?}: wanted {wanted}")]
    Version { what: String, found: String, wanted: &'static str },
    #[error("{what} has an image without a valid name")]
    Name { what: String, source: ReferenceError },
    #[error("{what} has no image in it")]
    Empty { what: String },
    #[error("image {config} in {what} has {layers} layers and {ids} diff_ids: wanted one for each")]
    Layers { what: String, config: String, layers: usize, ids: usize },
    #[error("layer {name:?} has the diff_id {found}, and its configuration says {wanted}: it is damaged")]
    DiffId { name: String, wanted: String, found: String },
    #[error("read layer {name:?}")]
    Layer { name: String, source: Box<crate::unpack::UnpackError> },
    #[error("{name}: {digest} is not in the store: pull it again{}", platforms(*all))]
    NotStored { name: String, digest: String, all: bool },
    #[error("{name}")]
    Platform { name: String, source: NoMatch },
    #[error("a Docker archive holds one platform of each image: choose one, or an OCI format")]
    OnePlatform,
    #[error(
        "{path} is there already and is not an OCI layout: wanted an empty directory, or one that is not there"
    )]
    Occupied { path: std::path::PathBuf },
    #[error("write {what}")]
    Write { what: String, source: io::Error },
    #[error("interrupted")]
    GaveUp,
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error(transparent)]
    Depot(#[from] DepotError),
}

fn platforms(all: bool) -> &'static str {
    if all { " with --all-platforms" } else { "" }
}
