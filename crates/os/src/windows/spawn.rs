//! Starting a process inside a job, with pipes and nothing else of ours.
//!
//! The process is born in the job where the system can do that, and is started suspended in any case: before its
//! first instruction we ask the kernel whether it is inside, and put it there if not.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, OwnedHandle};
use std::ptr::{null, null_mut};

use windows_sys::Win32::Foundation::{ERROR_DIRECTORY, HANDLE_FLAG_INHERIT, SetHandleInformation};
use windows_sys::Win32::System::JobObjects::{AssignProcessToJobObject, IsProcessInJob};
use windows_sys::Win32::System::Pipes::CreatePipe;
use windows_sys::Win32::System::Threading::{
    CREATE_NO_WINDOW, CREATE_SUSPENDED, CREATE_UNICODE_ENVIRONMENT, CreateProcessW,
    EXTENDED_STARTUPINFO_PRESENT, PROCESS_INFORMATION, ResumeThread, STARTF_USESTDHANDLES, STARTUPINFOEXW,
    TerminateProcess,
};

use super::attributes::Attributes;
use super::handle::{check, code, owned};
use super::process::Process;
use super::text::{command_line, environment_block, wide};
use crate::process::{Child, Spawn, SpawnError, SpawnStep};
use crate::user::Identity;

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<STARTUPINFOEXW>() == 112);

/// Stdin, stdout, stderr as the child gets them.
pub(crate) type Stdio<'a> = [BorrowedHandle<'a>; 3];

/// What CreateProcess is told.
pub(crate) struct Launch {
    pub(crate) program: Vec<u16>,
    pub(crate) line: Vec<u16>,
    pub(crate) env: Option<Vec<u16>>,
    pub(crate) cwd: Option<Vec<u16>>,
    pub(crate) flags: u32,
}

pub(crate) struct Started {
    pub(crate) pid: u32,
    pub(crate) process: OwnedHandle,
    pub(crate) thread: OwnedHandle,
}

pub(crate) fn spawn(request: &Spawn, job: BorrowedHandle<'_>) -> Result<Child, SpawnError> {
    refuse_what_is_not_here(request)?;
    let pipes = Pipes::new(request.stdin).map_err(SpawnError::at(SpawnStep::Pipe))?;
    let launch = launch(request).map_err(SpawnError::at(SpawnStep::Argument))?;
    let mut attributes =
        Attributes::new(&pipes.stdio(), Some(job)).map_err(SpawnError::at(SpawnStep::Argument))?;
    attributes.born_in_job();
    let started = create(&launch, &pipes.stdio(), &mut attributes).map_err(start_error)?;
    settle(&started, job).map_err(SpawnError::at(SpawnStep::Job))?;
    let process = Process::new(started.pid, started.process);
    Ok(Child {
        stdin: pipes.our_stdin,
        stdout: Some(pipes.our_stdout),
        stderr: Some(pipes.our_stderr),
        process,
    })
}

fn refuse_what_is_not_here(request: &Spawn) -> Result<(), SpawnError> {
    let refused = |step, text: &str| {
        Err(SpawnError::new(step, io::Error::new(io::ErrorKind::Unsupported, text.to_owned())))
    };
    if request.view.overlay.is_some() {
        return refused(SpawnStep::Mount, "overlays are a Linux thing");
    }
    if request.view.scratch_bytes.is_some() {
        return refused(SpawnStep::Scratch, "no scratch space can be bounded here");
    }
    if !request.view.binds.is_empty() {
        return refused(SpawnStep::Bind, "no binds here yet");
    }
    if request.identity != Identity::Own {
        return refused(SpawnStep::Identity, "no other account than our own here yet");
    }
    if request.terminal.is_some() {
        return refused(SpawnStep::Terminal, "no terminals here yet");
    }
    Ok(())
}

