//! Asking and telling a job object: each information class with the structure that belongs to it.
//!
//! The kernel checks nothing but the size, so the sizes are asserted against the reference here.

use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::ptr::null_mut;

use windows_sys::Win32::Foundation::ERROR_MORE_DATA;
use windows_sys::Win32::System::JobObjects::{
    JOBOBJECT_ASSOCIATE_COMPLETION_PORT, JOBOBJECT_BASIC_ACCOUNTING_INFORMATION,
    JOBOBJECT_BASIC_LIMIT_INFORMATION, JOBOBJECT_CPU_RATE_CONTROL_INFORMATION,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JOBOBJECT_IO_ATTRIBUTION_INFORMATION, JOBOBJECTINFOCLASS,
    JobObjectAssociateCompletionPortInformation, JobObjectBasicAccountingInformation,
    JobObjectBasicProcessIdList, JobObjectCpuRateControlInformation, JobObjectExtendedLimitInformation,
    QueryInformationJobObject, SetInformationJobObject,
};

use super::handle::{check, code, size_of};

#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(std::mem::size_of::<JOBOBJECT_BASIC_LIMIT_INFORMATION>() == 64);
    assert!(std::mem::size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>() == 144);
    assert!(std::mem::offset_of!(JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobMemoryLimit) == 120);
    assert!(std::mem::size_of::<JOBOBJECT_CPU_RATE_CONTROL_INFORMATION>() == 8);
    assert!(std::mem::size_of::<JOBOBJECT_ASSOCIATE_COMPLETION_PORT>() == 16);
    assert!(std::mem::size_of::<JOBOBJECT_BASIC_ACCOUNTING_INFORMATION>() == 48);
    assert!(std::mem::offset_of!(JOBOBJECT_BASIC_LIMIT_INFORMATION, LimitFlags) == 16);
    assert!(std::mem::size_of::<MemoryUsage>() == 16);
    assert!(std::mem::size_of::<JOBOBJECT_IO_ATTRIBUTION_INFORMATION>() == 72);
    assert!(std::mem::offset_of!(JOBOBJECT_IO_ATTRIBUTION_INFORMATION, ReadStats) == 8);
    assert!(std::mem::offset_of!(JOBOBJECT_IO_ATTRIBUTION_INFORMATION, WriteStats) == 40);
};

/// Two classes that the headers know by number only.
const MEMORY_USAGE: JOBOBJECTINFOCLASS = 28;
const IO_ATTRIBUTION: JOBOBJECTINFOCLASS = 42;

/// What a job has committed, now and at most.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct MemoryUsage {
    pub(crate) committed: u64,
    pub(crate) peak: u64,
}

/// A structure that travels under one information class.
///
/// # Safety
/// `CLASS` must be the class whose structure this is, and all-zero bytes must be a value of it.
pub(crate) unsafe trait JobInfo: Sized {
    const CLASS: JOBOBJECTINFOCLASS;
}

// SAFETY: the class's documented structure, of plain numbers.
unsafe impl JobInfo for JOBOBJECT_EXTENDED_LIMIT_INFORMATION {
    const CLASS: JOBOBJECTINFOCLASS = JobObjectExtendedLimitInformation;
}

// SAFETY: the class's documented structure, of plain numbers.
unsafe impl JobInfo for JOBOBJECT_CPU_RATE_CONTROL_INFORMATION {
    const CLASS: JOBOBJECTINFOCLASS = JobObjectCpuRateControlInformation;
}

// SAFETY: the class's documented structure; null is a valid handle value.
unsafe impl JobInfo for JOBOBJECT_ASSOCIATE_COMPLETION_PORT {
    const CLASS: JOBOBJECTINFOCLASS = JobObjectAssociateCompletionPortInformation;
}

// SAFETY: the class's documented structure, of plain numbers.
unsafe impl JobInfo for JOBOBJECT_BASIC_ACCOUNTING_INFORMATION {
    const CLASS: JOBOBJECTINFOCLASS = JobObjectBasicAccountingInformation;
}

// SAFETY: the class's structure, of plain numbers.
unsafe impl JobInfo for MemoryUsage {
    const CLASS: JOBOBJECTINFOCLASS = MEMORY_USAGE;
}

// SAFETY: the class's structure, of plain numbers.
unsafe impl JobInfo for JOBOBJECT_IO_ATTRIBUTION_INFORMATION {
    const CLASS: JOBOBJECTINFOCLASS = IO_ATTRIBUTION;
}

pub(crate) fn empty<T: JobInfo>() -> T {
    // SAFETY: the trait promises that zero is a value.
    unsafe { std::mem::zeroed() }
}

pub(crate) fn set<T: JobInfo>(job: &OwnedHandle, info: &T) -> io::Result<()> {
    let (info, size) = ((&raw const *info).cast(), size_of::<T>());
    // SAFETY: the trait promises that class, structure and size belong together.
    check(unsafe { SetInformationJobObject(job.as_raw_handle(), T::CLASS, info, size) })
}

pub(crate) fn query<T: JobInfo>(job: &OwnedHandle) -> io::Result<T> {
    let mut info = empty::<T>();
    let (at, size) = ((&raw mut info).cast(), size_of::<T>());
    // SAFETY: the trait promises that class, structure and size belong together.
    check(unsafe { QueryInformationJobObject(job.as_raw_handle(), T::CLASS, at, size, null_mut()) })?;
    Ok(info)
}

/// The ids of the processes inside. The list may have grown since its length was known, hence the loop.
pub(crate) fn process_ids(job: &OwnedHandle) -> io::Result<Vec<u32>> {
    let mut room = 16;
    loop {
        // Two 32-bit counts (assigned, listed), then one pointer-sized id each.
        let header = 8 / std::mem::size_of::<usize>();
        let mut list = vec![0usize; header + room];
        let size = u32::try_from(std::mem::size_of_val(list.as_slice())).map_err(io::Error::other)?;
        let (at, class) = (list.as_mut_ptr().cast(), JobObjectBasicProcessIdList);
        // SAFETY: the buffer is as long as we say and aligned for its ids.
        let asked =
            check(unsafe { QueryInformationJobObject(job.as_raw_handle(), class, at, size, null_mut()) });
        // SAFETY: the buffer begins with two 32-bit numbers, whatever the call wrote.
        let [_, listed] = unsafe { list.as_ptr().cast::<[u32; 2]>().read() };
        match asked {
            Err(error) if code(&error) == ERROR_MORE_DATA => room *= 4,
            Err(error) => return Err(error),
            Ok(()) => {
                let ids = list[header..].iter().take(listed as usize);
                return Ok(ids.filter_map(|id| u32::try_from(*id).ok()).collect());
            }
        }
    }
}
