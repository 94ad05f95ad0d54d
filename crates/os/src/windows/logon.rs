//! Logging accounts on: the token that a process of another account is started with.
//!
//! Nothing of a logon outlives its token, so a token that is dropped leaves nothing behind.

use std::io;
use std::os::windows::io::OwnedHandle;
use std::ptr::{null, null_mut};

use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_ACCOUNT_DISABLED, ERROR_ACCOUNT_RESTRICTION, ERROR_LOGON_FAILURE,
    ERROR_LOGON_TYPE_NOT_GRANTED, ERROR_NO_LOGON_SERVERS, ERROR_NO_SUCH_DOMAIN, ERROR_PRIVILEGE_NOT_HELD,
};
use windows_sys::Win32::Security::{
    LOGON32_LOGON, LOGON32_LOGON_BATCH, LOGON32_LOGON_INTERACTIVE, LOGON32_LOGON_SERVICE,
    LOGON32_PROVIDER_DEFAULT, LogonUserW,
};

use super::handle::{check, code, owned};
use super::net::{self, Membership};
use super::security;
use super::text::wide;
use crate::user::{Identity, Service};

/// In place of a password: the system fetches the managed account's own from the domain.
const MANAGED: &str = "_SA_{262E99C9-6160-4871-ACEC-4E61736B6F21}";

/// The first that the account has the right to. An interactive one is what most hosts allow to users.
const LOCAL_KINDS: [LOGON32_LOGON; 3] =
    [LOGON32_LOGON_INTERACTIVE, LOGON32_LOGON_BATCH, LOGON32_LOGON_SERVICE];

/// Whom to log on.
#[derive(Clone, Copy)]
struct Account<'a> {
    user: &'a str,
    domain: Option<&'a str>,
    password: Option<&'a str>,
}

/// The token for an identity; none where our own serves.
pub(crate) fn token(identity: &Identity) -> io::Result<Option<OwnedHandle>> {
    match identity {
        Identity::Own => Ok(None),
        Identity::Service(service) if is_ours(*service)? => Ok(None),
        Identity::Service(service) => log_service_on(*service).map(Some),
        Identity::Local { name, password } => {
            let account = Account { user: name, domain: Some("."), password: Some(password.expose()) };
            log_local_on(account).map(Some)
        }
        Identity::Gmsa { account } => log_managed_on(account).map(Some),
        Identity::Ids { .. } => {
            Err(io::Error::new(io::ErrorKind::Unsupported, "user and group numbers are a Linux thing"))
        }
    }
}

/// Whether we run as that account already: then no logon, and no right to one, is needed.
pub(crate) fn is_ours(service: Service) -> io::Result<bool> {
    let sid = match service {
        Service::System => "S-1-5-18",
        Service::LocalService => "S-1-5-19",
        Service::NetworkService => "S-1-5-20",
    };
    Ok(security::user_sid()? == sid)
}

fn log_service_on(service: Service) -> io::Result<OwnedHandle> {
    log_on(in_domain(service.name(), None), LOGON32_LOGON_SERVICE)
        .map_err(|error| refused(service.name(), &error))
}

fn in_domain<'a>(name: &'a str, password: Option<&'a str>) -> Account<'a> {
    match name.split_once('\\') {
        Some((domain, user)) => Account { user, domain: Some(domain), password },
        None => Account { user: name, domain: None, password },
    }
}

fn log_local_on(account: Account<'_>) -> io::Result<OwnedHandle> {
    let mut last = None;
    for kind in LOCAL_KINDS {
        match log_on(account, kind) {
            Err(error) if code(&error) == ERROR_LOGON_TYPE_NOT_GRANTED => last = Some(error),
            other => return other.map_err(|error| refused(account.user, &error)),
        }
    }
    Err(refused(account.user, &last.unwrap_or_else(|| io::ErrorKind::Unsupported.into())))
}

/// A managed account is one of the host's domain; elsewhere the logon would fail with nothing to go by.
fn log_managed_on(name: &str) -> io::Result<OwnedHandle> {
    match net::membership()? {
        Membership::Domain => {}
        Membership::None { workgroup } => return Err(not_joined(name, &workgroup)),
    }
    log_on(in_domain(name, Some(MANAGED)), LOGON32_LOGON_SERVICE)
        .map_err(|error| managed_refused(name, &error))
}

