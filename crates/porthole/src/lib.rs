//! The command line: arguments in, other crates at work, words out. No logic of its own.
//!
//! | module | verb |
//! |---|---|
//! | [`up`] | `porthole up FILE…` |
//! | [`ps`] | `porthole ps` |
//! | [`logs`] | `porthole logs POD` |
//! | [`check`](mod@check) | `porthole check FILE…` |
//! | [`doctor`] | `porthole doctor` |
//! | [`image`] | `porthole image pull`, `push`, `ls`, `inspect`, `rm`, `save`, `load`, `fsck`, `gc`, `build`, `explain` |
//! | [`manifests`] | `porthole manifests NAME` |
//! | [`webhook`] | `porthole webhook` |
//! | [`debug`] | `porthole debug failpoints` |
//!
//! Beside them: [`cli`] declares the arguments, [`manifest`] reads files of pods, [`failure`] knows the exit
//! codes, [`table`] aligns columns, [`root`] says where state is, [`embedded`] has the holder's program.

pub mod check;
pub mod cli;
pub mod debug;
pub mod doctor;
pub mod embedded;
pub mod failure;
pub mod image;
pub mod logs;
pub mod manifest;
pub mod manifests;
pub mod ps;
pub mod root;
pub mod table;
pub mod up;
pub mod webhook;
