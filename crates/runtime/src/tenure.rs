//! Whether the agent before this one was asked to end (HP-25, a runtime that is down).
//!
//! An agent notes that it looks after the node, and takes the note away when it ends. One that is killed leaves it, and
//! the next one tells: a kubelet saw a node that was not ready, and somebody will want to know why.

use std::path::PathBuf;
use std::{fs, io};

use crate::failure::FailureMode;
use crate::pods::Runtime;

/// While it lives, an agent looks after the node.
#[derive(Debug)]
pub struct Tenure {
    note: PathBuf,
    remarks: Vec<String>,
    /// Nobody else's before the note is gone.
    _runtime: Runtime,
}

// === impl Tenure ===

impl Tenure {
    pub fn begin(runtime: &Runtime) -> io::Result<Tenure> {
        let node = runtime.node();
        let (note, boot) = (node.layout.tenure(), node.facts.boot_id.as_str());
        let mut remarks = Vec::new();
        // What ended with the machine was not the runtime's fault.
        if fs::read(&note).is_ok_and(|found| found == boot.as_bytes()) {
            node.counters.count(FailureMode::RuntimeDown);
            let known = FailureMode::RuntimeDown.known();
            remarks.push(
                "the porthole before this one ended without being asked to; its containers ran on".to_owned(),
            );
            remarks.push(format!("{}: {}", known.code, known.hint));
        }
        // Without a sync: it says nothing to the next boot.
        fs::write(&note, boot)?;
        Ok(Tenure { note, remarks, _runtime: runtime.clone() })
    }

    /// What is to be said about the agent before.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }
}

impl Drop for Tenure {
    fn drop(&mut self) {
        // Who cannot take it away is told of by the next one, which is the most that can be done here.
        drop(fs::remove_file(&self.note));
    }
}
