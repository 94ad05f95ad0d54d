//! Starting a container: every effect written down, then done, then the holder is told.
//!
//! What fails becomes an end that a kubelet understands: `Exited`, `StartError`, 128, with the cause.

use std::path::{Path, PathBuf};

use holder::client::{Client, ClientError};
use holder::clock;
use holder::exit::{ExitReason, ExitRecord, START_ERROR_CODE};
use holder::protocol::{Launch, Refusal};
use os::terminal::Size;
use os::user::Identity;
use os::view::{Bind, View};
use plan::mounts::Step;

use super::{Container, Happened, Pod, Runtime, lock};
use crate::config::{ContainerConfig, Mode};
use crate::effects::EffectError;
use crate::error::{RuntimeError, StartError, chain};
use crate::fail;
use crate::holders::{self, HolderError};
use crate::ids::ContainerId;
use crate::journal::{Effect, Journal};
use crate::prepare::{self, Prepared, Whom, files};
use crate::record::State;

/// What a terminal is until somebody says otherwise.
const TERMINAL: Size = Size { columns: 80, rows: 25 };

/// One start, with everything it needs at hand.
struct Starting<'a> {
    runtime: &'a Runtime,
    pod: &'a Pod,
    container: &'a Container,
    config: &'a ContainerConfig,
    journal: Journal,
    warnings: Vec<String>,
}

/// The end of a container that never began.
pub(super) fn start_error(id: &ContainerId, message: String) -> ExitRecord {
    let now = clock::now();
    ExitRecord {
        v: 1,
        id: id.to_string(),
        code: START_ERROR_CODE,
        signal: None,
        reason: ExitReason::StartError,
        started: now.clone(),
        finished: now,
        message: Some(message),
    }
}

// === impl Runtime ===

impl Runtime {
    /// Starts a container that was made; the number of its process.
    pub fn start(&self, id: &ContainerId) -> Result<u32, RuntimeError> {
        let (pod, container) = self.inner.container(id)?;
        let gate = lock(&container.gate);
        container.expect("start", State::Created)?;
        match self.launch(&pod, &container) {
            Ok(pid) => {
                let mut life = container.life();
                (life.pid, life.started) = (Some(pid), Some(clock::now()));
                drop(life);
                self.tell(&pod, Some(&container), Happened::Started { pid });
                self.watch(&pod, &container);
                Ok(pid)
            }
            Err(e) => {
                let exit = start_error(id, chain(&e));
                self.record_end(&container, &exit);
                self.tell(&pod, Some(&container), Happened::Exited(exit));
                self.clean_up(&pod, &container);
                drop(gate);
                Err(e.into())
            }
        }
    }

    fn launch(&self, pod: &Pod, container: &Container) -> Result<u32, StartError> {
        let config = container.life().secret.as_ref().map(|secret| secret.config.clone());
        let config = config.ok_or(StartError::Forgotten)?;
        let prepared = self.prepare(pod, container, &config, None)?;
        let boot_id = self.inner.node.facts.boot_id.clone();
        let own = prepared.whom == Whom::Own;
        let changed = container.rewrite(|record| {
            (record.state, record.boot_id) = (State::Running, boot_id);
            record.room = Some(prepared.room.clone());
            record.identity = own.then_some(Identity::Own);
        });
        changed.map_err(StartError::Record)?;
        fail::point("start-recorded");
        let mut journal = Journal::open(&container.dir.journal())?;
        journal.record(&Effect::Job(self.inner.node.layout.job(&container.id)))?;
        fail::point("job-noted");
        let mut starting =
            Starting { runtime: self, pod, container, config: &config, journal, warnings: Vec::new() };
        let launch = starting.make(prepared)?;
        for warning in std::mem::take(&mut starting.warnings) {
            self.tell(pod, Some(container), Happened::Warning(warning));
        }
        let mut holder = self.holder(pod)?;
        fail::point("launch");
        let pid = match holder.start(launch) {
            // An earlier agent's words arrived after all.
            Err(ClientError::Refused { why: Refusal::Taken, .. }) => pid_of(&mut holder, &container.id)?,
            other => other?,
        };
        fail::point("launched");
        Ok(pid)
    }

