//! Text that comes and goes as null-ended UTF-16.

/// The text at a pointer; none at null.
///
/// # Safety
/// `at` must be null or lead to a text that ends with a null.
pub(crate) unsafe fn read(at: *const u16) -> Option<String> {
    if at.is_null() {
        return None;
    }
    // SAFETY: the caller promises a null at the end.
    unsafe {
        let length = (0..).take_while(|unit| *at.add(*unit) != 0).count();
        Some(String::from_utf16_lossy(std::slice::from_raw_parts(at, length)))
    }
}

pub(crate) fn wide(text: &str) -> Vec<u16> {
    text.encode_utf16().chain([0]).collect()
}
