//! Volumes on mounts that pass later mounts on, and on those that do not.

use std::path::{Path, PathBuf};
use std::process::Command;

use os::view::Propagation;
use runtime::config::{Mode, MountConfig};
use runtime::{ContainerId, RuntimeError};

use crate::world::{World, mount};

const PASSING: [Propagation; 2] = [Propagation::Slave, Propagation::Shared];

/// A file system of the host's, gone with the test.
struct Mounted(PathBuf);

fn system(words: &[&str]) {
    assert!(Command::new(words[0]).args(&words[1..]).status().unwrap().success(), "{words:?}");
}

fn mounted(place: &Path) -> bool {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    table.contains(&format!(" {} ", place.display()))
}

// === impl Mounted ===

impl Mounted {
    fn new(place: PathBuf, kind: &str) -> Mounted {
        std::fs::create_dir_all(&place).unwrap();
        let here = Mounted(place);
        let at = here.0.to_str().unwrap();
        system(&["mount", "-t", "tmpfs", "t", at]);
        system(&["mount", kind, at]);
        here
    }

    fn dir(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir(&path).unwrap();
        path
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-R").arg(&self.0).status());
    }
}

/// Whether the container has something mounted there.
fn has(world: &World, id: &ContainerId, place: &Path) -> bool {
    let words = ["grep", "-qF", &format!(" {} ", place.display()), "/proc/self/mountinfo"];
    world.runtime().exec_sync(id, &words.map(str::to_owned), None).unwrap().code == 0
}

#[test]
fn what_is_mounted_later_is_passed_on_as_far_as_was_asked_for() {
    let world = World::new();
    let host = Mounted::new(world.path("host"), "--make-shared");
    let pod = world.pod("p");
    for (number, (propagation, comes_in, goes_out)) in [
        (Propagation::Private, false, false),
        (Propagation::Slave, true, false),
        (Propagation::Shared, true, true),
    ]
    .into_iter()
    .enumerate()
    {
        let volume = host.dir(&format!("v{number}"));
        let (come, go) = (volume.join("in"), volume.join("out"));
        [&come, &go].into_iter().for_each(|path| std::fs::create_dir(path).unwrap());
        let target = world.path("seen/at");
        let mut config = world.config(&format!("c{number}"), &["pause"]);
        config.mounts = vec![MountConfig { propagation, ..mount(&volume, &target) }];
        let id = world.start(&pod, config);
        let come_too = Mounted::new(come, "--make-shared");
        assert_eq!(has(&world, &id, &target.join("in")), comes_in, "{propagation:?}");
        let words = ["mount", "-t", "tmpfs", "t", target.join("out").to_str().unwrap()].map(str::to_owned);
        let done = world.runtime().exec_sync(&id, &words, None).unwrap();
        assert_eq!(done.code, 0, "{}", String::from_utf8_lossy(&done.stderr));
        assert!(has(&world, &id, &target.join("out")));
        assert_eq!(mounted(&go), goes_out, "{propagation:?}");
        world.runtime().remove(&id).unwrap();
        assert_eq!(mounted(&go), goes_out, "{propagation:?}: what the host was given it keeps");
        assert!(!world.path("seen").exists(), "nothing else is left");
        drop(come_too);
    }
    drop(host);
    world.end();
}

#[test]
fn a_source_that_passes_nothing_on_is_refused_when_the_container_is_made() {
    let world = World::new();
    let host = Mounted::new(world.path("host"), "--make-private");
    let volume = host.dir("v");
    let target = world.path("target");
    for (number, mode) in [Mode::Bind, Mode::Symlink, Mode::Host].into_iter().enumerate() {
        let pod = world.pod_in(&format!("p{number}"), mode);
        for propagation in PASSING {
            // One that is not there yet is judged by what is above it.
            for source in [&volume, &volume.join("later")] {
                let mut config = world.config("main", &["pause"]);
                config.mounts = vec![MountConfig { propagation, ..mount(source, &target) }];
                let error = world.create(&pod, config).unwrap_err();
                assert!(matches!(error, RuntimeError::Refused { .. }), "{error}");
                let words = if mode == Mode::Bind { "is not on a shared" } else { "in bind mode alone" };
                assert!(error.to_string().contains(words), "{error}");
            }
        }
    }
    assert!(!volume.join("later").exists() && !target.exists());
    drop(host);
    world.end();
}

#[test]
fn a_read_only_volume_may_leave_alone_what_is_mounted_below_it() {
    let world = World::new();
    let volume = world.volume("one", "first");
    let below = Mounted::new(volume.join("below"), "--make-private");
    let target = world.path("target");
    let pod = world.pod("p");
    let write = |name: &str, shallow: bool, file: &str| {
        let mut config = world.config(name, &["write", target.join(file).to_str().unwrap(), "x"]);
        config.mounts = vec![MountConfig { readonly: true, shallow, ..mount(&volume, &target) }];
        world.run(&pod, config).0
    };
    assert_ne!(write("a", true, "new"), 0);
    assert_ne!(write("b", false, "below/new"), 0);
    assert_eq!(write("c", true, "below/new"), 0);
    assert!(volume.join("below/new").exists() && !volume.join("new").exists());
    drop(below);
    world.end();
}
