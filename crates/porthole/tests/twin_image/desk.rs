//! A registry, a store, and the verbs at work on them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use testbed::image::{Image, ImageBuilder, Layer};
use testbed::registry::{Auth, Options, Registry, Request};

pub(crate) const BLOBS: &str = "/v2/*/blobs/*";

pub(crate) struct Desk {
    pub(crate) registry: Registry,
    pub(crate) dir: tempfile::TempDir,
}

#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

// === impl Desk ===

impl Desk {
    pub(crate) fn new() -> Desk {
        Desk::with(Auth::Open)
    }

    pub(crate) fn with(auth: Auth) -> Desk {
        let registry = Registry::start(Options { auth }).expect("a registry");
        Desk { registry, dir: tempfile::tempdir().expect("a directory") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path("root")
    }

    pub(crate) fn name(&self, rest: &str) -> String {
        format!("{}/{rest}", self.registry.address())
    }

    /// An image of two layers: its word, and something that others have too.
    pub(crate) fn image(word: &str) -> Image {
        Desk::image_for("linux", word).build().expect("made")
    }

    pub(crate) fn image_for(os: &str, word: &str) -> ImageBuilder {
        let files = if os == "windows" { "Files/" } else { "" };
        let shared = Layer::new().file(&format!("{files}etc/shared"), "shared".repeat(500), 0o644);
        let own = Layer::new().file(&format!("{files}etc/word"), word, 0o644);
        ImageBuilder::new(os, "amd64").layer(shared).layer(own).entrypoint(["/bin/app"]).env("WORD", word)
    }

    /// Pushes an image as NAME:TAG; its whole name.
    pub(crate) fn push(&self, image: &Image, rest: &str) -> String {
        self.registry.push(image, rest).expect("pushed");
        self.name(rest)
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        self.command_at(&self.root(), words)
    }

    fn command_at(&self, root: &Path, words: &[&str]) -> Command {
        let (verb, rest) = words.split_first().expect("a verb");
        let mut command = Command::new(env!("CARGO_BIN_EXE_porthole"));
        command.args(["image", verb, "--root"]).arg(root).args(rest);
        // Nobody's accounts but the test's.
        command.current_dir(self.dir.path()).env("HOME", self.dir.path()).env_remove("DOCKER_CONFIG");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// `porthole image …` to its end.
    pub(crate) fn run(&self, words: &[&str]) -> Ended {
        Ended::of(self.start(words))
    }

    /// The same on another store.
    pub(crate) fn run_at(&self, root: &Path, words: &[&str]) -> Ended {
        Ended::of(self.command_at(root, words).spawn().expect("started"))
    }

    pub(crate) fn start(&self, words: &[&str]) -> Child {
        self.command(words).spawn().expect("started")
    }

    pub(crate) fn run_with(&self, words: &[&str], stdin: &[u8]) -> Ended {
        let mut child = self.command(words).stdin(Stdio::piped()).spawn().expect("started");
        // A program that refuses at once does not read.
        drop(child.stdin.take().expect("a pipe").write_all(stdin));
        Ended::of(child)
    }

    pub(crate) fn ok(&self, words: &[&str]) -> Ended {
        let ended = self.run(words);
        assert_eq!(ended.code, 0, "image {words:?}: {}{}", ended.stdout, ended.stderr);
        ended
    }

    /// The one JSON document that a verb prints.
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        self.ok(&[words, &["-o", "json"]].concat()).json()
    }

    pub(crate) fn pull(&self, image: &Image, rest: &str) -> String {
        let name = self.push(image, rest);
        self.ok(&["pull", "-q", &name]);
        name
    }

    /// The names that `ls` shows.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.json(&["ls"])["images"]
            .as_array()
            .expect("a list")
            .iter()
            .flat_map(|image| image["names"].as_array().expect("a list").clone())
            .map(|name| name.as_str().expect("text").to_owned())
            .collect();
        names.sort();
        names
    }

    /// What clients asked for of this kind, since the log was cleared.
    pub(crate) fn asked(&self, method: &str, kind: &str) -> Vec<Request> {
        let mut requests = self.registry.requests();
        requests.retain(|request| request.method == method && request.path.contains(&format!("/{kind}/")));
        requests
    }

    pub(crate) fn blob(&self, digest: &str) -> PathBuf {
        self.root().join("images/blobs/sha256").join(digest.trim_start_matches("sha256:"))
    }
}

// === impl Ended ===

impl Ended {
    fn of(child: Child) -> Ended {
        let output = child.wait_with_output().expect("ended");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let code = output.status.code().expect("not killed");
        Ended { code, stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    pub(crate) fn wait(child: Child) -> Ended {
        Ended::of(child)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}", self.stdout))
    }

    /// It did not work, with this code, and these words say why, on one line that is porthole's.
    pub(crate) fn refused(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{}{}", self.stdout, self.stderr);
        let missing: Vec<_> = words.iter().filter(|word| !self.stderr.contains(**word)).collect();
        assert!(missing.is_empty(), "{missing:?} not in: {}", self.stderr);
        let last = self.stderr.lines().last().unwrap_or_default();
        assert!(code == 2 || last.starts_with("porthole: "), "{}", self.stderr);
    }
}

/// How many bytes are below a directory.
pub(crate) fn bytes_in(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => bytes_in(&entry.path()),
            Ok(found) => found.len(),
            Err(_) => 0,
        })
        .sum()
}
