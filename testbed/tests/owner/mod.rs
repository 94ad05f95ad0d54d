//! A process that holds something of the testbed, so that a test can end it the hard way.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

/// `testbed-hold` with some word.
pub(crate) struct Owner {
    child: Child,
    said: BufReader<ChildStdout>,
}

// === impl Owner ===

impl Owner {
    pub(crate) fn of(thing: &str) -> Self {
        // A gate that was started in the background ignores interrupts, and so would everything it starts.
        let mut command = Command::new("env");
        command.arg("--default-signal").arg(env!("CARGO_BIN_EXE_testbed-hold"));
        let mut child = command.arg(thing).stdout(Stdio::piped()).spawn().expect("testbed-hold starts");
        let said = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, said }
    }

    /// Waits until it holds what it shall, and tells its guard's id and directory.
    pub(crate) fn holding(&mut self) -> (String, PathBuf) {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("readable");
        let (id, dir) = line.trim_end().split_once(' ').expect("it says what it holds");
        (id.to_owned(), dir.into())
    }

    /// Ends it by this signal.
    pub(crate) fn end(mut self, signal: &str) {
        let sent = Command::new("kill").args(["-s", signal, &self.child.id().to_string()]).status();
        assert!(sent.expect("kill starts").success());
        self.child.wait().expect("reaped");
    }
}
