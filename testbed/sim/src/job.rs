//! What Wine's job objects lack: becoming a silo, rate control of processors, and two kinds of counters.
//!
//! Everything else of a job object is Wine's own. Limits are written down on their way to it and kept, because it forgets
//! them.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use windows_sys::Win32::Foundation::{ERROR_INVALID_PARAMETER, HANDLE, SetLastError};
use windows_sys::Win32::Security::SECURITY_ATTRIBUTES;
use windows_sys::Win32::System::JobObjects::{
    JOB_OBJECT_CPU_RATE_CONTROL_ENABLE, JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP,
    JOB_OBJECT_CPU_RATE_CONTROL_WEIGHT_BASED, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JOBOBJECTINFOCLASS,
    JobObjectBasicAccountingInformation, JobObjectCpuRateControlInformation as CPU_RATE,
    JobObjectCreateSilo as CREATE_SILO, JobObjectExtendedLimitInformation as EXTENDED_LIMITS,
};
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleA, GetProcAddress};
use windows_sys::core::{BOOL, PCWSTR};

use crate::import_table::redirect;
use crate::record::Call;

type Set = unsafe extern "system" fn(HANDLE, JOBOBJECTINFOCLASS, *const c_void, u32) -> BOOL;
type Create = unsafe extern "system" fn(*const SECURITY_ATTRIBUTES, PCWSTR) -> HANDLE;
type Query = unsafe extern "system" fn(HANDLE, JOBOBJECTINFOCLASS, *mut c_void, u32, *mut u32) -> BOOL;

const MEMORY_USAGE: JOBOBJECTINFOCLASS = 28;
const IO_ATTRIBUTION: JOBOBJECTINFOCLASS = 42;
/// Committed now and at most.
const MEMORY: [u64; 2] = [0x0111_1000, 0x0222_2000];
/// Flags, then count, two times and bytes: read, and written.
const TRAFFIC: [u64; 9] = [1, 10, 0, 0, 333_000, 20, 0, 0, 444_000];

static SET: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static QUERY: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static CREATE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
/// Jobs that are silos, each with a number of its own: a handle's comes again when it was closed.
static SILOS: Mutex<Vec<(usize, u32)>> = Mutex::new(Vec::new());
/// What each job was told last: Wine takes limits and forgets them.
static LIMITS: Mutex<Vec<(usize, JOBOBJECT_EXTENDED_LIMIT_INFORMATION)>> = Mutex::new(Vec::new());

/// # Safety
/// For the time when the loader holds its lock.
pub(crate) unsafe fn take_over() {
    // SAFETY: all have the signature of what they replace.
    unsafe {
        if let Some(before) = redirect(c"CreateJobObjectW", (create as *const ()).cast()) {
            CREATE.store(before.cast_mut(), Ordering::Relaxed);
        }
        if let Some(before) = redirect(c"SetInformationJobObject", (set as *const ()).cast()) {
            SET.store(before.cast_mut(), Ordering::Relaxed);
        }
        if let Some(before) = redirect(c"QueryInformationJobObject", (query as *const ()).cast()) {
            QUERY.store(before.cast_mut(), Ordering::Relaxed);
        }
    }
}

/// For the other copy of this library, which has a list of its own: the silo's number, 0 for what is none.
#[unsafe(no_mangle)]
pub(crate) extern "system" fn SimSilo(job: HANDLE) -> u32 {
    let silos = SILOS.lock().unwrap_or_else(PoisonError::into_inner);
    silos.iter().find(|(of, _)| *of == job.addr()).map_or(0, |(_, number)| *number)
}

/// The number of the silo that the copy which has taken job objects over made of this job.
pub(crate) fn silo(job: HANDLE) -> Option<u32> {
    // SAFETY: the program imports that library, so it stays loaded; the function is the one above.
    let number = unsafe {
        let other = GetModuleHandleA(c"netapi32.dll".as_ptr().cast());
        let found = GetProcAddress(other, c"SimSilo".as_ptr().cast())?;
        let silo: extern "system" fn(HANDLE) -> u32 = std::mem::transmute(found);
        silo(job)
    };
    (number != 0).then_some(number)
}

