//! What the processes of one job see of the file system: a silo, and paths bound in it.
//!
//! A job can become a silo only while it is empty and must end with its handle by then. The bindings end with the
//! silo, so nothing of this is ever undone by hand.

use std::fs;
use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle};
use std::path::{Path, PathBuf};
use std::ptr::null;
use std::sync::OnceLock;

use windows_sys::Win32::System::JobObjects::{JobObjectCreateSilo, SetInformationJobObject};

use super::bind_filter::BindFilter;
use super::handle::check;
use super::{host, job};
use crate::process::{SpawnError, SpawnStep};
use crate::view::{Bind, Peers, View};

/// Makes the job's processes-to-be see the view. Not to be called twice for one job.
pub(crate) fn show(job: BorrowedHandle<'_>, view: &View) -> Result<(), SpawnError> {
    if view.overlay.is_some() {
        return Err(refused(SpawnStep::Mount, "overlays are a Linux thing"));
    }
    if view.scratch_bytes.is_some() {
        return Err(refused(SpawnStep::Scratch, "no scratch space can be bounded here"));
    }
    if view.binds.is_empty() {
        return Ok(());
    }
    if !view.binds.iter().all(|bind| bind.propagation.is_private()) {
        return Err(refused(SpawnStep::Bind, "no mounts are passed on here"));
    }
    bind_all(job, &view.binds).map_err(SpawnError::at(SpawnStep::Bind))
}

fn refused(step: SpawnStep, text: &str) -> SpawnError {
    SpawnError::new(step, io::Error::new(io::ErrorKind::Unsupported, text))
}

/// Without the filter there is no use for a silo: the job stays what it is.
fn bind_all(job: BorrowedHandle<'_>, binds: &[Bind]) -> io::Result<()> {
    let filter = BindFilter::open()?;
    promote(job)?;
    binds.iter().try_for_each(|bind| filter.bind(job, bind))
}

/// Makes an empty job a silo.
pub(crate) fn promote(job: BorrowedHandle<'_>) -> io::Result<()> {
    // SAFETY: the job is open; this class takes no data.
    check(unsafe { SetInformationJobObject(job.as_raw_handle(), JobObjectCreateSilo, null(), 0) })
        .map_err(|error| io::Error::new(error.kind(), format!("the job cannot become a silo: {error}")))
}

/// Volumes are not mounted in one another while somebody looks.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it has to be looked for")]
pub(crate) fn peers(_path: &Path) -> io::Result<Peers> {
    Ok(Peers::None)
}

/// Tried once in a process, on a job and a directory that are thrown away. The version is not asked: updates brought
/// the filter to old builds.
pub(crate) fn bind_works() -> Result<(), String> {
    static TRIED: OnceLock<Result<(), String>> = OnceLock::new();
    TRIED.get_or_init(|| try_bind().map_err(|error| explain(&error))).clone()
}

fn try_bind() -> io::Result<()> {
    let place = Place::new()?;
    let job = job::nameless()?;
    let (source, target) = (place.directory("source")?, place.directory("target")?);
    bind_all(job.as_handle(), &[Bind { source, target, readonly: true, ..Bind::default() }])
}

fn explain(error: &io::Error) -> String {
    match host::build() {
        Ok(build) if build.lacks_bind_filter_update() => {
            format!("{error}; Windows Server 2019 needs the update of July 2022 or later")
        }
        _ => error.to_string(),
    }
}

/// A directory for one try, removed after it.
struct Place(PathBuf);

// === impl Place ===

impl Place {
    fn new() -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("porthole-bind-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    fn directory(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.0.join(name);
        fs::create_dir_all(&path).map(|()| path)
    }
}

impl Drop for Place {
    /// An empty directory of ours in the temporary one is all that can stay.
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