fn log_on(account: Account<'_>, kind: LOGON32_LOGON) -> io::Result<OwnedHandle> {
    let text = |text: Option<&str>| text.map(wide).transpose();
    let (user, domain, password) = (wide(account.user)?, text(account.domain)?, text(account.password)?);
    let start = |text: &Option<Vec<u16>>| text.as_ref().map_or(null(), Vec::as_ptr);
    let mut token = null_mut();
    // SAFETY: every text ends with a null or is not given; the token goes to an owner.
    check(unsafe {
        LogonUserW(
            user.as_ptr(),
            start(&domain),
            start(&password),
            kind,
            LOGON32_PROVIDER_DEFAULT,
            &raw mut token,
        )
    })?;
    owned(token)
}

/// The words that troubleshooting guides quote come first where a runtime is not LocalSystem.
fn refused(account: &str, error: &io::Error) -> io::Error {
    let text = match code(error) {
        ERROR_ACCESS_DENIED | ERROR_PRIVILEGE_NOT_HELD => format!(
            "failed to logon user: Access is denied ({account}; the runtime must run as LocalSystem to start processes as another account)"
        ),
        ERROR_LOGON_TYPE_NOT_GRANTED => format!(
            "failed to logon user {account}: it may log on neither locally, nor as a batch job, nor as a service; \
             grant its group SeInteractiveLogonRight, SeBatchLogonRight or SeServiceLogonRight"
        ),
        ERROR_ACCOUNT_DISABLED | ERROR_ACCOUNT_RESTRICTION => {
            format!("failed to logon user {account}: {error}; a policy of this host forbids it")
        }
        _ => format!("failed to logon user {account}: {error}"),
    };
    io::Error::new(error.kind(), text)
}

fn not_joined(name: &str, workgroup: &str) -> io::Error {
    let place = if workgroup.is_empty() { String::new() } else { format!(" (its workgroup is {workgroup})") };
    let text = format!(
        "the group managed account {name} needs a host that is joined to its domain; this one is joined to none{place}"
    );
    io::Error::new(io::ErrorKind::Unsupported, text)
}

fn managed_refused(name: &str, error: &io::Error) -> io::Error {
    let hint = match code(error) {
        ERROR_LOGON_FAILURE => {
            "this host must be among its PrincipalsAllowedToRetrieveManagedPassword, and Test-ADServiceAccount must succeed"
        }
        ERROR_NO_SUCH_DOMAIN | ERROR_NO_LOGON_SERVERS => "no controller of its domain answers",
        ERROR_LOGON_TYPE_NOT_GRANTED => "grant it SeServiceLogonRight on this host",
        _ => return refused(name, error),
    };
    io::Error::new(error.kind(), format!("failed to logon group managed account {name}: {error}; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::handle::error;

    #[test]
    fn a_plain_administrator_reads_the_words_of_the_guides() {
        let text = refused("NT AUTHORITY\\SYSTEM", &error(ERROR_ACCESS_DENIED)).to_string();
        assert!(text.starts_with("failed to logon user: Access is denied"), "{text}");
        assert!(text.contains("LocalSystem") && text.contains("NT AUTHORITY\\SYSTEM"), "{text}");
    }

    #[test]
    fn a_missing_right_is_named() {
        let text = refused("u", &error(ERROR_LOGON_TYPE_NOT_GRANTED)).to_string();
        assert!(
            text.contains("SeInteractiveLogonRight") && text.contains("failed to logon user u"),
            "{text}"
        );
    }

    #[test]
    fn a_managed_account_that_may_not_be_read_says_what_to_check() {
        let text = managed_refused("D\\web$", &error(ERROR_LOGON_FAILURE)).to_string();
        assert!(
            text.contains("D\\web$") && text.contains("PrincipalsAllowedToRetrieveManagedPassword"),
            "{text}"
        );
        assert!(not_joined("D\\web$", "WORKGROUP").to_string().contains("(its workgroup is WORKGROUP)"));
    }

    #[test]
    fn numbers_are_nobody_here() {
        let identity = Identity::Ids { uid: 0, gid: 0, groups: Vec::new() };
        assert_eq!(token(&identity).unwrap_err().kind(), io::ErrorKind::Unsupported);
        assert!(token(&Identity::Own).unwrap().is_none());
    }
}
