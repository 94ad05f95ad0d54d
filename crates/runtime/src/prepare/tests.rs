use images::document::Runs;
use images::{Files, Image};
use os::host::Account;
use os::tree::Dir;

use super::*;
use crate::config::{MountConfig, RunAs};
use crate::ids::PodId;

/// An image with a program and a directory in it, and a container of it.
struct World {
    dir: tempfile::TempDir,
    options: Options,
    pod: PodConfig,
    config: ContainerConfig,
}

pub(crate) fn facts(own: &str, id: &str) -> HostFacts {
    let mut facts = os::host::facts().unwrap();
    facts.account = Account { name: own.into(), id: id.into(), elevated: true };
    facts
}

fn pod() -> PodConfig {
    PodConfig::host_process(PodId::parse("p1").unwrap(), "web")
}

fn config(image: Image) -> ContainerConfig {
    ContainerConfig::new("main", image)
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
        let config = config(Image { id: None, files: Files::Dir(files), runs });
        World { dir, options: Options::default(), pod: pod(), config }
    }

    /// The directory that is its image.
    fn files(&self) -> PathBuf {
        self.dir.path().join("image")
    }

    fn layout(&self) -> Layout {
        Layout::new(&self.dir.path().join("root"))
    }

    fn prepare(&self) -> Result<Prepared, PrepareError> {
        let (layout, facts) = (self.layout(), facts("root", "0"));
        let host = Host { layout: &layout, facts: &facts, options: &self.options };
        let id = ContainerId::of(&self.pod.id, "main", 0);
        let dir = layout.pod(&self.pod.id).container("main", 0);
        prepare(host, &self.pod, &self.config, &id, &dir, None)
    }

    /// Where the container sees its image in bind mode.
    fn image(&self) -> PathBuf {
        self.layout().hpc()
    }

    fn set(&mut self, name: &str, value: &str) {
        self.config.env.push((name.into(), value.into()));
    }

    fn run(&mut self, words: &[&str]) {
        self.config.command = words.iter().map(|word| (*word).to_owned()).collect();
    }
}

#[test]
fn an_images_program_runs_in_its_own_directory() {
    let world = World::new();
    let prepared = world.prepare().unwrap();
    let start = &prepared.start;
    assert_eq!(PathBuf::from(&start.program), world.image().join("bin/app"));
    assert_eq!(
        (PathBuf::from(&start.cwd), start.argv.as_slice()),
        (world.image(), &["bin/app".to_owned(), "--image".into()][..])
    );
    assert_eq!(prepared.env.get(MOUNT_POINT), world.image().to_str());
    assert_eq!((prepared.room.layers, prepared.whom), (vec![world.files()], Whom::Own));
    assert!(!world.layout().root().exists(), "nothing was touched");
}

#[test]
fn the_hosts_programs_are_found_on_the_path() {
    let mut world = World::new();
    world.run(&["sh", "-c", "true"]);
    assert!(world.prepare().unwrap().start.program.ends_with("bin/sh"));
}

#[test]
fn a_program_that_is_nowhere_is_named_with_the_places() {
    let mut world = World::new();
    world.run(&["./nothing"]);
    let error = world.prepare().unwrap_err().to_string();
    assert!(error.starts_with("\"./nothing\" was not found; looked at ") && error.contains("hpc"), "{error}");
    world.run(&["data"]);
    let error = world.prepare().unwrap_err();
    assert!(matches!(error, PrepareError::Start(StartError::Program { .. })), "a directory is no program");
    world.run(&[]);
    world.config.image.runs = Runs::default();
    assert!(matches!(world.prepare(), Err(PrepareError::Command(_))));
}

#[test]
fn the_working_directory_is_the_images_before_the_hosts() {
    let mut world = World::new();
    world.run(&["/bin/app"]);
    let data = world.image().join("data");
    for (asked, expected) in [("/data", data.clone()), ("data", data.clone()), ("/tmp", "/tmp".into())] {
        world.config.working_dir = asked.into();
        assert_eq!(PathBuf::from(world.prepare().unwrap().start.cwd), expected, "{asked}");
    }
    world.config.working_dir = "/not/there".into();
    assert!(world.prepare().unwrap_err().to_string().contains("/not/there"));
    world.config.working_dir = String::new();
    world.config.image.runs.working_dir = "/data".into();
    assert_eq!(PathBuf::from(world.prepare().unwrap().start.cwd), data);
}

