//! Local users and groups in files: `users/NAME` has number, password, flags and comment, `groups/NAME` a line for each
//! member's identifier, `domain` the domain that the host is joined to and its managed accounts.

use std::ffi::c_void;
use std::fs;

use windows_sys::Win32::Foundation::{ERROR_INVALID_LEVEL, ERROR_MEMBER_IN_ALIAS};
use windows_sys::Win32::NetworkManagement::NetManagement::{
    LOCALGROUP_MEMBERS_INFO_0, NERR_GroupNotFound, NERR_UserExists, NERR_UserNotFound, NETSETUP_JOIN_STATUS,
    NetSetupDomainName, NetSetupWorkgroupName, USER_INFO_1, USER_INFO_1003,
};
use windows_sys::Win32::Security::Authorization::ConvertSidToStringSidW;
use windows_sys::core::{PCWSTR, PWSTR};

use crate::net_buffer;
use crate::record::{Call, place};
use crate::text::read;

/// A local user.
#[derive(Clone)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) number: u32,
    pub(crate) password: String,
    pub(crate) flags: u32,
    pub(crate) comment: String,
}

// === impl User ===

impl User {
    pub(crate) fn find(name: &str) -> Option<Self> {
        let text = fs::read_to_string(place("users").join(name.to_ascii_lowercase())).ok()?;
        let mut lines = text.lines();
        let mut next = || lines.next().unwrap_or_default().to_owned();
        let (name, number, password, flags, comment) = (next(), next(), next(), next(), next());
        Some(Self { name, number: number.parse().ok()?, password, flags: flags.parse().ok()?, comment })
    }

    fn all() -> Vec<Self> {
        let files = fs::read_dir(place("users")).into_iter().flatten().flatten();
        files.filter_map(|file| Self::find(file.file_name().to_str()?)).collect()
    }

    fn store(&self) {
        let Self { name, number, password, flags, comment } = self;
        let text = format!("{name}\n{number}\n{password}\n{flags}\n{comment}\n");
        let dir = place("users");
        fs::create_dir_all(&dir).and_then(|()| fs::write(dir.join(name.to_ascii_lowercase()), text)).ok();
    }

    /// `S-1-5-21-1-2-3-NUMBER`.
    pub(crate) fn sid(&self) -> Vec<u8> {
        let parts = [21, 1, 2, 3, self.number].into_iter().flat_map(u32::to_le_bytes);
        [1, 5, 0, 0, 0, 0, 0, 5].into_iter().chain(parts).collect()
    }
}

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn NetUserAdd(
    _server: PCWSTR,
    level: u32,
    info: *const u8,
    _parameter: *mut u32,
) -> u32 {
    if level != 1 {
        return ERROR_INVALID_LEVEL;
    }
    // SAFETY: level 1 comes with this structure.
    let (info, text) =
        unsafe { (info.cast::<USER_INFO_1>().read(), |at: PWSTR| read(at).unwrap_or_default()) };
    let user = User {
        name: text(info.usri1_name),
        number: 1001 + u32::try_from(User::all().len()).unwrap_or(0),
        password: text(info.usri1_password),
        flags: info.usri1_flags,
        comment: text(info.usri1_comment),
    };
    let arguments = format!(
        "name={} privilege={} flags={:#x} password-length={} comment={}",
        user.name,
        info.usri1_priv,
        user.flags,
        user.password.len(),
        user.comment
    );
    Call::new("NetUserAdd", &arguments).answer(|| {
        if User::find(&user.name).is_some() {
            return NERR_UserExists;
        }
        user.store();
        0
    })
}

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn NetUserSetInfo(
    _server: PCWSTR,
    name: PCWSTR,
    level: u32,
    info: *const u8,
    _parameter: *mut u32,
) -> u32 {
    if level != 1003 {
        return ERROR_INVALID_LEVEL;
    }
    // SAFETY: level 1003 comes with this structure.
    let (name, password) = unsafe {
        let password = info.cast::<USER_INFO_1003>().read().usri1003_password;
        (read(name).unwrap_or_default(), read(password).unwrap_or_default())
    };
    Call::new("NetUserSetInfo", &format!("name={name} level={level}")).answer(|| {
        let Some(user) = User::find(&name) else { return NERR_UserNotFound };
        User { password, ..user }.store();
        0
    })
}

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn NetUserDel(_server: PCWSTR, name: PCWSTR) -> u32 {
    // SAFETY: the caller gives a null-ended text.
    let name = unsafe { read(name) }.unwrap_or_default();
    Call::new("NetUserDel", &format!("name={name}")).answer(|| match User::find(&name) {
        None => NERR_UserNotFound,
        Some(user) => {
            fs::remove_file(place("users").join(name.to_ascii_lowercase())).ok();
            forget(&user);
            0
        }
    })
}

