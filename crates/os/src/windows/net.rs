//! Local users and groups, and whether the host is joined to a domain: the network-management calls.
//!
//! They answer with codes of their own, whose texts the system's message table does not have.

use std::ffi::c_void;
use std::io;
use std::ptr::{null, null_mut};

use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, ERROR_MEMBER_IN_ALIAS, ERROR_MORE_DATA, ERROR_NO_SUCH_ALIAS,
};
use windows_sys::Win32::NetworkManagement::NetManagement::{
    FILTER_NORMAL_ACCOUNT, LOCALGROUP_MEMBERS_INFO_0, MAX_PREFERRED_LENGTH,
    NERR_GroupNotFound as GROUP_NOT_FOUND, NERR_PasswordTooShort as PASSWORD_TOO_SHORT,
    NERR_UserExists as USER_EXISTS, NERR_UserNotFound as USER_NOT_FOUND, NetApiBufferFree,
    NetGetJoinInformation, NetLocalGroupAddMembers, NetLocalGroupGetInfo, NetSetupDomainName, NetUserAdd,
    NetUserDel, NetUserEnum, NetUserGetInfo, NetUserSetInfo, UF_DONT_EXPIRE_PASSWD, UF_NORMAL_ACCOUNT,
    UF_SCRIPT, USER_INFO_0, USER_INFO_1, USER_INFO_23, USER_INFO_1003, USER_PRIV_USER,
};

use super::handle::error;
use super::text::{narrow_at, wide};

#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<USER_INFO_1>() == 56);
    assert!(size_of::<LOCALGROUP_MEMBERS_INFO_0>() == 8);
    assert!(size_of::<USER_INFO_23>() == 40);
};

/// What the calls allocate for their answers.
struct Buffer(*mut u8);

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Membership {
    Domain,
    None { workgroup: String },
}

// === impl Buffer ===

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated by one of the calls, or null, which they take too.
        unsafe { NetApiBufferFree(self.0.cast::<c_void>()) };
    }
}

pub(crate) fn group_exists(name: &str) -> io::Result<bool> {
    let (wide_name, mut buffer) = (wide(name)?, Buffer(null_mut()));
    // SAFETY: this host, a null-ended name, and a place for the answer, which the buffer frees.
    match unsafe { NetLocalGroupGetInfo(null(), wide_name.as_ptr(), 1, &raw mut buffer.0) } {
        0 => Ok(true),
        GROUP_NOT_FOUND | ERROR_NO_SUCH_ALIAS => Ok(false),
        status => Err(refused(status, &format!("look for the local group {name}"))),
    }
}

/// The comment of a local user; none if there is no such user.
pub(crate) fn user_comment(name: &str) -> io::Result<Option<String>> {
    let Some(buffer) = user_info(name, 1)? else { return Ok(None) };
    // SAFETY: level 1 answers with exactly this structure, whose texts are in the buffer.
    Ok(Some(unsafe { narrow_at((*buffer.0.cast::<USER_INFO_1>()).usri1_comment) }))
}

fn user_info(name: &str, level: u32) -> io::Result<Option<Buffer>> {
    let (wide_name, mut buffer) = (wide(name)?, Buffer(null_mut()));
    // SAFETY: this host, a null-ended name, and a place for the answer, which the buffer frees.
    match unsafe { NetUserGetInfo(null(), wide_name.as_ptr(), level, &raw mut buffer.0) } {
        0 => Ok(Some(buffer)),
        USER_NOT_FOUND => Ok(None),
        status => Err(refused(status, &format!("look for the local user {name}"))),
    }
}

/// A user whose password never expires and who is in no group but those of everybody.
pub(crate) fn add_user(name: &str, password: &str, comment: &str) -> io::Result<()> {
    let (mut wide_name, mut password, mut comment) = (wide(name)?, wide(password)?, wide(comment)?);
    let user = USER_INFO_1 {
        usri1_name: wide_name.as_mut_ptr(),
        usri1_password: password.as_mut_ptr(),
        usri1_password_age: 0,
        usri1_priv: USER_PRIV_USER,
        usri1_home_dir: null_mut(),
        usri1_comment: comment.as_mut_ptr(),
        usri1_flags: UF_SCRIPT | UF_NORMAL_ACCOUNT | UF_DONT_EXPIRE_PASSWD,
        usri1_script_path: null_mut(),
    };
    // SAFETY: level 1 takes exactly this structure; its texts end with a null and outlive the call.
    match unsafe { NetUserAdd(null(), 1, (&raw const user).cast(), null_mut()) } {
        0 => Ok(()),
        status => Err(refused(status, &format!("make the local user {name}"))),
    }
}

pub(crate) fn set_password(name: &str, password: &str) -> io::Result<()> {
    let (wide_name, mut password) = (wide(name)?, wide(password)?);
    let wanted = USER_INFO_1003 { usri1003_password: password.as_mut_ptr() };
    // SAFETY: level 1003 takes exactly this structure; both texts end with a null and outlive the call.
    match unsafe { NetUserSetInfo(null(), wide_name.as_ptr(), 1003, (&raw const wanted).cast(), null_mut()) }
    {
        0 => Ok(()),
        status => Err(refused(status, &format!("give the local user {name} a new password"))),
    }
}

