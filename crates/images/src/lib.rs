//! OCI images: where a pod's image comes from and how it becomes a directory.
//!
//! | module | what it knows |
//! |---|---|
//! | [`source`] | what a pod's `image:` may say |
//! | [`reference`] | names of images in registries |
//! | [`build`] | images from a Dockerfile, without Docker |
//! | [`candidates`] | what an image offers, for which platforms |
//! | [`hive`] | registry hives with nothing in them, which Windows wants in a base layer |
//! | [`platform`] | which entry of an index is for a host, and why |
//! | [`policy`] | when an image is pulled |
//! | [`blobs`] | where an image's parts lie, and which of them are this host's |
//! | [`archive`] | … in a tar file |
//! | [`registry`] | … in a registry |
//! | [`push`] | the way there |
//! | [`keyring`] | credentials for registries |
//! | [`hosts`] | mirrors and certificates of registries |
//! | [`document`] | the JSON of index, manifest and configuration |
//! | [`transfer`] | images to files and from files |
//! | [`unpack`] | layers onto a directory, and never outside it |
//! | [`stack`] | unpacked layers, seen as one directory |
//! | [`content`] | the store of blobs, layers and records; [`digest`], [`record`], [`names`] are what is in it |
//! | [`lease`], [`collect`], [`fsck`] | what of it must stay, may go, is damaged |
//! | [`fail`] | where tests can make a process die |
//! | [`store`] | unpacked images, complete or absent |
//! | [`progress`] | what a pull tells the one who waits for it |

pub mod archive;
pub mod blobs;
pub mod build;
pub mod candidates;
pub mod collect;
pub mod content;
pub mod digest;
pub mod document;
pub mod fail;
pub mod fsck;
pub mod hive;
pub mod hosts;
pub mod keyring;
pub mod lease;
pub mod names;
pub mod platform;
pub mod policy;
pub mod progress;
mod pull;
pub mod push;
pub mod record;
pub mod reference;
pub mod registry;
pub mod source;
pub mod stack;
pub mod store;
pub mod transfer;
pub mod unpack;

#[cfg(test)]
mod sample;
mod security;

pub use content::{Content, DepotError};
pub use digest::Digest;
pub use policy::PullPolicy;
pub use progress::{Caller, Progress, Stage};
pub use reference::Reference;
pub use registry::{Access, Remote};
pub use source::Source;
pub use store::{Files, Image, ImageError, Status, Store, Wanted};
