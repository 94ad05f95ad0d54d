//! Accounts: as whom a process runs, and users that exist only as long as a container does.
//!
//! On Linux accounts are what `/etc/passwd` and `/etc/group` say. Name services beyond these files (NSS: LDAP, SSSD,
//! systemd) are not asked: the program is static, and the twin stands for Windows, where such accounts are a domain's
//! and refused as well.

use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};

use crate::sys;

/// As whom a process runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Identity {
    /// As whoever starts it.
    #[default]
    Own,
    /// Linux: these numbers and no others; unless `uid` is 0, without any capability.
    Ids { uid: u32, gid: u32, groups: Vec<u32> },
    /// One of the three accounts that need no password. Windows as itself, Linux as in [`resolve_service`].
    Service(Service),
    /// Windows: a local user, logged on with its password.
    Local { name: String, password: Secret },
    /// Windows: a group managed service account of the host's domain, `DOMAIN\name$`.
    Gmsa { account: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Service {
    System,
    LocalService,
    NetworkService,
}

/// What a name is on this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    Group,
    User,
    Nobody,
}

/// A password. It travels between our own programs, and is shown nowhere.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret(String);

/// What a local name is: a group first, then a user, as Windows decides it for `runAsUserName`. On Linux a number is
/// a user, whether it has a name or not.
pub fn known(name: &str) -> io::Result<Known> {
    sys::user::known(name)
}

/// A user of that name, in that group and no other, to be removed again. Asking for one that is there gives it again.
///
/// Windows: a local account with a random password whose comment marks it as ours. Linux: a number of a reserved range
/// (2,000,000,000 and up) with the group's; nothing is written to `/etc/passwd`, the name and its number stand in a file
/// of their own below `/run/porthole-users` until [`remove_temporary`], or until the machine restarts.
pub fn make_temporary(name: &str, group: &str) -> io::Result<Identity> {
    sys::user::make_temporary(name, group)
}

/// Whatever still runs as that user runs on. One that is gone already is no error.
pub fn remove_temporary(name: &str) -> io::Result<()> {
    sys::user::remove_temporary(name)
}

/// The names of all temporary users on this host, whoever made them: for the sweep after a crash.
pub fn temporary() -> io::Result<Vec<String>> {
    sys::user::temporary()
}

/// Windows: the service itself, or [`Identity::Own`] if that is who we are. Linux: uid 0 for System, the user `daemon`
/// for LocalService, the user `nobody` for NetworkService.
pub fn resolve_service(service: Service) -> io::Result<Identity> {
    sys::user::resolve_service(service)
}

/// Linux: an existing user with its groups. Windows has no way to be one without a password, and says so.
pub fn by_name(name: &str) -> io::Result<Identity> {
    sys::user::by_name(name)
}

/// Our own user and group, where accounts are numbers.
pub fn own_ids() -> Option<(u32, u32)> {
    sys::user::own_ids()
}

/// The variables that this account's processes start with. Windows: its environment block; Linux: `HOME`, `USER`,
/// `LOGNAME`, `SHELL` and `PATH`.
pub fn environment(identity: &Identity) -> io::Result<Vec<(String, String)>> {
    sys::user::environment(identity)
}

// === impl Identity ===

impl Identity {
    /// What to call it in a message.
    pub fn name(&self) -> String {
        match self {
            Self::Own => "our own account".to_owned(),
            Self::Ids { uid, gid, .. } => format!("uid {uid} and gid {gid}"),
            Self::Service(service) => service.name().to_owned(),
            Self::Local { name, .. } => name.clone(),
            Self::Gmsa { account } => account.clone(),
        }
    }
}

// === impl Service ===

impl Service {
    pub const ALL: [Self; 3] = [Self::System, Self::LocalService, Self::NetworkService];

    pub fn name(self) -> &'static str {
        match self {
            Self::System => "NT AUTHORITY\\SYSTEM",
            Self::LocalService => "NT AUTHORITY\\LocalService",
            Self::NetworkService => "NT AUTHORITY\\NetworkService",
        }
    }
}

// === impl Secret ===

impl Secret {
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// For the one call that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let local =
            Identity::Local { name: "porthole-1".to_owned(), password: Secret::new("hunter2".to_owned()) };
        assert!(!format!("{local:?}").contains("hunter2") && !local.name().contains("hunter2"));
        let Identity::Local { password, .. } = local else { unreachable!("made so above") };
        assert_eq!(password.expose(), "hunter2");
    }
}
