//! The parent's side of starting a process: everything is prepared, then forked, then the child's report is read.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::born::{self, IdMaps, OverlayMount, Plan, Strings, View};
use super::process::Process;
use crate::process::{Child, Overlay, Spawn, SpawnError, SpawnStep};

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

/// Overlay options fit into one page.
const MOUNT_DATA_MAX: usize = 4095;

pub(crate) fn spawn(request: &Spawn, surroundings: Surroundings) -> Result<Child, SpawnError> {
    let pipe = |wanted| Pipe::new(wanted).map_err(SpawnError::at(SpawnStep::Pipe));
    let (stdin, stdout, stderr) = (pipe(request.stdin)?, pipe(true)?, pipe(true)?);
    let (report, status) = (pipe(true)?, pipe(surroundings.with_init)?);
    let null = File::options().read(true).open("/dev/null").and_then(|file| above_stdio(file.into()));
    let null = null.map_err(SpawnError::at(SpawnStep::Pipe))?;
    let ends = Ends {
        stdio: [stdin.read.as_ref().unwrap_or(&null).as_raw_fd(), stdout.write_fd(), stderr.write_fd()],
        report: report.write_fd(),
        init: status.write.as_ref().map(AsRawFd::as_raw_fd),
    };
    let doors = surroundings.doors;
    let doors: io::Result<Vec<OwnedFd>> = doors.into_iter().map(|door| above_stdio(door.into())).collect();
    let doors = doors.map_err(SpawnError::at(SpawnStep::Job))?;
    let view = view(request, surroundings.own_user, surroundings.join.as_ref())
        .map_err(SpawnError::at(SpawnStep::Argument))?;
    let plan = plan(request, &ends, &doors, view).map_err(SpawnError::at(SpawnStep::Argument))?;
    let pid = fork(|| born::run(&plan)).map_err(SpawnError::at(SpawnStep::Fork))?;
    drop((plan, doors, stdout.write, stderr.write, stdin.read, report.write, status.write));
    let pid = await_exec(pid, report.read)?;
    let process =
        Process::adopt(pid, status.read.map(File::from)).map_err(SpawnError::at(SpawnStep::Fork))?;
    let file = |end: Option<OwnedFd>| end.map(File::from);
    Ok(Child { stdin: file(stdin.write), stdout: file(stdout.read), stderr: file(stderr.read), process })
}

struct Ends {
    stdio: [RawFd; 3],
    report: RawFd,
    init: Option<RawFd>,
}

fn plan(request: &Spawn, ends: &Ends, doors: &[OwnedFd], view: View) -> io::Result<Plan> {
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
        view,
        stdio: ends.stdio,
        report: ends.report,
        parent: rustix::process::getpid().as_raw_nonzero().get(),
        init: ends.init,
    })
}

fn view(request: &Spawn, own_user: bool, join: Option<&Namespaces>) -> io::Result<View> {
    if let Some(join) = join {
        return Ok(View::Join {
            user: join.user.as_ref().map(AsRawFd::as_raw_fd),
            mount: join.mount.as_raw_fd(),
        });
    }
    let overlay = request.overlay.as_ref().map(|overlay| overlay_mount(overlay, own_user)).transpose()?;
    Ok(View::Own { user: own_user.then(id_maps), overlay })
}

pub(crate) fn id_maps() -> IdMaps {
    let as_itself = |id: u32| CString::new(format!("{id} {id} 1")).unwrap_or_default();
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    IdMaps { uid: as_itself(uid), gid: as_itself(gid) }
}

