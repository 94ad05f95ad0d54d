//! Accounts of Windows.

use std::io;

use crate::user::{Identity, Known, Service};

fn not_yet<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "no other account than our own here yet"))
}

pub(crate) fn known(_name: &str) -> io::Result<Known> {
    not_yet()
}

pub(crate) fn make_temporary(_name: &str, _group: &str) -> io::Result<Identity> {
    not_yet()
}

pub(crate) fn remove_temporary(_name: &str) -> io::Result<()> {
    not_yet()
}

pub(crate) fn temporary() -> io::Result<Vec<String>> {
    not_yet()
}

pub(crate) fn resolve_service(_service: Service) -> io::Result<Identity> {
    not_yet()
}

pub(crate) fn by_name(_name: &str) -> io::Result<Identity> {
    not_yet()
}

pub(crate) fn environment(_identity: &Identity) -> io::Result<Vec<(String, String)>> {
    not_yet()
}
