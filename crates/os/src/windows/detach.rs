//! Starting a holder: no console of ours, no job of ours if that may be, no handle but its three streams.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::windows::io::{AsHandle, OwnedHandle};
use std::path::{Path, PathBuf};

use windows_sys::Win32::Foundation::ERROR_ACCESS_DENIED;
use windows_sys::Win32::System::Threading::{CREATE_BREAKAWAY_FROM_JOB, DETACHED_PROCESS};

use super::attributes::Attributes;
use super::handle::code;
use super::spawn::{Launch, create};
use super::stdio::{make_inheritable, nothing, pipe};
use super::text::{command_line, wide};
use crate::process::Detached;

pub(crate) fn detach(program: &Path, args: &[OsString], stderr: File) -> io::Result<Detached> {
    let (ready, stdout) = pipe()?;
    let (stdin, stderr) = (nothing()?, OwnedHandle::from(stderr));
    for handle in [&stdin, &stdout, &stderr] {
        make_inheritable(handle)?;
    }
    let stdio = [stdin.as_handle(), stdout.as_handle(), stderr.as_handle()];
    let mut attributes = Attributes::new(&stdio, None)?;
    let mut launch = launch(program, args)?;
    let started = match create(&launch, Some(stdio), &mut attributes) {
        // A job around us may forbid leaving it; then the holder ends with that job, as everything in it must.
        Err(error) if code(&error) == ERROR_ACCESS_DENIED => {
            launch.flags &= !CREATE_BREAKAWAY_FROM_JOB;
            create(&launch, Some(stdio), &mut attributes)?
        }
        other => other?,
    };
    Ok(Detached { pid: started.pid, ready: File::from(ready) })
}

fn launch(program: &Path, args: &[OsString]) -> io::Result<Launch> {
    let words: Vec<&OsStr> =
        std::iter::once(program.as_os_str()).chain(args.iter().map(OsString::as_os_str)).collect();
    Ok(Launch {
        program: wide(program)?,
        line: wide(command_line(&words))?,
        env: None,
        cwd: Some(wide(drive_root())?),
        // Without a console no Ctrl-C of ours reaches it. A process group of its own would do so too, and would make
        // it and every container of its deaf to console events: each stop would take the whole grace period.
        flags: DETACHED_PROCESS | CREATE_BREAKAWAY_FROM_JOB,
        token: None,
    })
}

/// A working directory pins what it is in; the system drive's root is never in anybody's way.
fn drive_root() -> PathBuf {
    let drive = std::env::var_os("SystemDrive").unwrap_or_else(|| "C:".into());
    let mut root = drive;
    root.push("\\");
    PathBuf::from(root)
}
