//! A container that is asked for, as the runtime's container.

use std::path::PathBuf;

use images::document::Runs;
use images::{Files, Image};
use plan::Style;
use runtime::config::{ContainerConfig, Groups};

use super::{PodRules, WireError, annotation, image_name, mounts, resources, text};
use crate::api::{self, KeyValue, LinuxContainerSecurityContext, Signal};
use crate::note::{ContainerNote, PodNote};

/// A container, but for its image: that is to be found yet.
#[derive(Debug, Clone)]
pub struct Asked {
    pub image: String,
    config: ContainerConfig,
}

// === impl Asked ===

impl Asked {
    pub fn name(&self) -> &str {
        &self.config.name
    }

    pub fn attempt(&self) -> u32 {
        self.config.attempt
    }

    /// `image_ref` is by which a registry gives the same image again.
    pub fn with(self, image: Image, image_ref: String) -> ContainerConfig {
        ContainerConfig { image, image_ref, ..self.config }
    }
}

/// What is known of the pod that a container is for.
#[derive(Debug, Clone, Copy)]
pub struct OfPod<'a> {
    pub namespace: &'a str,
    pub note: &'a PodNote,
}

pub fn container(
    config: Option<api::ContainerConfig>,
    pod: OfPod<'_>,
    rules: &PodRules<'_>,
    processors: u32,
) -> Result<Asked, WireError> {
    let config = config.ok_or(WireError::Missing("config"))?;
    let metadata = config.metadata.as_ref().ok_or(WireError::Missing("config.metadata"))?;
    let name = text::name("config.metadata.name", &metadata.name)?;
    let image = image_name(config.image.as_ref())?;
    devices(&config)?;
    stop_signal(config.stop_signal)?;
    let linux = config.linux.as_ref();
    let of_linux =
        linux.and_then(|linux| linux.security_context.as_ref()).filter(|_| rules.style == Style::Unix);
    let windows = config.windows.as_ref();
    let of_windows = windows.and_then(|windows| windows.security_context.clone()).unwrap_or_default();
    let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
    let user = named(&of_windows.run_as_username)
        .map_or_else(|| of_linux.map_or(Ok(None), user), |name| Ok(Some(name)))?;
    let linux_resources = linux.and_then(|linux| linux.resources.clone());
    let windows_resources = windows.and_then(|windows| windows.resources.clone());
    let limits = resources::limits(linux_resources.as_ref(), windows_resources.as_ref(), processors)?;
    let all_mounts =
        config.mounts.iter().map(|mount| mounts::mount(mount, rules.style)).collect::<Result<Vec<_>, _>>()?;
    if pod.note.by_annotation {
        let host_paths: Vec<_> = all_mounts.iter().map(|mount| mount.host_path.clone()).collect();
        let (user, host_paths) = (user.as_deref(), host_paths.as_slice());
        let seen = annotation::Seen { namespace: pod.namespace, user, image: &image, host_paths };
        annotation::judge(rules.annotation_policy, &seen)?;
    }
    let scratch = windows_resources.as_ref().map_or(0, |asked| asked.rootfs_size_in_bytes);
    let note = ContainerNote {
        image: config.image.clone().unwrap_or_default(),
        mounts: config.mounts.clone(),
        linux: linux_resources,
        windows: windows_resources,
        stop_signal: config.stop_signal,
    };
    let log_path = match config.log_path.as_str() {
        "" => None,
        path => Some(PathBuf::from(text::inner_path("config.log_path", path)?)),
    };
    let placeholder = Image { id: None, files: Files::Dir(PathBuf::new()), runs: Runs::default() };
    let config = ContainerConfig {
        attempt: metadata.attempt,
        command: words("config.command", &config.command)?,
        args: words("config.args", &config.args)?,
        working_dir: text::without_nul("config.working_dir", &config.working_dir)?,
        env: config.envs.iter().map(variable).collect::<Result<_, _>>()?,
        mounts: all_mounts,
        user,
        groups: of_linux.map(groups).transpose()?.unwrap_or_default(),
        // One that came by the annotation has no field to agree with.
        host_process: windows
            .and_then(|windows| windows.security_context.as_ref())
            .map(|context| context.host_process)
            .filter(|_| rules.style == Style::Windows && !pod.note.by_annotation),
        credential_spec: named(&of_windows.credential_spec),
        limits,
        log_path,
        stdin: config.stdin,
        stdin_once: config.stdin_once,
        tty: config.tty,
        labels: config.labels.clone(),
        annotations: config.annotations.clone(),
        scratch_bytes: u64::try_from(scratch).ok().filter(|bytes| *bytes > 0),
        readonly_image: of_linux.is_some_and(|context| context.readonly_rootfs),
        note: Some(note.into_value()),
        ..ContainerConfig::new(&name, placeholder)
    };
    Ok(Asked { image, config })
}

