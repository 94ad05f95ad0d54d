use images::Files;
use images::document::Runs;
use images::stack::Above;
use k8s_openapi::api::core::v1::EnvVar;
use os::tree::{Attributes, Dir};

use super::*;
use crate::record::Kind;

/// An image with a program and a directory in it.
struct World {
    dir: tempfile::TempDir,
    image: Image,
    container: Container,
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        let files = dir.path().join("image");
        std::fs::create_dir_all(files.join("bin")).unwrap();
        std::fs::create_dir_all(files.join("data")).unwrap();
        std::fs::write(files.join("bin/app"), "x").unwrap();
        let runs =
            Runs { entrypoint: vec!["bin/app".into()], cmd: vec!["--image".into()], ..Runs::default() };
        World {
            dir,
            image: Image { id: None, files: Files::Dir(files), runs },
            container: Container { name: "main".into(), ..Container::default() },
        }
    }

    /// The directory that is its image.
    fn files(&self) -> PathBuf {
        self.dir.path().join("image")
    }

    fn prepare(&self) -> Result<Launch, LaunchError> {
        let asked = Asked {
            kind: Kind::Regular,
            container: self.container.clone(),
            source: images::Source::Dir(self.files()),
            limits: os::job::JobLimits::default(),
        };
        let dir = crate::layout::PodDir::at(self.dir.path().join("pod")).container("main");
        let job = JobName { parent: "p".into(), id: "j".into() };
        prepare(&asked, &self.image, "main-0".into(), job, &dir, 0)
    }

    fn rootfs(&self) -> PathBuf {
        self.dir.path().join("pod/containers/main/0.scratch/rootfs")
    }

    fn set(&mut self, name: &str, value: &str) {
        let variable = EnvVar { name: name.into(), value: Some(value.into()), value_from: None };
        self.container.env.get_or_insert_default().push(variable);
    }
}

fn value<'l>(launch: &'l Launch, name: &str) -> Option<&'l str> {
    launch.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

#[test]
fn an_images_program_runs_in_its_own_directory() {
    let world = World::new();
    let launch = world.prepare().unwrap();
    assert_eq!(launch.program, world.rootfs().join("bin/app"));
    assert_eq!(
        (launch.cwd.as_path(), launch.argv.as_slice()),
        (world.rootfs().as_path(), &["bin/app".to_owned(), "--image".into()][..])
    );
    assert_eq!(launch.command_line, "bin/app --image");
    assert_eq!(value(&launch, MOUNT_POINT), Some(world.rootfs().to_str().unwrap()));
    let overlay = launch.overlay.unwrap();
    assert_eq!((overlay.lower, overlay.target), (vec![world.files()], world.rootfs()));
}

#[test]
fn the_hosts_programs_are_found_on_the_path() {
    let mut world = World::new();
    world.container.command = Some(vec!["sh".into(), "-c".into(), "true".into()]);
    assert!(world.prepare().unwrap().program.ends_with("bin/sh"));
}

#[test]
fn a_program_that_is_nowhere_is_named_with_the_places() {
    let mut world = World::new();
    world.container.command = Some(vec!["./nothing".into()]);
    let error = world.prepare().unwrap_err().to_string();
    assert!(
        error.starts_with("\"./nothing\" was not found; looked at ") && error.contains("rootfs"),
        "{error}"
    );
    world.container.command = Some(vec!["data".into()]);
    assert!(
        matches!(world.prepare(), Err(LaunchError::Start(StartError::Program { .. }))),
        "a directory is no program"
    );
}

#[test]
fn the_working_directory_is_the_images_before_the_hosts() {
    let mut world = World::new();
    for (asked, expected) in [
        ("/data", world.rootfs().join("data")),
        ("data", world.rootfs().join("data")),
        ("/tmp", "/tmp".into()),
    ] {
        world.container.working_dir = Some(asked.into());
        world.container.command = Some(vec!["/bin/app".into()]);
        assert_eq!(world.prepare().unwrap().cwd, expected, "{asked}");
    }
    world.container.working_dir = Some("/not/there".into());
    assert!(world.prepare().unwrap_err().to_string().contains("/not/there"));
    world.container.working_dir = None;
    world.image.runs.working_dir = "/data".into();
    assert_eq!(world.prepare().unwrap().cwd, world.rootfs().join("data"));
}

#[test]
fn variables_come_from_host_image_and_pod_and_nothing_else_leaks() {
    let mut world = World::new();
    world.image.runs.env = vec!["A=image".into(), "B=image".into()];
    world.set("A", "pod");
    world.set("C", "$(A)-$(B)-$(LATER)");
    world.set("LATER", "x");
    let launch = world.prepare().unwrap();
    assert_eq!((value(&launch, "A"), value(&launch, "B")), (Some("pod"), Some("image")));
    // $(B) is the image's: a pod's words know the pod's variables only, and only earlier ones.
    assert_eq!(value(&launch, "C"), Some("pod-$(B)-$(LATER)"));
    assert!(value(&launch, "PATH").is_some());
    assert!(launch.env.iter().all(|(name, _)| !name.starts_with("CARGO")), "{:?}", launch.env);
}

