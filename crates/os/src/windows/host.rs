//! Facts about this Windows machine.

use std::ffi::{CStr, c_char};
use std::io;

use windows_sys::Win32::System::SystemInformation::{
    ComputerNamePhysicalDnsHostname, GetComputerNameExW, GetSystemWindowsDirectoryW, GlobalMemoryStatusEx,
    MEMORYSTATUSEX, OSVERSIONINFOW,
};

use super::handle::check;
use super::library::Library;
use super::registry::{self, CURRENT_VERSION};
use super::text::narrow;
use super::{job, security};
use crate::host::{Account, HostFacts, WindowsBuild, architecture};

/// Counts this machine's boots.
const BOOT_COUNT: &str =
    r"SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters";

pub(crate) fn facts() -> io::Result<HostFacts> {
    let build = build()?;
    Ok(HostFacts {
        os: "windows".to_owned(),
        os_version: os_version(build),
        windows_build: Some(build),
        architecture: architecture(),
        hostname: hostname()?,
        cpus: job::processors(),
        memory_bytes: memory_bytes()?,
        boot_id: boot_id()?,
        system_drive: Some(system_drive()?),
        account: account()?,
        emulator: emulator(),
    })
}

fn os_version(build: WindowsBuild) -> String {
    let name = registry::text(CURRENT_VERSION, "ProductName").unwrap_or_else(|_| "Windows".to_owned());
    format!("{name}, {build}")
}

/// The version as the kernel knows it: the documented calls tell a program without a manifest an old one.
pub(crate) fn build() -> io::Result<WindowsBuild> {
    let ntdll = Library::open("ntdll.dll")?;
    let get = ntdll.function("RtlGetVersion").ok_or(io::ErrorKind::Unsupported)?;
    let mut version = OSVERSIONINFOW {
        dwOSVersionInfoSize: super::handle::size_of::<OSVERSIONINFOW>(),
        ..OSVERSIONINFOW::default()
    };
    // SAFETY: the function has exactly this signature and fills the structure whose size it was told.
    unsafe {
        let get: unsafe extern "system" fn(*mut OSVERSIONINFOW) -> i32 = std::mem::transmute(get);
        get(&raw mut version);
    }
    Ok(WindowsBuild {
        major: version.dwMajorVersion,
        minor: version.dwMinorVersion,
        build: version.dwBuildNumber,
        revision: registry::number(CURRENT_VERSION, "UBR").unwrap_or(0),
    })
}

fn hostname() -> io::Result<String> {
    let mut name = [0u16; 256];
    let mut size = 256;
    // SAFETY: the buffer is as long as we say.
    check(unsafe { GetComputerNameExW(ComputerNamePhysicalDnsHostname, name.as_mut_ptr(), &raw mut size) })?;
    Ok(narrow(&name))
}

/// The drive of the Windows directory, from the system itself: a variable is whatever somebody set.
pub(crate) fn system_drive() -> io::Result<String> {
    let mut directory = [0u16; 260];
    // SAFETY: the buffer is as long as we say.
    let length = unsafe { GetSystemWindowsDirectoryW(directory.as_mut_ptr(), 260) };
    if length == 0 {
        return Err(io::Error::last_os_error());
    }
    let directory = narrow(&directory);
    let drive = directory.get(..2).filter(|drive| drive.ends_with(':'));
    drive.map(str::to_owned).ok_or_else(|| io::Error::other(format!("{directory:?} is on no drive")))
}

fn memory_bytes() -> io::Result<u64> {
    let mut status =
        MEMORYSTATUSEX { dwLength: super::handle::size_of::<MEMORYSTATUSEX>(), ..MEMORYSTATUSEX::default() };
    // SAFETY: the structure carries its own size.
    check(unsafe { GlobalMemoryStatusEx(&raw mut status) })?;
    Ok(status.ullTotalPhys)
}

/// The boot counter where there is one, else the moment of booting.
pub(crate) fn boot_id() -> io::Result<String> {
    match registry::number(BOOT_COUNT, "BootId") {
        Ok(count) => Ok(format!("boot-{count}")),
        Err(_) => boot_moment().map(|moment| format!("booted-{moment}")),
    }
}

/// When the machine booted, in 100 ns. Setting the clock moves the boot time and the bias alike.
fn boot_moment() -> io::Result<i64> {
    const SYSTEM_TIME_OF_DAY: u32 = 3;
    #[repr(C)]
    #[derive(Default)]
    struct TimeOfDay {
        boot_time: i64,
        current_time: i64,
        time_zone_bias: i64,
        time_zone_id: u32,
        reserved: u32,
        boot_time_bias: u64,
        sleep_time_bias: u64,
    }
    const _: () = assert!(std::mem::size_of::<TimeOfDay>() == 48);
    type Query = unsafe extern "system" fn(u32, *mut TimeOfDay, u32, *mut u32) -> i32;
    let ntdll = Library::open("ntdll.dll")?;
    let query = ntdll.function("NtQuerySystemInformation").ok_or(io::ErrorKind::Unsupported)?;
    let (mut time, mut size) = (TimeOfDay::default(), 0);
    // SAFETY: the function has this signature for this class and is told the structure's size.
    let status = unsafe {
        let query: Query = std::mem::transmute(query);
        query(SYSTEM_TIME_OF_DAY, &raw mut time, super::handle::size_of::<TimeOfDay>(), &raw mut size)
    };
    if status < 0 {
        return Err(io::Error::other(format!("the time of boot is not known: status {status:#x}")));
    }
    Ok(time.boot_time.wrapping_sub_unsigned(time.boot_time_bias))
}

fn account() -> io::Result<Account> {
    let id = security::user_sid()?;
    let name = security::user_name().unwrap_or_else(|_| id.clone());
    Ok(Account { name, id, elevated: security::elevated() })
}

/// Wine says so itself, by an export that Windows does not have.
pub(crate) fn emulator() -> Option<String> {
    let ntdll = Library::open("ntdll.dll").ok()?;
    let version = ntdll.function("wine_get_version")?;
    // SAFETY: the export has this signature and returns a static text.
    let version = unsafe {
        let version: unsafe extern "C" fn() -> *const c_char = std::mem::transmute(version);
        CStr::from_ptr(version())
    };
    Some(format!("wine {}", version.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_facts_and_keeps_its_boot_id() {
        let facts = facts().unwrap();
        assert!(facts.cpus >= 1 && facts.memory_bytes > 1 << 20 && !facts.hostname.is_empty(), "{facts:?}");
        assert!(facts.account.id.starts_with("S-1-"), "{facts:?}");
        assert_eq!(facts.system_drive, std::env::var("SystemDrive").ok(), "{facts:?}");
        assert_eq!(facts.boot_id, boot_id().unwrap());
    }
}
