//! A child's first steps, between fork and exec.
//!
//! The parent may have other threads, and a lock one of them held is held for ever in the child. So everything here
//! is a plain system call on memory that was prepared before the fork: no allocation, no formatting, no panic.

use std::ffi::{CString, c_char, c_int};
use std::os::fd::RawFd;

use super::identity::Account;
use super::init;
use super::mounts::{self, Sight};
use crate::process::SpawnStep;

/// What the child needs, prepared by the parent. Descriptors are above 2 and close on exec.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) program: CString,
    pub(crate) argv: Strings,
    pub(crate) env: Strings,
    pub(crate) cwd: CString,
    /// Files to write `0` to in order to be inside the job.
    pub(crate) doors: Vec<RawFd>,
    pub(crate) sight: Sight,
    /// Where to wait, once the view is made, until the parent has taken hold of it.
    pub(crate) go: Option<RawFd>,
    pub(crate) stdio: [RawFd; 3],
    /// Whether stdio is a terminal, to be the session's own.
    pub(crate) terminal: bool,
    /// Whom to become; nobody else if there is none.
    pub(crate) account: Option<Account>,
    pub(crate) report: RawFd,
    pub(crate) parent: libc::pid_t,
    /// Set for the namespace kind: a pid 1 of ours stands above the program and says here how it ended.
    pub(crate) init: Option<RawFd>,
}

/// Strings in the shape execve wants: a null-ended array of pointers beside what they point to.
#[derive(Debug)]
pub(crate) struct Strings {
    _owned: Vec<CString>,
    pointers: Vec<*const c_char>,
}

pub(crate) type Step<T = ()> = Result<T, SpawnStep>;

/// Messages on the report pipe are pairs of numbers. This code announces the pid of our init, the next two what the
/// following failure is about and that the view is made; others are failed steps with their errno.
pub(crate) const REPORT_PID: i32 = 0;
pub(crate) const REPORT_PLACE: i32 = -1;
pub(crate) const REPORT_SIGHT: i32 = -2;

impl Strings {
    pub(crate) fn new(owned: Vec<CString>) -> Self {
        let pointers = owned.iter().map(|it| it.as_ptr()).chain([std::ptr::null()]).collect();
        Self { _owned: owned, pointers }
    }
}

pub(crate) fn check(result: c_int, step: SpawnStep) -> Step<c_int> {
    if result < 0 { Err(step) } else { Ok(result) }
}

pub(crate) fn errno() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

pub(crate) fn report(fd: RawFd, code: i32, value: i32) {
    let message = [code, value];
    // SAFETY: the array outlives the call and eight bytes are its size.
    unsafe { libc::write(fd, message.as_ptr().cast(), 8) };
}

pub(crate) fn fail(fd: RawFd, step: SpawnStep) -> ! {
    let errno = errno();
    let code = SpawnStep::ALL.iter().position(|it| *it == step).unwrap_or(0);
    report(fd, i32::try_from(code).unwrap_or(0) + 1, errno);
    leave(127)
}

pub(crate) fn leave(code: c_int) -> ! {
    // SAFETY: ends the process without running the parent's exit handlers a second time.
    unsafe { libc::_exit(code) }
}

/// The child's main: never returns.
pub(crate) fn run(plan: &Plan) -> ! {
    let result = match plan.init {
        None => enter(plan).and_then(|()| become_program(plan)),
        Some(status) => enter_below_init(plan, status),
    };
    match result {
        Ok(never) => match never {},
        Err(step) => fail(plan.report, step),
    }
}

fn enter(plan: &Plan) -> Step {
    die_with_parent(plan)?;
    own_session();
    for door in &plan.doors {
        // SAFETY: one byte of a static string.
        let written = unsafe { libc::write(*door, c"0".as_ptr().cast(), 1) };
        check(if written == 1 { 0 } else { -1 }, SpawnStep::Job)?;
    }
    see(plan)
}

/// A view lives as long as somebody is in it or holds it. The parent takes hold while we wait here: afterwards we may
/// have ended already, and the next process of the job would find nothing to share.
fn see(plan: &Plan) -> Step {
    mounts::see(&plan.sight, plan.report)?;
    let Some(go) = plan.go else { return Ok(()) };
    report(plan.report, REPORT_SIGHT, 0);
    let mut word = 0u8;
    // SAFETY: one byte goes to a local.
    let heard = unsafe { libc::read(go, (&raw mut word).cast(), 1) };
    check(if heard == 1 { 0 } else { -1 }, SpawnStep::Namespace).map(drop)
}