/// True if there was such a user.
pub(crate) fn delete_user(name: &str) -> io::Result<bool> {
    let wide_name = wide(name)?;
    // SAFETY: this host and a null-ended name.
    match unsafe { NetUserDel(null(), wide_name.as_ptr()) } {
        0 => Ok(true),
        USER_NOT_FOUND => Ok(false),
        status => Err(refused(status, &format!("delete the local user {name}"))),
    }
}

/// By the user's own identifier: a name could be that of somebody else in a domain.
pub(crate) fn join_group(user: &str, group: &str) -> io::Result<()> {
    let what = format!("put the local user {user} into the group {group}");
    let buffer = user_info(user, 23)?.ok_or_else(|| refused(USER_NOT_FOUND, &what))?;
    let group = wide(group)?;
    // SAFETY: level 23 answers with exactly this structure, whose identifier is in the buffer.
    let sid = unsafe { (*buffer.0.cast::<USER_INFO_23>()).usri23_user_sid };
    let member = LOCALGROUP_MEMBERS_INFO_0 { lgrmi0_sid: sid };
    // SAFETY: level 0 takes an array of this structure; it has one, and the identifier outlives the call.
    match unsafe { NetLocalGroupAddMembers(null(), group.as_ptr(), 0, (&raw const member).cast(), 1) } {
        0 | ERROR_MEMBER_IN_ALIAS => Ok(()),
        status => Err(refused(status, &what)),
    }
}

/// The names of the local users with that comment. One who goes while we ask is not among them.
pub(crate) fn users_with_comment(comment: &str) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for name in users()? {
        if user_comment(&name)?.is_some_and(|it| it == comment) {
            found.push(name);
        }
    }
    Ok(found)
}

fn users() -> io::Result<Vec<String>> {
    let (mut names, mut resume) = (Vec::new(), 0);
    loop {
        let (mut buffer, mut read, mut total) = (Buffer(null_mut()), 0, 0);
        // SAFETY: this host; the answer is freed by the buffer and all counts go to locals.
        let status = unsafe {
            NetUserEnum(
                null(),
                0,
                FILTER_NORMAL_ACCOUNT,
                &raw mut buffer.0,
                MAX_PREFERRED_LENGTH,
                &raw mut read,
                &raw mut total,
                &raw mut resume,
            )
        };
        if status != 0 && status != ERROR_MORE_DATA {
            return Err(refused(status, "list the local users"));
        }
        names.extend(names_in(&buffer, read));
        if status == 0 {
            return Ok(names);
        }
    }
}

fn names_in(buffer: &Buffer, count: u32) -> Vec<String> {
    if buffer.0.is_null() {
        return Vec::new();
    }
    // SAFETY: level 0 answers with so many of these structures, whose texts are in the buffer.
    let users = unsafe { std::slice::from_raw_parts(buffer.0.cast::<USER_INFO_0>(), count as usize) };
    // SAFETY: as above.
    users.iter().map(|user| unsafe { narrow_at(user.usri0_name) }).collect()
}

pub(crate) fn membership() -> io::Result<Membership> {
    let (mut name, mut kind) = (null_mut(), 0);
    // SAFETY: this host, and places for the answer.
    let status = unsafe { NetGetJoinInformation(null(), &raw mut name, &raw mut kind) };
    if status != 0 {
        return Err(refused(status, "ask whether this host is joined to a domain"));
    }
    let _freed = Buffer(name.cast());
    if kind == NetSetupDomainName {
        return Ok(Membership::Domain);
    }
    // SAFETY: the call succeeded, so this is a null-ended text or none.
    Ok(Membership::None { workgroup: unsafe { narrow_at(name) } })
}

fn refused(status: u32, what: &str) -> io::Error {
    let (kind, cause) = match status {
        ERROR_ACCESS_DENIED => (
            io::ErrorKind::PermissionDenied,
            "access is denied; the runtime must run as LocalSystem".to_owned(),
        ),
        USER_EXISTS => (io::ErrorKind::AlreadyExists, "there is an account of that name".to_owned()),
        USER_NOT_FOUND => (io::ErrorKind::NotFound, "there is no such user".to_owned()),
        GROUP_NOT_FOUND | ERROR_NO_SUCH_ALIAS => {
            (io::ErrorKind::NotFound, "there is no such group".to_owned())
        }
        PASSWORD_TOO_SHORT => (
            io::ErrorKind::InvalidInput,
            "a password of 32 characters is against this host's policy".to_owned(),
        ),
        _ => (error(status).kind(), format!("{} (status {status})", error(status))),
    };
    io::Error::new(kind, format!("cannot {what}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_without_a_text_of_the_systems_have_one_of_ours() {
        let text = |status| refused(status, "put the local user u into the group g").to_string();
        assert_eq!(text(2220), "cannot put the local user u into the group g: there is no such group");
        assert_eq!(text(1376), text(2220));
        assert!(text(5).contains("LocalSystem"));
        assert_eq!(refused(2224, "x").kind(), io::ErrorKind::AlreadyExists);
        assert!(text(2351).contains("2351"));
    }
}
