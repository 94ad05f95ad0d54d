//! Who we are, and who may open what: token, SIDs, security descriptors.

use std::ffi::c_void;
use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::ptr::{null, null_mut};

use windows_sys::Win32::Foundation::LocalFree;
use windows_sys::Win32::Security::Authorization::{
    ConvertSidToStringSidW, ConvertStringSecurityDescriptorToSecurityDescriptorW, SDDL_REVISION_1,
};
use windows_sys::Win32::Security::{
    GetTokenInformation, LookupAccountSidW, LookupPrivilegeValueW, PSECURITY_DESCRIPTOR, PSID,
    SECURITY_ATTRIBUTES, TOKEN_ACCESS_MASK, TOKEN_ELEVATION, TOKEN_INFORMATION_CLASS, TOKEN_PRIVILEGES,
    TOKEN_QUERY, TOKEN_USER, TokenElevation, TokenPrivileges, TokenUser,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

use super::handle::{check, owned, size_of};
use super::text::{narrow, wide};

/// A security descriptor made from text, freed on drop.
#[derive(Debug)]
pub(crate) struct Descriptor(PSECURITY_DESCRIPTOR);

// SAFETY: the memory is never written after it was made, and freed once.
unsafe impl Send for Descriptor {}
// SAFETY: as above.
unsafe impl Sync for Descriptor {}

impl Descriptor {
    pub(crate) fn from_text(text: &str) -> io::Result<Self> {
        let (text, mut descriptor) = (wide(text)?, null_mut());
        // SAFETY: a null-ended text; the result goes to a local and is freed on drop.
        check(unsafe {
            ConvertStringSecurityDescriptorToSecurityDescriptorW(
                text.as_ptr(),
                SDDL_REVISION_1,
                &raw mut descriptor,
                null_mut(),
            )
        })?;
        Ok(Self(descriptor))
    }

    /// For a new object that no child inherits. Good as long as the descriptor is.
    pub(crate) fn attributes(&self) -> SECURITY_ATTRIBUTES {
        SECURITY_ATTRIBUTES {
            nLength: size_of::<SECURITY_ATTRIBUTES>(),
            lpSecurityDescriptor: self.0,
            bInheritHandle: 0,
        }
    }

    pub(crate) fn as_ptr(&self) -> PSECURITY_DESCRIPTOR {
        self.0
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: allocated by the conversion and freed once.
        unsafe { LocalFree(self.0) };
    }
}

/// The text of a descriptor for the system and the administrators, nothing inherited from above; and for our own
/// account where that is wanted.
pub(crate) fn private_to_us(flags: &str, rights: &str, with_us: bool) -> io::Result<String> {
    let mut text = format!("D:P(A;{flags};{rights};;;SY)(A;{flags};{rights};;;BA)");
    if with_us {
        text.push_str(&format!("(A;{flags};{rights};;;{})", user_sid()?));
    }
    Ok(text)
}

pub(crate) fn own_token(rights: TOKEN_ACCESS_MASK) -> io::Result<OwnedHandle> {
    let mut token = null_mut();
    // SAFETY: the pseudo handle needs no closing; the token does and goes to an owner.
    check(unsafe { OpenProcessToken(GetCurrentProcess(), rights, &raw mut token) })?;
    owned(token)
}

/// The raw answer to a question about our token, aligned for any structure.
fn ask(class: TOKEN_INFORMATION_CLASS) -> io::Result<Vec<usize>> {
    let (token, mut size) = (own_token(TOKEN_QUERY)?, 0);
    // SAFETY: asking for the size only; this call always "fails".
    unsafe { GetTokenInformation(token.as_raw_handle(), class, null_mut(), 0, &raw mut size) };
    let mut answer = vec![0usize; (size as usize).div_ceil(std::mem::size_of::<usize>()).max(1)];
    let room = u32::try_from(std::mem::size_of_val(answer.as_slice())).map_err(io::Error::other)?;
    let at = answer.as_mut_ptr().cast();
    // SAFETY: the buffer is at least as long as we say.
    check(unsafe { GetTokenInformation(token.as_raw_handle(), class, at, room, &raw mut size) })?;
    Ok(answer)
}

pub(crate) fn elevated() -> bool {
    // SAFETY: this class answers with exactly this structure.
    ask(TokenElevation)
        .is_ok_and(|answer| unsafe { answer.as_ptr().cast::<TOKEN_ELEVATION>().read().TokenIsElevated != 0 })
}

fn with_user<T>(use_sid: impl FnOnce(PSID) -> io::Result<T>) -> io::Result<T> {
    let answer = ask(TokenUser)?;
    // SAFETY: this class answers with exactly this structure; its pointer leads into the answer, which lives on here.
    use_sid(unsafe { (*answer.as_ptr().cast::<TOKEN_USER>()).User.Sid })
}

pub(crate) fn user_sid() -> io::Result<String> {
    with_user(sid_text)
}

pub(crate) fn sid_text(sid: PSID) -> io::Result<String> {
    let mut text = null_mut();
    // SAFETY: the SID is valid; the text ends with a null and is freed after it was copied.
    unsafe {
        check(ConvertSidToStringSidW(sid, &raw mut text))?;
        let length = (0..).take_while(|at| *text.add(*at) != 0).count();
        let copied = narrow(std::slice::from_raw_parts(text, length));
        LocalFree(text.cast::<c_void>());
        Ok(copied)
    }
}

/// `DOMAIN\name`, as tools show it.
pub(crate) fn user_name() -> io::Result<String> {
    with_user(|sid| {
        let (mut name, mut domain) = ([0u16; 257], [0u16; 257]);
        let (mut name_size, mut domain_size, mut kind) = (257, 257, 0);
        // SAFETY: both buffers are as long as we say.
        check(unsafe {
            LookupAccountSidW(
                null(),
                sid,
                name.as_mut_ptr(),
                &raw mut name_size,
                domain.as_mut_ptr(),
                &raw mut domain_size,
                &raw mut kind,
            )
        })?;
        Ok(format!("{}\\{}", narrow(&domain), narrow(&name)))
    })
}

/// Whether our token has that privilege at all, switched on or not.
pub(crate) fn has_privilege(name: &str) -> io::Result<bool> {
    let (name, mut wanted) = (wide(name)?, Default::default());
    // SAFETY: a null-ended name, and a local for the answer.
    check(unsafe { LookupPrivilegeValueW(null(), name.as_ptr(), &raw mut wanted) })?;
    let answer = ask(TokenPrivileges)?;
    // SAFETY: this class answers with exactly this structure: a count, then so many entries inside the answer.
    let held = unsafe {
        let privileges = answer.as_ptr().cast::<TOKEN_PRIVILEGES>();
        let first =
            (&raw const (*privileges).Privileges).cast::<windows_sys::Win32::Security::LUID_AND_ATTRIBUTES>();
        std::slice::from_raw_parts(first, (*privileges).PrivilegeCount as usize)
    };
    Ok(held.iter().any(|it| it.Luid.LowPart == wanted.LowPart && it.Luid.HighPart == wanted.HighPart))
}
