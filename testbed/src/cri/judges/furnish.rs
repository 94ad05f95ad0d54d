//! What the machine has before a judge comes: programs, settings, porthole.exe itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::super::{SHORT, mirror, stand_ins};
use super::ENDPOINT;
use crate::tools::progress;
use crate::wine::{Running, Wine};

/// Where these are on every Windows. Wine's PowerShell does nothing and succeeds, its ping knows no `-t`.
const STAND_INS: [&str; 2] =
    [r"C:\windows\system32\WindowsPowerShell\v1.0\powershell.exe", r"C:\windows\system32\ping.exe"];
/// Judges each container of a pod that has only its handler to show: critest cannot set the field.
const POLICY: &str =
    "apiVersion: porthole.dev/v1alpha1\nkind: HostProcessPolicy\nrules:\n- {name: critest, images: ['*']}\n";
const SETTINGS: &str = "annotation-policy: policy.yaml\nhost-process: {run-as: inherit}\n";

/// A program of ours in place of one that Wine has is taken only if it is said.
pub(super) const OVERRIDES: &str = "winemenubuilder.exe=d;powershell.exe=n;ping.exe=n";

pub(super) fn furnish(wine: &Wine, fixture: &Path) -> Result<()> {
    for program in STAND_INS {
        let to = wine.host_path(program)?;
        fs::copy(fixture, &to).with_context(|| format!("write {}", to.display()))?;
    }
    let said = wine.run("powershell", ["-c", "echo hello"], SHORT)?;
    ensure!(said.stdout == "hello\r\n", "powershell is not the stand-in: {said:?}");
    Ok(())
}

pub(super) fn serve(wine: &Wine, porthole: &Path, log: &Path) -> Result<Running> {
    let drive = wine.prefix().join("drive_c");
    for (path, text) in [
        ("porthole/certs.d/_default/hosts.toml", mirror().as_str()),
        ("settings/cri.yaml", SETTINGS),
        ("settings/policy.yaml", POLICY),
    ] {
        let file = drive.join(path);
        let parent = file.parent().context("a file has a directory")?;
        fs::create_dir_all(parent).with_context(|| format!("create {}", parent.display()))?;
        fs::write(&file, text).with_context(|| format!("write {}", file.display()))?;
    }
    wine.command(porthole)
        .args(["cri", "--root", r"C:\porthole", "--config", r"C:\settings\cri.yaml", "--listen", ENDPOINT])
        .logged(log)
}

/// Without what only debuggers read, which is most of it.
pub(super) fn stripped(program: &Path, dir: &Path) -> Result<PathBuf> {
    let slim = dir.join(stand_ins::windows::PROGRAM);
    progress::run(Command::new("x86_64-w64-mingw32-strip").arg("-o").arg(&slim).arg(program))?;
    Ok(slim)
}
