//! What a person does with crictl.exe, and what has to be seen then: from version to rmp.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use testbed::cri::judges::WindowsWorld;
use testbed::process::wait_for;

mod life;
mod stops;
mod streams;

/// One thing that was done and what was seen, without what differs from run to run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Step {
    pub(super) what: String,
    pub(super) seen: String,
}

const PATIENCE: Duration = Duration::from_secs(120);

struct Walk<'a> {
    world: &'a WindowsWorld,
    steps: Vec<Step>,
    pod: String,
    pod_file: String,
}

pub(super) fn walk(world: &WindowsWorld) -> Result<Vec<Step>> {
    let mut walk = Walk { world, steps: Vec::new(), pod: String::new(), pod_file: String::new() };
    walk.runtime()?;
    walk.images()?;
    walk.sandbox()?;
    let graceful = walk.started("graceful", &["graceful", "bye"])?;
    walk.listed(&graceful)?;
    walk.executed(&graceful)?;
    walk.attached()?;
    walk.forwarded()?;
    walk.stopped_in_its_grace(&graceful)?;
    walk.killed_after_its_grace()?;
    walk.removed()?;
    Ok(walk.steps)
}

// === impl Walk ===

impl Walk<'_> {
    fn wait_for_log(&self, id: &str, word: &str) -> Result<()> {
        wait_for(&format!("{word} in the container's log"), PATIENCE, || {
            Ok(self.says(&["logs", id])?.contains(word).then_some(()))
        })
    }

    fn document(&self, words: &[&str]) -> Result<Value> {
        let text = self.says(words)?;
        serde_json::from_str(&text).with_context(|| format!("crictl.exe {words:?} says {text}"))
    }

    /// What crictl.exe says, which has to succeed.
    fn says(&self, words: &[&str]) -> Result<String> {
        let output = self.world.crictl(words, PATIENCE)?;
        if output.code != 0 {
            bail!("crictl.exe {words:?} ended with {}: {}{}", output.code, output.stdout, output.stderr);
        }
        Ok(output.stdout.trim_end().to_owned())
    }

    fn saw(&mut self, what: impl Into<String>, seen: &str) {
        self.steps.push(Step { what: what.into(), seen: seen.to_owned() });
    }
}

/// A field of each entry of a list.
fn of_all<'a>(document: &'a Value, list: &str, field: &'a str) -> impl Iterator<Item = &'a Value> {
    document[list].as_array().into_iter().flatten().map(move |entry| &entry[field])
}
