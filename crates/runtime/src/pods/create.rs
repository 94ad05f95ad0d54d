//! Making a container: judged completely, then written down. Nothing of it runs.

use std::path::PathBuf;
use std::sync::Arc;

use holder::clock;
use serde_json::Map;

use super::{Container, Happened, Pod, Runtime, Secret, lock};
use crate::config::{ContainerConfig, Mode, PodConfig};
use crate::error::RuntimeError;
use crate::fail;
use crate::failure::FailureMode;
use crate::ids::{ContainerId, PodId};
use crate::layout::ContainerDir;
use crate::prepare::{self, Host, PrepareError, Prepared};
use crate::record::{self, ContainerRecord, Kept, PodState, State, VERSION};

/// Kubernetes' names of containers are labels of at most 63; others that speak CRI are not so strict.
const LONGEST_NAME: usize = 253;

// === impl Runtime ===

impl Runtime {
    /// A container that can be started. Everything that can be known to be wrong is refused here, before anything is
    /// touched. The same again is the same container, with its variables told anew.
    pub fn create(&self, pod: &PodId, config: ContainerConfig) -> Result<ContainerId, RuntimeError> {
        let pod = self.inner.pod(pod)?;
        let (pod_config, state) = {
            let record = lock(&pod.record);
            (record.config.clone(), record.state)
        };
        if state != PodState::Ready {
            return Err(RuntimeError::PodState {
                verb: "make a container in",
                id: pod.id.clone(),
                found: state,
            });
        }
        check_name(&config.name)?;
        let id = ContainerId::of(&pod.id, &config.name, config.attempt);
        let dir = pod.dir.container(&config.name, config.attempt);
        if let Some(known) = lock(&pod.containers).get(&id).cloned()
            && known.recreate(&config)?
        {
            return Ok(id);
        }
        let refused = |source| RuntimeError::Refused { name: config.name.clone(), source: Box::new(source) };
        let prepared = prepare::prepare(self.host(), &pod_config, &config, &id, &dir, None)
            .map_err(refused)
            .inspect_err(|e| self.met_if_known(&pod, None, e))?;
        fail::point("container-begin");
        let record = self.record(&id, &pod_config, &config, &dir, &prepared);
        let container = self.add(&pod, self.write(dir, record, config)?);
        for warning in prepared.warnings {
            self.tell(&pod, Some(&container), Happened::Warning(warning));
        }
        for mode in prepared.noticed {
            self.met(&pod, Some(&container), mode);
        }
        Ok(id)
    }

    /// Keeps for people why a container was refused: as one that ended before it began.
    pub fn keep_refusal(
        &self,
        pod: &PodId,
        config: &ContainerConfig,
        why: &RuntimeError,
    ) -> Result<ContainerId, RuntimeError> {
        let pod = self.inner.pod(pod)?;
        check_name(&config.name)?;
        let id = ContainerId::of(&pod.id, &config.name, config.attempt);
        let dir = pod.dir.container(&config.name, config.attempt);
        if lock(&pod.containers).contains_key(&id) {
            return Err(RuntimeError::Taken { what: "container", id: id.to_string() });
        }
        let record = self.bare_record(&id, &lock(&pod.record).config, config, &dir);
        let container = self.write(dir, record, config.clone())?;
        let exit = super::start::start_error(&id, crate::error::chain(why));
        self.record_end(&container, &exit);
        self.add(&pod, container);
        Ok(id)
    }

    pub(super) fn met_if_known(&self, pod: &Pod, container: Option<&Container>, error: &RuntimeError) {
        if let Some(mode) = FailureMode::of(error) {
            self.met(pod, container, mode);
        }
    }

    fn write(
        &self,
        dir: ContainerDir,
        record: ContainerRecord,
        config: ContainerConfig,
    ) -> Result<Container, RuntimeError> {
        let failed = |source| RuntimeError::Write { path: dir.path().to_owned(), source };
        // What is left of one whose record could not be read.
        if dir.journal().exists() {
            self.inner.node.made.undo(&dir.journal())?;
        }
        os::file::remove_tree(dir.path()).map_err(failed)?;
        os::file::make_private_dir(dir.path()).map_err(failed)?;
        fail::point("container-directory");
        // The record comes last: a directory without it is swept.
        record::write(&dir.record(), &record).map_err(failed)?;
        fail::point("container-recorded");
        let container = Container::new(dir, record);
        container.life().secret = Some(Secret { config, started: None });
        Ok(container)
    }

    pub(super) fn host(&self) -> Host<'_> {
        let node = &self.inner.node;
        Host { layout: &node.layout, facts: &node.facts, options: &self.inner.options }
    }

    fn add(&self, pod: &Pod, container: Container) -> Arc<Container> {
        let container = Arc::new(container);
        lock(&pod.containers).insert(container.id.clone(), container.clone());
        self.tell(pod, Some(&container), Happened::Created);
        container
    }

    fn record(
        &self,
        id: &ContainerId,
        pod: &PodConfig,
        config: &ContainerConfig,
        dir: &ContainerDir,
        prepared: &Prepared,
    ) -> ContainerRecord {
        ContainerRecord {
            mode: prepared.mode,
            room: Some(prepared.room.clone()),
            warnings: prepared.warnings.clone(),
            ..self.bare_record(id, pod, config, dir)
        }
    }

    fn bare_record(
        &self,
        id: &ContainerId,
        pod: &PodConfig,
        config: &ContainerConfig,
        dir: &ContainerDir,
    ) -> ContainerRecord {
        ContainerRecord {
            v: VERSION,
            id: id.clone(),
            state: State::Created,
            created: clock::now(),
            boot_id: self.inner.node.facts.boot_id.clone(),
            config: Kept::of(config),
            log: prepare::on_host(&log_path(pod, config, dir), &self.inner.node.facts),
            mode: Mode::Bind,
            room: None,
            identity: None,
            warnings: Vec::new(),
            termination_message: None,
            waiting: None,
            unknown: Map::new(),
        }
    }
}

fn log_path(pod: &PodConfig, config: &ContainerConfig, dir: &ContainerDir) -> PathBuf {
    match (&pod.log_directory, &config.log_path) {
        (Some(directory), Some(path)) => directory.join(path),
        (None, Some(path)) => path.clone(),
        (_, None) => dir.log(),
    }
}

fn check_name(name: &str) -> Result<(), RuntimeError> {
    let good = (1..=LONGEST_NAME).contains(&name.len()) && !name.chars().any(char::is_control);
    if good {
        return Ok(());
    }
    let source = Box::new(PrepareError::Name(name.to_owned()));
    Err(RuntimeError::Refused { name: name.to_owned(), source })
}

// === impl Container ===

impl Container {
    /// Whether this is the container that is asked for; if it waits to be started, it is told its variables again.
    fn recreate(&self, config: &ContainerConfig) -> Result<bool, RuntimeError> {
        let mut life = self.life();
        if life.gone {
            return Ok(false);
        }
        if life.record.config.digest != Kept::of(config).digest {
            return Err(RuntimeError::Taken { what: "container", id: self.id.to_string() });
        }
        if life.record.state == State::Created {
            life.secret = Some(Secret { config: config.clone(), started: None });
        }
        Ok(true)
    }
}
