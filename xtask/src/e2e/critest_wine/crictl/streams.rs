//! Exec, attach and port-forward, each through crictl.exe.

use std::io::{Read, Write};
use std::process::ChildStdin;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use testbed::process::wait_for;
use testbed::wine::Running;

use super::{PATIENCE, Walk};

const WEB: &str = "8080";
const FORWARDED: &str = "12010";

// === impl Walk ===

impl Walk<'_> {
    pub(super) fn executed(&mut self, id: &str) -> Result<()> {
        for transport in ["spdy", "websocket"] {
            let said = self.says(&["exec", "--transport", transport, id, "fixture.exe", "print", "hello"])?;
            ensure!(said == "hello", "exec over {transport}: {said:?}");
            self.saw(format!("exec ({transport})"), "what the program said");
        }
        let said = self.says(&["exec", "--sync", id, "fixture.exe", "print", "hello"])?;
        ensure!(said.contains("hello"), "exec --sync: {said:?}");
        self.saw("exec --sync", "what the program said");
        let failed = self.world.crictl(&["exec", id, "fixture.exe", "exit", "3"], PATIENCE)?;
        ensure!(failed.code != 0 && failed.stderr.contains("exit code 3"), "exec of exit 3: {failed:?}");
        self.saw("exec of a program that fails", "its exit code, 3");
        Ok(())
    }

    pub(super) fn attached(&mut self) -> Result<()> {
        let id = self.started("echo", &["echo"])?;
        let mut attach = Talk::new(self.world.crictl_running(&["attach", "-i", &id])?)?;
        attach.type_in("typed\n")?;
        attach.hear("typed")?;
        self.saw("attach", "what was typed, from the container");
        attach.running.kill()
    }

    pub(super) fn forwarded(&mut self) -> Result<()> {
        let id = self.started("web", &["web", WEB])?;
        self.wait_for_log(&id, "ready")?;
        let ports = format!("{FORWARDED}:{WEB}");
        let mut forwarding = self.world.crictl_running(&["port-forward", &self.pod, &ports])?;
        let url = format!("http://127.0.0.1:{FORWARDED}/");
        let page = wait_for("the page through port-forward", PATIENCE, || {
            ensure!(forwarding.try_wait()?.is_none(), "crictl.exe port-forward ended");
            Ok(self.world.fetched(&url).ok())
        })?;
        ensure!(page.contains("It works"), "port-forward: {page}");
        self.saw("port-forward", "the page of a web server in the pod");
        forwarding.kill()
    }
}

/// A program that one types to and listens to.
struct Talk {
    running: Running,
    input: ChildStdin,
    heard: String,
    pieces: Receiver<String>,
}

// === impl Talk ===

impl Talk {
    /// It is read on a thread of its own: one that stays silent must not hold us.
    fn new(mut running: Running) -> Result<Self> {
        let input = running.stdin.take().context("crictl.exe has an input")?;
        let mut output = running.stdout.take().context("crictl.exe has an output")?;
        let (sender, pieces) = channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut piece) {
                if sender.send(String::from_utf8_lossy(&piece[..count]).into_owned()).is_err() {
                    return;
                }
            }
        });
        Ok(Self { running, input, heard: String::new(), pieces })
    }

    fn type_in(&mut self, text: &str) -> Result<()> {
        self.input.write_all(text.as_bytes()).with_context(|| format!("type {text:?} to crictl.exe"))
    }

    fn hear(&mut self, word: &str) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !self.heard.contains(word) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.pieces.recv_timeout(left) {
                Ok(piece) => self.heard += &piece,
                Err(_) => bail!("crictl.exe does not say {word}, but {:?}", self.heard),
            }
        }
        Ok(())
    }
}
