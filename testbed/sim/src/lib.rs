//! A simulation, for tests under Wine only: system libraries that Wine lacks, or has as stubs.
//!
//! One library is installed under several names, and acts as its name says:
//!
//! | name | stands for |
//! |---|---|
//! | `bindfltapi.dll` | the bind filter |
//! | `computenetwork.dll` | the host network service: networks and namespaces, kept in files |
//! | `exits.dll` | nothing: a bystander that tells how processes ended, for `rundll32` |
//! | `netapi32.dll` | local users and groups, kept in files; logons, which Wine answers with a token that nobody accepts; silos, rate control and counters of job objects, which Wine does not have |
//! | `pdh.dll` | performance counters, for a stock kubelet; Unix sockets and a list of network adapters for it |
//! | `vmcompute.dll` | the older interface of the host network service, which has no endpoints |
//!
//! What belongs to libraries that cannot be replaced (`kernel32`, `advapi32`, `userenv`) is taken over in the program's
//! import table when the library is loaded, or where it looks functions up: the program under test has no hook for it
//! and does not know.
//!
//! Everything lies below [`record::PLACE`], outside of any process, for the test to prepare and to read:
//! `calls` (what was called, and answered), `faults` (what to answer instead), `users`, `groups`, `domain`,
//! `networks`, `namespaces`.
#![cfg(windows)]
#![expect(unsafe_code, reason = "a system library is called with pointers")]

mod bind_filter;
mod exits;
mod hns;
mod host_network;
mod import_table;
mod job;
mod key;
mod logon;
mod lookup;
mod net;
mod net_buffer;
mod pdh;
mod record;
mod text;
mod unix_socket;

use std::ffi::c_void;
use std::ptr::null_mut;

use windows_sys::Win32::Foundation::{HINSTANCE, HMODULE};
use windows_sys::Win32::System::LibraryLoader::{
    GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, GET_MODULE_HANDLE_EX_FLAG_PIN, GetModuleFileNameW,
    GetModuleHandleExW,
};
use windows_sys::Win32::System::SystemServices::DLL_PROCESS_ATTACH;
use windows_sys::core::BOOL;

/// Called by the loader.
///
/// # Safety
/// For the loader only.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DllMain(library: HINSTANCE, reason: u32, _reserved: *mut c_void) -> BOOL {
    if reason == DLL_PROCESS_ATTACH {
        // SAFETY: the loader gives our own handle and holds its lock, so nobody else changes the import table.
        unsafe {
            stay();
            // Those that programs load early: each of ours imports the first, a kubelet asks for the second at once.
            match name_of(library).as_str() {
                "netapi32.dll" => {
                    job::take_over();
                    logon::take_over();
                }
                "pdh.dll" => lookup::take_over(),
                _ => {}
            }
        }
    }
    1
}

/// The program's import table leads here from now on, so the library must not be unloaded.
unsafe fn stay() {
    let mut module: HMODULE = null_mut();
    let flags = GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS;
    // SAFETY: the address is one of ours, as the flag says.
    unsafe { GetModuleHandleExW(flags, (DllMain as *const ()).cast(), &raw mut module) };
}

unsafe fn name_of(library: HINSTANCE) -> String {
    let mut path = [0u16; 512];
    // SAFETY: the buffer is as long as we say.
    let length = unsafe { GetModuleFileNameW(library, path.as_mut_ptr(), 512) };
    let path = String::from_utf16_lossy(&path[..length as usize]);
    path.rsplit('\\').next().unwrap_or_default().to_ascii_lowercase()
}