fn enter_below_init(plan: &Plan, status: RawFd) -> Step<std::convert::Infallible> {
    die_with_parent(plan)?;
    see(plan)?;
    // SAFETY: no memory is shared; the next child becomes pid 1 of a new namespace.
    check(unsafe { libc::unshare(libc::CLONE_NEWPID) }, SpawnStep::Namespace)?;
    // The init must be the holder's child, not ours: the holder waits for it, and its death must end it.
    match fork(libc::CLONE_PARENT)? {
        0 => init::run(plan, status),
        pid => {
            report(plan.report, REPORT_PID, pid);
            leave(0)
        }
    }
}

/// fork(2) without the C library's bookkeeping, which is not ours to touch here.
pub(crate) fn fork(flags: c_int) -> Step<libc::pid_t> {
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    // SAFETY: without CLONE_VM the child has its own copy of everything and goes on from here on the same stack.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    check(libc::pid_t::try_from(pid).unwrap_or(-1), SpawnStep::Fork)
}

/// If the holder's thread ends, so do we. It may have ended before we said so, hence the second look.
fn die_with_parent(plan: &Plan) -> Step {
    // SAFETY: plain numbers.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }, SpawnStep::Fork)?;
    // SAFETY: no arguments.
    if unsafe { libc::getppid() } != plan.parent {
        leave(127);
    }
    Ok(())
}

/// A session of its own: no terminal, and no signal meant for our group.
pub(crate) fn own_session() {
    // SAFETY: no arguments; a fresh child leads no group, so the call cannot fail.
    unsafe { libc::setsid() };
}

/// The kernel forgets with whom to die when the account changes; below an init of ours that one's end is ours.
fn become_account(plan: &Plan) -> Step {
    let Some(account) = &plan.account else { return Ok(()) };
    account.take_on()?;
    if plan.init.is_some() { Ok(()) } else { die_with_parent(plan) }
}

/// The last steps, shared by all kinds: stdio, account, directory, clean signals, exec. The directory comes after the
/// account, which must be allowed to enter it.
pub(crate) fn become_program(plan: &Plan) -> Step<std::convert::Infallible> {
    // SAFETY: plain numbers and strings prepared before the fork; the arrays end with null.
    unsafe {
        for (fd, place) in plan.stdio.iter().zip(0..) {
            check(libc::dup2(*fd, place), SpawnStep::Stdio)?;
        }
        if plan.terminal {
            check(libc::ioctl(0, libc::TIOCSCTTY, 0), SpawnStep::Terminal)?;
        }
        become_account(plan)?;
        check(libc::chdir(plan.cwd.as_ptr()), SpawnStep::Chdir)?;
        close_on_exec();
        default_signals();
        libc::execve(plan.program.as_ptr(), plan.argv.pointers.as_ptr(), plan.env.pointers.as_ptr());
    }
    Err(SpawnStep::Exec)
}

/// Descriptors that somebody opened without the flag must not reach a container.
pub(crate) fn close_on_exec() {
    // SAFETY: plain numbers; a kernel without the call leaves things as they are.
    unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
}

/// Ignored signals and the mask survive exec, so a program would start deaf.
pub(crate) fn default_signals() {
    default_dispositions();
    // SAFETY: the set is initialised by sigemptyset before it is used.
    unsafe {
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Asks the kernel and not the C library, which keeps two signals to itself: an ancestor may have ignored those too.
pub(crate) fn default_dispositions() {
    /// Handler, flags, restorer and mask as the kernel lays them out; zero is the default action.
    const DEFAULT: [u64; 4] = [0; 4];
    const MASK_BYTES: usize = 8;
    let nothing = std::ptr::null::<u64>();
    for number in 1..=64 {
        // SAFETY: the array is as large as the kernel's structure; the two signals that cannot be changed fail.
        unsafe { libc::syscall(libc::SYS_rt_sigaction, number, DEFAULT.as_ptr(), nothing, MASK_BYTES) };
    }
}
