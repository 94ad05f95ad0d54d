//! Starting a process inside a job, with pipes or a terminal and nothing else of ours.
//!
//! The process is born in the job where the system can do that, and is started suspended in any case: before its
//! first instruction we ask the kernel whether it is inside, and put it there if not.

use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, OwnedHandle};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use windows_sys::Win32::Foundation::{ERROR_DIRECTORY, ERROR_PRIVILEGE_NOT_HELD, HANDLE};
use windows_sys::Win32::System::JobObjects::{AssignProcessToJobObject, IsProcessInJob};
use windows_sys::Win32::System::Threading::{
    CREATE_NO_WINDOW, CREATE_SUSPENDED, CREATE_UNICODE_ENVIRONMENT, CreateProcessAsUserW, CreateProcessW,
    EXTENDED_STARTUPINFO_PRESENT, PROCESS_INFORMATION, ResumeThread, STARTF_USESTDHANDLES, STARTUPINFOEXW,
    TerminateProcess,
};

use super::attributes::Attributes;
use super::handle::{check, code, owned};
use super::job;
use super::process::Process;
use super::pseudo_console::Terminal;
use super::stdio::{Pipes, Stdio, Streams};
use super::text::{command_line, environment_block, wide};
use crate::process::{Child, Spawn, SpawnError, SpawnStep};

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<STARTUPINFOEXW>() == 112);

/// What CreateProcess is told.
pub(crate) struct Launch {
    pub(crate) program: Vec<u16>,
    pub(crate) line: Vec<u16>,
    pub(crate) env: Option<Vec<u16>>,
    pub(crate) cwd: Option<Vec<u16>>,
    pub(crate) flags: u32,
    /// As whom; our own account without one.
    pub(crate) token: Option<Arc<OwnedHandle>>,
}

pub(crate) struct Started {
    pub(crate) pid: u32,
    pub(crate) process: OwnedHandle,
    pub(crate) thread: OwnedHandle,
}

pub(crate) fn spawn(
    request: &Spawn,
    job: BorrowedHandle<'_>,
    token: Option<Arc<OwnedHandle>>,
) -> Result<Child, SpawnError> {
    let streams = streams(request)?;
    let launch = launch(request, token).map_err(SpawnError::at(SpawnStep::Argument))?;
    let mut attributes = attributes(&streams, job).map_err(SpawnError::at(SpawnStep::Argument))?;
    let started = create(&launch, streams.stdio(), &mut attributes).map_err(start_error)?;
    let kin = settle(&started, job).map_err(SpawnError::at(SpawnStep::Job))?;
    let process = Process::new(started.pid, started.process, kin);
    Ok(child(process, streams, request.stdin))
}

fn streams(request: &Spawn) -> Result<Streams, SpawnError> {
    match request.terminal {
        Some(size) => Terminal::new(size).map(Streams::Terminal).map_err(SpawnError::at(SpawnStep::Terminal)),
        None => Pipes::new(request.stdin).map(Streams::Pipes).map_err(SpawnError::at(SpawnStep::Pipe)),
    }
}

fn attributes(streams: &Streams, job: BorrowedHandle<'_>) -> io::Result<Attributes> {
    let stdio = streams.stdio();
    let mut attributes = Attributes::new(stdio.as_ref().map_or(&[], |stdio| stdio.as_slice()), Some(job))?;
    attributes.born_in_job();
    if let Streams::Terminal(terminal) = streams {
        attributes.with_console(terminal.console.raw().ok_or(io::ErrorKind::BrokenPipe)?)?;
    }
    Ok(attributes)
}

/// The child's own ends are dropped here: with them open we would never read an end.
fn child(process: Process, streams: Streams, with_stdin: bool) -> Child {
    match streams {
        Streams::Pipes(pipes) => Child {
            stdin: pipes.our_stdin,
            stdout: Some(pipes.our_stdout),
            stderr: Some(pipes.our_stderr),
            process,
        },
        Streams::Terminal(terminal) => Child {
            stdin: with_stdin.then_some(terminal.input),
            stdout: Some(terminal.output),
            stderr: None,
            process: process.at(terminal.console),
        },
    }
}

