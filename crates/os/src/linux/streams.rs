//! A child's stdio, both sides of it: three pipes, or one terminal.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::identity::Account;
use super::process::Process;
use super::pty::Pty;
use super::spawn::{Pipe, above_stdio};
use crate::process::{Child, Spawn, SpawnError, SpawnStep};

pub(crate) struct Streams {
    stdin: Pipe,
    stdout: Pipe,
    stderr: Pipe,
    /// What is read where nothing is to be read.
    null: OwnedFd,
    pty: Option<Pty>,
    with_stdin: bool,
}

impl Streams {
    pub(crate) fn open(request: &Spawn, account: Option<&Account>) -> Result<Self, SpawnError> {
        let pty = request.terminal.map(Pty::open).transpose();
        let pty = pty.map_err(SpawnError::at(SpawnStep::Terminal))?;
        let piped = pty.is_none();
        let pipe = |wanted| Pipe::new(wanted).map_err(SpawnError::at(SpawnStep::Pipe));
        let streams = Self {
            stdin: pipe(request.stdin && piped)?,
            stdout: pipe(piped)?,
            stderr: pipe(piped)?,
            null: null().map_err(SpawnError::at(SpawnStep::Pipe))?,
            pty,
            with_stdin: request.stdin,
        };
        if let Some(account) = account {
            let pipes = [&streams.stdin.read, &streams.stdout.write, &streams.stderr.write];
            let ends = pipes.into_iter().flatten().chain(streams.pty.iter().map(|pty| &pty.theirs));
            account.give(ends).map_err(SpawnError::at(SpawnStep::Stdio))?;
        }
        Ok(streams)
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.pty.is_some()
    }

    /// What becomes the child's 0, 1 and 2.
    pub(crate) fn theirs(&self) -> [RawFd; 3] {
        match &self.pty {
            Some(pty) => [pty.theirs.as_raw_fd(); 3],
            None => {
                let stdin = self.stdin.read.as_ref().unwrap_or(&self.null);
                [stdin.as_raw_fd(), self.stdout.write_fd(), self.stderr.write_fd()]
            }
        }
    }

    /// Once the child has its own: a pipe ends when nobody has its other side.
    pub(crate) fn let_go_of_theirs(&mut self) {
        (self.stdin.read, self.stdout.write, self.stderr.write) = (None, None, None);
    }

    pub(crate) fn into_child(self, process: Process) -> Result<Child, SpawnError> {
        if let Some(pty) = self.pty {
            return pty.child(self.with_stdin, process).map_err(SpawnError::at(SpawnStep::Terminal));
        }
        let file = |end: Option<OwnedFd>| end.map(File::from);
        let (stdin, stdout, stderr) = (self.stdin.write, self.stdout.read, self.stderr.read);
        Ok(Child { stdin: file(stdin), stdout: file(stdout), stderr: file(stderr), process })
    }
}

fn null() -> io::Result<OwnedFd> {
    above_stdio(File::options().read(true).open("/dev/null")?.into())
}
