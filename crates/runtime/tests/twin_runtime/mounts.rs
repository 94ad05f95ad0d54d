//! What containers see of the host, of their volumes and of each other.

use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use runtime::RuntimeError;
use runtime::config::{ContainerConfig, Mode, MountConfig};
use runtime::pods::Happened;
use runtime::record::State;

use crate::world::{World, eventually, mount};

const MODES: [Mode; 3] = [Mode::Bind, Mode::Symlink, Mode::Host];

/// A container that reads a file at this path.
fn reads(world: &World, name: &str, path: &str) -> ContainerConfig {
    world.config(name, &["read", path])
}

// proves: HP-11 twin
// proves: HP-12 twin
#[test]
fn a_container_finds_its_image_by_the_variable_in_every_mode() {
    let world = World::new();
    std::fs::write(world.path("app/word"), "from the image").unwrap();
    for (number, mode) in MODES.into_iter().enumerate() {
        let pod = world.pod_in(&format!("p{number}"), mode);
        let (code, said) = world.run(&pod, reads(&world, "a", "%CONTAINER_SANDBOX_MOUNT_POINT%/word"));
        assert_eq!((code, said.trim()), (0, "from the image"), "{mode:?}");
        let (code, said) = world.run(&pod, world.config("b", &["cwd"]));
        let image = PathBuf::from(said.trim());
        assert_eq!((code, image == world.root().join("hpc")), (0, mode == Mode::Bind), "{mode:?}: {said}");
        assert!(image.starts_with(world.root().join("hpc")), "{said}");
        let script =
            "test \"$(printenv CONTAINER_SANDBOX_MOUNT_POINT)\" = \"$PWD\" && test \"$0\" = \"$PWD\"";
        let mut config = world.config("c", &[]);
        config.command =
            ["sh", "-c", script, "$env:CONTAINER_SANDBOX_MOUNT_POINT"].map(str::to_owned).to_vec();
        assert_eq!(world.run(&pod, config).0, 0, "{mode:?}: in variable, argument and directory alike");
    }
    world.end();
}

// proves: HP-11 twin
#[test]
fn two_containers_see_their_own_volume_at_one_path_and_the_host_sees_neither() {
    let world = World::new();
    let (one, two) = (world.volume("one", "first"), world.volume("two", "second"));
    let target = world.path("made/for/it");
    let pod = world.pod("p");
    let lasting = |name: &str, volume: &PathBuf| {
        let script = format!("cat {0}/file; touch {0}/$0; echo ready; exec sleep 600", target.display());
        let mut config = world.config(name, &[]);
        config.command = ["sh", "-c", &script, name].map(str::to_owned).to_vec();
        config.mounts = vec![mount(volume, &target)];
        world.start(&pod, config)
    };
    let (a, b) = (lasting("a", &one), lasting("b", &two));
    for (id, text) in [(&a, "first"), (&b, "second")] {
        world.says(id, text);
        world.says(id, "ready");
    }
    assert_eq!(world.listing("made/for/it"), [] as [PathBuf; 0], "the host sees the empty mount point");
    assert!(one.join("a").exists() && two.join("b").exists() && !one.join("b").exists());
    // The one that stays keeps its volume when the other one goes.
    world.runtime().remove(&a).unwrap();
    assert!(target.is_dir());
    let argv = ["cat".to_owned(), target.join("file").to_str().unwrap().to_owned()];
    let read = world.runtime().exec_sync(&b, &argv, None).unwrap();
    assert_eq!(String::from_utf8_lossy(&read.stdout), "second");
    world.runtime().remove(&b).unwrap();
    assert!(!world.path("made").exists(), "what was made for the mount is gone");
    world.end();
}

