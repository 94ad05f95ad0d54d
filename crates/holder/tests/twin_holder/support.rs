//! A holder at work: its server in this process, or the real program, with real processes and over its real socket.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use holder::client::{Client, ClientError, Heard, Stream, StreamReader};
use holder::exit::ExitRecord;
use holder::protocol::{Exec, Launch, Refusal};
use holder::server::Server;
use holder::stream::ExecEnd;
use os::channel::{Endpoint, Listener};
use os::job::JobName;

/// A server of its own in this process; ended by `leave` or by idleness.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) endpoint: Endpoint,
    pub(crate) server: Option<JoinHandle<std::io::Result<()>>>,
    pub(crate) job_parent: String,
}

static WORLDS: AtomicU32 = AtomicU32::new(0);

impl World {
    pub(crate) fn new(idle: Duration) -> World {
        let mut world = World::without_server();
        let listener = Listener::bind(&world.endpoint).unwrap();
        world.server = Some(std::thread::spawn(move || Server::new(idle).serve(listener)));
        world
    }

    pub(crate) fn without_server() -> World {
        let dir = tempfile::tempdir().unwrap();
        let endpoint = os::channel::endpoint(dir.path(), "hold");
        let number = WORLDS.fetch_add(1, Ordering::Relaxed);
        let job_parent = format!("porthole-holder-test-{}-{number}", std::process::id());
        World { dir, endpoint, server: None, job_parent }
    }

    pub(crate) fn lasting() -> World {
        World::new(Duration::from_secs(60))
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(&self.endpoint).unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn shell(&self, id: &str, script: &str) -> Launch {
        Launch {
            id: id.into(),
            job: JobName { parent: self.job_parent.clone(), id: id.into() },
            program: "/bin/sh".into(),
            argv: vec!["sh".into(), "-c".into(), script.into()],
            command_line: String::new(),
            env: vec![("PATH".into(), "/usr/bin:/bin".into()), ("SECRET".into(), "hush".into())],
            cwd: "/".into(),
            log: self.path(&format!("{id}.log")),
            exit: self.path(&format!("{id}.exit.json")),
            ..Launch::default()
        }
    }

    /// A container that does nothing until it is stopped, and has said so.
    pub(crate) fn resting(&self, id: &str) -> u32 {
        let pid = self.client().start(self.shell(id, "echo on; exec sleep 600")).unwrap().pid;
        eventually("it runs", || self.log(id).contains("F on"));
        pid
    }

    pub(crate) fn end(&self, id: &str) {
        let mut client = self.client();
        client.stop(id, Duration::ZERO).unwrap();
        client.wait(id).unwrap();
    }

    pub(crate) fn exec(&self, exec: Exec) -> Stream {
        self.client().exec(exec).unwrap()
    }

    pub(crate) fn log(&self, id: &str) -> String {
        std::fs::read_to_string(self.path(&format!("{id}.log"))).unwrap_or_default()
    }

    pub(crate) fn record(&self, id: &str) -> Option<ExitRecord> {
        ExitRecord::read(&self.path(&format!("{id}.exit.json"))).unwrap()
    }

    pub(crate) fn join(mut self) {
        self.server.take().unwrap().join().unwrap().unwrap();
    }
}

/// The last container's job may still be closing when the test, and with it the server in this process, ends.
impl Drop for World {
    fn drop(&mut self) {
        let trees = std::fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten();
        let jobs = trees.flat_map(|tree| std::fs::read_dir(tree.path().join(&self.job_parent)));
        for job in jobs.flatten().flatten().filter(|entry| entry.path().is_dir()) {
            let id = job.file_name().to_string_lossy().into_owned();
            drop(os::job::sweep(&JobName { parent: self.job_parent.clone(), id }));
        }
    }
}

/// A shell in a container, with what a test wants changed.
pub(crate) fn shell_in(container: &str, script: &str) -> Exec {
    Exec {
        container: container.into(),
        id: "e".into(),
        program: "/bin/sh".into(),
        argv: vec!["sh".into(), "-c".into(), script.into()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: "/".into(),
        ..Exec::default()
    }
}

/// All that an exec wrote, and how it ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct All {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) end: ExecEnd,
}

pub(crate) fn hear_all(reader: StreamReader) -> All {
    let mut all = All::default();
    for heard in reader {
        match heard.unwrap() {
            Heard::Stdout(bytes) => all.stdout.push_str(&String::from_utf8_lossy(&bytes)),
            Heard::Stderr(bytes) => all.stderr.push_str(&String::from_utf8_lossy(&bytes)),
            Heard::Ended(end) => all.end = end,
            other => panic!("{other:?}"),
        }
    }
    all
}

/// Listens until the text came; what came before and with it.
pub(crate) fn hear_until(reader: &mut StreamReader, text: &str) -> String {
    let mut heard = String::new();
    while !heard.contains(text) {
        match reader.next() {
            Some(Ok(Heard::Stdout(bytes) | Heard::Stderr(bytes))) => {
                heard.push_str(&String::from_utf8_lossy(&bytes));
            }
            other => panic!("{other:?} after {heard:?}, without {text:?}"),
        }
    }
    heard
}

pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn refusal(result: Result<impl std::fmt::Debug, ClientError>) -> Refusal {
    match result {
        Err(ClientError::Refused { why, .. }) => why,
        other => panic!("not refused: {other:?}"),
    }
}

pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// The program itself, as the agent starts it.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) child: Child,
    pub(crate) world: World,
}

/// A test that fails must not leave its holder, and whoever reads the test's output, waiting.
impl Drop for Program {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Program {
    pub(crate) fn start() -> Program {
        Program::start_with(Stdio::inherit())
    }

    pub(crate) fn start_with(stderr: Stdio) -> Program {
        Program::start_failing(stderr, "")
    }

    /// One that dies at a fail point.
    pub(crate) fn start_failing(stderr: Stdio, fail: &str) -> Program {
        let world = World::without_server();
        let mut command = Command::new(env!("CARGO_BIN_EXE_porthole-hold"));
        command.env(failpoint::VARIABLE, fail);
        command.args(["--endpoint", &world.endpoint.to_string()]).stdout(Stdio::piped()).stderr(stderr);
        let mut child = command.spawn().unwrap();
        let mut said = String::new();
        let stdout = child.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut said).unwrap();
        assert_eq!(said, "ready\n");
        Program { child, world }
    }
}