#[test]
fn variables_come_from_host_image_and_pod_and_nothing_else_leaks() {
    let mut world = World::new();
    world.config.image.runs.env = vec!["A=image".into(), "B=image".into()];
    world.set("A", "pod");
    let env = world.prepare().unwrap().env;
    assert_eq!((env.get("A"), env.get("B")), (Some("pod"), Some("image")));
    assert!(env.get("PATH").is_some());
    let names: Vec<_> = env.into_variables().into_iter().map(|(name, _)| name).collect();
    assert!(names.iter().all(|name| !name.starts_with("CARGO")), "{names:?}");
}

// proves: HP-12 pure
#[test]
fn the_images_directory_is_put_in_for_its_variable() {
    let mut world = World::new();
    world.config.image.runs.env = vec!["HOME=%CONTAINER_SANDBOX_MOUNT_POINT%/home".into()];
    world.set("CONFIG", "$env:CONTAINER_SANDBOX_MOUNT_POINT/etc");
    world.run(&["${CONTAINER_SANDBOX_MOUNT_POINT}/bin/app", "--dir=$CONTAINER_SANDBOX_MOUNT_POINT"]);
    world.config.working_dir = "%CONTAINER_SANDBOX_MOUNT_POINT%/data".into();
    for mode in [Mode::Bind, Mode::Symlink, Mode::Host] {
        world.pod.mode = Some(mode);
        let prepared = world.prepare().unwrap();
        let image = prepared.room.image.clone();
        assert_eq!(image == world.image(), mode == Mode::Bind);
        assert!(image.starts_with(world.image()));
        let start = &prepared.start;
        assert_eq!(PathBuf::from(&start.program), image.join("bin/app"));
        assert_eq!(start.argv[1], format!("--dir={}", image.display()));
        assert_eq!(PathBuf::from(&start.cwd), image.join("data"));
        assert_eq!(prepared.env.get("HOME"), image.join("home").to_str());
        assert_eq!(prepared.env.get("CONFIG"), image.join("etc").to_str());
    }
}

#[test]
fn a_program_in_a_volume_is_found_where_the_container_sees_it() {
    let mut world = World::new();
    let tools = world.dir.path().join("tools");
    std::fs::create_dir(&tools).unwrap();
    std::fs::write(tools.join("tool"), "x").unwrap();
    let mount = MountConfig {
        host_path: tools.to_str().unwrap().into(),
        container_path: "/opt/tools".into(),
        readonly: true,
        ..MountConfig::default()
    };
    world.config.mounts.push(mount);
    world.run(&["/opt/tools/tool"]);
    // What manifests for symlink mode say holds in both: the volume is below the image.
    assert_eq!(PathBuf::from(world.prepare().unwrap().start.program), world.image().join("opt/tools/tool"));
    world.pod.mode = Some(Mode::Symlink);
    let prepared = world.prepare().unwrap();
    assert_eq!(PathBuf::from(prepared.start.program), prepared.room.image.join("opt/tools/tool"));
    assert!(prepared.warnings.iter().any(|line| line.contains("read-only")), "{:?}", prepared.warnings);
}

// proves: HP-26 pure
#[test]
fn a_container_that_differs_from_its_pod_is_refused() {
    let mut world = World::new();
    world.config.host_process = Some(true);
    world.prepare().unwrap();
    world.config.host_process = Some(false);
    let error = world.prepare().unwrap_err().to_string();
    assert_eq!(
        error,
        "container \"main\" says hostProcess: false and its pod true: wanted the same for all of a pod"
    );
}