fn launch(request: &Spawn, token: Option<Arc<OwnedHandle>>) -> io::Result<Launch> {
    let line = if request.command_line.is_empty() {
        command_line(&[request.program.as_os_str()])
    } else {
        request.command_line.clone().into()
    };
    let cwd = (!request.cwd.as_os_str().is_empty()).then(|| wide(&request.cwd)).transpose()?;
    // Without a window of its own means: with a console of its own, which would not be the terminal.
    let window = if request.terminal.is_some() { 0 } else { CREATE_NO_WINDOW };
    let env = Some(environment_block(&request.env)?);
    let flags = CREATE_SUSPENDED | window;
    Ok(Launch { program: wide(&request.program)?, line: wide(line)?, env, cwd, flags, token })
}

fn start_error(error: io::Error) -> SpawnError {
    match code(&error) {
        ERROR_DIRECTORY => SpawnError::new(SpawnStep::Chdir, error),
        ERROR_PRIVILEGE_NOT_HELD => {
            let text =
                format!("{error}; the runtime must run as LocalSystem to start processes as another account");
            SpawnError::new(SpawnStep::Exec, io::Error::new(io::ErrorKind::PermissionDenied, text))
        }
        _ => SpawnError::new(SpawnStep::Exec, error),
    }
}

/// Without stdio the process gets the console's. Null says so; nothing said would hand ours on where they are
/// redirected.
pub(crate) fn create(
    launch: &Launch,
    stdio: Option<Stdio<'_>>,
    attributes: &mut Attributes,
) -> io::Result<Started> {
    // SAFETY: both structures are plain data for which zero means "not given".
    let (mut startup, mut born) =
        unsafe { (std::mem::zeroed::<STARTUPINFOEXW>(), PROCESS_INFORMATION::default()) };
    startup.StartupInfo.cb = super::handle::size_of::<STARTUPINFOEXW>();
    startup.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
    let inherit = i32::from(stdio.is_some());
    [startup.StartupInfo.hStdInput, startup.StartupInfo.hStdOutput, startup.StartupInfo.hStdError] =
        stdio.map_or([null_mut(); 3], |stdio| stdio.map(|handle| handle.as_raw_handle()));
    startup.lpAttributeList = attributes.as_ptr();
    let mut line = launch.line.clone();
    let text = |text: &Option<Vec<u16>>| text.as_ref().map_or(null(), Vec::as_ptr);
    let flags = launch.flags | CREATE_UNICODE_ENVIRONMENT | EXTENDED_STARTUPINFO_PRESENT;
    let (program, line) = (launch.program.as_ptr(), line.as_mut_ptr());
    let (env, cwd) = (text(&launch.env).cast(), text(&launch.cwd));
    let (startup, born_at) = ((&raw const startup).cast(), &raw mut born);
    // SAFETY: every string ends with a null and outlives the call; the line is a copy the call may write to; the
    // attribute list allows only the three handles to be inherited.
    check(unsafe {
        match &launch.token {
            None => CreateProcessW(program, line, null(), null(), inherit, flags, env, cwd, startup, born_at),
            Some(token) => {
                let token: HANDLE = token.as_raw_handle();
                CreateProcessAsUserW(
                    token,
                    program,
                    line,
                    null(),
                    null(),
                    inherit,
                    flags,
                    env,
                    cwd,
                    startup,
                    born_at,
                )
            }
        }
    })?;
    Ok(Started { pid: born.dwProcessId, process: owned(born.hProcess)?, thread: owned(born.hThread)? })
}

/// Inside the job for certain, then running. A process that cannot be put there must not run at all.
///
/// In a second job of its own too, so that it can be ended with what it leaves behind; where a system cannot have jobs
/// in jobs, only it itself can.
fn settle(started: &Started, job: BorrowedHandle<'_>) -> io::Result<Option<OwnedHandle>> {
    let settle = || {
        started.put_inside(job)?;
        let kin = job::inner().ok().filter(|kin| started.put_inside(kin.as_handle()).is_ok());
        started.put_inside(job)?;
        started.resume().map(|()| kin)
    };
    settle().inspect_err(|_| started.terminate())
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