fn words(field: &str, words: &[String]) -> Result<Vec<String>, WireError> {
    words.iter().map(|word| text::without_nul(field, word)).collect()
}

/// Values need not be texts in CRI. Here they become a process's environment, which on Windows is made of texts.
fn variable(pair: &KeyValue) -> Result<(String, String), WireError> {
    const AT: &str = "config.envs";
    if pair.key.is_empty() || pair.key.contains(['=', '\0']) {
        return Err(WireError::invalid(AT, &pair.key, "a name without = and the character 0"));
    }
    // A value may be secret: it is not shown.
    let unfit = || WireError::invalid(AT, &pair.key, "a value in UTF-8 without the character 0");
    let value = std::str::from_utf8(&pair.value).ok().filter(|value| !value.contains('\0'));
    Ok((pair.key.clone(), value.ok_or_else(unfit)?.to_owned()))
}

/// The host's devices are where they are.
fn devices(config: &api::ContainerConfig) -> Result<(), WireError> {
    if let Some(device) = config.devices.iter().find(|device| device.host_path != device.container_path) {
        let field = format!("config.devices[{:?}]", device.container_path);
        return Err(WireError::unsupported(
            &field,
            "a HostProcess container has the host's devices at their own paths",
        ));
    }
    match config.cdi_devices.first() {
        None => Ok(()),
        Some(device) => {
            let field = format!("config.CDI_devices[{:?}]", device.name);
            Err(WireError::unsupported(&field, "devices by CDI are not supported yet"))
        }
    }
}

fn stop_signal(number: i32) -> Result<(), WireError> {
    const AT: &str = "config.stop_signal";
    match Signal::try_from(number) {
        Ok(Signal::RuntimeDefault | Signal::Sigterm) => Ok(()),
        Ok(_) => Err(WireError::unsupported(AT, "containers are asked to stop by SIGTERM")),
        Err(_) => Err(WireError::invalid(AT, number, "a Signal, 0 to 65")),
    }
}

fn user(context: &LinuxContainerSecurityContext) -> Result<Option<String>, WireError> {
    const AT: &str = "config.linux.security_context.run_as_user";
    match (&context.run_as_user, context.run_as_username.as_str()) {
        (Some(_), name) if !name.is_empty() => {
            Err(WireError::invalid(AT, name, "one of run_as_user and run_as_username"))
        }
        (Some(number), _) => Ok(Some(number_of(AT, number.value)?.to_string())),
        (None, "") if context.run_as_group.is_some() => Err(WireError::Missing(AT)),
        (None, "") => Ok(None),
        (None, name) => text::without_nul(AT, name).map(Some),
    }
}

fn groups(context: &LinuxContainerSecurityContext) -> Result<Groups, WireError> {
    const AT: &str = "config.linux.security_context";
    let group = |number: i64| number_of(&format!("{AT}.supplemental_groups"), number);
    Ok(Groups {
        own: context
            .run_as_group
            .as_ref()
            .map(|group| number_of(&format!("{AT}.run_as_group"), group.value))
            .transpose()?,
        further: context.supplemental_groups.iter().copied().map(group).collect::<Result<_, _>>()?,
    })
}

/// The last number means nobody to the kernel.
fn number_of(field: &str, value: i64) -> Result<u32, WireError> {
    let number = u32::try_from(value).ok().filter(|number| *number != u32::MAX);
    number.ok_or_else(|| WireError::invalid(field, value, "0 to 4294967294"))
}
