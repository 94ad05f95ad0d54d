//! The program's import table: where its calls into system libraries go.

use std::ffi::{CStr, c_void};
use std::ptr::null;

use windows_sys::Win32::System::LibraryLoader::GetModuleHandleW;
use windows_sys::Win32::System::Memory::{PAGE_READWRITE, VirtualProtect};

/// One library's part of the table, as the file format has it.
#[repr(C)]
struct Descriptor {
    names: u32,
    stamp: u32,
    forwarder: u32,
    library: u32,
    addresses: u32,
}

const IMPORTS: usize = 1;
const BY_NUMBER: u64 = 1 << 63;

/// Sends the program's calls of a function elsewhere, and says where they went before; none if it never calls it.
///
/// # Safety
/// `to` must have the function's signature, and nobody may use the table meanwhile.
pub(crate) unsafe fn redirect(function: &CStr, to: *const c_void) -> Option<*const c_void> {
    // SAFETY: the loader has mapped the program, so its headers and tables are where the format says; the entry is made
    // writable before it is written.
    unsafe {
        let program = GetModuleHandleW(null()).cast::<u8>();
        let entry = entry(program, function)?;
        let before = *entry;
        let mut protection = 0;
        VirtualProtect(entry.cast(), 8, PAGE_READWRITE, &raw mut protection);
        *entry = to;
        VirtualProtect(entry.cast(), 8, protection, &raw mut protection);
        Some(before)
    }
}

/// # Safety
/// `program` must be a mapped 64-bit program.
unsafe fn entry(program: *mut u8, function: &CStr) -> Option<*mut *const c_void> {
    // SAFETY: as the caller promises; the offsets are the file format's.
    unsafe {
        let header = program.add(program.add(0x3C).cast::<u32>().read_unaligned() as usize);
        let directories = header.add(24 + 112).cast::<[u32; 2]>();
        let mut library = program.add((*directories.add(IMPORTS))[0] as usize).cast::<Descriptor>();
        while (*library).addresses != 0 {
            if let Some(found) = entry_of(program, &*library, function) {
                return Some(found);
            }
            library = library.add(1);
        }
    }
    None
}

/// # Safety
/// As for [`entry`], with a descriptor of the program's.
unsafe fn entry_of(program: *mut u8, library: &Descriptor, function: &CStr) -> Option<*mut *const c_void> {
    // SAFETY: names and addresses are two lists of equal length, the first ended by zero; a name follows a number.
    unsafe {
        let names = program.add(library.names as usize).cast::<u64>();
        let addresses = program.add(library.addresses as usize).cast::<*const c_void>();
        let used = (0..).map(|at| (at, *names.add(at))).take_while(|(_, name)| *name != 0);
        let mut named = used.filter(|(_, name)| name & BY_NUMBER == 0);
        let is_it = |name: u64| {
            let at = program.add(usize::try_from(name & 0x7FFF_FFFF).unwrap_or(0) + 2);
            CStr::from_ptr(at.cast()) == function
        };
        named.find(|(_, name)| is_it(*name)).map(|(at, _)| addresses.add(at))
    }
}
