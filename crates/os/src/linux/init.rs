//! Pid 1 of a rootless container: passes stop signals on, reaps orphans, ends with the program's status.
//!
//! It exists because the kernel ends a pid namespace with its first process: killing this one kills all, which is
//! what a job is. It runs in a forked copy of the holder, so the rules of [`super::born`] hold here too.

use std::ffi::c_int;
use std::os::fd::RawFd;

use super::born::{self, Plan};
use crate::process::SpawnStep;

pub(crate) fn run(plan: &Plan, status: RawFd) -> ! {
    die_with_holder(plan.report);
    born::own_session();
    let all = block_all();
    let program = match born::fork(0) {
        Err(step) => born::fail(plan.report, step),
        Ok(0) => be_the_program(plan),
        Ok(pid) => pid,
    };
    let status = let_go(status);
    let code = watch(program, &all, status);
    born::leave(code)
}

fn be_the_program(plan: &Plan) -> ! {
    born::own_session();
    match born::become_program(plan) {
        Ok(never) => match never {},
        Err(step) => born::fail(plan.report, step),
    }
}

/// The holder is in another pid namespace, so its death before the call shows as a report pipe without reader.
fn die_with_holder(report: RawFd) {
    let mut reader = libc::pollfd { fd: report, events: 0, revents: 0 };
    // SAFETY: plain numbers, and one pollfd that outlives the call.
    unsafe {
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) < 0 {
            born::fail(report, SpawnStep::Fork);
        }
        libc::poll(&raw mut reader, 1, 0);
    }
    if reader.revents & libc::POLLERR != 0 {
        born::leave(127);
    }
}

/// Blocked signals stay pending for `sigwait`; unblocked ones would be dropped, as for any pid 1.
fn block_all() -> libc::sigset_t {
    born::default_dispositions();
    // SAFETY: the set is initialised by sigfillset before it is used.
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
        all
    }
}

/// Gives up every descriptor but the status pipe: a reader of the program's output must see its end, and the
/// holder's locks and sockets are not ours to keep.
fn let_go(status: RawFd) -> RawFd {
    const KEPT: RawFd = 3;
    // SAFETY: closing descriptors of this copy of the process; the kept one has moved to 3 before the rest goes.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for place in 0..3 {
            libc::dup2(null, place);
        }
        if status != KEPT {
            libc::dup2(status, KEPT);
        }
        libc::syscall(libc::SYS_close_range, KEPT + 1, u32::MAX, 0);
        libc::chdir(c"/".as_ptr());
    }
    KEPT
}

/// Waits for signals until the program ends; returns the exit code for ourselves.
fn watch(program: libc::pid_t, all: &libc::sigset_t, status: RawFd) -> c_int {
    loop {
        if let Some(raw) = reap(program) {
            // SAFETY: four bytes of a local number.
            unsafe { libc::write(status, (&raw const raw).cast(), 4) };
            return if libc::WIFSIGNALED(raw) { 128 + libc::WTERMSIG(raw) } else { libc::WEXITSTATUS(raw) };
        }
        let mut signal = 0;
        // SAFETY: both pointers are to locals; SIGCHLD sent since the reaping above is pending and wakes us.
        unsafe { libc::sigwait(all, &raw mut signal) };
        if signal != libc::SIGCHLD {
            // SAFETY: plain numbers; the program is our child and not reaped yet, so the number is still its own.
            unsafe { libc::kill(program, signal) };
        }
    }
}

/// Reaps whatever has ended; the program's status if it was among them.
fn reap(program: libc::pid_t) -> Option<c_int> {
    loop {
        let mut raw = 0;
        // SAFETY: the status goes to a local.
        match unsafe { libc::waitpid(-1, &raw mut raw, libc::WNOHANG) } {
            pid if pid == program => return Some(raw),
            pid if pid > 0 => {}
            _ => return None,
        }
    }
}
