//! What requests are about.

use std::path::PathBuf;

use cri::api::*;

use crate::served::IMAGE;

/// A pod with a container that runs and one that was only made, and an image of a registry.
pub(crate) struct Scene {
    pub(super) logs: PathBuf,
    pub(crate) pod: String,
    pub(crate) running: String,
    pub(crate) created: String,
    pub(crate) pulled: String,
}

// === impl Scene ===

impl Scene {
    pub(crate) fn pod_config(&self, name: &str) -> PodSandboxConfig {
        PodSandboxConfig {
            metadata: Some(PodSandboxMetadata {
                name: name.to_owned(),
                uid: format!("{name}-uid"),
                namespace: "default".to_owned(),
                attempt: 0,
            }),
            log_directory: self.logs.display().to_string(),
            ..PodSandboxConfig::default()
        }
    }

    pub(crate) fn config(&self, name: &str) -> ContainerConfig {
        ContainerConfig {
            metadata: Some(ContainerMetadata { name: name.to_owned(), attempt: 0 }),
            image: Some(ImageSpec { image: IMAGE.to_owned(), ..ImageSpec::default() }),
            args: vec!["pause".to_owned()],
            log_path: format!("{name}.log"),
            ..ContainerConfig::default()
        }
    }

    /// What texts are made of: names of what is here, of what is not, and of what cannot be. None makes a program do
    /// anything or leads to another machine.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = [
            "",
            ".",
            "..",
            "../../x",
            "/",
            "/nonexistent/x",
            "a/b",
            "a=b",
            "a\0b",
            "\u{1}",
            "é✓\u{202e}",
            "%s%n",
            "-1",
            "0-1",
            "true",
            "C:\\x",
            "\\\\.\\pipe\\x",
            "unix:///x",
            "x",
            "nobody",
            "no-such-account",
            "hostprocess",
            "runhcs-wcow-process",
            "runhcs-wcow-hypervisor",
            "localhost/x",
            "microsoft.com/hostprocess-container",
            "$CONTAINER_SANDBOX_MOUNT_POINT/x",
            "memory.max",
            "10.0.0.0/8",
            "::1",
            "sha256:",
            "example.com/none:1",
            IMAGE,
        ]
        .map(str::to_owned)
        .into();
        words.extend([254, 5000].map(|length| "x".repeat(length)));
        words.extend([&self.pod, &self.running, &self.created, &self.pulled].map(Clone::clone));
        words.extend([self.running[..8].to_owned(), self.logs.display().to_string()]);
        words
    }
}
