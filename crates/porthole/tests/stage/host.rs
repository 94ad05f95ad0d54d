//! The two kinds of stage.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use testbed::wine::{self, Wine};

use super::PATIENCE;

#[derive(Debug)]
pub(crate) enum Host {
    Twin { dir: PathBuf },
    Wine { wine: Wine },
}

/// A process of the play, as the kernel shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub pid: u32,
    /// The program's file name.
    pub name: String,
}

/// A porthole that was started.
#[derive(Debug)]
pub(crate) enum Started {
    Twin(Child),
    Wine(wine::Running),
}

const GUARD: &str = "hold-guard";

/// What a program that ended left.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

// === impl Host ===

impl Host {
    /// The programs of this host: porthole and the fixture.
    pub(crate) fn programs(&self) -> (PathBuf, PathBuf) {
        let from = |name: &str| {
            PathBuf::from(
                std::env::var_os(name)
                    .unwrap_or_else(|| panic!("{name} is not set: run this by `cargo xtask test`")),
            )
        };
        match self {
            Host::Twin { .. } => (env!("CARGO_BIN_EXE_porthole").into(), from("PORTHOLE_FIXTURE")),
            Host::Wine { .. } => (from("PORTHOLE_EXE"), from("FIXTURE_EXE")),
        }
    }

    /// A path of ours as the programs on this host write it.
    pub(crate) fn path(&self, path: &Path) -> String {
        match self {
            Host::Twin { .. } => path.display().to_string(),
            Host::Wine { wine } => wine.windows_path(path),
        }
    }

    /// The machine of Wine's making.
    pub(crate) fn wine(&self) -> &Wine {
        match self {
            Host::Wine { wine } => wine,
            Host::Twin { .. } => panic!("the twin is no Wine"),
        }
    }

    pub(crate) fn start<A: AsRef<OsStr>>(&self, program: &Path, args: &[A]) -> Started {
        match self {
            Host::Twin { .. } => {
                let mut command = Command::new(program);
                command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
                Started::Twin(command.spawn().unwrap())
            }
            Host::Wine { wine } => Started::Wine(wine.command(program).args(args).spawn().unwrap()),
        }
    }

    /// Runs a program to its end.
    pub(crate) fn run(&self, program: &Path, args: &[String]) -> Output {
        match self {
            Host::Twin { .. } => {
                let output = Command::new(program).args(args).stdin(Stdio::null()).output().unwrap();
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let code = output.status.code().expect("porthole was killed by a signal");
                Output { code, stdout: text(&output.stdout), stderr: text(&output.stderr) }
            }
            Host::Wine { wine } => {
                let output = wine.run(program, args, PATIENCE).unwrap();
                Output { code: output.code, stdout: output.stdout, stderr: output.stderr }
            }
        }
    }

    /// How long a killed holder's containers may be seen after it. On the twin that is two signals of the kernel's and
    /// a guard that a closed pipe wakes: milliseconds, and the rest is for a busy machine. Under Wine all programs share
    /// one server, which has to see a socket close before it ends the job.
    pub(crate) fn at_once(&self) -> Duration {
        match self {
            Host::Twin { .. } => Duration::from_secs(5),
            Host::Wine { .. } => Duration::from_secs(10),
        }
    }

    /// What runs of this play besides the porthole in front.
    pub(crate) fn processes(&self) -> Vec<Seen> {
        match self {
            Host::Twin { dir } => programs_under(dir),
            Host::Wine { wine } => {
                let all = wine.programs().unwrap().into_iter();
                let all = all.map(|process| Seen { pid: process.pid, name: process.name });
                all.filter(|seen| !seen.name.starts_with("porthole.")).collect()
            }
        }
    }
}

/// Processes whose program lies, or lay, under this directory. Those that only await burial do not run.
fn programs_under(dir: &Path) -> Vec<Seen> {
    let pids =
        fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| {
        let program = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
        program.starts_with(dir).then_some(())?;
        let name = program.file_name()?.to_str()?.trim_end_matches(" (deleted)").to_owned();
        let comm = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        Some(Seen { pid, name: if comm.trim() == GUARD { GUARD.to_owned() } else { name } })
    })
    .collect()
}

// === impl Seen ===

impl Seen {
    pub(crate) fn is_holder(&self) -> bool {
        self.name.starts_with("hold-") && !self.is_guard()
    }

    /// The process that ends a holder's jobs if the holder is killed, where the kernel does not.
    pub(crate) fn is_guard(&self) -> bool {
        self.name == GUARD
    }

    pub(crate) fn kill(&self) {
        assert!(self.end(), "kill {self:?}");
    }

    /// Kills it if it is there.
    pub(crate) fn end(&self) -> bool {
        Command::new("kill")
            .args(["-9", &self.pid.to_string()])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    }
}

// === impl Started ===

impl Started {
    pub(crate) fn streams(&mut self) -> (Box<dyn Read + Send>, Box<dyn Read + Send>) {
        match self {
            Started::Twin(child) => {
                (Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap()))
            }
            Started::Wine(running) => {
                (Box::new(running.stdout.take().unwrap()), Box::new(running.stderr.take().unwrap()))
            }
        }
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(&mut self) {
        match self {
            Started::Twin(child) => {
                child.kill().unwrap();
                child.wait().unwrap();
            }
            Started::Wine(running) => running.kill().unwrap(),
        }
    }

    pub(crate) fn wait(&mut self) -> i32 {
        match self {
            Started::Twin(child) => {
                let deadline = Instant::now() + PATIENCE;
                loop {
                    if let Some(status) = child.try_wait().unwrap() {
                        return status.code().expect("porthole was killed by a signal");
                    }
                    assert!(Instant::now() < deadline, "porthole does not end");
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
            Started::Wine(running) => running.wait(PATIENCE).unwrap().expect("porthole does not end"),
        }
    }
}
