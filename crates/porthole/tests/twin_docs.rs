//! Pages whose commands run: what they show is what is printed.
//!
//! A block ```` ```yaml NAME ```` is a file; a block ```` ```console ```` is what a terminal shows, commands after `$ `.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::tools::repo_root;

/// A fenced block of a page.
struct Block<'a> {
    /// `yaml agent.yaml`
    info: &'a str,
    text: &'a str,
}

// === impl Block ===

impl<'a> Block<'a> {
    fn all(page: &'a str) -> Vec<Block<'a>> {
        let fences = page.split("\n```").skip(1).step_by(2);
        fences.filter_map(|fence| fence.split_once('\n')).map(|(info, text)| Block { info, text }).collect()
    }

    fn file(&self) -> Option<&'a str> {
        self.info.split_once(' ').map(|(_, name)| name)
    }

    /// The commands, each with what it prints.
    fn commands(&self) -> Vec<(&'a str, &'a str)> {
        let runs = self.text.strip_prefix("$ ").into_iter().flat_map(|text| text.split("\n$ "));
        runs.map(|run| run.split_once('\n').unwrap_or((run, ""))).collect()
    }
}

fn path_with_porthole() -> OsString {
    let own = Path::new(env!("CARGO_BIN_EXE_porthole")).parent().expect("a directory").to_owned();
    let others = env::var_os("PATH").unwrap_or_default();
    let all: Vec<PathBuf> = std::iter::once(own).chain(env::split_paths(&others)).collect();
    env::join_paths(all).expect("a path")
}

fn printed(command: &str, dir: &Path) -> String {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{{ {command}\n}} 2>&1")]).current_dir(dir).env("PATH", path_with_porthole());
    let output = shell.output().expect("a shell");
    String::from_utf8(output.stdout).expect("text")
}

/// Lays down the files of a page and runs its commands in their order; the number of commands.
fn play(page: &str) -> usize {
    let text = fs::read_to_string(repo_root().expect("root").join(page)).expect("the page");
    let dir = tempfile::tempdir().expect("a directory");
    let blocks = Block::all(&text);
    for (name, block) in blocks.iter().filter_map(|block| Some((block.file()?, block))) {
        fs::write(dir.path().join(name), format!("{}\n", block.text)).expect("written");
    }
    let shown = blocks.iter().filter(|block| block.info == "console").flat_map(Block::commands);
    shown
        .map(|(command, expected)| {
            let printed = printed(command, dir.path());
            assert_eq!(printed.trim_end(), expected.trim_end(), "{page}: $ {command}");
        })
        .count()
}

// proves: HP-31 docs
#[test]
fn the_guidance_on_pod_security_shows_what_check_prints() {
    assert!(play("docs/host-process-security.md") >= 4);
}

// proves: HP-24 docs
#[test]
fn the_page_on_accounts_shows_what_happens() {
    assert!(play("docs/host-process-accounts.md") >= 8);
}
