//! Signals as events: the handler writes a byte to a pipe, a thread turns bytes into messages.

use std::ffi::c_int;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{IntoRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, channel};

use crate::interrupt::Interrupt;

/// The write end of the pipe; it is never closed, because a handler may run at any time.
static WAKE: AtomicI32 = AtomicI32::new(-1);

extern "C" fn on_signal(number: c_int) {
    let byte = u8::try_from(number).unwrap_or(0);
    // SAFETY: write is async-signal-safe; errno is put back for the code that was interrupted.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        libc::write(WAKE.load(Ordering::Relaxed), (&raw const byte).cast(), 1);
        *errno = before;
    }
}

pub(crate) fn interrupts() -> io::Result<Receiver<Interrupt>> {
    let (read, write) = io::pipe()?;
    let write = OwnedFd::from(write);
    if WAKE.compare_exchange(-1, -2, Ordering::SeqCst, Ordering::SeqCst).is_err() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "interrupts are taken already"));
    }
    WAKE.store(write.into_raw_fd(), Ordering::SeqCst);
    let (sender, receiver) = channel();
    let mut wakes = File::from(OwnedFd::from(read));
    std::thread::Builder::new().name("interrupts".into()).stack_size(64 * 1024).spawn(move || {
        let mut byte = [0];
        while wakes.read_exact(&mut byte).is_ok() && sender.send(meaning(byte)).is_ok() {}
    })?;
    for signal in [libc::SIGINT, libc::SIGTERM] {
        handle(signal)?;
    }
    // Whoever starts a program by `nohup` wants it to outlive the terminal.
    if !is_ignored(libc::SIGHUP)? {
        handle(libc::SIGHUP)?;
    }
    Ok(receiver)
}

/// Who asks for signals gets them, whatever was ignored before: shells ignore Ctrl-C for what they start beside them.
pub(crate) fn interrupts_as_started() -> io::Result<Receiver<Interrupt>> {
    interrupts()
}

fn meaning([number]: [u8; 1]) -> Interrupt {
    if c_int::from(number) == libc::SIGINT { Interrupt::CtrlC } else { Interrupt::Terminate }
}

fn is_ignored(signal: c_int) -> io::Result<bool> {
    // SAFETY: the kernel fills in the structure, of which all zeroes is a valid value; nothing is changed.
    let (result, now) = unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        (libc::sigaction(signal, std::ptr::null(), &raw mut now), now)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(now.sa_sigaction == libc::SIG_IGN) }
}

fn handle(signal: c_int) -> io::Result<()> {
    // SAFETY: an all-zero sigaction is a valid empty one; the handler only makes async-signal-safe calls.
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(signal, &raw const action, std::ptr::null_mut())
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
