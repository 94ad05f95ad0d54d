//! Performance counters: the eight functions that a kubelet looks up, with figures of the machine that Wine runs on.
//!
//! Wine's own library knows two counters and refuses the rest, and a kubelet does not start without ten of them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use windows_sys::Win32::System::Performance::{
    PDH_CSTATUS_NO_COUNTER, PDH_CSTATUS_VALID_DATA, PDH_FMT_COUNTERVALUE, PDH_FMT_COUNTERVALUE_ITEM_W,
    PDH_INVALID_HANDLE, PDH_MORE_DATA,
};
use windows_sys::core::PCWSTR;

use crate::record::Call;
use crate::text::{read, wide};
use measure::Source;

mod measure;

/// A handle is the place in the list, counted from one, as none may be null.
type Handle = usize;

static COUNTERS: Mutex<Counters> = Mutex::new(Counters { queries: 0, list: Vec::new() });

/// What this process asks for. Nobody opens and closes queries all the time, so closed ones keep their place.
struct Counters {
    queries: Handle,
    list: Vec<Counter>,
}

struct Counter {
    query: Handle,
    source: Source,
    /// The instance's name, null-ended, as it is handed out with the value.
    name: Vec<u16>,
    value: f64,
}

// === impl Counters ===

impl Counters {
    fn hold() -> MutexGuard<'static, Self> {
        COUNTERS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&mut self, query: Handle, path: &str) -> Option<Handle> {
        let source = Source::parse(path)?;
        let name = wide(source.instance());
        self.list.push(Counter { query, source, name, value: 0.0 });
        Some(self.list.len())
    }

    fn get(&self, handle: Handle) -> Option<&Counter> {
        self.list.get(handle.checked_sub(1)?)
    }

    fn collect(&mut self, query: Handle) -> u32 {
        if query == 0 || query > self.queries {
            return PDH_INVALID_HANDLE;
        }
        let meant = self.list.iter_mut().filter(|counter| counter.query == query);
        meant.for_each(|counter| counter.value = counter.source.measure());
        0
    }
}

// === impl Counter ===

impl Counter {
    fn formatted(&self) -> PDH_FMT_COUNTERVALUE {
        let mut value = PDH_FMT_COUNTERVALUE { CStatus: PDH_CSTATUS_VALID_DATA, ..Default::default() };
        // Every caller here asks for a floating point number.
        value.Anonymous.doubleValue = self.value;
        value
    }
}

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn PdhOpenQuery(_source: PCWSTR, _data: usize, query: *mut Handle) -> u32 {
    let mut counters = Counters::hold();
    counters.queries += 1;
    // SAFETY: the caller gives a place for the handle.
    unsafe { *query = counters.queries };
    0
}

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn PdhAddEnglishCounterW(
    query: Handle,
    path: PCWSTR,
    _data: usize,
    counter: *mut Handle,
) -> u32 {
    // SAFETY: the caller gives a null-ended text.
    let path = unsafe { read(path) }.unwrap_or_default();
    let add = || match Counters::hold().add(query, &path) {
        Some(handle) => {
            // SAFETY: the caller gives a place for the handle.
            unsafe { *counter = handle };
            0
        }
        None => PDH_CSTATUS_NO_COUNTER,
    };
    Call::new("PdhAddEnglishCounterW", &format!("path={path}")).answer(add)
}

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn PdhAddCounterW(
    query: Handle,
    path: PCWSTR,
    data: usize,
    counter: *mut Handle,
) -> u32 {
    // SAFETY: the same signature and the same promises. This machine's language is English.
    unsafe { PdhAddEnglishCounterW(query, path, data, counter) }
}

#[unsafe(no_mangle)]
pub(crate) extern "system" fn PdhCollectQueryData(query: Handle) -> u32 {
    Counters::hold().collect(query)
}

#[unsafe(no_mangle)]
pub(crate) extern "system" fn PdhCloseQuery(query: Handle) -> u32 {
    Counters::hold()
        .list
        .iter_mut()
        .filter(|counter| counter.query == query)
        .for_each(|counter| counter.query = 0);
    0
}

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn PdhGetFormattedCounterArrayW(
    counter: Handle,
    _format: u32,
    size: *mut u32,
    count: *mut u32,
    items: *mut PDH_FMT_COUNTERVALUE_ITEM_W,
) -> u32 {
    let counters = Counters::hold();
    let Some(counter) = counters.get(counter) else { return PDH_INVALID_HANDLE };
    let needed = size_of::<PDH_FMT_COUNTERVALUE_ITEM_W>() + size_of_val(counter.name.as_slice());
    // SAFETY: the caller gives places for two numbers, and as many bytes for items as the first says.
    unsafe {
        let given = std::mem::replace(&mut *size, u32::try_from(needed).unwrap_or(u32::MAX));
        *count = 1;
        if given < *size {
            return PDH_MORE_DATA;
        }
        let name = items.add(1).cast::<u16>();
        name.copy_from_nonoverlapping(counter.name.as_ptr(), counter.name.len());
        items.write(PDH_FMT_COUNTERVALUE_ITEM_W { szName: name, FmtValue: counter.formatted() });
    }
    0
}

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn PdhGetFormattedCounterValue(
    counter: Handle,
    _format: u32,
    _kind: *mut u32,
    value: *mut PDH_FMT_COUNTERVALUE,
) -> u32 {
    let counters = Counters::hold();
    let Some(counter) = counters.get(counter) else { return PDH_INVALID_HANDLE };
    // SAFETY: the caller gives a place for the value.
    unsafe { value.write(counter.formatted()) };
    0
}

/// # Safety
/// As for the real one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn PdhValidatePathW(path: PCWSTR) -> u32 {
    // SAFETY: the caller gives a null-ended text.
    let path = unsafe { read(path) }.unwrap_or_default();
    if Source::parse(&path).is_some() { 0 } else { PDH_CSTATUS_NO_COUNTER }
}
