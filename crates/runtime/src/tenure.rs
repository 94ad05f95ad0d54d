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
    /// What is in it: the machine's boot, and the agent's process.
    text: String,
    remarks: Vec<String>,
}

// === impl Tenure ===

impl Tenure {
    pub fn begin(runtime: &Runtime) -> io::Result<Tenure> {
        let node = runtime.node();
        let (note, boot) = (node.layout.tenure(), format!("boot {}\n", node.facts.boot_id));
        let mut remarks = Vec::new();
        // What ended with the machine was not the runtime's fault.
        if fs::read_to_string(&note).is_ok_and(|found| found.starts_with(&boot)) {
            node.counters.count(FailureMode::RuntimeDown);
            let known = FailureMode::RuntimeDown.known();
            remarks.push(
                "the porthole before this one ended without being asked to; its containers ran on".to_owned(),
            );
            remarks.push(format!("{}: {}", known.code, known.hint));
        }
        // Without a sync: it says nothing to the next boot.
        let text = format!("{boot}process {}\n", std::process::id());
        fs::write(&note, &text)?;
        Ok(Tenure { note, text, remarks })
    }

    /// What is to be said about the agent before.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }
}

impl Drop for Tenure {
    fn drop(&mut self) {
        // The node may be another agent's by now, and so may the note.
        if fs::read_to_string(&self.note).is_ok_and(|found| found == self.text) {
            // Of one who cannot take it away the next one tells, which is the most that can be done here.
            drop(fs::remove_file(&self.note));
        }
    }
}
