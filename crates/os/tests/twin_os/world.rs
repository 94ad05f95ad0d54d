//! A place for the tests of views, and what a process of a job sees there.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;

use os::job::Job;
use os::process::{Overlay, Spawn};
use os::view::{Bind, View};

use crate::support::{request, run_in};

/// A directory with some in it, for everybody.
pub(crate) struct World(tempfile::TempDir);

impl World {
    pub(crate) fn new(directories: &[&str]) -> Self {
        let dir = tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o777)).tempdir().unwrap();
        for name in directories {
            let path = dir.path().join(name);
            std::fs::create_dir_all(&path).unwrap();
            // Root may use what nobody owns, not the other way round.
            chown(&path, Some(65534), Some(65534)).unwrap();
        }
        Self(dir)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn names(&self, name: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(name)).unwrap();
        let mut names: Vec<String> =
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn bind(&self, source: &str, target: &str) -> Bind {
        Bind { source: self.path(source), target: self.path(target), ..Bind::default() }
    }

    pub(crate) fn overlay(&self) -> Overlay {
        let [lower, upper, work, target] =
            ["lower", "scratch/upper", "scratch/work", "scratch/rootfs"].map(|name| self.path(name));
        Overlay { lower: vec![lower], upper, work, target }
    }
}

pub(crate) const IMAGE: [&str; 4] = ["lower", "scratch/upper", "scratch/work", "scratch/rootfs"];

pub(crate) fn seeing(view: &View, args: &[&str]) -> Spawn {
    Spawn { view: view.clone(), ..request(args) }
}

pub(crate) fn binds(binds: Vec<Bind>) -> View {
    View { binds, ..View::default() }
}

/// Output and exit code of one more process of the job, which brings no view.
pub(crate) fn exec(job: &Job, args: &[&str]) -> (String, u32) {
    let (output, errors, exit) = run_in(job, &request(args));
    (format!("{}{errors}", output.trim_end()), exit.code)
}

pub(crate) fn the_host_mounts_nothing_in(world: &World) {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let place = world.0.path().display().to_string();
    assert!(!table.contains(&place), "{table}");
}
