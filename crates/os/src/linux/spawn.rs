//! The parent's side of starting a process: everything is prepared, then forked, then the child's report is read.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::process::Signal;

use super::born::{self, Plan, Strings};
use super::identity::Account;
use super::mounts::{IdMaps, Sight};
use super::process::Process;
use super::streams::Streams;
use super::view;
use crate::process::{Child, Spawn, SpawnError, SpawnStep};

/// What the job adds to a spawn request.
#[derive(Debug)]
pub(crate) struct Surroundings {
    pub(crate) doors: Vec<File>,
    /// Namespaces of an earlier process of this job, to be shared.
    pub(crate) join: Option<Namespaces>,
    pub(crate) own_user: bool,
    pub(crate) with_init: bool,
}

#[derive(Debug)]
pub(crate) struct Namespaces {
    pub(crate) user: Option<OwnedFd>,
    pub(crate) mount: OwnedFd,
}

#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) child: Child,
    /// The namespaces that were made for it, unless it joined some.
    pub(crate) made: Option<Namespaces>,
}

pub(crate) fn spawn(request: &Spawn, surroundings: Surroundings) -> Result<Started, SpawnError> {
    let account = Account::of(&request.identity).map_err(SpawnError::at(SpawnStep::Identity))?;
    let mut streams = Streams::open(request, account.as_ref())?;
    let pipe = |wanted| Pipe::new(wanted).map_err(SpawnError::at(SpawnStep::Pipe));
    let (report, status) = (pipe(true)?, pipe(surroundings.with_init)?);
    let go = pipe(surroundings.join.is_none())?;
    let ends = Ends {
        stdio: streams.theirs(),
        terminal: streams.is_terminal(),
        report: report.write_fd(),
        init: status.write.as_ref().map(AsRawFd::as_raw_fd),
        go: go.read.as_ref().map(AsRawFd::as_raw_fd),
    };
    let doors = surroundings.doors.into_iter().map(|door| above_stdio(door.into()));
    let doors = doors.collect::<io::Result<Vec<_>>>().map_err(SpawnError::at(SpawnStep::Job))?;
    let sight = sight(request, surroundings.own_user, surroundings.join.as_ref())
        .map_err(SpawnError::at(SpawnStep::Argument))?;
    let plan = plan(request, &ends, &doors, sight, account).map_err(SpawnError::at(SpawnStep::Argument))?;
    let pid = fork(|| born::run(&plan)).map_err(SpawnError::at(SpawnStep::Fork))?;
    drop((plan, doors, report.write, status.write, go.read));
    streams.let_go_of_theirs();
    let mut made = None;
    let mut sighted = |pid| {
        made = Some(Namespaces::of(pid, surroundings.own_user)?);
        go.write.as_ref().map_or(Ok(()), |go| rustix::io::write(go, b"!").map(drop).map_err(io::Error::from))
    };
    let pid = await_exec(pid, report.read, &mut sighted, &|place| view::place(&request.view, place))?;
    let process = Process::adopt(pid, status.read.map(File::from));
    let child = streams.into_child(process.map_err(SpawnError::at(SpawnStep::Fork))?)?;
    Ok(Started { child, made })
}

struct Ends {
    stdio: [RawFd; 3],
    terminal: bool,
    report: RawFd,
    init: Option<RawFd>,
    go: Option<RawFd>,
}

fn plan(
    request: &Spawn,
    ends: &Ends,
    doors: &[OwnedFd],
    sight: Sight,
    account: Option<Account>,
) -> io::Result<Plan> {
    let program = c_string(request.program.as_os_str())?;
    let argv = request.argv.iter().map(|it| c_string(OsStr::new(it))).collect::<io::Result<Vec<_>>>()?;
    let env = request.env.iter().map(|(name, value)| c_string(OsStr::new(&format!("{name}={value}"))));
    let cwd = if request.cwd.as_os_str().is_empty() { Path::new("/") } else { &request.cwd };
    Ok(Plan {
        argv: Strings::new(if argv.is_empty() { vec![program.clone()] } else { argv }),
        env: Strings::new(env.collect::<io::Result<Vec<_>>>()?),
        program,
        cwd: c_string(cwd.as_os_str())?,
        doors: doors.iter().map(AsRawFd::as_raw_fd).collect(),
        sight,
        go: ends.go,
        stdio: ends.stdio,
        terminal: ends.terminal,
        account,
        report: ends.report,
        parent: rustix::process::getpid().as_raw_nonzero().get(),
        init: ends.init,
    })
}

fn sight(request: &Spawn, own_user: bool, join: Option<&Namespaces>) -> io::Result<Sight> {
    if let Some(join) = join {
        return Ok(Sight::Join {
            user: join.user.as_ref().map(AsRawFd::as_raw_fd),
            mount: join.mount.as_raw_fd(),
        });
    }
    Ok(Sight::Own(view::prepare(&request.view, own_user.then(id_maps))?))
}

