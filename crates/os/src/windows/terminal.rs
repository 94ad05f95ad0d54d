//! What is particular to terminals here, beside the pseudo console itself; and the console that we were started in.

use std::fs::File;
use std::io;
use std::os::windows::io::AsRawHandle;

use windows_sys::Win32::System::Console::{CONSOLE_SCREEN_BUFFER_INFO, GetConsoleScreenBufferInfo};

use super::handle::check;
use crate::terminal::Size;

/// Ctrl-Z and Enter.
pub(crate) const END_OF_INPUT: &[u8] = b"\x1a\r";

/// The output of a pseudo console ends as any pipe does.
pub(crate) fn is_hangup(_error: &io::Error) -> bool {
    false
}

pub(crate) fn open() -> io::Result<(File, File)> {
    let open = |name: &str| File::options().read(true).write(true).open(name);
    Ok((open("CONIN$")?, open("CONOUT$")?))
}

/// Of the window; what was scrolled away does not count.
pub(crate) fn size() -> io::Result<Size> {
    let (_, output) = open()?;
    let mut info = CONSOLE_SCREEN_BUFFER_INFO::default();
    // SAFETY: the handle is open, and the answer goes to a local.
    check(unsafe { GetConsoleScreenBufferInfo(output.as_raw_handle(), &raw mut info) })?;
    let (window, number) = (info.srWindow, |from: i16, to: i16| u16::try_from(to - from + 1));
    let columns = number(window.Left, window.Right).map_err(io::Error::other)?;
    let rows = number(window.Top, window.Bottom).map_err(io::Error::other)?;
    Ok(Size { columns, rows })
}
