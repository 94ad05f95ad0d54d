//! Running programs inside a container that runs: in its job, with its eyes, as its account.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use holder::client::{Heard, Stream};
use holder::protocol::Exec;
use holder::stream::ExecEnd;
use os::user::Identity;
use plan::environment::Environment;

use super::{Container, Runtime};
use crate::config::ExecRequest;
use crate::error::RuntimeError;
use crate::ids::ContainerId;
use crate::prepare::{self, PrepareError, Room, host_style};
use crate::record::State;

/// What a program said and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecOutput {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub code: u32,
    /// It was killed because its time was over.
    pub timed_out: bool,
}

/// More than this of either stream nobody gets, as with other runtimes; the program runs on all the same.
const MOST_OUTPUT: usize = 16 << 20;

static SERIAL: AtomicU64 = AtomicU64::new(0);

/// What an agent knows of a container's surroundings. One that came later knows no variables: it has the host's.
struct Surroundings {
    room: Room,
    env: Vec<(String, String)>,
    identity: Identity,
}

// === impl Runtime ===

impl Runtime {
    /// Starts a program and gives its streams.
    pub fn exec(&self, id: &ContainerId, request: &ExecRequest) -> Result<Stream, RuntimeError> {
        let (pod, container) = self.inner.container(id)?;
        container.expect("run something in", State::Running)?;
        let surroundings = container.surroundings()?;
        let path = value(&surroundings.env, "PATH");
        let refused = |source: PrepareError| RuntimeError::Exec {
            program: request.argv.first().cloned().unwrap_or_default(),
            id: id.clone(),
            source: Box::new(source),
        };
        if request.argv.is_empty() {
            return Err(refused(plan::command::NothingToRun.into()));
        }
        let room = &surroundings.room;
        let (cwd, root) = (room.cwd.to_string_lossy(), prepare::host_root(&self.inner.node.facts));
        let start = room.start(&request.argv, &cwd, &path, root).map_err(|e| refused(e.into()))?;
        let millis = |limit: Duration| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        Ok(pod.client()?.exec(Exec {
            container: id.to_string(),
            id: format!("{}-{serial}", std::process::id()),
            program: room.for_everybody(Path::new(&start.program)),
            command_line: plan::quote::command_line(&start.argv),
            argv: start.argv,
            env: surroundings.env,
            cwd: room.directory_for_everybody(Path::new(&start.cwd)),
            identity: surroundings.identity,
            stdin: request.stdin,
            terminal: request.terminal,
            timeout_ms: request.timeout.map(millis),
        })?)
    }

    /// Runs a program to its end, or to the end of its time, when it is killed.
    pub fn exec_sync(
        &self,
        id: &ContainerId,
        argv: &[String],
        timeout: Option<Duration>,
    ) -> Result<ExecOutput, RuntimeError> {
        let request = ExecRequest { argv: argv.to_vec(), timeout, ..ExecRequest::default() };
        let (reader, _writer) = self.exec(id, &request)?.split();
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        for heard in reader {
            match heard? {
                Heard::Stdout(bytes) => take(&mut stdout, &bytes),
                Heard::Stderr(bytes) => take(&mut stderr, &bytes),
                Heard::Ended(ExecEnd { code, timed_out, .. }) => {
                    return Ok(ExecOutput { stdout, stderr, code, timed_out });
                }
                Heard::Detached | Heard::Overrun => break,
            }
        }
        Err(RuntimeError::ExecRefused { id: id.clone(), why: "its streams ended before it did" })
    }
}

fn take(kept: &mut Vec<u8>, more: &[u8]) {
    let room = MOST_OUTPUT - kept.len();
    kept.extend_from_slice(&more[..more.len().min(room)]);
}

fn value(env: &[(String, String)], name: &str) -> String {
    let mut known = Environment::new(host_style());
    env.iter().for_each(|(name, value)| known.set(name, value));
    known.get(name).unwrap_or_default().to_owned()
}

// === impl Container ===

impl Container {
    fn surroundings(&self) -> Result<Surroundings, RuntimeError> {
        let refused = |why| RuntimeError::ExecRefused { id: self.id.clone(), why };
        let life = self.life();
        let room =
            life.record.room.clone().ok_or_else(|| refused("where its image is was never written down"))?;
        let started = life.secret.as_ref().and_then(|secret| secret.started.clone());
        let (env, identity) = match started {
            Some(known) => known,
            None => {
                let identity = life.record.identity.clone();
                let lost = "its temporary user's password went with the agent that started it";
                (prepare::bare_environment(&room.image), identity.ok_or_else(|| refused(lost))?)
            }
        };
        Ok(Surroundings { room, env, identity })
    }
}
