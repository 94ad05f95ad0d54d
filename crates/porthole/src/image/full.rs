//! A disk that is full: no image's fault, and mostly there is something to be done.

use std::io;

use anyhow::Error;

use crate::failure::{Failure, code};
use crate::up::say;

/// An error with this code, unless it is the environment's because there was no room.
pub(super) fn failure(code: i32, error: impl Into<Error>) -> Failure {
    let error = error.into();
    let code = if is_full(&error) { code::ENVIRONMENT } else { code };
    Failure::new(code, error)
}

/// What can be done about an image that has no room in the store. `verb` is what was tried.
pub(super) fn hint(failure: &Failure, verb: &str) {
    if is_full(&failure.error) {
        let gc = "`porthole image gc` frees what no container uses";
        say(&format!("warning: the disk is full: {gc}; then {verb} again"));
    }
}

fn is_full(error: &Error) -> bool {
    let full = |error: &io::Error| error.kind() == io::ErrorKind::StorageFull;
    error.chain().any(|cause| cause.downcast_ref().is_some_and(full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_the_environments_however_deep_it_is_told() {
        let of =
            |kind: io::ErrorKind| failure(code::NO, Error::new(io::Error::from(kind)).context("write x"));
        assert_eq!(of(io::ErrorKind::StorageFull).code, code::ENVIRONMENT);
        assert_eq!(of(io::ErrorKind::InvalidData).code, code::NO);
    }
}