fn overlay_mount(overlay: &Overlay, own_user: bool) -> io::Result<OverlayMount> {
    let named: Vec<Vec<u8>> = overlay.lower.iter().map(|path| escaped(path)).collect();
    let mut options = overlay_options(&named, overlay, own_user);
    let mut lower = Vec::new();
    if options.len() > MOUNT_DATA_MAX {
        // Opened, a layer is a number, however long its path is.
        lower = overlay.lower.iter().map(|path| open_layer(path)).collect::<io::Result<Vec<_>>>()?;
        let numbered =
            |(_, fd): &(CString, OwnedFd)| format!("/proc/self/fd/{}", fd.as_raw_fd()).into_bytes();
        options = overlay_options(&lower.iter().map(numbered).collect::<Vec<Vec<u8>>>(), overlay, own_user);
    }
    if options.len() > MOUNT_DATA_MAX {
        let text = format!("{} layers are too many for one mount", overlay.lower.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(OverlayMount {
        options: c_string(OsStr::from_bytes(&options))?,
        target: c_string(overlay.target.as_os_str())?,
        lower,
    })
}

fn open_layer(path: &Path) -> io::Result<(CString, OwnedFd)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from);
    let opened = opened.and_then(above_stdio);
    let opened = opened.map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
    Ok((c_string(path.as_os_str())?, opened))
}

fn overlay_options(lower: &[Vec<u8>], overlay: &Overlay, own_user: bool) -> Vec<u8> {
    let mut options = [b"lowerdir=".as_slice(), &lower.join(&b':')].concat();
    options.extend_from_slice(&[b",upperdir=".as_slice(), &escaped(&overlay.upper)].concat());
    options.extend_from_slice(&[b",workdir=".as_slice(), &escaped(&overlay.work)].concat());
    if own_user {
        // Without it overlayfs wants trusted.* attributes, which no user namespace may write.
        options.extend_from_slice(b",userxattr");
    }
    options
}

/// Colons separate layers and commas separate options.
fn escaped(path: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        if matches!(byte, b':' | b',' | b'\\') {
            text.push(b'\\');
        }
        text.push(*byte);
    }
    text
}

pub(crate) fn c_string(text: &OsStr) -> io::Result<CString> {
    Ok(CString::new(text.as_bytes())?)
}

/// The pid to keep once the program runs, or the step that failed; children that are of no use are reaped here.
pub(crate) fn await_exec(forked: u32, report: Option<OwnedFd>) -> Result<u32, SpawnError> {
    let mut pid = forked;
    let mut messages = report.map(File::from);
    let mut failure = None;
    while let Some((code, value)) = messages.as_mut().and_then(next_message) {
        if code == born::REPORT_PID {
            reap(pid);
            pid = value.cast_unsigned();
        } else {
            let step = usize::try_from(code - 1).ok().and_then(|it| SpawnStep::ALL.get(it).copied());
            let source = io::Error::from_raw_os_error(value);
            failure = Some(SpawnError::new(step.unwrap_or(SpawnStep::Fork), source));
        }
    }
    if let Some(failure) = failure {
        reap(pid);
        return Err(failure);
    }
    Ok(pid)
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

    fn overlay(lower: Vec<std::path::PathBuf>) -> Overlay {
        Overlay { lower, upper: "/u".into(), work: "/w\\x".into(), target: "/t".into() }
    }

    #[test]
    fn layer_paths_with_colons_and_commas_are_escaped() {
        let mount = overlay_mount(&overlay(vec!["/a:b".into(), "/c,d".into()]), true).unwrap();
        let options = mount.options.into_string().unwrap();
        assert_eq!(options, r"lowerdir=/a\:b:/c\,d,upperdir=/u,workdir=/w\\x,userxattr");
    }

    #[test]
    fn more_layers_than_a_page_holds_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let layer = dir.path().join("layer".repeat(40));
        std::fs::create_dir(&layer).unwrap();
        let mount = overlay_mount(&overlay(vec![layer.clone(); 127]), false).unwrap();
        assert_eq!(mount.lower.len(), 127);
        let options = mount.options.into_string().unwrap();
        let first = format!("lowerdir=/proc/self/fd/{}:", mount.lower[0].1.as_raw_fd());
        assert!(options.starts_with(&first), "{options}");
        let missing = overlay_mount(&overlay(vec![layer.join("not"); 127]), false).unwrap_err();
        assert!(missing.to_string().contains("layerlayer"), "{missing}");
        let error = overlay_mount(&overlay(vec![layer; 400]), false).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
    }

    #[test]
    fn a_null_in_an_argument_is_refused() {
        assert!(c_string(OsStr::new("a\0b")).is_err());
    }
}