// proves: HP-12 twin
#[test]
fn linked_volumes_are_below_the_image_and_each_container_has_its_own() {
    let world = World::new();
    let (one, two) = (world.volume("one", "first"), world.volume("two", "second"));
    for (number, mode) in [Mode::Symlink, Mode::Host].into_iter().enumerate() {
        let pod = world.pod_in(&format!("p{number}"), mode);
        for (name, volume, text) in [("a", &one, "first"), ("b", &two, "second")] {
            let path = "%CONTAINER_SANDBOX_MOUNT_POINT%/var/data/file";
            let mut config = reads(&world, name, path);
            config.mounts = vec![mount(volume, std::path::Path::new("/var/data"))];
            let (code, said) = world.run(&pod, config);
            assert_eq!((code, said.trim()), (0, text), "{mode:?}");
        }
    }
    assert!(!std::path::Path::new("/var/data").exists(), "nothing was made on the host");
    world.end();
}

// proves: HP-12 twin
#[test]
fn in_bind_mode_the_old_paths_below_the_image_still_work() {
    let world = World::new();
    let volume = world.volume("one", "first");
    let pod = world.pod("p");
    for (name, path) in [
        ("a", "%CONTAINER_SANDBOX_MOUNT_POINT%/var/data-of-a-test/file"),
        ("b", "./var/data-of-a-test/file"),
        ("c", "/var/data-of-a-test/file"),
    ] {
        let mut config = reads(&world, name, path);
        config.mounts = vec![mount(&volume, std::path::Path::new("/var/data-of-a-test"))];
        let (code, said) = world.run(&pod, config);
        assert_eq!((code, said.trim()), (0, "first"), "{path}");
    }
    eventually("the mount point goes", || {
        (!std::path::Path::new("/var/data-of-a-test").exists()).then_some(())
    });
    world.end();
}

#[test]
fn a_volume_inside_a_volume_is_linked_and_unlinked() {
    let world = World::new();
    let (outer, inner) = (world.volume("outer", "out"), world.volume("inner", "in"));
    let pod = world.pod_in("p", Mode::Symlink);
    let mut config = reads(&world, "main", "%CONTAINER_SANDBOX_MOUNT_POINT%/v/deep/file");
    let at = |path: &str| std::path::PathBuf::from(path);
    config.mounts = vec![mount(&inner, &at("/v/deep")), mount(&outer, &at("/v"))];
    let (code, said) = world.run(&pod, config);
    assert_eq!((code, said.trim()), (0, "in"));
    eventually("the link in the volume goes", || (!outer.join("deep").exists()).then_some(()));
    assert_eq!(std::fs::read_to_string(outer.join("file")).unwrap(), "out");
    world.end();
}

// proves: HP-11 twin
#[test]
fn a_mount_over_something_of_the_host_hides_it_for_the_container_alone_and_warns() {
    let world = World::new();
    let (ours, theirs) = (world.volume("ours", "ours"), world.volume("theirs", "theirs"));
    let pod = world.pod("p");
    let events = world.runtime().events();
    let mut config = reads(&world, "main", theirs.join("file").to_str().unwrap());
    config.mounts = vec![mount(&ours, &theirs)];
    let (code, said) = world.run(&pod, config);
    assert_eq!((code, said.trim()), (0, "ours"));
    assert_eq!(std::fs::read_to_string(theirs.join("file")).unwrap(), "theirs");
    let warned = events.try_iter().any(|event| {
        matches!(&event.what, Happened::Warning(text) if text.contains("hides what the host has there"))
    });
    assert!(warned);
    world.end();
    assert!(theirs.join("file").exists(), "what was the host's stays");
}

// proves: RT-06 twin
#[test]
fn a_single_file_is_mounted_in_every_mode() {
    let world = World::new();
    let file = world.volume("files", "one file").join("file");
    let target = world.path("etc-of-a-test/conf");
    for (number, mode) in MODES.into_iter().enumerate() {
        let pod = world.pod_in(&format!("p{number}"), mode);
        let below = format!("%CONTAINER_SANDBOX_MOUNT_POINT%{}", target.display());
        let mut config = reads(&world, "main", &below);
        config.mounts = vec![mount(&file, &target)];
        let (code, said) = world.run(&pod, config);
        assert_eq!((code, said.trim()), (0, "one file"), "{mode:?}");
    }
    eventually("the mount point goes", || (!world.path("etc-of-a-test").exists()).then_some(()));
    world.end();
}