    fn prepare(
        &self,
        pod: &Pod,
        container: &Container,
        config: &ContainerConfig,
        account: Option<Vec<(String, String)>>,
    ) -> Result<Prepared, StartError> {
        let pod = lock(&pod.record).config.clone();
        prepare::prepare(self.host(), &pod, config, &container.id, &container.dir, account)
            .map_err(|e| StartError::Prepare(Box::new(e)))
    }

    /// The pod's holder: the one that runs, or a new one.
    fn holder(&self, pod: &Pod) -> Result<Client, StartError> {
        let _one = lock(&pod.holder);
        match Client::connect(&pod.endpoint) {
            Err(e) if e.is_absent() => {}
            other => return Ok(other.map_err(HolderError::from)?),
        }
        let effect = Effect::Holder { endpoint: pod.endpoint.clone() };
        if !Journal::read(&pod.dir.journal())?.contains(&effect) {
            Journal::open(&pod.dir.journal())?.record(&effect)?;
        }
        fail::point("holder-noted");
        let client = holders::start(&self.inner.node.holder_program, &pod.endpoint, &pod.dir.holder_log())?;
        fail::point("holder-started");
        Ok(client)
    }
}

fn pid_of(holder: &mut Client, id: &ContainerId) -> Result<u32, ClientError> {
    Ok(holder.list()?.iter().find(|held| held.id == id.as_str()).map_or(0, |held| held.pid))
}

// === impl Starting ===

