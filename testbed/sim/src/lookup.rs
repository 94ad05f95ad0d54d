//! Functions that a program looks up by name while it runs, as Go programs do: a few of them are ours.
//!
//! The library that brings the performance counters does this, since a kubelet loads it before it looks up the rest.

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use windows_sys::Win32::Foundation::HMODULE;
use windows_sys::Win32::NetworkManagement::IpHelper::{
    GAA_FLAG_INCLUDE_PREFIX, GetAdaptersAddresses, IP_ADAPTER_ADDRESSES_LH,
};

use crate::import_table::redirect;
use crate::record::Call;
use crate::unix_socket;

type GetProcAddress = unsafe extern "system" fn(HMODULE, *const u8) -> *const c_void;

/// What may be asked for by number instead of by name.
const NUMBERS: usize = 0x1_0000;

static GET_PROC_ADDRESS: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// # Safety
/// For the time when the loader holds its lock.
pub(crate) unsafe fn take_over() {
    // SAFETY: it has the signature of what it replaces.
    unsafe {
        if let Some(before) = redirect(c"GetProcAddress", (look_up as *const ()).cast()) {
            GET_PROC_ADDRESS.store(before.cast_mut(), Ordering::Relaxed);
        }
    }
}

unsafe extern "system" fn look_up(library: HMODULE, name: *const u8) -> *const c_void {
    // SAFETY: what is no number is a null-ended text, and what was there before is the function itself.
    unsafe {
        let found = (name.addr() >= NUMBERS).then(|| ours(CStr::from_ptr(name.cast()))).flatten();
        let before = GET_PROC_ADDRESS.load(Ordering::Relaxed);
        found.unwrap_or_else(|| std::mem::transmute::<*mut c_void, GetProcAddress>(before)(library, name))
    }
}

/// No two system libraries have these names for different things.
fn ours(name: &CStr) -> Option<*const c_void> {
    let function = match name.to_bytes() {
        b"GetAdaptersAddresses" => adapters_addresses as *const (),
        b"WSASocketW" => unix_socket::socket as *const (),
        b"bind" => unix_socket::bind as *const (),
        b"getsockname" => unix_socket::name as *const (),
        _ => return None,
    };
    Some(function.cast())
}

/// Wine fails with `ERROR_INVALID_DATA` when it is asked for the prefixes of addresses of IPv6: it is not asked.
unsafe extern "system" fn adapters_addresses(
    family: u32,
    flags: u32,
    reserved: *const c_void,
    addresses: *mut IP_ADAPTER_ADDRESSES_LH,
    size: *mut u32,
) -> u32 {
    let fewer = flags & !GAA_FLAG_INCLUDE_PREFIX;
    // SAFETY: the caller's promises are those of the real one.
    let ask = || unsafe { GetAdaptersAddresses(family, fewer, reserved, addresses, size) };
    Call::new("GetAdaptersAddresses", &format!("flags={flags:#x}")).answer(ask)
}
