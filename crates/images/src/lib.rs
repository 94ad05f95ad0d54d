//! OCI images: where a pod's image comes from and how it becomes a directory.
//!
//! | module | what it knows |
//! |---|---|
//! | [`source`] | what a pod's `image:` may say |
//! | [`archive`] | OCI archives: a tar file with an image layout in it |
//! | [`document`] | the JSON of index, manifest and configuration |
//! | [`unpack`] | layers onto a directory, and never outside it |
//! | [`store`] | unpacked images, complete or absent |
//!
//! Registries are not spoken to yet.

pub mod archive;
pub mod document;
pub mod source;
pub mod store;
pub mod unpack;

#[cfg(test)]
mod sample;

pub use source::Source;
pub use store::{Image, ImageError, Store};
