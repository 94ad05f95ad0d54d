//! What living processes use, summed: for numbers that a job does not keep itself.

use std::ffi::c_void;
use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::sync::OnceLock;

use windows_sys::Win32::Foundation::{FILETIME, HANDLE};
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::Threading::{
    GetProcessTimes, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_VM_READ,
};

use super::handle::{check, size_of};
use super::library::Library;
use super::process::open;

/// Sums over processes.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    pub(crate) user_ns: u64,
    pub(crate) kernel_ns: u64,
    /// Resident pages, those shared with others included.
    pub(crate) resident_bytes: u64,
    /// Resident pages that no other process has. Where the system does not tell: all resident ones.
    pub(crate) private_bytes: u64,
}

/// The kernel's counters of one process's memory.
#[repr(C)]
#[derive(Default)]
struct VmCounters {
    peak_virtual: usize,
    virtual_size: usize,
    page_faults: u32,
    peak_working_set: usize,
    working_set: usize,
    quotas: [usize; 4],
    pagefile: usize,
    peak_pagefile: usize,
    private_usage: usize,
    private_working_set: usize,
    shared_commit: u64,
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(std::mem::size_of::<VmCounters>() == 112);
    assert!(std::mem::offset_of!(VmCounters, private_working_set) == 96);
};

const PROCESS_VM_COUNTERS: u32 = 3;

/// Process, class, answer, its size, and how much was written.
type Query = unsafe extern "system" fn(HANDLE, u32, *mut VmCounters, u32, *mut u32) -> i32;

/// What these processes use; one that has just ended counts as nothing.
pub(crate) fn usage(pids: &[u32]) -> Usage {
    let mut sum = Usage::default();
    for process in
        pids.iter().filter_map(|pid| open(*pid, PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_VM_READ).ok())
    {
        let (user, kernel) = times(&process).unwrap_or_default();
        let resident = working_set(&process).unwrap_or_default();
        sum.user_ns += user;
        sum.kernel_ns += kernel;
        sum.resident_bytes += resident;
        sum.private_bytes += private_working_set(&process).unwrap_or(resident);
    }
    sum
}

fn times(process: &OwnedHandle) -> io::Result<(u64, u64)> {
    let [mut created, mut ended, mut kernel, mut user] = [FILETIME::default(); 4];
    let handle = process.as_raw_handle();
    // SAFETY: the handle is open and all results go to locals.
    check(unsafe {
        GetProcessTimes(handle, &raw mut created, &raw mut ended, &raw mut kernel, &raw mut user)
    })?;
    Ok((nanos(user), nanos(kernel)))
}

fn nanos(time: FILETIME) -> u64 {
    ((u64::from(time.dwHighDateTime) << 32) | u64::from(time.dwLowDateTime)) * 100
}

fn working_set(process: &OwnedHandle) -> io::Result<u64> {
    let mut counters = PROCESS_MEMORY_COUNTERS::default();
    let size = size_of::<PROCESS_MEMORY_COUNTERS>();
    // SAFETY: the structure is as large as we say.
    check(unsafe { K32GetProcessMemoryInfo(process.as_raw_handle(), &raw mut counters, size) })?;
    Ok(counters.WorkingSetSize as u64)
}

/// The documented call has this number only since Windows 11.
fn private_working_set(process: &OwnedHandle) -> Option<u64> {
    let (query, mut counters) = (query()?, VmCounters::default());
    let (size, mut written) = (size_of::<VmCounters>(), 0);
    // SAFETY: the process is open, and the answer's structure is as large as we say.
    let status = unsafe {
        query(process.as_raw_handle(), PROCESS_VM_COUNTERS, &raw mut counters, size, &raw mut written)
    };
    (status >= 0 && written == size).then_some(counters.private_working_set as u64)
}

fn query() -> Option<Query> {
    static QUERY: OnceLock<Option<Query>> = OnceLock::new();
    *QUERY.get_or_init(|| {
        let function = Library::open("ntdll.dll").ok()?.function("NtQueryInformationProcess")?;
        // SAFETY: ntdll is never unloaded, and its function has this signature for this class.
        Some(unsafe { std::mem::transmute::<*const c_void, Query>(function) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_memory_and_a_missing_one_nothing() {
        let ours = usage(&[std::process::id()]);
        assert!(ours.resident_bytes > 1 << 16 && ours.private_bytes > 0, "{ours:?}");
        assert!(ours.private_bytes <= ours.resident_bytes, "{ours:?}");
        assert_eq!(usage(&[0xFFFF_FFF0]).resident_bytes, 0);
    }
}