/// Nothing that was said of a closed job holds for a new one.
unsafe extern "system" fn create(attributes: *const SECURITY_ATTRIBUTES, name: PCWSTR) -> HANDLE {
    // SAFETY: everything is passed on as it came, to what stood in the import table.
    let job = unsafe {
        std::mem::transmute::<*mut c_void, Create>(CREATE.load(Ordering::Relaxed))(attributes, name)
    };
    SILOS.lock().unwrap_or_else(PoisonError::into_inner).retain(|(of, _)| *of != job.addr());
    LIMITS.lock().unwrap_or_else(PoisonError::into_inner).retain(|(of, _)| *of != job.addr());
    job
}

unsafe fn real_set(job: HANDLE, class: JOBOBJECTINFOCLASS, info: *const c_void, size: u32) -> BOOL {
    // SAFETY: what stood in the import table has this signature.
    unsafe { std::mem::transmute::<*mut c_void, Set>(SET.load(Ordering::Relaxed))(job, class, info, size) }
}

unsafe fn real_query(job: HANDLE, class: JOBOBJECTINFOCLASS, info: *mut c_void, size: u32) -> BOOL {
    let query = QUERY.load(Ordering::Relaxed);
    if query.is_null() {
        return 0;
    }
    // SAFETY: what stood in the import table has this signature.
    unsafe { std::mem::transmute::<*mut c_void, Query>(query)(job, class, info, size, null_mut()) }
}

unsafe extern "system" fn set(
    job: HANDLE,
    class: JOBOBJECTINFOCLASS,
    info: *const c_void,
    size: u32,
) -> BOOL {
    // SAFETY: the caller gives as many bytes as it says; each class has its own structure.
    let answer = unsafe {
        match class {
            CREATE_SILO => become_silo(job, info, size),
            CPU_RATE if size == 8 => rate(job, info.cast::<[u32; 2]>().read()),
            EXTENDED_LIMITS if size == 144 => {
                write_limits_down(job, &info.cast::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>().read());
                return real_set(job, class, info, size);
            }
            IO_ATTRIBUTION if size == 72 => count_traffic(job, info.cast::<u32>().read()),
            _ => return real_set(job, class, info, size),
        }
    };
    if answer != 0 {
        // SAFETY: a plain number.
        unsafe { SetLastError(answer) };
    }
    BOOL::from(answer == 0)
}

