//! The ways in which HostProcess containers are known to fail (HP-25): what each is called, what people read, what they
//! can do about it, and how often it happened here.
//!
//! A mode is found from the typed error, or noticed where nothing fails and something is missing all the same. The
//! runtime counts and tells; who shows the counters (a file, a node's metrics) takes them from [`Counters::read`].

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use holder::client::ClientError;
use holder::protocol::Refusal;
use images::ImageError;
use os::process::SpawnStep;

use crate::error::{RuntimeError, StartError};
use crate::prepare::PrepareError;

/// One way to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureMode {
    /// We may not start processes as somebody else.
    LogonDenied,
    /// Nobody of that name can be had here.
    AccountUnknown,
    /// Volumes are links, as the host cannot bind.
    BindFilterMissing,
    ImageNotFound,
    /// The service account's token is not where client libraries look for it.
    TokenPathMissing,
    /// The process that kept the pod is gone, and its containers with it.
    HolderLost,
    /// Neither the image nor the host has the program or the working directory.
    ProgramNotFound,
    /// A volume that a HostProcess container cannot have.
    MountRefused,
    /// There was no agent for a while.
    RuntimeDown,
}

/// What is known of a mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    pub mode: FailureMode,
    /// For events and the metric's label.
    pub code: &'static str,
    /// Words of which some stand in the error or warning.
    pub reads: &'static [&'static str],
    pub hint: &'static str,
}

/// Every mode, in the order of [`FailureMode`].
pub const KNOWN: [Known; 9] = [
    Known {
        mode: FailureMode::LogonDenied,
        code: "LogonDenied",
        reads: &[
            "failed to logon user: Access is denied",
            "only root can start a process as somebody else",
            "only root can make the user",
        ],
        hint: "run porthole as LocalSystem (root on the twin), or leave runAsUserName out so that the container runs as porthole does",
    },
    Known {
        mode: FailureMode::AccountUnknown,
        code: "AccountUnknown",
        reads: &["wanted"],
        hint: "set runAsUserName to NT AUTHORITY\\SYSTEM, \\LocalService, \\NetworkService or to a local group of this host; make the group first",
    },
    Known {
        mode: FailureMode::BindFilterMissing,
        code: "BindFilterMissing",
        reads: &["volumes are links below the image"],
        hint: "use paths below %CONTAINER_SANDBOX_MOUNT_POINT%, or install the July 2022 update on Windows Server 2019; `porthole doctor` says what is missing",
    },
    Known {
        mode: FailureMode::ImageNotFound,
        code: "ImageNotFound",
        reads: &["image"],
        hint: "check the image's name and imagePullPolicy; `porthole image ls` shows what is here and `porthole image pull` says what a registry answers",
    },
    Known {
        mode: FailureMode::TokenPathMissing,
        code: "TokenPathMissing",
        reads: &["the service account's token"],
        hint: "build a kubeconfig from the files below %CONTAINER_SANDBOX_MOUNT_POINT%\\var\\run\\secrets\\kubernetes.io\\serviceaccount, or use bind mode",
    },
    Known {
        mode: FailureMode::HolderLost,
        code: "HolderLost",
        reads: &["its holder ended first"],
        hint: "look for what ended porthole-hold (the pod's holder.log, the system's event log); the container is started again as its restartPolicy says",
    },
    Known {
        mode: FailureMode::ProgramNotFound,
        code: "ProgramNotFound",
        reads: &["looked at"],
        hint: "a bare name is looked for in the image and on PATH, a path in the working directory and the image; no shell is in between",
    },
    Known {
        mode: FailureMode::MountRefused,
        code: "MountRefused",
        reads: &["mount"],
        hint: "a HostProcess container reaches pipes and sockets by their path on the host: leave the mount out",
    },
    Known {
        mode: FailureMode::RuntimeDown,
        code: "RuntimeDown",
        reads: &["ended without being asked to"],
        hint: "look in the system's log for what ended porthole; while it is down the node is NotReady, its containers run on, and a service manager that restarts it is all that is needed",
    },
];

/// How often each mode was met since this runtime was opened.
#[derive(Debug, Default)]
pub struct Counters([AtomicU64; KNOWN.len()]);

/// Where client libraries look for their token.
const TOKEN: &str = "var/run/secrets/kubernetes.io/serviceaccount";

/// Whether a mount is the one that in-cluster clients need at its own path.
pub(crate) fn is_token_path(path: &str) -> bool {
    let path = path.replace('\\', "/").to_lowercase();
    let path = path.split_once(':').map_or(path.as_str(), |(_, rest)| rest);
    path.trim_matches('/') == TOKEN
}

// === impl FailureMode ===

impl FailureMode {
    pub fn known(self) -> &'static Known {
        &KNOWN[self as usize]
    }

    /// The mode of an error, if it is a known one.
    pub fn of(error: &RuntimeError) -> Option<FailureMode> {
        match error {
            RuntimeError::Refused { source, .. } => of_prepare(source),
            RuntimeError::Start(error) => of_start(error),
            _ => None,
        }
    }

    /// The mode of an image that cannot be had.
    pub fn of_image(error: &ImageError) -> Option<FailureMode> {
        let missing = |source: &io::Error| source.kind() == io::ErrorKind::NotFound;
        match error {
            ImageError::NotADirectory { .. } | ImageError::Never { .. } | ImageError::Pull { .. } => {
                Some(FailureMode::ImageNotFound)
            }
            ImageError::Archive { source, .. } => {
                let cause = std::error::Error::source(source).and_then(|cause| cause.downcast_ref());
                cause.is_some_and(missing).then_some(FailureMode::ImageNotFound)
            }
            _ => None,
        }
    }
}

fn of_prepare(error: &PrepareError) -> Option<FailureMode> {
    match error {
        PrepareError::Account(_) => Some(FailureMode::AccountUnknown),
        PrepareError::Mounts(_) => Some(FailureMode::MountRefused),
        PrepareError::Start(plan::start::StartError::Look(_)) => None,
        PrepareError::Start(_) => Some(FailureMode::ProgramNotFound),
        _ => None,
    }
}

fn of_start(error: &StartError) -> Option<FailureMode> {
    match error {
        StartError::Prepare(source) => of_prepare(source),
        StartError::Account { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            Some(FailureMode::LogonDenied)
        }
        StartError::Account { .. } => Some(FailureMode::AccountUnknown),
        // The holder logs on, where nobody did before.
        StartError::Client(ClientError::Refused { why: Refusal::Start, message })
            if message.contains(SpawnStep::Identity.as_str()) =>
        {
            Some(FailureMode::LogonDenied)
        }
        _ => None,
    }
}

// === impl Counters ===

impl Counters {
    pub(crate) fn count(&self, mode: FailureMode) {
        self.0[mode as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub fn of(&self, mode: FailureMode) -> u64 {
        self.0[mode as usize].load(Ordering::Relaxed)
    }

    /// Every mode with its count, also those that never happened: a rate needs a beginning.
    pub fn read(&self) -> impl Iterator<Item = (&'static Known, u64)> {
        KNOWN.iter().map(|known| (known, self.of(known.mode)))
    }

    /// In the text format of Prometheus.
    pub fn text(&self) -> String {
        let head = "# HELP porthole_runtime_failures_total HostProcess containers that met a known way to fail.\n\
                    # TYPE porthole_runtime_failures_total counter\n";
        let lines = self.read().map(|(known, count)| {
            format!("porthole_runtime_failures_total{{mode=\"{}\"}} {count}\n", known.code)
        });
        std::iter::once(head.to_owned()).chain(lines).collect()
    }
}

#[cfg(test)]
mod tests;
