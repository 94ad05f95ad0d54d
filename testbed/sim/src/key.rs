//! A registry key's access list, for a test to set: `rundll32 netapi32.dll,CloseKey SOFTWARE\Name`.
//!
//! Wine has no program that sets one, and its server judges by it all the same.

use std::ptr::null_mut;

use windows_sys::Win32::Foundation::{ERROR_INVALID_PARAMETER, HINSTANCE, HWND, LocalFree};
use windows_sys::Win32::Security::Authorization::{
    ConvertStringSecurityDescriptorToSecurityDescriptorW, SDDL_REVISION_1,
};
use windows_sys::Win32::Security::{DACL_SECURITY_INFORMATION, PSECURITY_DESCRIPTOR};
use windows_sys::Win32::System::Registry::{
    HKEY, HKEY_LOCAL_MACHINE, KEY_READ, RegCloseKey, RegOpenKeyExW, RegSetKeySecurity,
};
use windows_sys::core::PCWSTR;

use crate::record::Call;
use crate::text::{read, wide};

/// For the system and administrators, and nobody else.
const CLOSED: &str = "D:P(A;CI;KA;;;SY)(A;CI;KA;;;BA)";
const WRITE_DAC: u32 = 0x0004_0000;

/// Called by `rundll32`.
///
/// # Safety
/// `line` is a null-ended text or null.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn CloseKeyW(_window: HWND, _module: HINSTANCE, line: PCWSTR, _show: i32) {
    // SAFETY: as the caller promises.
    let name = unsafe { read(line) }.unwrap_or_default();
    let name = name.trim();
    Call::new("CloseKey", &format!("name={name}")).answer(|| close(name));
}

fn close(name: &str) -> u32 {
    let (name, list) = (wide(name), wide(CLOSED));
    let (mut key, mut descriptor): (HKEY, PSECURITY_DESCRIPTOR) = (null_mut(), null_mut());
    // SAFETY: both texts end with a null; results go to locals, which are freed once.
    unsafe {
        let made = ConvertStringSecurityDescriptorToSecurityDescriptorW(
            list.as_ptr(),
            SDDL_REVISION_1,
            &raw mut descriptor,
            null_mut(),
        );
        if made == 0 {
            return ERROR_INVALID_PARAMETER;
        }
        let opened = RegOpenKeyExW(HKEY_LOCAL_MACHINE, name.as_ptr(), 0, KEY_READ | WRITE_DAC, &raw mut key);
        let answer = match opened {
            0 => RegSetKeySecurity(key, DACL_SECURITY_INFORMATION, descriptor),
            refused => refused,
        };
        RegCloseKey(key);
        LocalFree(descriptor);
        answer
    }
}
