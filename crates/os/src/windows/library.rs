//! Optional system libraries, from System32 only: a DLL planted beside a program must never be ours.

use std::ffi::{CString, c_void};
use std::io;

use windows_sys::Win32::Foundation::{FreeLibrary, HMODULE};
use windows_sys::Win32::System::LibraryLoader::{
    GetProcAddress, LOAD_LIBRARY_SEARCH_SYSTEM32, LoadLibraryExW,
};

use super::text::wide;

#[derive(Debug)]
pub(crate) struct Library(HMODULE);

impl Library {
    pub(crate) fn open(name: &str) -> io::Result<Self> {
        let name = wide(name)?;
        // SAFETY: a null-ended name; the reserved handle is null.
        let module =
            unsafe { LoadLibraryExW(name.as_ptr(), std::ptr::null_mut(), LOAD_LIBRARY_SEARCH_SYSTEM32) };
        if module.is_null() { Err(io::Error::last_os_error()) } else { Ok(Self(module)) }
    }

    /// The address of an exported function, if there is one. It is good as long as the library is open.
    pub(crate) fn function(&self, name: &str) -> Option<*const c_void> {
        let name = CString::new(name).ok()?;
        // SAFETY: the library is open and the name ends with a null.
        let function = unsafe { GetProcAddress(self.0, name.as_ptr().cast()) }?;
        Some(function as *const c_void)
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: opened by us and closed once.
        unsafe { FreeLibrary(self.0) };
    }
}
