//! What each instruction does to a stage.

use std::path::Path;

use serde_json::json;

use super::super::BuildError;
use super::super::copy::{Copying, Root};
use super::super::dockerfile::{self, Command, Copy, Instruction, What};
use super::super::glob::Glob;
use super::super::ignore::Ignore;
use super::super::path::{self, Place};
use super::super::tree::Tree;
use super::{Stage, Stages};

/// Everything in a directory, as a layer.
pub(super) fn whole(dir: &Path, line: usize, windows: bool) -> Result<Tree, BuildError> {
    let (ignore, known) = (Ignore::default(), Tree::new(windows));
    let exclude = Vec::new();
    let copying = Copying {
        line,
        root: Root::Host(dir),
        ignore: &ignore,
        exclude,
        chmod: None,
        windows,
        add: false,
        known: &known,
    };
    let mut tree = Tree::new(windows);
    copying.add(&[".".to_owned()], &Place { path: String::new(), directory: true }, &mut tree)?;
    Ok(tree)
}

// === impl Stages ===

impl Stages<'_> {
    pub(super) fn follow(
        &mut self,
        stage: &mut Stage,
        at: usize,
        each: &Instruction,
    ) -> Result<(), BuildError> {
        let windows = stage.windows;
        match &each.what {
            What::From { .. } => {}
            What::Run => {
                let os = if windows { "Windows" } else { "Linux" };
                return Err(BuildError::Run { line: each.line, os: os.to_owned() });
            }
            What::Copy(copy) => return self.copy(stage, at, each, copy),
            What::Arg(args) => self.arg(stage, each, args)?,
            What::Env(pairs) => {
                // All values see the environment as it was before the line.
                for (name, value) in self.expanded(stage, each, pairs)? {
                    stage.image.config.set_env(&name, &value, windows);
                }
            }
            What::Label(pairs) => {
                for (name, value) in self.expanded(stage, each, pairs)? {
                    stage.image.config.set_in("Labels", &name, value.into());
                }
            }
            What::Entrypoint(command) => {
                let command = stage.command(command);
                stage.image.config.set("Entrypoint", command);
                if !stage.own_cmd {
                    stage.image.config.unset("Cmd");
                }
            }
            What::Cmd(command) => {
                let command = stage.command(command);
                stage.image.config.set("Cmd", command);
                stage.own_cmd = true;
            }
            // In the configuration, so that images on top of this one have it too.
            What::Shell(words) => stage.image.config.set("Shell", words.clone()),
            What::Workdir(dir) => self.workdir(stage, each, dir)?,
            What::User(user) => {
                let user = self.word(stage, each, user)?;
                stage.image.config.set("User", user);
            }
            What::Expose(ports) => self.expose(stage, each, ports)?,
            What::Volume(dirs) => {
                for dir in dirs {
                    let dir = self.word(stage, each, dir)?;
                    stage.image.config.set_in("Volumes", &dir, json!({}));
                }
            }
            What::StopSignal(signal) => {
                let signal = self.word(stage, each, signal)?;
                stage.image.config.set("StopSignal", signal);
            }
            What::Maintainer(name) => {
                drop(stage.image.config.top.insert("author".to_owned(), name.as_str().into()))
            }
            What::Ignored(why) => self.warn(each.line, why),
        }
        stage.image.config.note(&each.text, None, self.scope.request.time);
        Ok(())
    }

    fn copy(
        &mut self,
        stage: &mut Stage,
        at: usize,
        each: &Instruction,
        copy: &Copy,
    ) -> Result<(), BuildError> {
        let line = each.line;
        let target = self.word(stage, each, &copy.target)?;
        let target = path::place(&target, &stage.workdir, stage.windows)
            .map_err(|source| BuildError::Path { line, source })?;
        let sources = copy.sources.iter().map(|source| self.source(stage, each, source, copy.add));
        let sources = sources.collect::<Result<Vec<_>, _>>()?;
        let unpacked = copy.from.as_deref().map(|name| self.unpacked(name, at, line)).transpose()?;
        let nothing = Ignore::default();
        let (root, ignore) = match &unpacked {
            Some(from) => (Root::Image { dir: &from.dir, windows: from.windows }, &nothing),
            None => (Root::Host(self.scope.request.context), self.scope.ignore),
        };
        if copy.chown.is_some() {
            self.warn(line, "--chown has no effect: files belong to root, on Windows to the administrators");
        }
        let exclude = copy.exclude.iter().map(|text| {
            Glob::parse(text, true).ok_or_else(|| BuildError::Pattern { line, pattern: text.clone() })
        });
        let mut tree = std::mem::replace(&mut stage.pending, Tree::new(stage.windows));
        let copying = Copying {
            line,
            root,
            ignore,
            exclude: exclude.collect::<Result<_, _>>()?,
            chmod: copy.chmod.as_deref().map(|text| mode(text, line)).transpose()?,
            windows: stage.windows,
            add: copy.add,
            known: &stage.known,
        };
        if !copying.add(&sources, &target, &mut tree)? {
            self.warn(line, "its patterns match nothing that is not left out");
        }
        if !self.lay(stage, tree, &each.text, line)? {
            stage.image.config.note(&each.text, None, self.scope.request.time);
        }
        Ok(())
    }

    fn source(
        &mut self,
        stage: &Stage,
        each: &Instruction,
        text: &str,
        add: bool,
    ) -> Result<String, BuildError> {
        let source = self.word(stage, each, text)?;
        let remote = ["http://", "https://", "git@", "ssh://"].iter().any(|start| source.starts_with(start));
        if add && remote {
            let (line, what) = (each.line, "fetch it");
            let instead = "fetch it before and COPY it, so that its content is known";
            return Err(BuildError::Add { line, source_name: source, what, instead });
        }
        Ok(if stage.windows { source.replace('\\', "/") } else { source })
    }

    fn arg(
        &mut self,
        stage: &mut Stage,
        each: &Instruction,
        args: &[(String, Option<String>)],
    ) -> Result<(), BuildError> {
        for (name, default) in args {
            let given = self.scope.request.args.get(name).cloned();
            let value = match (given, default) {
                (Some(given), _) => Some(given),
                (None, Some(default)) => Some(self.word(stage, each, default)?),
                (None, None) => self.outline.globals.get(name).cloned(),
            };
            value.and_then(|value| stage.args.insert(name.clone(), value));
        }
        Ok(())
    }

    fn workdir(&mut self, stage: &mut Stage, each: &Instruction, dir: &str) -> Result<(), BuildError> {
        let dir = self.word(stage, each, dir)?;
        let place = path::place(&dir, &stage.workdir, stage.windows)
            .map_err(|source| BuildError::Path { line: each.line, source })?;
        stage.image.config.set("WorkingDir", path::shown(&place.path, stage.windows));
        if !stage.known.is_directory(&place.path) {
            stage.pending.directory(&place.path);
        }
        stage.workdir = place.path;
        Ok(())
    }

    fn expose(&mut self, stage: &mut Stage, each: &Instruction, ports: &[String]) -> Result<(), BuildError> {
        for text in ports {
            let text = self.word(stage, each, text)?;
            for port in
                ports_of(&text).ok_or_else(|| BuildError::Port { line: each.line, found: text.clone() })?
            {
                stage.image.config.set_in("ExposedPorts", &port, json!({}));
            }
        }
        Ok(())
    }

    fn expanded(
        &mut self,
        stage: &Stage,
        each: &Instruction,
        pairs: &[(String, String)],
    ) -> Result<Vec<(String, String)>, BuildError> {
        pairs
            .iter()
            .map(|(name, value)| Ok((self.word(stage, each, name)?, self.word(stage, each, value)?)))
            .collect()
    }

    /// Expanded with the environment of the image first, then the arguments of the stage.
    fn word(&mut self, stage: &Stage, each: &Instruction, text: &str) -> Result<String, BuildError> {
        let escape = self.scope.request.dockerfile.escape;
        if stage.windows && escape == '\\' && text.replace("\\\\", "").contains('\\') {
            self.warn(
                each.line,
                "\\ is the escape character and vanishes: for Windows paths begin the file with # escape=`",
            );
        }
        let lookup = |name: &str| {
            let known = stage.image.config.env(name, stage.windows);
            known.or_else(|| stage.args.get(name).cloned()).or_else(|| usual(name, stage.windows))
        };
        dockerfile::expand(text, escape, &lookup).map_err(|why| why.at(each.line).into())
    }

    fn warn(&mut self, line: usize, text: &str) {
        self.warnings.push(format!("line {line}: {text}"));
    }
}

