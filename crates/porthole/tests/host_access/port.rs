//! A serial port with somebody at its other end, made of a pseudo terminal.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

/// The port, while this lives.
pub(crate) struct Port {
    /// It keeps the terminal: what goes in and out of it goes in and out of the terminal's other end.
    script: Child,
    device: PathBuf,
    heard: Arc<Mutex<String>>,
}

// === impl Port ===

impl Port {
    /// Answers the first line that comes.
    pub(crate) fn open() -> Port {
        let mut script = Command::new("script");
        script.args(["--quiet", "--flush", "--command", "stty raw -echo; tty; exec sleep 3600", "/dev/null"]);
        let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut input, output) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let device = PathBuf::from(lines.next().unwrap().trim());
        let heard = Arc::new(Mutex::new(String::new()));
        let hears = heard.clone();
        std::thread::spawn(move || {
            if let Some(line) = lines.next() {
                *hears.lock().unwrap() = line.trim_end().to_owned();
                writeln!(input, "heard {}", line.trim_end()).unwrap();
            }
            // The terminal ends with its input: somebody may not have read the answer yet.
            lines.for_each(drop);
        });
        Port { script, device, heard }
    }

    pub(crate) fn device(&self) -> &Path {
        &self.device
    }

    /// What came through the port.
    pub(crate) fn heard(&self) -> String {
        self.heard.lock().unwrap().clone()
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}
