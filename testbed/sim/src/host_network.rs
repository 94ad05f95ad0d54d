//! The host network service, `computenetwork.dll`: networks that the test laid down, and namespaces, as files that any
//! process of the machine sees. `networks/ID` and `namespaces/ID` hold their settings.
//!
//! The real library asks a service of the host, which judges the caller's account; here every caller is heard.

use std::ffi::c_void;
use std::fs;
use std::path::PathBuf;
use std::ptr::null_mut;

use windows_sys::Win32::System::LibraryLoader::{
    GetProcAddress, LOAD_LIBRARY_SEARCH_SYSTEM32, LoadLibraryExW,
};
use windows_sys::core::{GUID, HRESULT, PCWSTR, PWSTR};

use crate::record::{Call, place};
use crate::text::{read, wide};

const INVALID: u32 = 0x8007_0057;
const NOT_FOUND: u32 = 0x8007_0490;
const ALREADY_THERE: u32 = 0x8007_00b7;
const NO_MEMORY: u32 = 0x8007_000e;
const FAILED: u32 = 0x8000_4005;

/// What a handle of a namespace leads to.
struct Namespace {
    id: String,
}

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn HcnEnumerateNetworks(
    query: PCWSTR,
    networks: *mut PWSTR,
    error: *mut PWSTR,
) -> HRESULT {
    // SAFETY: as the caller promises.
    unsafe { enumerate("HcnEnumerateNetworks", "networks", query, networks, error) }
}

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn HcnEnumerateNamespaces(
    query: PCWSTR,
    namespaces: *mut PWSTR,
    error: *mut PWSTR,
) -> HRESULT {
    // SAFETY: as the caller promises.
    unsafe { enumerate("HcnEnumerateNamespaces", "namespaces", query, namespaces, error) }
}

/// # Safety
/// As for the real one; a namespace without an identifier is not made here.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn HcnCreateNamespace(
    id: *const GUID,
    settings: PCWSTR,
    namespace: *mut *mut c_void,
    error: *mut PWSTR,
) -> HRESULT {
    // SAFETY: the caller gives an identifier, a null-ended text, and places for the answers.
    unsafe {
        clear(error);
        let (id, settings) = (written(&*id), read(settings).unwrap_or_default());
        let create = || match fs::File::create_new(namespaces(&id)) {
            Ok(_) => fs::write(namespaces(&id), &settings).map_or(FAILED, |()| 0),
            Err(_) if namespaces(&id).exists() => ALREADY_THERE,
            Err(_) => FAILED,
        };
        let arguments = format!("id={id} settings={settings}");
        let answer = Call::new("HcnCreateNamespace", &arguments).answer(create);
        if answer == 0 {
            namespace.write(Box::into_raw(Box::new(Namespace { id })).cast());
        }
        answer.cast_signed()
    }
}

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn HcnQueryNamespaceProperties(
    namespace: *mut c_void,
    query: PCWSTR,
    properties: *mut PWSTR,
    error: *mut PWSTR,
) -> HRESULT {
    // SAFETY: the handle is one of ours that is still open; the rest is as the caller promises.
    unsafe {
        clear(error);
        let Some(Namespace { id }) = namespace.cast::<Namespace>().as_ref() else {
            return INVALID.cast_signed();
        };
        let arguments = format!("id={id} query={}", read(query).unwrap_or_default());
        let ask = || match namespaces(id).exists() {
            true => give(properties, &format!("{{\"ID\":\"{id}\",\"Type\":\"Guest\",\"Resources\":[]}}")),
            false => NOT_FOUND,
        };
        Call::new("HcnQueryNamespaceProperties", &arguments).answer(ask).cast_signed()
    }
}

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn HcnDeleteNamespace(id: *const GUID, error: *mut PWSTR) -> HRESULT {
    // SAFETY: the caller gives an identifier and a place.
    let id = unsafe {
        clear(error);
        written(&*id)
    };
    let delete = || fs::remove_file(namespaces(&id)).map_or(NOT_FOUND, |()| 0);
    Call::new("HcnDeleteNamespace", &format!("id={id}")).answer(delete).cast_signed()
}

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn HcnCloseNamespace(namespace: *mut c_void) -> HRESULT {
    if namespace.is_null() {
        return INVALID.cast_signed();
    }
    // SAFETY: a handle of ours, closed once.
    drop(unsafe { Box::from_raw(namespace.cast::<Namespace>()) });
    0
}

/// The identifiers of a kind of thing, as the service lists them.
unsafe fn enumerate(
    function: &str,
    kind: &str,
    query: PCWSTR,
    found: *mut PWSTR,
    error: *mut PWSTR,
) -> HRESULT {
    // SAFETY: the caller gives a null-ended text and places for the answers.
    unsafe {
        clear(error);
        let arguments = format!("query={}", read(query).unwrap_or_default());
        let files = fs::read_dir(place(kind)).into_iter().flatten().flatten();
        let mut ids: Vec<_> = files.map(|file| format!("{:?}", file.file_name())).collect();
        ids.sort();
        let list = || give(found, &format!("[{}]", ids.join(",")));
        Call::new(function, &arguments).answer(list).cast_signed()
    }
}

fn namespaces(id: &str) -> PathBuf {
    place("namespaces").join(id)
}

unsafe fn clear(error: *mut PWSTR) {
    if !error.is_null() {
        // SAFETY: a place for a pointer.
        unsafe { error.write(null_mut()) };
    }
}

/// Puts a text where the caller finds and frees it.
unsafe fn give(place: *mut PWSTR, text: &str) -> u32 {
    let text = wide(text);
    // SAFETY: the memory is as long as the text, and the place is the caller's.
    unsafe {
        let Some(memory) = allocate(size_of_val(text.as_slice())) else { return NO_MEMORY };
        std::ptr::copy_nonoverlapping(text.as_ptr(), memory, text.len());
        place.write(memory);
    }
    0
}

/// Memory that callers free with `CoTaskMemFree`. Looked for when it is wanted: under its other names this library is
/// in every process, and need not bring all of COM along.
unsafe fn allocate(bytes: usize) -> Option<*mut u16> {
    let name = wide("ole32.dll");
    // SAFETY: a null-ended name, and the signature that the function is documented with.
    unsafe {
        let ole = LoadLibraryExW(name.as_ptr(), null_mut(), LOAD_LIBRARY_SEARCH_SYSTEM32);
        let allocate = GetProcAddress(ole, c"CoTaskMemAlloc".as_ptr().cast())?;
        let allocate: unsafe extern "system" fn(usize) -> *mut c_void = std::mem::transmute(allocate);
        let memory = allocate(bytes).cast::<u16>();
        (!memory.is_null()).then_some(memory)
    }
}

fn written(id: &GUID) -> String {
    let GUID { data1, data2, data3, data4 } = id;
    let tail: String = data4.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{data1:08x}-{data2:04x}-{data3:04x}-{}-{}", &tail[..4], &tail[4..])
}
