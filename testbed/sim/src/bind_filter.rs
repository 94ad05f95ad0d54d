//! The bind filter: what it is asked is written down and judged as the real one judges it; nothing is ever mapped.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::core::{HRESULT, PCWSTR};

use crate::job;
use crate::record::Call;
use crate::text::read;

const INVALID: u32 = 0x8007_0057;
const NO_FILE: u32 = 0x8007_0002;
const NO_PATH: u32 = 0x8007_0003;
const NOT_IMPLEMENTED: u32 = 0x8000_4001;
const CURRENT_SILO: u32 = 0x4;

/// Silo and virtual root of what is mapped in this process.
static MAPPED: Mutex<Vec<(u32, String)>> = Mutex::new(Vec::new());

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn BfSetupFilter(
    job: HANDLE,
    flags: u32,
    root: PCWSTR,
    target: PCWSTR,
    _exceptions: *const PCWSTR,
    exceptions: u32,
) -> HRESULT {
    // SAFETY: the caller gives null-ended texts.
    let (root, target) = unsafe { (read(root).unwrap_or_default(), read(target).unwrap_or_default()) };
    let silo = job::silo(job);
    let name = job::name_of(job);
    let arguments = format!(
        "job={name} silo={} flags={flags:#x} root={root} target={target} exceptions={exceptions}",
        silo.is_some()
    );
    let judge = || judge(silo, flags, &root, &target);
    Call::new("BfSetupFilter", &arguments).answer(judge).cast_signed()
}

fn judge(silo: Option<u32>, flags: u32, root: &str, target: &str) -> u32 {
    let normal = root.trim_end_matches('\\').to_ascii_lowercase();
    let mut mapped = MAPPED.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(silo) = silo else { return INVALID };
    if flags & CURRENT_SILO == 0 || !is_absolute(root) || !is_absolute(target) {
        return INVALID;
    }
    if mapped.iter().any(|(of, at)| *of == silo && *at == normal) {
        return INVALID;
    }
    if is_volume(target) {
        if target.ends_with('}') {
            return NO_FILE;
        }
    } else if !Path::new(target).exists() {
        return NO_FILE;
    }
    if !Path::new(&normal).parent().is_none_or(Path::exists) {
        return NO_PATH;
    }
    mapped.push((silo, normal));
    0
}

fn is_volume(path: &str) -> bool {
    path.to_ascii_lowercase().starts_with(r"\\?\volume{")
}

fn is_absolute(path: &str) -> bool {
    is_volume(path) || Path::new(path).is_absolute()
}

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn BfRemoveMapping(job: HANDLE, root: PCWSTR) -> HRESULT {
    // SAFETY: the caller gives a null-ended text.
    let root = unsafe { read(root) }.unwrap_or_default();
    let normal = root.trim_end_matches('\\').to_ascii_lowercase();
    let silo = job::silo(job);
    let remove = || {
        let mut mapped = MAPPED.lock().unwrap_or_else(PoisonError::into_inner);
        let before = mapped.len();
        mapped.retain(|(of, at)| Some(*of) != silo || *at != normal);
        if mapped.len() < before { 0 } else { NO_FILE }
    };
    let arguments = format!("job={} root={root}", job::name_of(job));
    Call::new("BfRemoveMapping", &arguments).answer(remove).cast_signed()
}

/// Nobody asks for mappings yet.
///
/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn BfGetMappings(
    flags: u32,
    job: HANDLE,
    _root: PCWSTR,
    _sid: *const u8,
    _size: *mut u32,
    _buffer: *mut u8,
) -> HRESULT {
    let arguments = format!("job={} flags={flags:#x}", job::name_of(job));
    Call::new("BfGetMappings", &arguments).answer(|| NOT_IMPLEMENTED).cast_signed()
}
