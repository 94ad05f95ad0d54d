//! The attribute list of a new process: which job it is born into, which handles it inherits, which terminal it has.

use std::ffi::c_void;
use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle};
use std::ptr::{null, null_mut, without_provenance};

use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::System::Console::HPCON;
use windows_sys::Win32::System::Threading::{
    DeleteProcThreadAttributeList, InitializeProcThreadAttributeList, LPPROC_THREAD_ATTRIBUTE_LIST,
    PROC_THREAD_ATTRIBUTE_HANDLE_LIST, PROC_THREAD_ATTRIBUTE_JOB_LIST, PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE,
    UpdateProcThreadAttribute,
};

use super::handle::check;

const COUNT: u32 = 3;

/// The list keeps pointers into its own arrays, so these live on the heap and are never changed.
#[derive(Debug)]
pub(crate) struct Attributes {
    list: Vec<usize>,
    handles: Box<[HANDLE]>,
    job: Box<[HANDLE]>,
}

impl Attributes {
    /// A list under which only these handles, already marked inheritable, are inherited.
    pub(crate) fn new(handles: &[BorrowedHandle<'_>], job: Option<BorrowedHandle<'_>>) -> io::Result<Self> {
        let mut size = 0;
        // SAFETY: asking for the size only; this call always "fails".
        unsafe { InitializeProcThreadAttributeList(null_mut(), COUNT, 0, &raw mut size) };
        let raw = |handle: &BorrowedHandle<'_>| handle.as_raw_handle();
        let mut attributes = Self {
            list: vec![0; size.div_ceil(size_of::<usize>())],
            handles: handles.iter().map(raw).collect(),
            job: job.iter().map(raw).collect(),
        };
        // SAFETY: the buffer has the size asked for, aligned for pointers.
        check(unsafe { InitializeProcThreadAttributeList(attributes.as_ptr(), COUNT, 0, &raw mut size) })?;
        if !attributes.handles.is_empty() {
            let (at, size) = (attributes.handles.as_ptr().cast(), size_of_val(&*attributes.handles));
            attributes.set(PROC_THREAD_ATTRIBUTE_HANDLE_LIST, at, size)?;
        }
        Ok(attributes)
    }

    /// Whether the system takes the job; one that does not (old, or an emulator) needs assignment afterwards.
    pub(crate) fn born_in_job(&mut self) -> bool {
        let (at, size) = (self.job.as_ptr().cast(), size_of_val(&*self.job));
        !self.job.is_empty() && self.set(PROC_THREAD_ATTRIBUTE_JOB_LIST, at, size).is_ok()
    }

    /// The program's streams are the console's.
    pub(crate) fn with_console(&mut self, console: HPCON) -> io::Result<()> {
        // This one attribute is the value itself and not the place where it is.
        let value = without_provenance(console.cast_unsigned());
        self.set(PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE, value, size_of::<HPCON>())
    }

    fn set(&mut self, attribute: u32, value: *const c_void, size: usize) -> io::Result<()> {
        let list = self.as_ptr();
        // SAFETY: arrays are in boxes that live as long as the list.
        check(unsafe {
            UpdateProcThreadAttribute(list, 0, attribute as usize, value, size, null_mut(), null())
        })
    }

    pub(crate) fn as_ptr(&mut self) -> LPPROC_THREAD_ATTRIBUTE_LIST {
        self.list.as_mut_ptr().cast()
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: initialised in new; a list whose initialisation failed is all zero, which deletes nothing.
        unsafe { DeleteProcThreadAttributeList(self.as_ptr()) };
    }
}
