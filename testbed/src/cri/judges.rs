//! porthole.exe under Wine as a runtime for foreign judges: critest.exe and crictl.exe, over its named pipe.
//!
//! The machine has a network of its own with nothing but a loopback, where a registry has the images that critest asks
//! for. Accounts are the agent's own (`run-as: inherit`), as Wine can log nobody on.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::critest::Choice;
use super::ginkgo::{self, Spec};
use super::{REGISTRY, SHORT, stand_ins};
use crate::guard::Guard;
use crate::net::Netns;
use crate::process::{tail, wait_for};
use crate::registry::{self, Registry, Relay};
use crate::tools::{progress, windows_go_tool};
use crate::wine::{Output, Running, Wine};
use furnish::{OVERRIDES, furnish, serve, stripped};

mod furnish;

/// What clients are told, as they write it.
pub const ENDPOINT: &str = "npipe:////./pipe/porthole-cri";
/// A machine of Wine's making on which porthole.exe serves CRI, until it is dropped.
#[derive(Debug)]
pub struct WindowsWorld {
    // In the order in which they have to go.
    porthole: Running,
    /// The file name of the program that serves.
    program: String,
    wine: Wine,
    network: Netns,
    guard: Guard,
    _relay: Relay,
    _registry: Registry,
}

// === impl WindowsWorld ===

impl WindowsWorld {
    /// Both programs are built for Windows; what porthole.exe says goes to `log`.
    pub fn start(porthole: &Path, fixture: &Path, log: &Path) -> Result<Self> {
        let guard = Guard::new("cri-wine")?;
        let network = Netns::create(&guard, "net")?;
        let fixture = stripped(fixture, guard.dir())?;
        let registry = Registry::start(registry::Options::default())?;
        stand_ins::windows::push(&registry, &fixture).context("fill the registry")?;
        let relay = registry.seen_in(network.path(), REGISTRY)?;
        let programs = [porthole.to_path_buf(), windows_go_tool("critest")?, windows_go_tool("crictl")?];
        let mut builder = Wine::builder().network(network.path()).env("WINEDLLOVERRIDES", OVERRIDES);
        for program in &programs {
            builder = builder.bind(program.parent().context("a program has a directory")?);
        }
        let wine = builder.start()?;
        furnish(&wine, &fixture)?;
        let program = porthole.file_name().context("a program has a name")?.to_string_lossy().into_owned();
        let porthole = serve(&wine, porthole, log)?;
        let mut world = Self { porthole, program, wine, network, guard, _relay: relay, _registry: registry };
        world.wait_until_it_answers(log)?;
        Ok(world)
    }

    /// Runs crictl.exe on the pipe and gives what it left.
    pub fn crictl(&self, words: &[&str], limit: Duration) -> Result<Output> {
        let command = self.wine.command(windows_go_tool("crictl")?);
        command.args(["--runtime-endpoint", ENDPOINT, "--image-endpoint", ENDPOINT]).args(words).output(limit)
    }

    /// Starts crictl.exe for what is typed to it, or for what goes on.
    pub fn crictl_running(&self, words: &[&str]) -> Result<Running> {
        let command = self.wine.command(windows_go_tool("crictl")?);
        command.args(["--runtime-endpoint", ENDPOINT, "--image-endpoint", ENDPOINT]).args(words).spawn()
    }

    /// Runs the chosen specs of critest.exe and gives each one's result. What it says goes to `log`.
    pub fn critest(&mut self, choice: Choice, log: &Path) -> Result<Vec<Spec>> {
        let report = self.file(&format!("critest-{}.json", choice.name));
        let command = self.wine.command(windows_go_tool("critest")?);
        let command = command
            .args(["--runtime-endpoint", ENDPOINT, "--image-endpoint", ENDPOINT])
            .args(["--runtime-handler", super::HOSTPROCESS, "--ginkgo.no-color", "--ginkgo.seed=1"])
            .args(["--ginkgo.json-report", &self.wine.windows_path(&report)])
            .arg(format!("--ginkgo.timeout={}s", choice.limit.as_secs()))
            .args(choice.args);
        let mut critest = command.logged(log)?;
        let ended = wait_for("critest.exe's end", choice.limit + Duration::from_secs(120), || {
            self.check()?;
            critest.try_wait()
        });
        if ended.is_err() {
            critest.kill()?;
        }
        ended.with_context(|| format!("critest.exe's log ends:\n{}", tail(log)))?;
        let text = fs::read_to_string(&report)
            .with_context(|| format!("critest.exe wrote no report; its log ends:\n{}", tail(log)))?;
        ginkgo::read(&text).with_context(|| format!("critest.exe's log ends:\n{}", tail(log)))
    }

    /// Fails if porthole.exe has ended.
    pub fn check(&mut self) -> Result<()> {
        match self.porthole.try_wait()? {
            Some(code) => bail!("porthole.exe ended with {code}"),
            None => Ok(()),
        }
    }

    /// Waits until no program of a pod is left, nor a holder: only porthole.exe runs.
    pub fn wait_until_nothing_is_left(&self) -> Result<()> {
        let others = || -> Result<Vec<String>> {
            let names = self.wine.programs()?.into_iter().map(|process| process.name);
            Ok(names.filter(|name| !name.eq_ignore_ascii_case(&self.program)).collect())
        };
        let gone =
            wait_for("the programs of pods to be gone", SHORT * 2, || Ok(others()?.is_empty().then_some(())));
        gone.with_context(|| format!("left: {:?}", others()))
    }

    /// The machine, for what is looked at from outside.
    pub fn wine(&self) -> &Wine {
        &self.wine
    }

    /// Writes a file on drive C and tells its name there.
    pub fn write(&self, name: &str, text: &str) -> Result<String> {
        let path = self.file(name);
        fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
        Ok(self.wine.windows_path(&path))
    }

    /// Makes a directory on drive C and tells its name there.
    pub fn make_dir(&self, name: &str) -> Result<String> {
        let path = self.file(name);
        fs::create_dir_all(&path).with_context(|| format!("create {}", path.display()))?;
        Ok(self.wine.windows_path(&path))
    }

    /// What a web server in the machine's network says.
    pub fn fetched(&self, url: &str) -> Result<String> {
        progress::text_of(self.network.command("curl").args(["--silent", "--fail", "--max-time", "10", url]))
    }

    /// A directory on the host, gone with the world.
    pub fn dir(&self) -> &Path {
        self.guard.dir()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.wine.prefix().join("drive_c").join(name)
    }

    fn wait_until_it_answers(&mut self, log: &Path) -> Result<()> {
        wait_for("porthole.exe to answer at its pipe", SHORT * 2, || {
            self.check()?;
            Ok((self.crictl(&["version"], SHORT)?.code == 0).then_some(()))
        })
        .with_context(|| format!("porthole.exe's log ends:\n{}", tail(log)))
    }
}
