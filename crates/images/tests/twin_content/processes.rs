//! Processes that share a store, and die.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use images::collect::Usage;
use images::content::Content;

use crate::scene::Scene;

pub(crate) struct World {
    dir: tempfile::TempDir,
}

/// One of the processes. Killed when it is dropped.
pub(crate) struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Lines<BufReader<ChildStdout>>,
}

const PATIENCE: Duration = Duration::from_secs(60);

// === impl World ===

impl World {
    pub(crate) fn new() -> World {
        World { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.dir.path().join("images")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    /// How often each line was written, and by whomever.
    pub(crate) fn logged(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.log()).unwrap_or_default();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }

    pub(crate) fn content(&self) -> Content {
        Content::open(&self.store()).unwrap()
    }

    pub(crate) fn start(&self, act: &[&str]) -> Running {
        self.start_with(act, None)
    }

    pub(crate) fn start_with(&self, act: &[&str], fail_point: Option<&str>) -> Running {
        let mut command = Command::new(fixture());
        command.arg(self.store()).args(act).stdin(Stdio::piped()).stdout(Stdio::piped());
        match fail_point {
            Some(point) => command.env(failpoint::VARIABLE, point),
            None => command.env_remove(failpoint::VARIABLE),
        };
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        Running { stdin: child.stdin.take(), child, stdout }
    }

    pub(crate) fn pull(&self, image: &str) -> Running {
        self.start(&["pull", image, self.log().to_str().unwrap()])
    }

    pub(crate) fn leases(&self) -> usize {
        let entries = std::fs::read_dir(self.store().join("leases")).unwrap();
        entries.filter(|entry| entry.as_ref().unwrap().path().extension() == Some("json".as_ref())).count()
    }

    /// Everything that is in the store but its locks, which stay, and its empty rooms.
    pub(crate) fn rest(&self) -> Vec<String> {
        let (mut dirs, mut found) = (vec![self.store()], Vec::new());
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(&dir).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self.store()).unwrap().to_string_lossy().replace('\\', "/");
                let is_room = name == "blobs" || name == "blobs/sha256" || !name.contains('/');
                if path.is_dir() && is_room {
                    dirs.push(path);
                } else if !["locks/index", "locks/trash", "gc.lock", "names.json"].contains(&name.as_str()) {
                    found.push(name);
                }
            }
        }
        found.sort();
        found
    }

    /// Removes all images and finds that nothing is left of them.
    pub(crate) fn assert_empties(&self) {
        let content = self.content();
        for record in content.records().unwrap() {
            content.remove(record.id.as_str(), true).unwrap();
        }
        content.sweep().unwrap();
        assert_eq!(content.usage().unwrap(), Usage::default());
        assert!(self.rest().is_empty(), "{:?}", self.rest());
    }
}

// === impl Running ===

impl Running {
    pub(crate) fn expect(&mut self, line: &str) {
        let said = self.stdout.next().expect("it ended").unwrap();
        assert_eq!(said.trim_end(), line);
    }

    /// These lines, in any order and among others.
    pub(crate) fn expect_all(&mut self, mut lines: Vec<String>) {
        while !lines.is_empty() {
            let said = self.stdout.next().expect("it ended").unwrap();
            lines.retain(|line| line != said.trim_end());
        }
    }

    pub(crate) fn go_on(&mut self) {
        writeln!(self.stdin.as_mut().unwrap()).unwrap();
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn succeed(mut self) {
        let status = self.wait();
        assert!(status.success(), "{status}");
    }

    /// Whether it died at its fail point. Any other failure is a failed test.
    pub(crate) fn died(mut self) -> bool {
        let status = self.wait();
        assert!(status.success() || status.code() != Some(101), "it panicked");
        !status.success()
    }

    fn wait(&mut self) -> std::process::ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "it hangs");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What an image takes up, alone: its documents, and each layer twice.
pub(crate) fn bytes_of(scene: &Scene<'_>) -> u64 {
    let record = scene.record();
    record.config_size + record.manifest_size + record.layers.iter().map(|layer| layer.size * 2).sum::<u64>()
}

pub(crate) fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Built beside the tests, on whichever system they run.
fn fixture() -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.push(format!("images-fixture{}", std::env::consts::EXE_SUFFIX));
    path
}
