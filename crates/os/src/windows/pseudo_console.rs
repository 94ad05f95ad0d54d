//! A terminal for a program: a pseudo console, whose other side is two pipes.
//!
//! A console host of the system's sits between. It keeps the output open after the program has ended, so somebody must
//! close the console for the reader to see an end; and closing may wait until all output was read, so that is done
//! aside. A closed input would be a hang-up to it: it has a copy of ours until the console closes.

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::sync::{Mutex, PoisonError};

use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::System::Console::{COORD, HPCON};
use windows_sys::core::HRESULT;

use super::handle::error;
use super::library::Library;
use super::stdio::pipe;
use crate::terminal::Size;

type Create = unsafe extern "system" fn(COORD, HANDLE, HANDLE, u32, *mut HPCON) -> HRESULT;
type Resize = unsafe extern "system" fn(HPCON, COORD) -> HRESULT;
type Close = unsafe extern "system" fn(HPCON);

/// The stack of a thread that does nothing but close.
const STACK: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct PseudoConsole {
    open: Mutex<Option<Open>>,
}

#[derive(Debug)]
struct Open {
    console: HPCON,
    functions: Functions,
    _input: OwnedHandle,
}

/// Asked of the loader: a Windows without them must still be able to say so.
#[derive(Clone, Copy, Debug)]
struct Functions {
    create: Create,
    resize: Resize,
    close: Close,
}

/// A new console with what belongs to it.
#[derive(Debug)]
pub(crate) struct Terminal {
    pub(crate) console: PseudoConsole,
    pub(crate) input: File,
    pub(crate) output: File,
    /// The console host's ends; to be dropped when the program has started.
    _theirs: [OwnedHandle; 2],
}

// === impl Functions ===

impl Functions {
    fn find() -> io::Result<Self> {
        let kernel = Library::open("kernel32.dll")?;
        let find = |name: &str| {
            let text = "this Windows has no pseudo consoles; build 17763 or newer is needed";
            kernel.function(name).ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, text))
        };
        let (create, resize, close) =
            (find("CreatePseudoConsole")?, find("ResizePseudoConsole")?, find("ClosePseudoConsole")?);
        // SAFETY: kernel32 is never unloaded, and its functions have exactly these signatures.
        unsafe {
            Ok(Self {
                create: std::mem::transmute::<*const c_void, Create>(create),
                resize: std::mem::transmute::<*const c_void, Resize>(resize),
                close: std::mem::transmute::<*const c_void, Close>(close),
            })
        }
    }
}

// === impl Open ===

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: the console is open, and closed here alone.
        unsafe { (self.functions.close)(self.console) };
    }
}

// === impl Terminal ===

impl Terminal {
    pub(crate) fn new(size: Size) -> io::Result<Self> {
        let functions = Functions::find()?;
        let (their_input, input) = pipe()?;
        let (output, their_output) = pipe()?;
        let mut console = 0;
        // SAFETY: both pipes are open, and the console goes to a local.
        let result = unsafe {
            let (input, output) = (their_input.as_raw_handle(), their_output.as_raw_handle());
            (functions.create)(coordinates(size)?, input, output, 0, &raw mut console)
        };
        checked(result)?;
        let kept = input.try_clone()?;
        let open = Open { console, functions, _input: kept };
        Ok(Self {
            console: PseudoConsole { open: Mutex::new(Some(open)) },
            input: input.into(),
            output: output.into(),
            _theirs: [their_input, their_output],
        })
    }
}

// === impl PseudoConsole ===

impl PseudoConsole {
    /// For the attribute list. None when it is closed.
    pub(crate) fn raw(&self) -> Option<HPCON> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|open| open.console)
    }

    pub(crate) fn resize(&self, size: Size) -> io::Result<()> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // A program that has ended has no use for another size.
        let Some(open) = open.as_ref() else { return Ok(()) };
        // SAFETY: the console is open while we hold the lock.
        checked(unsafe { (open.functions.resize)(open.console, coordinates(size)?) })
    }

    /// Lets the reader see an end, after what the program wrote last.
    pub(crate) fn close(&self) {
        let Some(open) = self.open.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let thread = std::thread::Builder::new().name("close-console".to_owned()).stack_size(STACK);
        // Without a thread it is dropped here.
        let _ = thread.spawn(move || drop(open));
    }
}

impl Drop for PseudoConsole {
    fn drop(&mut self) {
        self.close();
    }
}

fn coordinates(size: Size) -> io::Result<COORD> {
    let number = |number: u16| {
        let text = || format!("not a terminal's size: {} by {}", size.columns, size.rows);
        let number = i16::try_from(number).ok().filter(|number| *number > 0);
        number.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, text()))
    };
    Ok(COORD { X: number(size.columns)?, Y: number(size.rows)? })
}

/// Errors of Win32 come wrapped.
fn checked(result: HRESULT) -> io::Result<()> {
    let result = result.cast_unsigned();
    match result >> 16 {
        _ if result >> 31 == 0 => Ok(()),
        0x8007 => Err(error(result & 0xFFFF)),
        _ => Err(io::Error::other(format!("the pseudo console answered {result:#010x}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_without_columns_or_beyond_the_consoles_numbers_is_refused() {
        for (columns, rows) in [(0, 25), (80, 0), (40_000, 25)] {
            let error = coordinates(Size { columns, rows }).err().unwrap();
            assert!(error.to_string().starts_with("not a terminal's size"), "{error}");
        }
        let size = coordinates(Size { columns: 132, rows: 43 }).unwrap();
        assert_eq!((size.X, size.Y), (132, 43));
    }

    #[test]
    fn a_wrapped_error_is_the_systems_own() {
        assert_eq!(checked(0x8007_0057_u32.cast_signed()).unwrap_err().raw_os_error(), Some(87));
        assert!(checked(0x8000_4005_u32.cast_signed()).unwrap_err().to_string().contains("0x80004005"));
        checked(0).unwrap();
    }
}
