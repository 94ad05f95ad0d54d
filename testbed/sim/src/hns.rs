//! The older interface of the host network service, by the one call that a kubelet makes: which endpoints there are.
//!
//! There are none: containers of the host's own network have no endpoint, and there are no others here.

use std::ptr::null_mut;

use windows_sys::Win32::System::Com::CoTaskMemAlloc;
use windows_sys::core::{HRESULT, PCWSTR, PWSTR};

use crate::record::Call;
use crate::text::{read, wide};

const OUT_OF_MEMORY: HRESULT = 0x8007_000E_u32.cast_signed();

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn HNSCall(
    method: PCWSTR,
    path: PCWSTR,
    _object: PCWSTR,
    response: *mut PWSTR,
) -> HRESULT {
    // SAFETY: the caller gives null-ended texts.
    let (method, path) = unsafe { (read(method).unwrap_or_default(), read(path).unwrap_or_default()) };
    let answer = match (method.as_str(), path.as_str()) {
        ("GET", "/endpoints/") => r#"{"Success":true,"Output":[]}"#,
        _ => r#"{"Success":false,"Error":"not simulated","ErrorCode":2147942450}"#,
    };
    let hand_out = || {
        // SAFETY: the caller gives a place for the text, and frees it.
        unsafe {
            *response = in_callers_memory(&wide(answer));
            if (*response).is_null() { OUT_OF_MEMORY.cast_unsigned() } else { 0 }
        }
    };
    Call::new("HNSCall", &format!("method={method} path={path}")).answer(hand_out).cast_signed()
}

/// A copy that its receiver frees; null if there is no memory.
fn in_callers_memory(text: &[u16]) -> PWSTR {
    // SAFETY: as much is written as was asked for.
    unsafe {
        let place: PWSTR = CoTaskMemAlloc(size_of_val(text)).cast();
        if place.is_null() {
            return null_mut();
        }
        place.copy_from_nonoverlapping(text.as_ptr(), text.len());
        place
    }
}