// proves: HP-10 pure
#[test]
fn whom_a_name_means_is_judged_before_anything_is_made() {
    let mut world = World::new();
    for (user, expected) in [
        ("NT AUTHORITY\\SYSTEM", Whom::Own),
        ("root", Whom::Own),
        ("nt authority\\local service", Whom::Service(os::user::Service::LocalService)),
        ("NetworkService", Whom::Service(os::user::Service::NetworkService)),
        ("daemon", Whom::Group("daemon".into())),
    ] {
        world.config.user = Some(user.into());
        assert_eq!(world.prepare().unwrap().whom, expected, "{user}");
    }
    for user in ["CORP\\alice", "", "nobody-of-this-name", "NT SERVICE\\x"] {
        world.config.user = Some(user.into());
        let error = world.prepare().unwrap_err();
        assert!(matches!(error, PrepareError::Account(_)), "{user}: {error}");
        assert!(error.to_string().contains("wanted"), "{error}");
    }
    world.options.run_as = RunAs::Inherit;
    let prepared = world.prepare().unwrap();
    assert_eq!(prepared.whom, Whom::Own);
    assert!(prepared.warnings[0].contains("hostProcess.runAs is inherit"), "{:?}", prepared.warnings);
}

#[test]
fn an_images_user_counts_unless_the_pod_says_otherwise() {
    let mut world = World::new();
    world.config.image.runs.user = "daemon:daemon".into();
    assert_eq!(world.prepare().unwrap().whom, Whom::Group("daemon".into()));
    world.config.user = Some("SYSTEM".into());
    assert_eq!(world.prepare().unwrap().whom, Whom::Own);
    world.config.user = None;
    world.config.image.runs.user = "ContainerUser".into();
    let prepared = world.prepare().unwrap();
    assert_eq!(prepared.whom, Whom::Own);
    assert!(prepared.warnings.iter().any(|line| line.contains("ContainerUser")));
}

// proves: HP-21 pure
#[test]
fn a_group_managed_service_account_is_never_passed_over() {
    let mut world = World::new();
    world.config.credential_spec = Some(
        r#"{"ActiveDirectoryConfig":{"GroupManagedServiceAccounts":[{"Name":"w","Scope":"C"}]}}"#.into(),
    );
    assert!(matches!(world.prepare(), Err(PrepareError::Account(AccountRefused::Gmsa))));
    world.config.credential_spec = Some("{}".into());
    assert!(matches!(world.prepare(), Err(PrepareError::Account(AccountRefused::CredentialSpec(_)))));
}

/// The same image with a layer upon it, which brings one program, hides another and links to a third.
fn in_layers(world: &mut World) -> [PathBuf; 2] {
    let top = world.dir.path().join("top");
    // Links that climb out of the image do so through where it will be.
    std::fs::create_dir_all(world.layout().root()).unwrap();
    std::fs::create_dir_all(top.join("bin")).unwrap();
    std::fs::write(top.join("bin/new"), "x").unwrap();
    let bin = Dir::open(&top.join("bin")).unwrap();
    bin.symlink("link".as_ref(), "app".as_ref(), false).unwrap();
    bin.symlink("host".as_ref(), "/bin/sh".as_ref(), false).unwrap();
    bin.symlink("up".as_ref(), format!("{}bin/sh", "../".repeat(20)).as_ref(), false).unwrap();
    Dir::open(&top).unwrap().whiteout("data".as_ref()).unwrap();
    let lower = [top, world.files()];
    world.config.image.files = Files::Layers { lower: lower.to_vec(), implied: Vec::new() };
    lower
}

#[test]
fn programs_are_found_through_the_layers() {
    let mut world = World::new();
    let lower = in_layers(&mut world);
    for name in ["bin/app", "bin/new", "bin/link", "bin/host", "bin/up"] {
        world.run(&[name]);
        let prepared = world.prepare().unwrap();
        assert_eq!(PathBuf::from(prepared.start.program), world.image().join(name));
        assert_eq!(prepared.room.layers, lower);
    }
    world.run(&["bin/app"]);
    world.config.working_dir = "bin".into();
    assert_eq!(PathBuf::from(world.prepare().unwrap().start.cwd), world.image().join("bin"));
    world.config.working_dir = "data".into();
    let error = world.prepare().unwrap_err();
    assert!(
        matches!(error, PrepareError::Start(StartError::WorkingDirectory { .. })),
        "the layer hides it: {error}"
    );
}
