//! A machine with the simulated libraries, and a program on it that is talked to line by line.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout};
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use testbed::tools::windows;
use testbed::wine::{Running, Sim, Wine};

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

static FIXTURE: LazyLock<PathBuf> =
    LazyLock::new(|| windows::build_exe("os", "os-fixture", "dev").expect("the fixture for Windows"));

pub(crate) struct Machine {
    pub(crate) wine: Wine,
    pub(crate) sim: Sim,
}

/// `fixture start …` and what it says.
pub(crate) struct Started {
    _running: Running,
    stdin: ChildStdin,
    said: Receiver<String>,
    unasked: Vec<String>,
    output: String,
}

// === impl Machine ===

impl Machine {
    pub(crate) fn new() -> Self {
        let dir = FIXTURE.parent().expect("a directory");
        let builder = Wine::builder().bind(dir).simulated().expect("the simulated libraries");
        let wine = builder.start().expect("a Wine machine");
        let sim = wine.sim().expect("a place for the simulation");
        Self { wine, sim }
    }

    /// A directory on drive C, which has nothing but a file.
    pub(crate) fn directory(&self, windows: &str) {
        let path = self.wine.host_path(windows).expect("a path");
        std::fs::create_dir_all(&path).expect("made");
        std::fs::write(path.join("file"), "text").expect("written");
    }

    pub(crate) fn start(&self, job: &str, options: &[&str], program: &[&str]) -> Started {
        let inner = self.wine.windows_path(&*FIXTURE);
        let command = self.wine.command(&*FIXTURE).args(["start", job]).args(options);
        let mut running = command.args(["--", &inner]).args(program).spawn().expect("started");
        let stdin = running.stdin.take().expect("a pipe");
        let said = lines(running.stdout.take().expect("a pipe"));
        Started { _running: running, stdin, said, unasked: Vec::new(), output: String::new() }
    }

    /// What the fixture says to words of its own.
    pub(crate) fn say(&self, words: &[&str]) -> String {
        let output = self.wine.run(&*FIXTURE, words, PATIENCE).expect("ran");
        assert!(output.code < 2, "{words:?}: {}{}", output.stdout, output.stderr);
        output.stdout.replace("\r\n", "\n").trim_end().to_owned()
    }
}

// === impl Started ===

impl Started {
    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").expect("told");
    }

    /// The rest of the first line that starts so and was not asked for yet: output and news come from different threads.
    pub(crate) fn expect(&mut self, start: &str) -> String {
        loop {
            if let Some(at) = self.unasked.iter().position(|line| line.starts_with(start)) {
                return self.unasked.remove(at)[start.len()..].trim().to_owned();
            }
            self.hear(start);
        }
    }

    /// Until the program's own output has that text.
    pub(crate) fn expect_output(&mut self, text: &str) {
        while !self.output.contains(text) {
            self.hear(text);
        }
    }

    fn hear(&mut self, awaited: &str) {
        let Ok(line) = self.said.recv_timeout(PATIENCE) else {
            panic!("it did not say {awaited:?}, but {:?} and {:#?}", self.output, self.unasked)
        };
        match line.strip_prefix("out ") {
            Some(piece) => self.output.push_str(piece.trim().trim_matches('"')),
            None => self.unasked.push(line),
        }
    }

    /// To its end: the exit code, when also the output has ended.
    pub(crate) fn end(mut self) -> String {
        let code = self.expect("ended ");
        self.expect("silent");
        code
    }
}

/// Read aside, so that waiting for a line can have an end.
fn lines(output: ChildStdout) -> Receiver<String> {
    let (sender, said) = channel();
    std::thread::spawn(move || {
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        lines.map(|line| sender.send(line)).take_while(Result::is_ok).count()
    });
    said
}

/// Where in the list the first call is that holds all the texts.
pub(crate) fn place_of(calls: &[String], texts: &[&str]) -> usize {
    let found = calls.iter().position(|call| texts.iter().all(|text| call.contains(text)));
    found.unwrap_or_else(|| panic!("no call with {texts:?} in {calls:#?}"))
}
