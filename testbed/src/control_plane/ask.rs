//! Questions to a cluster by kubectl, and patience until the answer is the right one.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::ControlPlane;
use crate::process::wait_for;

const PATIENCE: Duration = Duration::from_secs(180);

// === impl ControlPlane ===

impl ControlPlane {
    /// What kubectl says when it succeeds.
    pub fn says(&self, words: &[&str]) -> Result<String> {
        let mut kubectl = self.kubectl_command()?;
        let output = kubectl.args(words).stdin(Stdio::null()).output().context("start kubectl")?;
        if !output.status.success() {
            bail!("kubectl {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim_end());
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    /// Waits until a field of an object is so; the error has the object.
    pub fn wait_for_field(
        &self,
        what: &str,
        of: &[&str],
        path: &str,
        is_so: impl Fn(&str) -> bool,
    ) -> Result<()> {
        let template = format!("jsonpath={path}");
        let end = wait_for(what, PATIENCE, || {
            let said = self.says(&[&["get"], of, &["-o", &template]].concat()).unwrap_or_default();
            Ok(is_so(&said).then_some(()))
        });
        end.with_context(|| self.says(&[&["describe"], of].concat()).unwrap_or_default())
    }
}
