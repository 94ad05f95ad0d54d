//! The command line: arguments in, other crates at work, words out. No logic of its own.
//!
//! | module | verb |
//! |---|---|
//! | [`up`] | `porthole up FILE…` |
//! | [`ps`] | `porthole ps` |
//! | [`logs`] | `porthole logs POD` |
//! | [`exec`], [`attach`] | `porthole exec POD -- COMMAND`, `porthole attach POD` |
//! | [`stats`] | `porthole stats` |
//! | [`port_forward`] | `porthole port-forward POD PORT…` |
//! | [`stop`], [`rm`] | `porthole stop POD…`, `porthole rm POD…` |
//! | [`check`](mod@check) | `porthole check FILE…` |
//! | [`cri`](mod@cri) | `porthole cri` |
//! | [`doctor`] | `porthole doctor` |
//! | [`image`] | `porthole image pull`, `push`, `ls`, `inspect`, `rm`, `save`, `load`, `fsck`, `gc`, `build`, `explain` |
//! | [`manifests`] | `porthole manifests NAME` |
//! | [`webhook`] | `porthole webhook` |
//! | [`debug`] | `porthole debug failpoints` |
//!
//! Beside them: [`cli`] declares the arguments, [`manifest`] reads files of pods, [`failure`] knows the exit
//! codes, [`names`] which pod is meant, [`needs`] what containers cannot do without, [`door`] how the agent is reached, `facts` prints for people or programs, `upkeep` is what agents let go of, [`converse`] passes streams on, [`table`] aligns columns, [`root`] says where state is, [`embedded`] has the holder's program.

pub mod attach;
pub mod check;
pub mod cli;
pub mod converse;
pub mod cri;
pub mod debug;
pub mod doctor;
pub mod door;
pub mod embedded;
pub mod exec;
mod facts;
pub mod failure;
pub mod image;
pub mod logs;
pub mod manifest;
pub mod manifests;
pub mod names;
pub mod needs;
pub mod port_forward;
pub mod ps;
pub mod rm;
pub mod root;
pub mod stats;
pub mod stop;
pub mod table;
pub mod up;
mod upkeep;
pub mod webhook;
