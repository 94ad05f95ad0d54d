//! A disk that loses, when the power is cut, what was not synced.
//!
//! A real file system (ext4, the kernel's own) on an image of its own. It is told not to write anything back by itself
//! for as long as a test lasts, so that only a sync brings something to the image; and a cut is the kernel's own shutdown of
//! a file system, made for exactly this: from that moment nothing more is written, whatever is dirty. The next power-on
//! mounts a copy of the image and lets the file system recover as it would after any power loss.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::guard::{Guard, Resource};
use crate::process::prepare_host;

/// A mounted disk; gone when dropped.
///
/// ```no_run
/// use testbed::disk::{Disk, Survives, Unsynced};
///
/// let mut disk = Disk::new(Unsynced::Empty)?;
/// std::fs::write(disk.path().join("file"), "never synced")?;
/// disk.cut(Survives::Synced)?;
/// disk.power_on()?;
/// assert!(!disk.path().join("file").exists());
/// # anyhow::Ok(())
/// ```
#[derive(Debug)]
pub struct Disk {
    guard: Guard,
    at: PathBuf,
    unsynced: Unsynced,
    /// Of images: each power-on has a new one.
    number: u32,
}

/// What a file is that has its name and length on the disk, and whose content was never synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsynced {
    /// Room is given to a file when it is written back: it has none, and no length.
    Empty,
    /// Room is given at once, and content may come later than names: it has its length, in zeros.
    Zeros,
}

/// What of the unsynced a cut leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survives {
    /// Nothing: only what was synced, and what the file system had to write with it.
    Synced,
    /// Every name, rename and removal; of contents only those that were synced.
    Names,
}

const MEGABYTES: u64 = 96;
/// Longer than any test: seconds until the file system would commit by itself.
const NEVER: u32 = 86_400;
/// `EXT4_IOC_SHUTDOWN` of the kernel's `ext4.h`: `_IOR('X', 125, __u32)`.
const SHUTDOWN: &str = "my ($at, $how) = @ARGV; open(my $dir, '<', $at) or die \"$at: $!\"; \
                        ioctl($dir, 0x8004587d, pack('L', $how)) or die \"shut down $at: $!\"";

// === impl Disk ===

impl Disk {
    /// An empty disk, mounted.
    pub fn new(unsynced: Unsynced) -> Result<Self> {
        prepare_host(&[("mkfs.ext4", "e2fsprogs"), ("perl", "perl-base"), ("mount", "mount")])?;
        let guard = Guard::new("disk")?;
        // Not below a home directory: accounts other than ours must get there.
        let at = std::env::temp_dir().join(format!("porthole-disk-{}", guard.id()));
        let disk = Self { at, guard, unsynced, number: 0 };
        disk.guard.register(&Resource::Directory(disk.at.clone()))?;
        std::fs::create_dir(&disk.at).with_context(|| format!("create {}", disk.at.display()))?;
        disk.guard.register(&Resource::Directory(disk.images()))?;
        std::fs::create_dir(disk.images()).context("create a directory for images")?;
        let image = std::fs::File::create_new(disk.image()).context("create the disk's image")?;
        image.set_len(MEGABYTES << 20).context("size the disk's image")?;
        run(Command::new("mkfs.ext4").args(["-q", "-F", "-J", "size=8"]).arg(disk.image()))?;
        disk.guard.register(&Resource::Mount(disk.at.clone()))?;
        disk.mount()?;
        Ok(disk)
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.at
    }

    /// A directory beside the disk that survives everything.
    pub fn beside(&self) -> &Path {
        self.guard.dir()
    }

    /// Cuts the power: from here on nothing reaches the disk, and whoever writes gets an error.
    pub fn cut(&self, survives: Survives) -> Result<()> {
        // The two of the kernel's EXT4_GOING_FLAGS that do not write back files first.
        let how = match survives {
            Survives::Names => "1",
            Survives::Synced => "2",
        };
        run(Command::new("perl").args(["-e", SHUTDOWN]).arg(&self.at).arg(how))
    }

    /// Mounts what survived. Only after a cut, and when every process that used the disk is gone.
    pub fn power_on(&mut self) -> Result<()> {
        // Another mount namespace may have been copied from ours meanwhile and keep the dead file system: hence the copy.
        run(Command::new("umount").arg("--lazy").arg(&self.at))?;
        let old = self.image();
        self.number += 1;
        run(Command::new("cp").arg("--sparse=always").arg(&old).arg(self.image()))?;
        std::fs::remove_file(&old).with_context(|| format!("remove {}", old.display()))?;
        self.mount()
    }

    /// A command whose program finds itself in another boot of the machine than the test does.
    pub fn in_an_earlier_boot(&self, program: &Path) -> Result<Command> {
        let id = self.beside().join("boot-id");
        std::fs::write(&id, "11111111-2222-4333-8444-555555555555\n").context("write a boot id")?;
        let script = "mount --bind \"$0\" /proc/sys/kernel/random/boot_id && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "slave", "sh", "-c", script]).arg(id).arg(program);
        Ok(command)
    }

    fn image(&self) -> PathBuf {
        self.images().join(format!("image-{}", self.number))
    }

    /// In memory where possible: a sync then waits for no real disk, which a test neither needs nor has for itself.
    fn images(&self) -> PathBuf {
        let memory = Path::new("/dev/shm");
        let above = if memory.is_dir() { memory } else { self.guard.dir() };
        above.join(format!("porthole-disk-{}", self.guard.id()))
    }

    fn mount(&self) -> Result<()> {
        let data = match self.unsynced {
            Unsynced::Empty => "data=ordered,delalloc,noauto_da_alloc",
            Unsynced::Zeros => "data=writeback,nodelalloc,noauto_da_alloc",
        };
        let options = format!("loop,commit={NEVER},{data}");
        run(Command::new("mount").args(["-t", "ext4", "-o", &options]).arg(self.image()).arg(&self.at))
    }
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("run {command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {}: {}", output.status, said.trim());
    Ok(())
}
