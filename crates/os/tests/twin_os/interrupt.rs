//! Being asked to stop, on Linux: by signals.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::support::fixture;

/// Ended at the latest with the test.
struct Asked(Child);

// === impl Asked ===

impl Asked {
    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.0.id().to_string()]).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn who_was_started_to_outlive_the_terminal_does() {
    let mut nohup = Command::new("sh");
    nohup.args(["-c", "trap '' HUP INT; exec \"$0\" stubborn"]).arg(fixture());
    let mut asked = Asked(nohup.stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(asked.0.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    asked.signal("-HUP");
    asked.signal("-INT");
    assert_eq!(lines.next().unwrap().unwrap(), "ignored ctrl-c", "and the hang-up before it was not heard");
}
