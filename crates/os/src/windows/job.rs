//! A job as a named job object that dies with its one handle.

use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, OwnedHandle};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::{
    ERROR_ALREADY_EXISTS, ERROR_INVALID_FUNCTION, ERROR_INVALID_PARAMETER, ERROR_NOT_SUPPORTED, GetLastError,
    INVALID_HANDLE_VALUE, SetLastError,
};
use windows_sys::Win32::System::IO::{CreateIoCompletionPort, GetQueuedCompletionStatus};
use windows_sys::Win32::System::JobObjects::{
    CreateJobObjectW, JOBOBJECT_ASSOCIATE_COMPLETION_PORT, JOBOBJECT_BASIC_ACCOUNTING_INFORMATION,
    TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{ALL_PROCESSOR_GROUPS, GetActiveProcessorCount};

use super::handle::{check, code, error, millis, owned};
use super::job_limits::Cpu;
use super::{job_info, job_limits, job_stats, logon, spawn, text, view};
use crate::job::{JobLimits, JobName, JobStats};
use crate::process::{Child, Spawn, SpawnError, SpawnStep};
use crate::user::Identity;
use crate::view::View;

/// Completion-port messages, in the documentation's numbers.
const PROCESS_MEMORY_LIMIT: u32 = 9;
const JOB_MEMORY_LIMIT: u32 = 10;
/// Messages may get lost, so waiting looks for itself this often.
const LOOK: Duration = Duration::from_millis(20);
/// How long killed processes may take to end.
const LEAVE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Job {
    /// Never inheritable: a second handle anywhere would keep the job alive after us.
    handle: OwnedHandle,
    port: OwnedHandle,
    memory_hits: AtomicU64,
    cpu_limited: AtomicBool,
    view: Mutex<Option<View>>,
    tokens: Mutex<Vec<(Identity, Arc<OwnedHandle>)>>,
}

pub(crate) fn sweep(_name: &JobName) -> io::Result<bool> {
    Ok(false)
}

pub(crate) fn holds_processes(_name: &JobName) -> io::Result<bool> {
    Ok(false)
}

/// A handle of ours, even for a moment, could be the last one and keep the job alive after its holder.
pub(crate) fn stats_of(_name: &JobName) -> io::Result<Option<JobStats>> {
    Ok(None)
}

/// A job object does so by itself: its last handle is ours.
pub(crate) fn end_with_us() -> io::Result<()> {
    Ok(())
}

pub(crate) fn limits_work() -> Result<(), String> {
    Ok(())
}

// === impl Job ===

impl Job {
    pub(crate) fn create(name: &JobName) -> io::Result<Self> {
        let (parent, id) = name.checked()?;
        let handle = create_fresh(&format!("{parent}-{id}"))?;
        end_with_handle(&handle)?;
        job_stats::count_traffic(&handle);
        // SAFETY: no file is attached; null and zero ask for a new port.
        let port = owned(unsafe { CreateIoCompletionPort(INVALID_HANDLE_VALUE, null_mut(), 0, 1) })?;
        let associate = JOBOBJECT_ASSOCIATE_COMPLETION_PORT {
            CompletionKey: null_mut(),
            CompletionPort: port.as_raw_handle(),
        };
        job_info::set(&handle, &associate)?;
        Ok(Self {
            handle,
            port,
            memory_hits: AtomicU64::new(0),
            cpu_limited: AtomicBool::new(false),
            view: Mutex::new(None),
            tokens: Mutex::new(Vec::new()),
        })
    }

    pub(crate) fn set_limits(&self, limits: &JobLimits) -> io::Result<()> {
        job_info::set(&self.handle, &job_limits::extended(limits))?;
        self.set_cpu(Cpu::of(limits, processors()))
    }

    /// A job that never had a rate is left alone: some systems know no rate control at all.
    fn set_cpu(&self, cpu: Cpu) -> io::Result<()> {
        if cpu == Cpu::Free && !self.cpu_limited.load(Ordering::Relaxed) {
            return Ok(());
        }
        job_info::set(&self.handle, &cpu.control()).map_err(unsupported_cpu_rate)?;
        self.cpu_limited.store(cpu != Cpu::Free, Ordering::Relaxed);
        Ok(())
    }

    pub(crate) fn spawn(&self, request: &Spawn) -> Result<Child, SpawnError> {
        // Each process leaves two messages; many short ones would fill the port if nobody asked for long.
        self.hear_all();
        self.show(&request.view)?;
        let token = self.token(&request.identity).map_err(SpawnError::at(SpawnStep::Identity))?;
        spawn::spawn(request, self.handle.as_handle(), token)
    }

    /// The first process decides what all see; the kernel lets nobody add to it once somebody is inside.
    fn show(&self, view: &View) -> Result<(), SpawnError> {
        let mut shown = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        match &*shown {
            Some(first) if first == view => Ok(()),
            _ if view.is_the_hosts() => Ok(()),
            Some(_) => {
                let text = "the job's processes see something else already";
                Err(SpawnError::new(SpawnStep::Bind, io::Error::new(io::ErrorKind::InvalidInput, text)))
            }
            None => view::show(self.handle.as_handle(), view).map(|()| *shown = Some(view.clone())),
        }
    }

    /// One logon for all processes of an identity: twenty thousand probes must not be twenty thousand logons.
    fn token(&self, identity: &Identity) -> io::Result<Option<Arc<OwnedHandle>>> {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, token)) = tokens.iter().find(|(known, _)| known == identity) {
            return Ok(Some(Arc::clone(token)));
        }
        let Some(token) = logon::token(identity)?.map(Arc::new) else { return Ok(None) };
        tokens.push((identity.clone(), Arc::clone(&token)));
        Ok(Some(token))
    }

    pub(crate) fn terminate(&self, exit_code: u32) -> io::Result<()> {
        // SAFETY: the job is open.
        check(unsafe { TerminateJobObject(self.handle.as_raw_handle(), exit_code) })
    }

    pub(crate) fn wait_empty(&self, timeout: Duration) -> io::Result<bool> {
        let deadline = Instant::now() + timeout;
        while self.accounting()?.ActiveProcesses > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            self.hear(left.min(LOOK));
        }
        Ok(true)
    }

    /// Takes messages off the port, waiting at most so long for the first; true if there was one.
    fn hear(&self, timeout: Duration) -> bool {
        let (mut message, mut key, mut detail) = (0, 0, null_mut());
        // SAFETY: all results go to locals; the last is a process id, not a pointer, and is not followed.
        let heard = unsafe {
            let port = self.port.as_raw_handle();
            GetQueuedCompletionStatus(
                port,
                &raw mut message,
                &raw mut key,
                &raw mut detail,
                millis(Some(timeout)),
            )
        };
        if heard != 0 && matches!(message, PROCESS_MEMORY_LIMIT | JOB_MEMORY_LIMIT) {
            self.memory_hits.fetch_add(1, Ordering::Relaxed);
        }
        heard != 0
    }

    fn hear_all(&self) {
        while self.hear(Duration::ZERO) {}
    }

    fn accounting(&self) -> io::Result<JOBOBJECT_BASIC_ACCOUNTING_INFORMATION> {
        job_info::query(&self.handle)
    }

    pub(crate) fn processes(&self) -> io::Result<Vec<u32>> {
        job_info::process_ids(&self.handle)
    }

    pub(crate) fn stats(&self) -> io::Result<JobStats> {
        self.hear_all();
        job_stats::stats(&self.handle)
    }

    pub(crate) fn memory_limit_hits(&self) -> io::Result<u64> {
        self.hear_all();
        Ok(self.memory_hits.load(Ordering::Relaxed))
    }

    /// Closing would end the processes too, but not wait for it, and files of theirs would still be in use.
    pub(crate) fn close(self) -> io::Result<()> {
        if self.accounting()?.ActiveProcesses > 0 {
            self.terminate(137)?;
            self.wait_empty(LEAVE)?;
        }
        Ok(())
    }
}

