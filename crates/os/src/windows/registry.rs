//! The few registry values that say what this machine is.

use std::io;
use std::ptr::null_mut;

use windows_sys::Win32::System::Registry::{
    HKEY_LOCAL_MACHINE, RRF_RT_REG_DWORD, RRF_RT_REG_SZ, RegGetValueW,
};

use super::handle::error;
use super::text::{narrow, wide};

pub(crate) const CURRENT_VERSION: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion";

/// A number below HKEY_LOCAL_MACHINE.
pub(crate) fn number(key: &str, name: &str) -> io::Result<u32> {
    let mut value = [0u16; 2];
    get(key, name, RRF_RT_REG_DWORD, &mut value)?;
    Ok(u32::from(value[0]) | (u32::from(value[1]) << 16))
}

/// A short text below HKEY_LOCAL_MACHINE.
pub(crate) fn text(key: &str, name: &str) -> io::Result<String> {
    let mut value = [0u16; 256];
    get(key, name, RRF_RT_REG_SZ, &mut value)?;
    Ok(narrow(&value))
}

fn get(key: &str, name: &str, kind: u32, value: &mut [u16]) -> io::Result<()> {
    let (key, name) = (wide(key)?, wide(name)?);
    let mut size = u32::try_from(std::mem::size_of_val(value)).map_err(io::Error::other)?;
    // SAFETY: the names end with a null and the buffer is as long as we say.
    let result = unsafe {
        let (at, key, name) = (value.as_mut_ptr().cast(), key.as_ptr(), name.as_ptr());
        RegGetValueW(HKEY_LOCAL_MACHINE, key, name, kind, null_mut(), at, &raw mut size)
    };
    if result == 0 { Ok(()) } else { Err(error(result)) }
}
