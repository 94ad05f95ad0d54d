//! The streams of a new process: both ends of its stdio, or a terminal in their place.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, OwnedHandle};
use std::ptr::{null, null_mut};

use windows_sys::Win32::Foundation::{HANDLE_FLAG_INHERIT, SetHandleInformation};
use windows_sys::Win32::System::Pipes::CreatePipe;

use super::handle::{check, owned};
use super::pseudo_console::Terminal;

/// Stdin, stdout, stderr as the child gets them.
pub(crate) type Stdio<'a> = [BorrowedHandle<'a>; 3];

/// How a process talks.
#[derive(Debug)]
pub(crate) enum Streams {
    Pipes(Pipes),
    Terminal(Terminal),
}

/// Both ends of the child's stdio; its own ends are inheritable, ours are not.
#[derive(Debug)]
pub(crate) struct Pipes {
    stdin: OwnedHandle,
    stdout: OwnedHandle,
    stderr: OwnedHandle,
    pub(crate) our_stdin: Option<File>,
    pub(crate) our_stdout: File,
    pub(crate) our_stderr: File,
}

// === impl Streams ===

impl Streams {
    /// None for a terminal: the console gives the program its handles.
    pub(crate) fn stdio(&self) -> Option<Stdio<'_>> {
        match self {
            Self::Pipes(pipes) => Some(pipes.stdio()),
            Self::Terminal(_) => None,
        }
    }
}

// === impl Pipes ===

impl Pipes {
    pub(crate) fn new(with_stdin: bool) -> io::Result<Self> {
        let (our_stdout, stdout) = pipe()?;
        let (our_stderr, stderr) = pipe()?;
        let (stdin, our_stdin) = if with_stdin {
            let (read, write) = pipe()?;
            (read, Some(File::from(write)))
        } else {
            (nothing()?, None)
        };
        for handle in [&stdin, &stdout, &stderr] {
            make_inheritable(handle)?;
        }
        Ok(Self {
            stdin,
            stdout,
            stderr,
            our_stdin,
            our_stdout: our_stdout.into(),
            our_stderr: our_stderr.into(),
        })
    }

    fn stdio(&self) -> Stdio<'_> {
        [self.stdin.as_handle(), self.stdout.as_handle(), self.stderr.as_handle()]
    }
}

/// The read end and the write end.
pub(crate) fn pipe() -> io::Result<(OwnedHandle, OwnedHandle)> {
    let (mut read, mut write) = (null_mut(), null_mut());
    // SAFETY: the results go to locals; default security, so neither end is inheritable.
    check(unsafe { CreatePipe(&raw mut read, &raw mut write, null(), 0) })?;
    Ok((owned(read)?, owned(write)?))
}

/// A stdin that ends at once.
pub(crate) fn nothing() -> io::Result<OwnedHandle> {
    File::options().read(true).open(OsStr::new("NUL")).map(OwnedHandle::from)
}

pub(crate) fn make_inheritable(handle: &OwnedHandle) -> io::Result<()> {
    // SAFETY: the handle is open.
    check(unsafe { SetHandleInformation(handle.as_raw_handle(), HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT) })
}