fn create_fresh(name: &str) -> io::Result<OwnedHandle> {
    let wide = text::wide(name)?;
    // SAFETY: default security, so not inheritable; the last error is cleared to tell a new job from an old one.
    let (handle, existed) = unsafe {
        SetLastError(0);
        let handle = CreateJobObjectW(null(), wide.as_ptr());
        (handle, GetLastError() == ERROR_ALREADY_EXISTS)
    };
    let handle = owned(handle)?;
    if existed {
        let text = format!("a job named {name} exists");
        return Err(io::Error::new(error(ERROR_ALREADY_EXISTS).kind(), text));
    }
    Ok(handle)
}

/// A job for one try, which ends with its handle.
pub(crate) fn nameless() -> io::Result<OwnedHandle> {
    let job = inner()?;
    end_with_handle(&job)?;
    Ok(job)
}

/// A job that only groups: its processes outlive its handle.
pub(crate) fn inner() -> io::Result<OwnedHandle> {
    // SAFETY: no name, default security.
    owned(unsafe { CreateJobObjectW(null(), null()) })
}

/// Set before anything else: a job that becomes a silo must have it, and one that outlives us must not be.
fn end_with_handle(job: &OwnedHandle) -> io::Result<()> {
    job_info::set(job, &job_limits::extended(&JobLimits::default()))
}