impl Starting<'_> {
    /// Makes everything that the container needs; what to tell the holder.
    fn make(&mut self, mut prepared: Prepared) -> Result<Launch, StartError> {
        let identity = self.identity(&prepared.whom)?;
        if identity != Identity::Own {
            let account = os::user::environment(&identity)
                .map_err(|source| StartError::Account { name: format!("{:?}", prepared.whom), source })?;
            prepared = self.runtime.prepare(self.pod, self.container, self.config, Some(account))?;
        }
        let dir = &self.container.dir;
        if self.config.termination.is_some() {
            make_writable_file(&dir.termination()).map_err(|source| StartError::Make {
                what: dir.termination().display().to_string(),
                source,
            })?;
        }
        let view = self.view(&prepared)?;
        let env = prepared.env.into_variables();
        self.remember(&env, &identity)?;
        let room = &prepared.room;
        Ok(Launch {
            id: self.container.id.to_string(),
            job: self.runtime.inner.node.layout.job(&self.container.id),
            program: room.for_everybody(Path::new(&prepared.start.program)),
            command_line: plan::quote::command_line(&prepared.start.argv),
            argv: prepared.start.argv,
            env,
            cwd: if room.cwd == room.image { room.cwd.clone() } else { room.for_everybody(&room.cwd) },
            overlay: None,
            view,
            identity,
            stdin: self.config.stdin,
            stdin_once: self.config.stdin_once,
            terminal: self.config.tty.then_some(TERMINAL),
            rotate: self.config.rotate,
            limits: self.config.limits.clone(),
            log: self.container.life().record.log.clone(),
            exit: dir.exit(),
        })
    }

    /// For programs that are run inside it later. A password is not written down.
    fn remember(&self, env: &[(String, String)], identity: &Identity) -> Result<(), StartError> {
        if !matches!(identity, Identity::Own | Identity::Local { .. }) {
            let identity = Some(identity.clone());
            self.container.rewrite(|record| record.identity = identity).map_err(StartError::Record)?;
        }
        if let Some(secret) = &mut self.container.life().secret {
            secret.started = Some((env.to_vec(), identity.clone()));
        }
        Ok(())
    }

    fn identity(&mut self, whom: &Whom) -> Result<Identity, StartError> {
        let (name, identity) = match whom {
            Whom::Own => return Ok(Identity::Own),
            Whom::Gmsa(account) => return Ok(Identity::Gmsa { account: account.clone() }),
            Whom::Service(service) => (format!("{service:?}"), os::user::resolve_service(*service)),
            Whom::User(name) => (name.clone(), os::user::by_name(name)),
            Whom::Group(group) => {
                let name = self.runtime.inner.node.layout.temporary_user(&self.container.id);
                self.journal.record(&Effect::User { name: name.clone() })?;
                fail::point("user-noted");
                let made = os::user::make_temporary(&name, group);
                fail::point("user-made");
                (format!("a temporary user in the group {group}"), made)
            }
        };
        identity.map_err(|source| StartError::Account { name, source })
    }

    fn view(&mut self, prepared: &Prepared) -> Result<View, StartError> {
        let (room, dir) = (&prepared.room, &self.container.dir);
        if prepared.mode != Mode::Bind && room.copy.is_none() {
            self.mount_point(&room.image, false)?;
        } else if let Some(copy) = room.copy.as_ref().filter(|copy| !copy.starts_with(dir.path())) {
            self.journal.record(&Effect::Tree { path: copy.clone() })?;
        }
        let sized = self.config.scratch_bytes.is_some();
        let made = files::make(room, &self.config.image, dir, sized)
            .map_err(|source| StartError::Make { what: dir.scratch().display().to_string(), source })?;
        fail::point("scratch-made");
        let mut binds: Vec<Bind> = Vec::new();
        if let Some(copy) = room.copy.as_ref().filter(|copy| **copy != room.image) {
            binds.push(Bind {
                source: copy.clone(),
                target: room.image.clone(),
                readonly: false,
                file: false,
            });
        }
        for step in &prepared.volumes.steps {
            match step {
                Step::MakeSource { path } => std::fs::create_dir_all(path)
                    .map_err(|source| StartError::Make { what: path.clone(), source })?,
                Step::Bind { source, target, readonly, file } => {
                    let (source, target) = (PathBuf::from(source), PathBuf::from(target));
                    match target.strip_prefix(&room.image) {
                        // Windows makes no mapping below another one.
                        Ok(inside) if room.copy.is_some() => {
                            self.link(&made, inside, &source, *file, prepared)?
                        }
                        Ok(_) => binds.push(Bind { source, target, readonly: *readonly, file: *file }),
                        Err(_) => {
                            self.host_mount_point(&target, *file)?;
                            binds.push(Bind { source, target, readonly: *readonly, file: *file });
                        }
                    }
                }
                Step::Link { at, to, file } => {
                    let inside =
                        Path::new(at).strip_prefix(&room.image).unwrap_or_else(|_| Path::new(at)).to_owned();
                    self.link(&made, &inside, Path::new(to), *file, prepared)?;
                }
            }
        }
        Ok(View { overlay: made.overlay, binds, scratch_bytes: self.config.scratch_bytes })
    }

    /// HP-11: a mount over something of the host hides that from the container, and nobody should be surprised.
    fn host_mount_point(&mut self, path: &Path, file: bool) -> Result<(), StartError> {
        if self.mount_point(path, file)? {
            let path = path.display();
            self.warnings
                .push(format!("the mount at {path} hides what the host has there from this container"));
        }
        Ok(())
    }

    fn mount_point(&mut self, path: &Path, file: bool) -> Result<bool, EffectError> {
        self.runtime.inner.node.made.mount_point(&mut self.journal, path, file)
    }

    /// A link in the image, or in the volume that is linked above it.
    fn link(
        &mut self,
        made: &files::Made,
        inside: &Path,
        to: &Path,
        file: bool,
        prepared: &Prepared,
    ) -> Result<(), StartError> {
        let room = &prepared.room;
        let at = room.image.join(inside);
        let outer = room.volumes.iter().rev().find(|volume| volume.at != at && at.starts_with(&volume.at));
        let done = match outer {
            None => made.link(inside, to, file, &room.layers),
            Some(outer) => {
                let path = outer.source.join(at.strip_prefix(&outer.at).unwrap_or(&at));
                self.journal.record(&Effect::Link { path: path.clone() })?;
                fail::point("link-noted");
                link_in_volume(&path, to, file)
            }
        };
        fail::point("link-made");
        Ok(done.map_err(|source| EffectError::Link { path: at, source })?)
    }
}

/// What the volume has there already stays: it is the user's.
fn link_in_volume(path: &Path, to: &Path, file: bool) -> std::io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(std::io::ErrorKind::InvalidInput.into());
    };
    std::fs::create_dir_all(parent)?;
    os::tree::Dir::open(parent)?.symlink(name, to.as_os_str(), !file)
}

/// Whoever the container runs as may write its last words.
fn make_writable_file(path: &Path) -> std::io::Result<()> {
    let file = std::fs::File::create(path)?;
    let mut permissions = file.metadata()?.permissions();
    #[expect(
        clippy::permissions_set_readonly_false,
        reason = "everybody may write: the way there is closed"
    )]
    permissions.set_readonly(false);
    std::fs::set_permissions(path, permissions)
}