/// An account that is deleted is in no group any more.
fn forget(user: &User) {
    for group in fs::read_dir(place("groups")).into_iter().flatten().flatten() {
        let members = fs::read_to_string(group.path()).unwrap_or_default();
        let sid = format!("S-1-5-21-1-2-3-{}", user.number);
        let left: String =
            members.lines().filter(|line| *line != sid).map(|line| format!("{line}\n")).collect();
        fs::write(group.path(), left).ok();
    }
}

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn NetUserGetInfo(
    _server: PCWSTR,
    name: PCWSTR,
    level: u32,
    answer: *mut *mut u8,
) -> u32 {
    // SAFETY: the caller gives a null-ended text.
    let name = unsafe { read(name) }.unwrap_or_default();
    Call::new("NetUserGetInfo", &format!("name={name} level={level}")).answer(|| {
        let Some(user) = User::find(&name) else { return NERR_UserNotFound };
        let info = match level {
            1 => net_buffer::user(&user),
            23 => net_buffer::user_with_sid(&user),
            _ => return ERROR_INVALID_LEVEL,
        };
        // SAFETY: the caller gives a place for the answer.
        unsafe { answer.write(info) };
        0
    })
}

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn NetUserEnum(
    _server: PCWSTR,
    level: u32,
    filter: u32,
    answer: *mut *mut u8,
    _preferred: u32,
    read: *mut u32,
    total: *mut u32,
    _resume: *mut u32,
) -> u32 {
    Call::new("NetUserEnum", &format!("level={level} filter={filter}")).answer(|| {
        if level != 0 {
            return ERROR_INVALID_LEVEL;
        }
        let users = User::all();
        let count = u32::try_from(users.len()).unwrap_or(0);
        // SAFETY: the caller gives places for the answers.
        unsafe {
            answer.write(net_buffer::names(&users));
            read.write(count);
            total.write(count);
        }
        0
    })
}

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn NetLocalGroupGetInfo(
    _server: PCWSTR,
    name: PCWSTR,
    level: u32,
    answer: *mut *mut u8,
) -> u32 {
    // SAFETY: the caller gives a null-ended text.
    let name = unsafe { read(name) }.unwrap_or_default();
    Call::new("NetLocalGroupGetInfo", &format!("name={name} level={level}")).answer(|| {
        if !place("groups").join(name.to_ascii_lowercase()).is_file() {
            return NERR_GroupNotFound;
        }
        // SAFETY: the caller gives a place for the answer.
        unsafe { answer.write(net_buffer::group(&name)) };
        0
    })
}

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn NetLocalGroupAddMembers(
    _server: PCWSTR,
    name: PCWSTR,
    level: u32,
    members: *const u8,
    count: u32,
) -> u32 {
    if level != 0 || count != 1 {
        return ERROR_INVALID_LEVEL;
    }
    // SAFETY: the caller gives a null-ended text, and level 0 comes with this structure.
    let (name, sid) = unsafe {
        let sid = members.cast::<LOCALGROUP_MEMBERS_INFO_0>().read().lgrmi0_sid;
        let mut text = std::ptr::null_mut();
        ConvertSidToStringSidW(sid, &raw mut text);
        (read(name).unwrap_or_default(), read(text).unwrap_or_default())
    };
    Call::new("NetLocalGroupAddMembers", &format!("name={name} member={sid}")).answer(|| {
        let file = place("groups").join(name.to_ascii_lowercase());
        let Ok(members) = fs::read_to_string(&file) else { return NERR_GroupNotFound };
        if members.lines().any(|line| line == sid) {
            return ERROR_MEMBER_IN_ALIAS;
        }
        fs::write(file, format!("{members}{sid}\n")).ok();
        0
    })
}

/// The domain that the host is joined to, and its managed accounts.
pub(crate) fn domain() -> Option<(String, Vec<String>)> {
    let text = fs::read_to_string(place("domain")).ok()?;
    let mut lines = text.lines().map(str::to_owned);
    Some((lines.next()?, lines.collect()))
}

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn NetGetJoinInformation(
    _server: PCWSTR,
    name: *mut PWSTR,
    kind: *mut NETSETUP_JOIN_STATUS,
) -> u32 {
    Call::new("NetGetJoinInformation", "").answer(|| {
        let (text, joined) = match domain() {
            Some((domain, _)) => (domain, NetSetupDomainName),
            None => ("WORKGROUP".to_owned(), NetSetupWorkgroupName),
        };
        // SAFETY: the caller gives places for the answers.
        unsafe {
            name.write(net_buffer::text(&text));
            kind.write(joined);
        }
        0
    })
}

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn NetApiBufferFree(buffer: *const c_void) -> u32 {
    net_buffer::free(buffer.cast_mut());
    0
}
