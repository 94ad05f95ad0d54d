//! A view, prepared by the parent so that the child only has to make system calls.

use std::cell::Cell;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags};

use super::binds::{Below, BindMount, Target};
use super::mounts::{self, IdMaps, MadeDir, Mounts, OverlayMount, ScratchMount, Sight};
use super::spawn::{above_stdio, c_string};
use crate::view::{Bind, Overlay, Propagation, View};

pub(crate) use super::peers::peers;

/// Overlay options fit into one page.
const MOUNT_DATA_MAX: usize = 4095;

pub(crate) fn prepare(view: &View, user: Option<IdMaps>) -> io::Result<Mounts> {
    let (scratch, kept) = match view.scratch_bytes {
        Some(bytes) => scratch(view.overlay.as_ref(), bytes)?,
        None => (None, None),
    };
    let overlay = view.overlay.as_ref().map(|overlay| {
        overlay_mount(overlay, user.is_some(), kept)
            .map(|mount| OverlayMount { readonly: view.readonly_image, ..mount })
    });
    let binds = (0..).zip(&view.binds).map(|(number, bind)| bind_mount(view, number, bind));
    Ok(Mounts { scratch, overlay: overlay.transpose()?, binds: binds.collect::<io::Result<_>>()?, user })
}

/// What a failing child's number of a place means, for people.
pub(crate) fn place(view: &View, number: i32) -> String {
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    match view.binds.get(number / 2) {
        Some(bind) if number % 2 == 0 => {
            format!("{}, wanted at {}", bind.source.display(), bind.target.display())
        }
        Some(bind) => format!("mount point {}", bind.target.display()),
        None => format!("mount {number}"),
    }
}

/// Tried once: a read-only bind of the temporary directory upon itself, in a namespace that ends with the child.
pub(crate) fn bind_works() -> Result<(), String> {
    static WORKS: OnceLock<Result<(), String>> = OnceLock::new();
    WORKS.get_or_init(try_bind).clone()
}

fn try_bind() -> Result<(), String> {
    let place = std::env::temp_dir();
    let bind = Bind { source: place.clone(), target: place, readonly: true, ..Bind::default() };
    let view = View { binds: vec![bind], ..View::default() };
    let mounts = prepare(&view, super::spawn::user_maps()).map_err(|error| error.to_string())?;
    let sight = Sight::Own(mounts);
    super::probe::tried(|| if mounts::see(&sight, -1).is_ok() { 0 } else { -1 }).map(drop)
}

type Kept = Option<(CString, OwnedFd)>;

/// The file system above the layers, and what was prepared in the directory that it covers.
fn scratch(overlay: Option<&Overlay>, bytes: u64) -> io::Result<(Option<ScratchMount>, Kept)> {
    let overlay = overlay.ok_or_else(|| refused("a scratch space without an image".to_owned()))?;
    let at = overlay.upper.parent().unwrap_or_else(|| Path::new("/"));
    if !overlay.work.starts_with(at) || at == Path::new("/") {
        let (work, upper) = (overlay.work.display(), overlay.upper.display());
        return Err(refused(format!("the scratch space cannot hold {work}, which is not beside {upper}")));
    }
    let found = std::fs::metadata(&overlay.upper)?;
    let owner = crate::elevated().then(|| (found.uid(), found.gid()));
    let mode = found.mode() & 0o7777;
    let mut dirs = vec![MadeDir { path: c_string(overlay.upper.as_os_str())?, mode, owner }];
    for path in [&overlay.work, &overlay.target].into_iter().flat_map(|path| between(at, path)) {
        let path = c_string(path.as_os_str())?;
        if !dirs.iter().any(|made| made.path == path) {
            dirs.push(MadeDir { path, mode: 0o755, owner: None });
        }
    }
    // To a tmpfs zero means that nothing is bounded.
    let options = CString::new(format!("mode=0755,size={}", bytes.max(1)))?;
    let kept = holds_something(&overlay.upper)?.then(|| open_layer(&overlay.upper)).transpose()?;
    Ok((Some(ScratchMount { at: c_string(at.as_os_str())?, options, dirs }), kept))
}

/// Every directory below there, down to here; none if here is not below.
fn between<'a>(there: &Path, here: &'a Path) -> Vec<&'a Path> {
    let below = |path: &&Path| path.starts_with(there) && *path != there;
    let mut paths: Vec<&Path> = here.ancestors().take_while(below).collect();
    paths.reverse();
    paths
}

fn holds_something(dir: &Path) -> io::Result<bool> {
    Ok(std::fs::read_dir(dir)?.next().is_some())
}

