//! What a test may choose about its control plane.

use std::path::PathBuf;

/// Choices for [`ControlPlane::start`](super::ControlPlane::start); the default is a plain cluster.
///
/// ```no_run
/// use testbed::control_plane::{ControlPlane, Options};
///
/// let options = Options::default().apiserver_arg("--feature-gates=InPlacePodVerticalScaling=true");
/// let control_plane = ControlPlane::start(options)?;
/// # anyhow::Ok(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Options {
    pub(super) apiserver_args: Vec<String>,
    pub(super) dir: Option<PathBuf>,
}

// === impl Options ===

impl Options {
    /// One more argument for kube-apiserver. A flag given here wins over ours of the same name.
    #[must_use]
    pub fn apiserver_arg(mut self, arg: impl Into<String>) -> Self {
        self.apiserver_args.push(arg.into());
        self
    }

    /// Keeps the state in this directory, which must not exist, instead of one in the cache.
    pub(super) fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }
}
