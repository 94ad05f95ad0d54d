//! The one shelf for the operating system: everything above it is the same code on Windows and on Linux.
//!
//! | concept | module | Windows | Linux (the twin) |
//! |---|---|---|---|
//! | a group of processes that lives and dies as one | [`job`] | named job object, kill on close | cgroup v1 or v2; without root a pid namespace |
//! | a process and its stdio | [`process`] | `CreateProcessW` with a job list | fork, mount namespace, exec |
//! | a protected channel between our own programs | [`channel`] | named pipe under `ProtectedPrefix` | unix socket, peer credentials checked |
//! | what a job's processes see of the file system | [`view`] | silo and bind filter | mount namespace |
//! | as whom a process runs | [`user`] | tokens, local users and groups | uid and gids of `/etc/passwd` and `/etc/group` |
//! | a process that talks to a person | [`terminal`] | ConPTY | pty |
//! | a pipe that may never end | [`tap`] | cancelled reads | poll with an event |
//! | clients of a server, with the feature `async` | `incoming` | named pipes | Unix sockets |
//! | what this machine is | [`host`] | version, registry, token | uname, /proc, os-release |
//! | what this machine can do | [`probe`] | tried, or asked of the loader | tried in a throw-away child |
//! | being asked to stop | [`interrupt`] | console control events | SIGINT, SIGTERM, SIGHUP |
//! | files that must survive or must not be seen | [`file`](mod@file) | protected DACL, `LockFileEx` | modes, `flock` |
//! | one spelling for a path | [`path`](mod@path) | letters of the disk, no `\\?\` | links followed |
//! | layers that are seen as one directory | [`overlay`] | none: images are whole there | marks of overlayfs |
//! | locks of threads and processes alike | [`lock`] | `LockFileEx` | `flock` |
//! | foreign names below a directory | [`tree`] | paths whose every part was looked at | one `openat` per name |
//!
//! Each concept is a small type over an owned handle, blocking, without policy: who may start what, and when, is
//! decided elsewhere. `porthole-hold` links this crate, so it stays lean: no big dependency, and no async runtime without
//! the feature `async`.
#![expect(unsafe_code, reason = "this crate is where Win32 and libc are called")]

pub mod channel;
pub mod descriptor;
pub mod file;
pub mod host;
#[cfg(feature = "async")]
pub mod incoming;
pub mod interrupt;
pub mod job;
pub mod lock;
pub mod overlay;
pub mod path;
pub mod probe;
pub mod process;
pub mod tap;
pub mod terminal;
pub mod tree;
pub mod user;
pub mod view;

#[cfg(target_os = "linux")]
#[path = "linux/mod.rs"]
mod sys;

#[cfg(windows)]
#[path = "windows/mod.rs"]
mod sys;

pub use file::elevated;
