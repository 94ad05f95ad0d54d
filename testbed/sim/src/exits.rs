//! A bystander: `rundll32 exits.dll,WatchExits FILE PID…` opens these processes, writes `watching` into the file, and a
//! line `PID CODE` for each as it ends. It has no part in how they are ended and shares no code with who ends them.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use windows_sys::Win32::Foundation::{HANDLE, HINSTANCE, HWND};
use windows_sys::Win32::System::Threading::{
    GetExitCodeProcess, INFINITE, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE,
    WaitForSingleObject,
};
use windows_sys::core::PCWSTR;

use crate::text::read;

struct Watched {
    pid: u32,
    process: HANDLE,
}

/// # Safety
/// For `rundll32`, which adds the W of wide text to the name by itself and gives the rest of its command line.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "system" fn WatchExitsW(_: HWND, _: HINSTANCE, words: PCWSTR, _: i32) {
    // SAFETY: the caller promises a text.
    let words = unsafe { read(words) }.unwrap_or_default();
    let mut words = words.split_whitespace();
    let Some(path) = words.next() else { return };
    if let Err(error) = watch(Path::new(path), words.filter_map(|pid| pid.parse().ok())) {
        eprintln!("{path}: {error}");
    }
}

fn watch(path: &Path, pids: impl Iterator<Item = u32>) -> io::Result<()> {
    let watched = pids.map(Watched::open).collect::<io::Result<Vec<_>>>()?;
    let mut file: File = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(b"watching\n")?;
    for process in watched {
        file.write_all(format!("{} {}\n", process.pid, process.exit_code()?).as_bytes())?;
    }
    Ok(())
}

// === impl Watched ===

impl Watched {
    fn open(pid: u32) -> io::Result<Self> {
        // SAFETY: no memory of ours is involved.
        let process = unsafe { OpenProcess(PROCESS_SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION, 0, pid) };
        if process.is_null() { Err(io::Error::last_os_error()) } else { Ok(Self { pid, process }) }
    }

    fn exit_code(&self) -> io::Result<u32> {
        let mut code = 0;
        // SAFETY: the handle is open until this program ends, and the number is ours.
        let told = unsafe {
            WaitForSingleObject(self.process, INFINITE);
            GetExitCodeProcess(self.process, &raw mut code)
        };
        if told == 0 { Err(io::Error::last_os_error()) } else { Ok(code) }
    }
}