fn overlay_mount(overlay: &Overlay, own_user: bool, kept: Kept) -> io::Result<OverlayMount> {
    let mut opened: Vec<(CString, OwnedFd)> = kept.into_iter().collect();
    let named = overlay.lower.iter().map(|path| escaped(path));
    let mut options = overlay_options(numbered(&opened).chain(named), overlay, own_user);
    if options.len() > MOUNT_DATA_MAX {
        // Opened, a layer is a number, however long its path is.
        let lower = overlay.lower.iter().map(|path| open_layer(path));
        opened.extend(lower.collect::<io::Result<Vec<_>>>()?);
        options = overlay_options(numbered(&opened), overlay, own_user);
    }
    if options.len() > MOUNT_DATA_MAX {
        return Err(refused(format!("{} layers are too many for one mount", overlay.lower.len())));
    }
    Ok(OverlayMount {
        options: c_string(OsStr::from_bytes(&options))?,
        target: c_string(overlay.target.as_os_str())?,
        lower: opened,
        readonly: false,
    })
}

fn numbered(opened: &[(CString, OwnedFd)]) -> impl Iterator<Item = Vec<u8>> {
    opened.iter().map(|(_, fd)| format!("/proc/self/fd/{}", fd.as_raw_fd()).into_bytes())
}

fn open_layer(path: &Path) -> io::Result<(CString, OwnedFd)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from);
    let opened = opened.and_then(above_stdio);
    let opened = opened.map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
    Ok((c_string(path.as_os_str())?, opened))
}

fn overlay_options(lower: impl Iterator<Item = Vec<u8>>, overlay: &Overlay, own_user: bool) -> Vec<u8> {
    let lower: Vec<Vec<u8>> = lower.collect();
    let mut options = [b"lowerdir=".as_slice(), &lower.join(&b':')].concat();
    options.extend_from_slice(&[b",upperdir=".as_slice(), &escaped(&overlay.upper)].concat());
    options.extend_from_slice(&[b",workdir=".as_slice(), &escaped(&overlay.work)].concat());
    if own_user {
        // Without it overlayfs wants trusted.* attributes, which no user namespace may write.
        options.extend_from_slice(b",userxattr");
    }
    options
}

/// Colons separate layers and commas separate options.
fn escaped(path: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        if matches!(byte, b':' | b',' | b'\\') {
            text.push(b'\\');
        }
        text.push(*byte);
    }
    text
}

fn bind_mount(view: &View, number: usize, bind: &Bind) -> io::Result<BindMount> {
    for (what, path) in [("source", &bind.source), ("target", &bind.target)] {
        let climbs = path.components().any(|part| part == Component::ParentDir);
        if !path.is_absolute() || climbs {
            let text = format!("the {what} of a mount is {}: wanted a full path without ..", path.display());
            return Err(refused(text));
        }
    }
    if bind.target.parent().is_none() {
        return Err(refused("nothing can be mounted at /".to_owned()));
    }
    Ok(BindMount {
        source: c_string(bind.source.as_os_str())?,
        target: target(view, number, bind)?,
        readonly: bind.readonly.then_some(if bind.shallow { 0 } else { libc::AT_RECURSIVE }),
        propagation: match bind.propagation {
            Propagation::Private => libc::MS_PRIVATE,
            Propagation::Slave => libc::MS_SLAVE,
            Propagation::Shared => libc::MS_SHARED,
        },
        tree: Cell::new(-1),
    })
}

/// Whether the target is the host's, or in the innermost of what is mounted before it.
fn target(view: &View, number: usize, bind: &Bind) -> io::Result<Target> {
    let image = view.overlay.iter().map(|overlay| overlay.target.as_path());
    let before = view.binds.iter().take(number).filter(|bind| !bind.file).map(|bind| bind.target.as_path());
    let around = |base: &&Path| bind.target.starts_with(base) && bind.target != **base;
    let Some(base) = image.chain(before).filter(around).max_by_key(|base| base.components().count()) else {
        return Ok(Target::Existing(c_string(bind.target.as_os_str())?));
    };
    let inside = bind.target.strip_prefix(base).unwrap_or(&bind.target);
    let mut steps: Vec<Below> = inside.ancestors().filter_map(below).collect::<io::Result<_>>()?;
    steps.reverse();
    Ok(Target::Below { base: c_string(base.as_os_str())?, steps, file: bind.file })
}

/// None for the empty path at the end of a relative path's ancestors.
fn below(path: &Path) -> Option<io::Result<Below>> {
    let name = path.file_name()?;
    Some(c_string(path.as_os_str()).and_then(|path| Ok(Below { path, name: c_string(name)? })))
}

fn refused(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

#[cfg(test)]
#[path = "view/tests.rs"]
mod tests;