// proves: HP-12 pure
#[test]
fn the_images_directory_is_put_in_for_its_variable() {
    let mut world = World::new();
    world.image.runs.env = vec!["HOME=%CONTAINER_SANDBOX_MOUNT_POINT%/home".into()];
    world.set("CONFIG", "$env:CONTAINER_SANDBOX_MOUNT_POINT/etc");
    let words = ["${CONTAINER_SANDBOX_MOUNT_POINT}/bin/app", "--dir=$CONTAINER_SANDBOX_MOUNT_POINT"];
    world.container.command = Some(words.map(str::to_owned).to_vec());
    world.container.working_dir = Some("%CONTAINER_SANDBOX_MOUNT_POINT%/data".into());
    let (launch, rootfs) = (world.prepare().unwrap(), world.rootfs());
    let below = |rest: &str| Some(rootfs.join(rest).to_str().unwrap().to_owned());
    assert_eq!(launch.program, rootfs.join("bin/app"));
    assert_eq!(launch.argv[1], format!("--dir={}", rootfs.display()));
    assert_eq!(launch.cwd, rootfs.join("data"));
    assert_eq!(value(&launch, "HOME").map(str::to_owned), below("home"));
    assert_eq!(value(&launch, "CONFIG").map(str::to_owned), below("etc"));
}

#[test]
fn references_are_expanded_in_the_pods_words_only() {
    let mut world = World::new();
    world.set("A", "one");
    world.image.runs.entrypoint = vec!["bin/app".into(), "$(A)".into()];
    world.container.args = Some(vec!["$(A)".into(), "$$(A)".into()]);
    assert_eq!(world.prepare().unwrap().argv, ["bin/app", "$(A)", "one", "$(A)"]);
    world.container.command = Some(vec!["bin/app".into(), "$(A)!".into()]);
    assert_eq!(world.prepare().unwrap().argv[1], "one!");
    world.container.command = None;
    world.container.args = None;
    world.image.runs.entrypoint = Vec::new();
    world.image.runs.cmd = Vec::new();
    assert!(matches!(world.prepare(), Err(LaunchError::Command(_))));
}

#[test]
fn a_copy_brings_the_whole_tree() {
    let world = World::new();
    let rootfs = Rootfs::copied(&world.image, &world.dir.path().join("scratch")).unwrap();
    assert_eq!(std::fs::read_to_string(rootfs.path.join("bin/app")).unwrap(), "x");
    assert!(rootfs.path.join("data").is_dir() && rootfs.overlay.is_none());
    let start = rootfs.start(&["bin/app".to_owned()], "", "").unwrap();
    assert_eq!(PathBuf::from(start.program), rootfs.path.join("bin/app"));
}

/// The same image with a layer upon it, which brings one program, hides another and links to a third.
fn in_layers(world: &mut World) -> [PathBuf; 2] {
    let top = world.dir.path().join("top");
    std::fs::create_dir_all(top.join("bin")).unwrap();
    std::fs::write(top.join("bin/new"), "x").unwrap();
    let bin = Dir::open(&top.join("bin")).unwrap();
    bin.symlink("link".as_ref(), "app".as_ref(), false).unwrap();
    bin.symlink("host".as_ref(), "/bin/sh".as_ref(), false).unwrap();
    bin.symlink("up".as_ref(), format!("{}bin/sh", "../".repeat(20)).as_ref(), false).unwrap();
    Dir::open(&top).unwrap().whiteout("data".as_ref()).unwrap();
    let lower = [top, world.files()];
    world.image.files = Files::Layers { lower: lower.to_vec(), implied: Vec::new() };
    lower
}

#[test]
fn programs_are_found_through_the_layers() {
    let mut world = World::new();
    let lower = in_layers(&mut world);
    for name in ["bin/app", "bin/new", "bin/link", "bin/host", "bin/up"] {
        world.container.command = Some(vec![name.into()]);
        let launch = world.prepare().unwrap();
        assert_eq!(launch.program, world.rootfs().join(name));
        assert_eq!(launch.overlay.unwrap().lower, lower);
    }
    world.container.command = Some(vec!["bin/app".into()]);
    world.container.working_dir = Some("bin".into());
    assert_eq!(world.prepare().unwrap().cwd, world.rootfs().join("bin"));
    world.container.working_dir = Some("data".into());
    assert!(
        matches!(world.prepare(), Err(LaunchError::Start(StartError::WorkingDirectory { .. }))),
        "the layer hides it"
    );
}

#[test]
fn what_a_layer_only_implies_looks_as_it_does_below() {
    let mut world = World::new();
    let [top, bottom] = in_layers(&mut world);
    let mode = |path: &Path| Dir::open(path).unwrap().found().mode.map(|mode| mode & 0o7777);
    let set = |path: &str, mode| {
        let attributes = Attributes { mode: Some(mode), ..Attributes::default() };
        Dir::open(&bottom.join(path)).unwrap().set(&attributes).unwrap();
    };
    std::fs::create_dir_all(bottom.join("bin/deep")).unwrap();
    set("bin/deep", 0o1777);
    set("bin", 0o511);
    let above = |path: &str| Above { path: path.into(), like: bottom.join(path) };
    let implied = vec![above("bin"), above("bin/deep")];
    world.image.files = Files::Layers { lower: vec![top, bottom.clone()], implied };
    let upper = world.prepare().unwrap().overlay.unwrap().upper;
    assert_eq!((mode(&upper.join("bin")), mode(&upper.join("bin/deep"))), (Some(0o511), Some(0o1777)));
    world.prepare().expect("once more: the directories are there");
}
