//! Layers on the real file system: what arrives, in which form, and what must not happen.

#[cfg(unix)]
mod attributes;
mod hostile;
mod hostile_archives;
mod hostile_on_windows;
mod left_out;
#[cfg(unix)]
mod overlay;
mod support;
#[cfg(windows)]
mod windows;