// === impl Stage ===

impl Stage {
    /// The shell form gets the shell before it.
    fn command(&self, command: &Command) -> Vec<String> {
        const LINUX: [&str; 2] = ["/bin/sh", "-c"];
        const WINDOWS: [&str; 3] = ["cmd", "/S", "/C"];
        match command {
            Command::Exec(words) => words.clone(),
            Command::Shell(text) => {
                let usual = if self.windows { &WINDOWS[..] } else { &LINUX[..] };
                let mut shell = self.image.config.list("Shell");
                if shell.is_empty() {
                    shell.extend(usual.iter().map(|word| (*word).to_owned()));
                }
                shell.into_iter().chain([text.clone()]).collect()
            }
        }
    }
}

/// What `PATH` is where nothing says it. A value of our own making, so that `$PATH` is not lost: a list that ends
/// with it still leads to the programs of the system.
fn usual(name: &str, windows: bool) -> Option<String> {
    const LINUX: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    const WINDOWS: &str =
        r"C:\Windows\System32;C:\Windows;C:\Windows\System32\Wbem;C:\Windows\System32\WindowsPowerShell\v1.0";
    let is_path = name == "PATH" || windows && name.eq_ignore_ascii_case("PATH");
    is_path.then(|| if windows { WINDOWS } else { LINUX }.to_owned())
}

fn mode(text: &str, line: usize) -> Result<u32, BuildError> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o7777);
    mode.ok_or_else(|| BuildError::Mode { line, found: text.to_owned() })
}

/// `80`, `80/udp`, `7000-7002`: each port with its protocol.
fn ports_of(text: &str) -> Option<Vec<String>> {
    let (range, protocol) = text.split_once('/').unwrap_or((text, "tcp"));
    let protocol = protocol.to_ascii_lowercase();
    if !["tcp", "udp", "sctp"].contains(&protocol.as_str()) {
        return None;
    }
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then(|| (first..=last).map(|port| format!("{port}/{protocol}")).collect())
}