#[test]
fn a_read_only_volume_cannot_be_written() {
    let world = World::new();
    let volume = world.volume("one", "first");
    let pod = world.pod("p");
    let target = world.path("target");
    let write = |name: &str, readonly: bool| {
        let mut config = world.config(name, &["write", target.join("new").to_str().unwrap(), "x"]);
        config.mounts = vec![MountConfig { readonly, ..mount(&volume, &target) }];
        world.run(&pod, config).0
    };
    assert_ne!(write("a", true), 0);
    assert!(!volume.join("new").exists());
    assert_eq!(write("b", false), 0);
    assert!(volume.join("new").exists());
    world.end();
}

// proves: HP-13 twin
#[test]
fn pipes_sockets_and_clashes_are_refused_before_anything_is_touched() {
    let world = World::new();
    let socket = world.path("a.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    let volume = world.volume("one", "first");
    let target = world.path("target");
    for (number, mode) in MODES.into_iter().enumerate() {
        let pod = world.pod_in(&format!("p{number}"), mode);
        let before = world.listing("");
        let pipe = MountConfig { host_path: "\\\\.\\pipe\\docker".into(), ..mount(&volume, &target) };
        let wanted_pipe = MountConfig { container_path: "//./pipe/docker".into(), ..mount(&volume, &target) };
        for (mounts, words) in [
            (vec![mount(&socket, &target)], "Unix socket"),
            (vec![pipe], "named pipe"),
            (vec![wanted_pipe], "named pipe"),
            (vec![mount(&volume, &target), mount(&volume, &target)], "two mounts at"),
            (vec![mount(&volume, std::path::Path::new("/"))], "mount at \"/\""),
        ] {
            let mut config = world.config("main", &["pause"]);
            config.mounts = mounts;
            let error = world.create(&pod, config).unwrap_err();
            assert!(matches!(error, RuntimeError::Refused { .. }), "{error}");
            assert!(error.to_string().contains(words), "{error}");
        }
        assert_eq!(world.listing(""), before, "{mode:?}");
        assert_eq!(world.runtime().pod_status(&pod).unwrap().containers, []);
    }
    world.end();
}

// proves: HP-08 twin
#[test]
fn what_a_container_may_write_into_its_image_has_a_limit() {
    let world = World::new();
    let pod = world.pod("p");
    let script = "head -c 8388608 /dev/zero > big; echo code $?; ls -l big | cut -d' ' -f5";
    let run = |name: &str, bytes: Option<u64>| {
        let mut config = world.config(name, &[]);
        config.command = ["sh", "-c", script].map(str::to_owned).to_vec();
        config.scratch_bytes = bytes;
        world.run(&pod, config).1
    };
    assert!(run("free", None).contains("code 0"));
    let said = run("sized", Some(4 << 20));
    assert!(!said.contains("code 0") && said.contains("No space left"), "{said}");
    world.end();
}

#[test]
fn what_a_container_writes_stays_out_of_its_image_and_goes_with_it() {
    let world = World::new();
    let pod = world.pod("p");
    let id = world.start(&pod, world.config("main", &["write", "new", "text"]));
    assert_eq!(world.runtime().wait(&id).unwrap().code, 0);
    assert!(!world.path("app/new").exists());
    let scratch = world.root().join("pods/p/containers/main-0/scratch");
    eventually("the scratch directory goes", || (!scratch.exists()).then_some(()));
    assert_eq!(world.runtime().status(&id).unwrap().state, State::Exited);
    world.end();
}
