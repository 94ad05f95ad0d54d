//! Somebody who types a verb: with pipes, or at a terminal.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use os::job::{Job, JobName};
use os::process::{Spawn, Waiter};
use os::terminal::Size;

use crate::stage::{Stage, eventually};

/// A porthole with pipes.
pub(crate) fn verb(stage: &Stage, verb: &str, rest: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_porthole"));
    command.arg(verb).arg("--root").arg(stage.root()).args(rest);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap()
}

/// Lines as they come.
pub(crate) struct Lines(BufReader<ChildStdout>);

impl Lines {
    pub(crate) fn of(stdout: ChildStdout) -> Lines {
        Lines(BufReader::new(stdout))
    }

    pub(crate) fn next(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

/// A person before a window of their own.
pub(crate) struct Person {
    child: os::process::Child,
    waiter: Option<Waiter>,
    keys: File,
    seen: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
    _job: Job,
}

impl Person {
    pub(crate) fn at_a_terminal(stage: &Stage, size: (u16, u16), verb: &str, rest: &[&str]) -> Person {
        Person::at("xterm", stage, size, verb, rest)
    }

    /// At a terminal of this kind, whatever the gate was started in.
    pub(crate) fn at(kind: &str, stage: &Stage, size: (u16, u16), verb: &str, rest: &[&str]) -> Person {
        let mut command = Command::new(env!("CARGO_BIN_EXE_porthole"));
        command.arg(verb).arg("--root").arg(stage.root()).args(rest).env("TERM", kind);
        Person::runs(&command, size, verb)
    }

    /// The same for any command. The name is for this test program's eyes: no two persons in it have the same.
    pub(crate) fn runs(command: &Command, (columns, rows): (u16, u16), name: &str) -> Person {
        let job = JobName {
            parent: "porthole-person".into(),
            id: format!("{}-{name}-{columns}", std::process::id()),
        };
        let job = Job::create(&job).unwrap();
        let text = |word: &OsStr| word.to_str().unwrap().to_owned();
        let mut env: BTreeMap<String, String> = std::env::vars().collect();
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => env.insert(text(name), text(value)),
                None => env.remove(&text(name)),
            };
        }
        let spawn = Spawn {
            program: PathBuf::from(command.get_program()),
            argv: iter::once(command.get_program()).chain(command.get_args()).map(text).collect(),
            env: env.into_iter().collect(),
            cwd: command.get_current_dir().map_or_else(|| std::env::current_dir().unwrap(), Path::to_owned),
            stdin: true,
            terminal: Some(Size { columns, rows }),
            ..Spawn::default()
        };
        let mut child = job.spawn(&spawn).unwrap();
        let (keys, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let on_screen = seen.clone();
        let reader = std::thread::spawn(move || {
            let mut some = [0; 4096];
            while let Ok(read @ 1..) = screen.read(&mut some) {
                on_screen.lock().unwrap().extend_from_slice(&some[..read]);
            }
        });
        let waiter = Some(child.waiter().unwrap());
        Person { child, waiter, keys, seen, reader, _job: job }
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn resizes(&self, columns: u16, rows: u16) {
        self.child.resize(Size { columns, rows }).unwrap();
    }

    pub(crate) fn seen(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }

    pub(crate) fn has_seen(&self, words: &str) -> bool {
        self.seen().contains(words)
    }

    pub(crate) fn sees(&self, words: &str) {
        eventually(&format!("{words:?} is seen"), || self.has_seen(words).then_some(()));
    }

    /// Waits for the end, and for the last word on the screen; the exit code.
    pub(crate) fn code(&mut self) -> u32 {
        let code = self.waiter.take().unwrap().wait().unwrap().code;
        eventually("the screen is still", || self.reader.is_finished().then_some(()));
        code
    }
}
