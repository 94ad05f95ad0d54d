//! Accounts of this host: who is known, temporary users of ours, and what environment an account brings.
//!
//! A temporary user carries a mark in its comment, so that a sweep after a crash finds it whatever the journal says.

use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::ptr::null_mut;

use windows_sys::Win32::Security::{TOKEN_DUPLICATE, TOKEN_QUERY};
use windows_sys::Win32::System::Environment::{CreateEnvironmentBlock, DestroyEnvironmentBlock};

use super::handle::check;
use super::text::parse_environment;
use super::{logon, net, password, security};
use crate::user::{Identity, Known, Secret, Service};

/// Whoever has this comment is ours to delete.
const MARK: &str = "temporary user of a container, made and removed by porthole";
const LONGEST_NAME: usize = 20;
const FORBIDDEN: &str = "\"/\\[]:;|=,+*?<>@";

/// A group of that name wins over a user of that name.
pub(crate) fn known(name: &str) -> io::Result<Known> {
    if net::group_exists(name)? {
        return Ok(Known::Group);
    }
    Ok(if net::user_comment(name)?.is_some() { Known::User } else { Known::Nobody })
}

/// One that is there already keeps its identifier, and what runs as it runs on; its old password is nobody's.
pub(crate) fn make_temporary(name: &str, group: &str) -> io::Result<Identity> {
    check_name(name)?;
    let password = password::random()?;
    let fresh = !is_temporary(name)?;
    if fresh {
        net::add_user(name, &password, MARK)?;
    } else {
        net::set_password(name, &password)?;
    }
    if let Err(error) = net::join_group(name, group) {
        // One that is left all the same carries our mark and is swept.
        let _ = fresh.then(|| net::delete_user(name));
        return Err(error);
    }
    Ok(Identity::Local { name: name.to_owned(), password: Secret::new(password) })
}

/// Whether there is one of ours; somebody else's is an error.
fn is_temporary(name: &str) -> io::Result<bool> {
    match net::user_comment(name)? {
        None => Ok(false),
        Some(comment) if comment == MARK => Ok(true),
        Some(_) => {
            let text = format!("the user {name} was not made by porthole and is left alone");
            Err(io::Error::new(io::ErrorKind::AlreadyExists, text))
        }
    }
}

pub(crate) fn remove_temporary(name: &str) -> io::Result<()> {
    if is_temporary(name)? { net::delete_user(name).map(drop) } else { Ok(()) }
}

pub(crate) fn temporary() -> io::Result<Vec<String>> {
    net::users_with_comment(MARK)
}

/// Accounts are not numbers here.
pub(crate) fn own_ids() -> Option<(u32, u32)> {
    None
}

pub(crate) fn resolve_service(service: Service) -> io::Result<Identity> {
    Ok(if logon::is_ours(service)? { Identity::Own } else { Identity::Service(service) })
}

pub(crate) fn by_name(name: &str) -> io::Result<Identity> {
    let text = format!("{name} cannot be logged on: Windows wants a password, which no pod can give");
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}

/// What the system and the account's profile set, without anything of our own environment.
pub(crate) fn environment(identity: &Identity) -> io::Result<Vec<(String, String)>> {
    match logon::token(identity)? {
        Some(token) => environment_of(&token),
        None => environment_of(&security::own_token(TOKEN_QUERY | TOKEN_DUPLICATE)?),
    }
}

fn environment_of(token: &OwnedHandle) -> io::Result<Vec<(String, String)>> {
    let mut block = null_mut();
    // SAFETY: the token is open; the block goes to a local.
    check(unsafe { CreateEnvironmentBlock(&raw mut block, token.as_raw_handle(), 0) })?;
    // SAFETY: the call succeeded, so the block is texts that end with a null each, and an empty one.
    let variables = unsafe { parse_environment(block.cast()) };
    // SAFETY: made by the call above, and not used after this.
    unsafe { DestroyEnvironmentBlock(block) };
    Ok(variables)
}

fn check_name(name: &str) -> io::Result<()> {
    let long = name.encode_utf16().count() > LONGEST_NAME;
    let strange = |c: char| FORBIDDEN.contains(c) || c.is_control();
    if name.trim().is_empty() || long || name.contains(strange) || name.ends_with('.') {
        let text = format!("not a user name of at most {LONGEST_NAME} characters: {name:?}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_windows_would_cut_or_refuse_is_refused_first() {
        for name in ["", " ", "a\\b", "0123456789abcdef01234", "a@b", "x.", "a\nb"] {
            assert_eq!(check_name(name).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name:?}");
        }
        check_name("0123456789abcdef0123").unwrap();
    }

    #[test]
    fn a_plain_user_is_refused_for_want_of_a_password() {
        assert!(by_name("bob").unwrap_err().to_string().contains("bob cannot be logged on"));
    }

    #[test]
    fn our_own_environment_has_the_systems_directory() {
        let variables = environment(&Identity::Own).unwrap();
        let has = |wanted: &str| variables.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        assert!(has("SystemRoot"), "{variables:?}");
        assert!(!has("CARGO"), "{variables:?}");
    }
}
