//! The images that Kubernetes' own tests ask for, and Windows ones, from what can be had without a registry.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::{ImageBuilder, Layer};
use crate::tools::{debian, go_tool, progress};

const BUSYBOX: &str = "/bin/busybox";
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Debian's static busybox with a link for each of its applets.
pub fn busybox() -> Result<ImageBuilder> {
    Ok(linux().layer(busybox_layer()?).cmd(["sh"]))
}

/// Kubernetes' test image of many trades, with busybox as its shell.
pub fn agnhost() -> Result<ImageBuilder> {
    let program = Layer::new().host_file("agnhost", go_tool("agnhost")?, 0o755)?;
    Ok(linux().layer(busybox_layer()?).layer(program).entrypoint(["/agnhost"]).cmd(["pause"]))
}

/// An image of one static program that waits.
pub fn pause(program: impl AsRef<Path>) -> Result<ImageBuilder> {
    let layer = Layer::new().host_file("pause", program, 0o755)?;
    Ok(linux().layer(layer).entrypoint(["/pause"]).user("65535:65535"))
}

/// An image with one Windows program at its root, laid out as Windows layers are and without `os.version`, as the
/// HostProcess base image has none; [`ImageBuilder::os_version`] adds it.
pub fn windows_program(exe: impl AsRef<Path>) -> Result<ImageBuilder> {
    let exe = exe.as_ref();
    let name = exe.file_name().and_then(|name| name.to_str());
    let name = name.with_context(|| format!("{} has no file name", exe.display()))?;
    let layer = Layer::new().directory("Hives", 0o755).host_file(&format!("Files/{name}"), exe, 0o755)?;
    Ok(ImageBuilder::new("windows", "amd64").layer(layer).entrypoint([name]))
}

/// Nothing but a platform and a path.
pub(crate) fn linux() -> ImageBuilder {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    ImageBuilder::new("linux", arch).env("PATH", PATH)
}

fn busybox_layer() -> Result<Layer> {
    debian::ensure(&["busybox-static"])?;
    let applets = progress::text_of(Command::new(BUSYBOX).arg("--list-full"))?;
    let mut layer = Layer::new().host_file("bin/busybox", BUSYBOX, 0o755)?;
    for applet in applets.lines().filter(|applet| *applet != "bin/busybox" && !applet.is_empty()) {
        layer = layer.symlink(applet, BUSYBOX);
    }
    let accounts = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n";
    let groups = "root:x:0:\nnogroup:x:65534:\n";
    let layer = layer.file("etc/passwd", accounts, 0o644).file("etc/group", groups, 0o644);
    let dirs = ["dev", "home", "proc", "root", "sys", "var"];
    Ok(dirs.into_iter().fold(layer, |layer, dir| layer.directory(dir, 0o755)).directory("tmp", 0o1777))
}
