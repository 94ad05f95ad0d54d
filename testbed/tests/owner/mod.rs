//! A process that holds something of the testbed, so that a test can end it the hard way.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use testbed::guard::{Resource, traces};
use testbed::process::wait_for;

/// The namespaces that a program of the testbed may have for itself.
const KINDS: [&str; 6] = ["cgroup", "ipc", "mnt", "net", "pid", "uts"];
/// The exit code of a Rust program whose main thread panicked.
const PANICKED: i32 = 101;

/// `testbed-hold` with some word.
pub(crate) struct Owner {
    child: Child,
    said: BufReader<ChildStdout>,
}

/// What an owner holds: its guard's, and whatever runs in the namespaces of the programs in it.
pub(crate) struct Held {
    id: String,
    dir: PathBuf,
    /// By start as well: namespaces have numbers, which the next ones get once these are gone.
    inside: Vec<Resource>,
}

// === impl Owner ===

impl Owner {
    pub(crate) fn of(thing: &str) -> Self {
        // A gate that was started in the background ignores interrupts, and so would everything it starts.
        let mut command = Command::new("env");
        command.arg("--default-signal").arg(env!("CARGO_BIN_EXE_testbed-hold")).arg(thing);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("testbed-hold starts");
        let said = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, said }
    }

    /// Waits until it holds what it shall.
    pub(crate) fn holding(&mut self) -> Held {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("readable");
        let (id, dir) = line.trim_end().split_once(' ').expect("it says what it holds");
        Held::of(id.to_owned(), dir.into())
    }

    /// Ends it by this signal.
    pub(crate) fn end(mut self, signal: &str) {
        let sent = Command::new("kill").args(["-s", signal, &self.child.id().to_string()]).status();
        assert!(sent.expect("kill starts").success());
        self.child.wait().expect("reaped");
    }

    /// Has it panic, and waits for its end.
    pub(crate) fn panic(mut self) {
        self.child.stdin.take().expect("piped").write_all(b"panic\n").expect("it listens");
        assert_eq!(self.child.wait().expect("reaped").code(), Some(PANICKED));
    }
}

// === impl Held ===

impl Held {
    fn of(id: String, dir: PathBuf) -> Self {
        let seen = traces(&id, &dir);
        for kind in ["process", "mount", "directory"] {
            assert!(seen.iter().any(|line| line.starts_with(kind)), "no {kind} in {seen:#?}");
        }
        let ours = namespaces("self");
        let programs = seen.iter().filter_map(|line| line.strip_prefix("process ")?.split(' ').next());
        let namespaces: BTreeSet<_> =
            programs.flat_map(namespaces).filter(|one| !ours.contains(one)).collect();
        assert!(!namespaces.is_empty(), "no namespace but the host's in {seen:#?}");
        let inside = inhabitants(&namespaces);
        assert!(!inside.is_empty(), "nothing runs in {namespaces:?}");
        Self { id, dir, inside }
    }

    /// What of it is on the host now; also programs in its namespaces that do not carry the guard's mark.
    pub(crate) fn traces(&self) -> Vec<String> {
        let mut found = traces(&self.id, &self.dir);
        let left = self.inside.iter().filter(|one| runs(one));
        found.extend(left.map(|one| format!("{one:?} in a namespace of it")));
        found
    }

    /// Waits until somebody else has removed everything.
    pub(crate) fn wait_until_gone(&self, limit: Duration) {
        let gone = wait_for("the host to be clean", limit, || Ok(self.traces().is_empty().then_some(())));
        gone.unwrap_or_else(|error| panic!("{error}: {:#?}", self.traces()));
    }
}

/// The namespaces that a process is in, by their numbers. None of one that has ended meanwhile.
fn namespaces(process: &str) -> BTreeSet<PathBuf> {
    let link = |kind: &&str| fs::read_link(format!("/proc/{process}/ns/{kind}")).ok();
    KINDS.iter().filter_map(link).collect()
}

/// Who is in one of them now.
fn inhabitants(of: &BTreeSet<PathBuf>) -> Vec<Resource> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let inside = names.filter(|name| !of.is_disjoint(&namespaces(name)));
    inside.filter_map(|name| Resource::process(name.parse().ok()?).ok()).collect()
}

/// Who merely waits to be buried does not.
fn runs(process: &Resource) -> bool {
    let Resource::Process { pid, .. } = process else { return false };
    Resource::process(*pid).is_ok_and(|now| now == *process)
}
