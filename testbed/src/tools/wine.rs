//! Wine 10 in a chroot of Debian trixie: Debian 12's own Wine is too old for Rust programs, and a chroot leaves the
//! machine's packages alone. [`crate::wine::Wine`] runs programs in it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::cache::Entry;
use super::{debian, progress};
use crate::wine::room::Room;

/// Bumped when what is inside changes; old ones may be deleted by hand.
const CHROOT: &str = "wine/trixie-1";
const PREFIX: &str = "wine/prefix-1";

/// The chroot with Wine, made on first use (one to three minutes, 1.4 GB).
///
/// ```no_run
/// let chroot = testbed::tools::wine::ensure()?;
/// assert!(chroot.join("usr/lib/wine/wine64").is_file());
/// # anyhow::Ok(())
/// ```
pub fn ensure() -> Result<PathBuf> {
    Entry::new(CHROOT, "Wine 10 in a chroot of Debian trixie").provide(bootstrap)
}

/// A prefix that has been booted once and never used: what each [`crate::wine::Wine`] starts from.
pub fn ensure_prefix() -> Result<PathBuf> {
    let chroot = ensure()?;
    Entry::new(PREFIX, "fresh Wine prefix").provide(|dir| boot(&chroot, dir))
}

fn bootstrap(dir: &Path) -> Result<()> {
    debian::ensure(&["debootstrap"])?;
    let mut debootstrap = Command::new("debootstrap");
    debootstrap
        .args(["--variant=minbase", "--include=wine64,wine", "trixie"])
        .arg(dir)
        .arg(debian::mirror()?);
    if let Some(proxy) = debian::proxy()? {
        debootstrap.env("http_proxy", proxy);
    }
    progress::run(&mut debootstrap)?;
    progress::run(Command::new("chroot").arg(dir).args(["apt-get", "clean"]))?;
    Ok(())
}

fn boot(chroot: &Path, prefix: &Path) -> Result<()> {
    let scratch = prefix.with_extension("room");
    std::fs::create_dir_all(&scratch).with_context(|| format!("create {}", scratch.display()))?;
    let room = Room::open(chroot, &scratch, None, &[prefix.to_owned()], None)?;
    let mut wineboot = room.enter("/usr/lib/wine/wine64");
    wineboot.args(["wineboot", "--init"]).env("WINEPREFIX", prefix);
    // Nothing may ask, on no screen, whether Mono and Gecko should be downloaded.
    wineboot.env("WINEDLLOVERRIDES", "mscoree,mshtml=;winemenubuilder.exe=d");
    progress::run(&mut wineboot)?;
    // The registry is written when the server ends.
    progress::run(room.enter("/usr/lib/wine/wineserver64").arg("--wait").env("WINEPREFIX", prefix))?;
    room.close()
}