fn unsupported_cpu_rate(error: io::Error) -> io::Error {
    match code(&error) {
        ERROR_INVALID_PARAMETER | ERROR_INVALID_FUNCTION | ERROR_NOT_SUPPORTED => {
            io::Error::new(io::ErrorKind::Unsupported, format!("no CPU rate control here: {error}"))
        }
        _ => error,
    }
}

pub(crate) fn processors() -> u32 {
    // SAFETY: a plain number.
    unsafe { GetActiveProcessorCount(ALL_PROCESSOR_GROUPS) }.max(1)
}

#[cfg(test)]
mod tests {
    use windows_sys::Win32::System::IO::PostQueuedCompletionStatus;

    use super::*;

    fn job(id: &str) -> Job {
        let id = format!("{id}-{}", std::process::id());
        Job::create(&JobName { parent: "porthole-os-unit".to_owned(), id }).unwrap()
    }

    fn post(job: &Job, message: u32) {
        // SAFETY: the port is open; the last is no pointer, as in the kernel's own messages.
        check(unsafe { PostQueuedCompletionStatus(job.port.as_raw_handle(), message, 0, null()) }).unwrap();
    }

    #[test]
    fn only_messages_of_a_memory_limit_are_hits_and_none_is_left() {
        let job = job("messages");
        let news = [6, PROCESS_MEMORY_LIMIT, 7, JOB_MEMORY_LIMIT, 4];
        news.iter().for_each(|message| post(&job, *message));
        assert_eq!(job.memory_limit_hits().unwrap(), 2);
        assert!(!job.hear(Duration::ZERO));
        post(&job, JOB_MEMORY_LIMIT);
        job.stats().unwrap();
        assert_eq!(job.memory_limit_hits().unwrap(), 3, "asking for stats loses nothing");
    }

    #[test]
    fn a_lost_message_of_the_last_end_does_not_keep_anybody_waiting() {
        let job = job("empty");
        let begun = Instant::now();
        assert!(job.wait_empty(Duration::from_secs(60)).unwrap());
        assert!(begun.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn an_account_that_cannot_be_had_is_asked_for_again() {
        let job = job("account");
        let nobody = Identity::Ids { uid: 1, gid: 1, groups: Vec::new() };
        for _ in 0..2 {
            assert_eq!(job.token(&nobody).unwrap_err().kind(), io::ErrorKind::Unsupported);
        }
        assert!(job.token(&Identity::Own).unwrap().is_none());
        assert!(job.tokens.lock().unwrap().is_empty());
    }
}