/// What an account that is not root needs in order to mount anything.
pub(crate) fn user_maps() -> Option<IdMaps> {
    (!crate::elevated()).then(id_maps)
}

fn id_maps() -> IdMaps {
    let as_itself = |id: u32| CString::new(format!("{id} {id} 1")).unwrap_or_default();
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    IdMaps { uid: as_itself(uid), gid: as_itself(gid) }
}

// === impl Namespaces ===

impl Namespaces {
    /// Those of a process that is certain to be there: it waits for us.
    fn of(pid: u32, own_user: bool) -> io::Result<Self> {
        let open = |kind: &str| File::open(format!("/proc/{pid}/ns/{kind}")).map(OwnedFd::from);
        let user = own_user.then(|| open("user")).transpose()?;
        Ok(Self { user, mount: open("mnt")? })
    }
}

pub(crate) fn c_string(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}

/// The pid to keep once the program runs, or the step that failed; children that are of no use are reaped here.
/// `sighted` hears of the child that has made its view and waits, `place` says what a numbered place is.
pub(crate) fn await_exec(
    forked: u32,
    report: Option<OwnedFd>,
    sighted: &mut dyn FnMut(u32) -> io::Result<()>,
    place: &dyn Fn(i32) -> String,
) -> Result<u32, SpawnError> {
    let mut messages = report.map(File::from);
    let (mut pid, mut at, mut failure) = (forked, None, None);
    while let Some((code, value)) = messages.as_mut().and_then(next_message) {
        match code {
            born::REPORT_PID => {
                reap(pid);
                pid = value.cast_unsigned();
            }
            born::REPORT_PLACE => at = Some(place(value)),
            born::REPORT_SIGHT => {
                if let Err(error) = sighted(pid) {
                    failure = Some(SpawnError::new(SpawnStep::Namespace, error));
                    // It waits for a word that will not come; one that has ended has ended.
                    drop(super::process::signal(pid, Signal::KILL));
                }
            }
            _ => failure = Some(failed(code, value, at.take())),
        }
    }
    match failure {
        None => Ok(pid),
        Some(failure) => {
            reap(pid);
            Err(failure)
        }
    }
}

fn failed(code: i32, errno: i32, at: Option<String>) -> SpawnError {
    let step = usize::try_from(code - 1).ok().and_then(|it| SpawnStep::ALL.get(it).copied());
    let error = io::Error::from_raw_os_error(errno);
    let source = match at {
        Some(at) => io::Error::new(error.kind(), format!("{at}: {error}")),
        None => error,
    };
    SpawnError::new(step.unwrap_or(SpawnStep::Fork), source)
}

fn next_message(report: &mut File) -> Option<(i32, i32)> {
    let mut message = [0; 8];
    report.read_exact(&mut message).ok()?;
    let [a, b, c, d, e, f, g, h] = message;
    Some((i32::from_ne_bytes([a, b, c, d]), i32::from_ne_bytes([e, f, g, h])))
}

fn reap(pid: u32) {
    if let Ok(pid) = super::process::to_pid(pid) {
        // Whatever its status, it is gone; there is nobody to tell.
        let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
    }
}

/// Forks with every signal blocked: a handler that ran in the child would write to the parent's pipes.
pub(crate) fn fork(child: impl FnOnce() -> std::convert::Infallible) -> io::Result<u32> {
    // SAFETY: the sets are initialised by sigfillset and by the kernel; the child runs only async-signal-safe code.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let pid = libc::fork();
        if pid == 0 {
            child();
        }
        let result = u32::try_from(pid).map_err(|_| io::Error::last_os_error());
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        result
    }
}

/// The child puts its stdio on 0 to 2, so nothing it still needs may be there.
pub(crate) fn above_stdio(fd: OwnedFd) -> io::Result<OwnedFd> {
    if fd.as_raw_fd() > 2 {
        return Ok(fd);
    }
    Ok(rustix::io::fcntl_dupfd_cloexec(&fd, 3)?)
}

/// Both ends of a pipe, or none.
pub(crate) struct Pipe {
    pub(crate) read: Option<OwnedFd>,
    pub(crate) write: Option<OwnedFd>,
}

impl Pipe {
    pub(crate) fn new(wanted: bool) -> io::Result<Self> {
        if !wanted {
            return Ok(Self { read: None, write: None });
        }
        let (read, write) = io::pipe()?;
        Ok(Self { read: Some(above_stdio(read.into())?), write: Some(above_stdio(write.into())?) })
    }

    /// -1, which every call refuses, for a pipe that is not there.
    pub(crate) fn write_fd(&self) -> RawFd {
        self.write.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_null_in_an_argument_is_refused() {
        assert!(c_string(OsStr::new("a\0b")).is_err());
    }
}
