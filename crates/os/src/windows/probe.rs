//! What this Windows can do: tried on scratch objects, or asked of the loader.

use std::io;
use std::os::windows::io::{AsHandle, BorrowedHandle};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use windows_sys::Win32::System::Threading::{CREATE_NO_WINDOW, CREATE_SUSPENDED};

use super::attributes::Attributes;
use super::handle::wait;
use super::library::Library;
use super::spawn::{Launch, Started, create};
use super::stdio::{make_inheritable, nothing};
use super::text::{command_line, wide};
use super::{bind_filter, host, job, registry, security, view};
use crate::job::{Job, JobLimits, JobName};
use crate::probe::{Probe, refused};

/// How long a killed process may take to end.
const PATIENCE: Duration = Duration::from_secs(5);
const BIND_FILTER: [&str; 3] = ["BfSetupFilter", "BfRemoveMapping", "BfGetMappings"];

pub(crate) const PROBES: &[Probe] = &[
    Probe {
        id: "windows-build",
        what: "Windows build 17763 or newer",
        without: "this Windows is too old for containers; nothing can be started",
        try_it: windows_build,
    },
    Probe {
        id: "job-objects",
        what: "job objects that end with their keeper",
        without: "a container could not be ended as one; nothing can be started",
        try_it: job_objects,
    },
    Probe {
        id: "job-memory-limit",
        what: "memory limits on jobs",
        without: "memory limits are refused",
        try_it: memory_limit,
    },
    Probe {
        id: "job-cpu-rate",
        what: "CPU rate control on jobs",
        without: "CPU limits are refused",
        try_it: cpu_rate,
    },
    Probe {
        id: "silo",
        what: "a job can become a silo",
        without: "images and volumes are linked under C:\\hpc\\<id> instead of having their own paths",
        try_it: silo,
    },
    Probe {
        id: "bind-filter",
        what: "bind filter (bindfltapi.dll)",
        without: "images and volumes are linked under C:\\hpc\\<id> instead of having their own paths",
        try_it: bind_filter,
    },
    Probe {
        id: "conpty",
        what: "pseudo consoles",
        without: "exec and attach with a terminal are refused",
        try_it: conpty,
    },
    Probe {
        id: "service-logon",
        what: "privileges to log accounts on (LocalSystem)",
        without: "containers run as this account only; others fail with \"access is denied\"",
        try_it: service_logon,
    },
    Probe {
        id: "symbolic-links",
        what: "privilege to make symbolic links",
        without: "volumes cannot be linked into a container without the bind filter",
        try_it: symbolic_links,
    },
    Probe {
        id: "long-paths",
        what: "paths longer than 260 characters",
        without: "deep volume paths fail in programs that do not opt in",
        try_it: long_paths,
    },
];

fn windows_build() -> Result<String, String> {
    let build = host::build().map_err(refused)?;
    if build.is_supported() { Ok(build.to_string()) } else { Err(build.to_string()) }
}

/// A copy of ourselves that never runs an instruction is put into a job whose only handle is then closed.
fn job_objects() -> Result<String, String> {
    let job = job::nameless().map_err(refused)?;
    let started = sleeping_in(job.as_handle()).map_err(refused)?;
    drop(job);
    match wait(&started.process, Some(PATIENCE)) {
        Ok(true) => Ok("a process ended with its job".to_owned()),
        ended => {
            started.terminate();
            Err(ended.map_or_else(refused, |_| "a process outlived its job".to_owned()))
        }
    }
}

fn sleeping_in(job: BorrowedHandle<'_>) -> io::Result<Started> {
    let program = std::env::current_exe()?;
    let nothing = nothing()?;
    make_inheritable(&nothing)?;
    let launch = Launch {
        line: wide(command_line(&[program.as_os_str()]))?,
        program: wide(program)?,
        env: None,
        cwd: None,
        flags: CREATE_SUSPENDED | CREATE_NO_WINDOW,
        token: None,
    };
    let mut attributes = Attributes::new(&[nothing.as_handle()], None)?;
    let started = create(&launch, Some([nothing.as_handle(); 3]), &mut attributes)?;
    started.put_inside(job).inspect_err(|_| started.terminate())?;
    Ok(started)
}

/// A job that only this probe knows.
fn limited(limits: &JobLimits) -> Result<String, String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let id = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let job = Job::create(&JobName { parent: "porthole-probe".to_owned(), id }).map_err(refused)?;
    job.set_limits(limits).map_err(refused)?;
    match host::emulator() {
        Some(emulator) => Ok(format!("accepted; {emulator} may not enforce it")),
        None => Ok("set on a scratch job".to_owned()),
    }
}

fn memory_limit() -> Result<String, String> {
    limited(&JobLimits { memory_bytes: Some(64 << 20), ..JobLimits::default() })
}

fn cpu_rate() -> Result<String, String> {
    limited(&JobLimits { cpu_millis: Some(500), ..JobLimits::default() })
}

fn silo() -> Result<String, String> {
    let job = job::nameless().map_err(refused)?;
    view::promote(job.as_handle()).map_err(refused)?;
    Ok("made one".to_owned())
}

fn bind_filter() -> Result<String, String> {
    library_exports(bind_filter::LIBRARY, &BIND_FILTER)?;
    view::bind_works()?;
    Ok("a directory was shown at another path".to_owned())
}

fn conpty() -> Result<String, String> {
    library_exports("kernel32.dll", &["CreatePseudoConsole", "ResizePseudoConsole", "ClosePseudoConsole"])?;
    Ok("kernel32.dll has it".to_owned())
}

fn service_logon() -> Result<String, String> {
    holds(&["SeAssignPrimaryTokenPrivilege", "SeIncreaseQuotaPrivilege", "SeTcbPrivilege"])
}

fn symbolic_links() -> Result<String, String> {
    holds(&["SeCreateSymbolicLinkPrivilege"])
}

fn holds(privileges: &[&str]) -> Result<String, String> {
    for privilege in privileges {
        if !security::has_privilege(privilege).map_err(refused)? {
            return Err(format!("this account lacks {privilege}"));
        }
    }
    Ok(privileges.join(", "))
}

fn long_paths() -> Result<String, String> {
    match registry::number(r"SYSTEM\CurrentControlSet\Control\FileSystem", "LongPathsEnabled") {
        Ok(0) => Err("LongPathsEnabled is 0".to_owned()),
        Ok(_) => Ok("LongPathsEnabled".to_owned()),
        Err(error) => Err(format!("LongPathsEnabled: {error}")),
    }
}

pub(crate) fn library_exports(library: &str, functions: &[&str]) -> Result<(), String> {
    let opened = Library::open(library).map_err(|error| format!("{library}: {error}"))?;
    let missing: Vec<&str> =
        functions.iter().copied().filter(|function| opened.function(function).is_none()).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("{library} lacks {}", missing.join(", "))) }
}

pub(crate) fn service_registered(name: &str) -> Result<(), String> {
    registry::number(&format!(r"SYSTEM\CurrentControlSet\Services\{name}"), "Start")
        .map(drop)
        .map_err(|error| format!("service {name}: {error}"))
}