/// As the kernel has it: nobody inside, an end with the last handle, and no data.
unsafe fn become_silo(job: HANDLE, info: *const c_void, size: u32) -> u32 {
    let mut accounting = JOBOBJECT_BASIC_ACCOUNTING_INFORMATION::default();
    // SAFETY: this class fills this structure.
    unsafe { real_query(job, JobObjectBasicAccountingInformation, (&raw mut accounting).cast(), 48) };
    let limits = limits_of(job);
    let ends = limits.BasicLimitInformation.LimitFlags & JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE != 0;
    let inside = accounting.ActiveProcesses;
    let arguments = format!("job={} kill-on-close={ends} inside={inside} size={size}", name_of(job));
    let become_one = || {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        if !ends || inside > 0 || !info.is_null() || size > 0 || silo(job).is_some() {
            return ERROR_INVALID_PARAMETER;
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        SILOS.lock().unwrap_or_else(PoisonError::into_inner).push((job.addr(), number));
        0
    };
    Call::new("CreateSilo", &arguments).answer(become_one)
}

fn rate(job: HANDLE, [flags, value]: [u32; 2]) -> u32 {
    let (on, cap, weight) = (
        flags & JOB_OBJECT_CPU_RATE_CONTROL_ENABLE != 0,
        flags & JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP != 0,
        flags & JOB_OBJECT_CPU_RATE_CONTROL_WEIGHT_BASED != 0,
    );
    let judge = || match (on, cap, weight) {
        (true, true, false) if (1..=10_000).contains(&value) => 0,
        (true, false, true) if (1..=9).contains(&value) => 0,
        (false, false, false) => 0,
        _ => ERROR_INVALID_PARAMETER,
    };
    let arguments = format!("job={} flags={flags:#x} value={value}", name_of(job));
    Call::new("CpuRate", &arguments).answer(judge)
}

fn write_limits_down(job: HANDLE, limits: &JOBOBJECT_EXTENDED_LIMIT_INFORMATION) {
    let (basic, memory) = (&limits.BasicLimitInformation, limits.JobMemoryLimit);
    let flags = basic.LimitFlags;
    let arguments = format!(
        "job={} flags={flags:#x} memory={memory} processes={}",
        name_of(job),
        basic.ActiveProcessLimit
    );
    Call::new("Limits", &arguments).answer(|| 0);
    let mut known = LIMITS.lock().unwrap_or_else(PoisonError::into_inner);
    known.retain(|(of, _)| *of != job.addr());
    known.push((job.addr(), *limits));
}

fn limits_of(job: HANDLE) -> JOBOBJECT_EXTENDED_LIMIT_INFORMATION {
    let known = LIMITS.lock().unwrap_or_else(PoisonError::into_inner);
    known.iter().find(|(of, _)| *of == job.addr()).map(|(_, limits)| *limits).unwrap_or_default()
}

fn count_traffic(job: HANDLE, flags: u32) -> u32 {
    let arguments = format!("job={} flags={flags:#x}", name_of(job));
    Call::new("IoAttribution", &arguments).answer(|| if flags == 1 { 0 } else { ERROR_INVALID_PARAMETER })
}

unsafe extern "system" fn query(
    job: HANDLE,
    class: JOBOBJECTINFOCLASS,
    info: *mut c_void,
    size: u32,
    written: *mut u32,
) -> BOOL {
    // SAFETY: the caller gives room for as many bytes as it says; the sizes are the structures'.
    unsafe {
        match class {
            MEMORY_USAGE if size == 16 => info.cast::<[u64; 2]>().write(MEMORY),
            IO_ATTRIBUTION if size == 72 => info.cast::<[u64; 9]>().write(TRAFFIC),
            EXTENDED_LIMITS if size == 144 => {
                info.cast::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>().write(limits_of(job))
            }
            _ => {
                let real = std::mem::transmute::<*mut c_void, Query>(QUERY.load(Ordering::Relaxed));
                return real(job, class, info, size, written);
            }
        }
    }
    1
}

/// The name that the job was made with; `-` for one without.
pub(crate) fn name_of(job: HANDLE) -> String {
    const NAME: u32 = 1;
    type QueryObject = unsafe extern "system" fn(HANDLE, u32, *mut c_void, u32, *mut u32) -> i32;
    let (mut answer, mut length) = ([0u64; 128], 0);
    // SAFETY: ntdll is always loaded, its function has this signature, and the buffer is as long as we say.
    let status = unsafe {
        let ntdll = GetModuleHandleA(c"ntdll.dll".as_ptr().cast());
        let Some(found) = GetProcAddress(ntdll, c"NtQueryObject".as_ptr().cast()) else { return "?".into() };
        let query: QueryObject = std::mem::transmute(found);
        query(job, NAME, answer.as_mut_ptr().cast(), 1024, &raw mut length)
    };
    // A length in bytes, room, then where the text is.
    let units = usize::try_from(answer[0] & 0xFFFF).unwrap_or(0) / 2;
    let at = std::ptr::with_exposed_provenance::<u16>(usize::try_from(answer[1]).unwrap_or(0));
    if status < 0 || units == 0 || at.is_null() {
        return "-".to_owned();
    }
    // SAFETY: the call succeeded, so the text is where it says, in our buffer.
    let path = String::from_utf16_lossy(unsafe { std::slice::from_raw_parts(at, units) });
    path.rsplit('\\').next().unwrap_or_default().to_owned()
}