fn launch(request: &Spawn) -> io::Result<Launch> {
    let line = if request.command_line.is_empty() {
        command_line(&[request.program.as_os_str()])
    } else {
        request.command_line.clone().into()
    };
    let cwd = (!request.cwd.as_os_str().is_empty()).then(|| wide(&request.cwd)).transpose()?;
    let flags = CREATE_SUSPENDED | CREATE_NO_WINDOW;
    let env = Some(environment_block(&request.env)?);
    Ok(Launch { program: wide(&request.program)?, line: wide(line)?, env, cwd, flags })
}

fn start_error(error: io::Error) -> SpawnError {
    let step = if code(&error) == ERROR_DIRECTORY { SpawnStep::Chdir } else { SpawnStep::Exec };
    SpawnError::new(step, error)
}

pub(crate) fn create(launch: &Launch, stdio: &Stdio<'_>, attributes: &mut Attributes) -> io::Result<Started> {
    // SAFETY: both structures are plain data for which zero means "not given".
    let (mut startup, mut born) =
        unsafe { (std::mem::zeroed::<STARTUPINFOEXW>(), PROCESS_INFORMATION::default()) };
    startup.StartupInfo.cb = super::handle::size_of::<STARTUPINFOEXW>();
    startup.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
    [startup.StartupInfo.hStdInput, startup.StartupInfo.hStdOutput, startup.StartupInfo.hStdError] =
        stdio.map(|handle| handle.as_raw_handle());
    startup.lpAttributeList = attributes.as_ptr();
    let mut line = launch.line.clone();
    let text = |text: &Option<Vec<u16>>| text.as_ref().map_or(null(), Vec::as_ptr);
    let flags = launch.flags | CREATE_UNICODE_ENVIRONMENT | EXTENDED_STARTUPINFO_PRESENT;
    // SAFETY: every string ends with a null and outlives the call; the line is a copy the call may write to; the
    // attribute list allows only the three handles to be inherited.
    check(unsafe {
        CreateProcessW(
            launch.program.as_ptr(),
            line.as_mut_ptr(),
            null(),
            null(),
            1,
            flags,
            text(&launch.env).cast(),
            text(&launch.cwd),
            (&raw const startup).cast(),
            &raw mut born,
        )
    })?;
    Ok(Started { pid: born.dwProcessId, process: owned(born.hProcess)?, thread: owned(born.hThread)? })
}

/// Inside the job for certain, then running. A process that cannot be put there must not run at all.
fn settle(started: &Started, job: BorrowedHandle<'_>) -> io::Result<()> {
    started.put_inside(job).and_then(|()| started.resume()).inspect_err(|_| started.terminate())
}

// === impl Started ===

impl Started {
    pub(crate) fn put_inside(&self, job: BorrowedHandle<'_>) -> io::Result<()> {
        if self.is_inside(job)? {
            return Ok(());
        }
        // SAFETY: both handles are open.
        check(unsafe { AssignProcessToJobObject(job.as_raw_handle(), self.process.as_raw_handle()) })?;
        if self.is_inside(job)? { Ok(()) } else { Err(io::Error::other("the process is not inside its job")) }
    }

    fn is_inside(&self, job: BorrowedHandle<'_>) -> io::Result<bool> {
        let mut inside = 0;
        // SAFETY: both handles are open and the answer goes to a local.
        check(unsafe { IsProcessInJob(self.process.as_raw_handle(), job.as_raw_handle(), &raw mut inside) })?;
        Ok(inside != 0)
    }

    fn resume(&self) -> io::Result<()> {
        // SAFETY: the thread's handle is ours.
        let before = unsafe { ResumeThread(self.thread.as_raw_handle()) };
        if before == u32::MAX { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// For a process that has run no instruction yet; there is nobody to tell if it cannot be ended.
    pub(crate) fn terminate(&self) {
        // SAFETY: the handle is ours.
        unsafe { TerminateProcess(self.process.as_raw_handle(), 1) };
    }
}

/// Both ends of the child's stdio; its own ends are inheritable, ours are not.
struct Pipes {
    stdin: OwnedHandle,
    stdout: OwnedHandle,
    stderr: OwnedHandle,
    our_stdin: Option<File>,
    our_stdout: File,
    our_stderr: File,
}

impl Pipes {
    fn new(with_stdin: bool) -> io::Result<Self> {
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
