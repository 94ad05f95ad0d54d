//! The account a process runs as: found out before the fork, taken on as the last thing before exec.

use std::ffi::c_long;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::Uid;

use super::born::Step;
use crate::process::SpawnStep;
use crate::user::{Identity, resolve_service};

/// Numbers to become; groups are these and no others.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Account {
    uid: u32,
    gid: u32,
    groups: Vec<u32>,
}

/// The third version of the kernel's structure for capabilities: two words of each set.
const CAPABILITIES: [u32; 2] = [0x2008_0522, 0];

// === impl Account ===

impl Account {
    /// Nobody, if it is who we are anyway.
    pub(crate) fn of(identity: &Identity) -> io::Result<Option<Self>> {
        match identity {
            Identity::Own => Ok(None),
            Identity::Service(service) => Self::of(&resolve_service(*service)?),
            Identity::Ids { uid, gid, groups } => {
                Self { uid: *uid, gid: *gid, groups: groups.clone() }.checked()
            }
            Identity::Local { .. } | Identity::Gmsa { .. } => {
                let text = format!("{} is an account of Windows: wanted a uid and a gid", identity.name());
                Err(io::Error::new(io::ErrorKind::Unsupported, text))
            }
        }
    }

    fn checked(self) -> io::Result<Option<Self>> {
        // The kernel takes this number for "leave it as it is".
        if [self.uid, self.gid].iter().chain(&self.groups).any(|id| *id == u32::MAX) {
            let text = format!("{} is no uid or gid", u32::MAX);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        if crate::elevated() {
            return Ok(Some(self));
        }
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        if (self.uid, self.gid) == (uid, gid) {
            return Ok(None);
        }
        let text = format!(
            "only root can start a process as somebody else: wanted uid {} and gid {}, we are uid {uid} and gid {gid}",
            self.uid, self.gid
        );
        Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
    }

    /// A pipe or a terminal can be opened again by its name, as shells do with /dev/stdout: by its owner only.
    pub(crate) fn give<'a>(&self, ends: impl Iterator<Item = &'a OwnedFd>) -> io::Result<()> {
        for end in ends {
            rustix::fs::fchown(end, Some(Uid::from_raw(self.uid)), None)?;
        }
        Ok(())
    }

    /// In the child, so the rules of [`super::born`] hold. The kernel is asked itself: the C library would tell threads
    /// that are not here.
    pub(crate) fn take_on(&self) -> Step {
        let (uid, gid) = (self.uid, self.gid);
        // SAFETY: plain numbers, and a list that is as long as we say.
        unsafe {
            done(libc::syscall(libc::SYS_setgroups, self.groups.len(), self.groups.as_ptr()))?;
            done(libc::syscall(libc::SYS_setresgid, gid, gid, gid))?;
            done(libc::syscall(libc::SYS_setresuid, uid, uid, uid))?;
        }
        if uid == 0 { Ok(()) } else { drop_capabilities() }
    }
}

fn done(result: c_long) -> Step {
    if result == 0 { Ok(()) } else { Err(SpawnStep::Identity) }
}

/// The change of the uid takes them away, unless somebody up the line asked the kernel not to.
fn drop_capabilities() -> Step {
    let none = [0u32; 6];
    // SAFETY: both arrays are what the kernel reads for this version, and outlive the call.
    done(unsafe { libc::syscall(libc::SYS_capset, CAPABILITIES.as_ptr(), none.as_ptr()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::Secret;

    #[test]
    fn our_own_account_needs_nothing() {
        assert_eq!(Account::of(&Identity::Own).unwrap(), None);
    }

    #[test]
    fn accounts_of_windows_are_refused_by_name() {
        let local = Identity::Local { name: "ben".to_owned(), password: Secret::new("x".to_owned()) };
        for identity in [local, Identity::Gmsa { account: "ben$".to_owned() }] {
            let error = Account::of(&identity).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::Unsupported);
            assert!(error.to_string().contains("ben"), "{error}");
        }
    }

    #[test]
    fn the_number_that_means_no_change_is_refused() {
        for (uid, gid, groups) in [(u32::MAX, 1, vec![]), (1, u32::MAX, vec![]), (1, 1, vec![u32::MAX])] {
            assert!(Account::of(&Identity::Ids { uid, gid, groups }).is_err());
        }
    }
}
