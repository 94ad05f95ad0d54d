//! Starting a holder: a process that is nobody's child and keeps nothing of ours.

use std::convert::Infallible;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use super::born::{self, Plan, Step, Strings};
use super::mounts::{Mounts, Sight};
use super::spawn::{Pipe, above_stdio, await_exec, c_string, fork};
use crate::process::Detached;

pub(crate) fn detach(program: &Path, args: &[OsString], stderr: File) -> io::Result<Detached> {
    let (ready, report) = (Pipe::new(true)?, Pipe::new(true)?);
    let null = above_stdio(File::open("/dev/null")?.into())?;
    let stderr = above_stdio(stderr.into())?;
    let stdio = [null.as_raw_fd(), ready.write_fd(), stderr.as_raw_fd()];
    let plan = plan(program, args, stdio, report.write_fd())?;
    let between = fork(|| match stand_alone(&plan) {
        Ok(never) => never,
        Err(step) => born::fail(plan.report, step),
    })?;
    drop((ready.write, report.write));
    let pid = await_exec(between, report.read, &mut |_| Ok(()), &|_| String::new())
        .map_err(|error| error.source)?;
    let ready = ready.read.map(File::from).ok_or(io::ErrorKind::BrokenPipe)?;
    Ok(Detached { pid, ready })
}

fn plan(program: &Path, args: &[OsString], stdio: [RawFd; 3], report: RawFd) -> io::Result<Plan> {
    let program = c_string(program.as_os_str())?;
    let args: io::Result<Vec<CString>> = args.iter().map(|arg| c_string(OsStr::new(arg))).collect();
    let argv = [vec![program.clone()], args?].concat();
    let env = std::env::vars_os().map(|(name, value)| {
        CString::new([name.into_vec(), value.into_vec()].join(&b'=')).map_err(io::Error::from)
    });
    Ok(Plan {
        program,
        argv: Strings::new(argv),
        env: Strings::new(env.collect::<io::Result<Vec<_>>>()?),
        cwd: c"/".to_owned(),
        doors: Vec::new(),
        sight: Sight::Own(Mounts::default()),
        go: None,
        account: None,
        stdio,
        terminal: false,
        report,
        parent: 0,
        init: None,
    })
}

/// A session of its own first, then one more fork: the result leads no session, so no terminal can become its own,
/// and init adopts it when the process between ends.
fn stand_alone(plan: &Plan) -> Step<Infallible> {
    born::own_session();
    match born::fork(0)? {
        0 => born::become_program(plan),
        pid => {
            born::report(plan.report, born::REPORT_PID, pid);
            born::leave(0)
        }
    }
}
