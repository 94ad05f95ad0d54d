//! What one job sees and no other, and not the host: volumes at their paths, and a scratch space that fills up.

use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use os::job::Job;
use os::process::{Overlay, Spawn, SpawnStep};
use os::view::{Bind, View};

use crate::keeper::{Keeper, as_nobody, as_root, fixture_for_all};
use crate::support::{exit_of, lines, request, run_in, unique};

/// A directory with some in it, for everybody.
struct World(tempfile::TempDir);

impl World {
    fn new(directories: &[&str]) -> Self {
        let dir = tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o777)).tempdir().unwrap();
        for name in directories {
            let path = dir.path().join(name);
            std::fs::create_dir_all(&path).unwrap();
            // Root may use what nobody owns, not the other way round.
            chown(&path, Some(65534), Some(65534)).unwrap();
        }
        Self(dir)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn names(&self, name: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(name)).unwrap();
        let mut names: Vec<String> =
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn bind(&self, source: &str, target: &str) -> Bind {
        Bind { source: self.path(source), target: self.path(target), readonly: false, file: false }
    }

    fn overlay(&self) -> Overlay {
        let [lower, upper, work, target] =
            ["lower", "scratch/upper", "scratch/work", "scratch/rootfs"].map(|name| self.path(name));
        Overlay { lower: vec![lower], upper, work, target }
    }
}

const IMAGE: [&str; 4] = ["lower", "scratch/upper", "scratch/work", "scratch/rootfs"];

fn seeing(view: &View, args: &[&str]) -> Spawn {
    Spawn { view: view.clone(), ..request(args) }
}

fn binds(binds: Vec<Bind>) -> View {
    View { binds, ..View::default() }
}

/// Output and exit code of one more process of the job, which brings no view.
fn exec(job: &Job, args: &[&str]) -> (String, u32) {
    let (output, errors, exit) = run_in(job, &request(args));
    (format!("{}{errors}", output.trim_end()), exit.code)
}

fn the_host_mounts_nothing_in(world: &World) {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let place = world.0.path().display().to_string();
    assert!(!table.contains(&place), "{table}");
}

// proves: HP-11 twin
#[test]
fn two_jobs_see_each_their_own_volume_at_one_path_and_the_host_sees_neither() {
    let world = World::new(&["one", "two", "target"]);
    world.write("one/name", "one");
    world.write("two/name", "two");
    world.write("target/given", "by the host");
    let (file, given) = (world.text("target/name"), world.text("target/given"));
    let jobs = ["one", "two"].map(|source| {
        let job = Job::create(&unique()).unwrap();
        let mut child = job.spawn(&seeing(&binds(vec![world.bind(source, "target")]), &["pause"])).unwrap();
        assert_eq!(lines(&mut child.stdout).next().unwrap().unwrap(), "ready");
        (job, child, source)
    });
    for (job, _, source) in &jobs {
        assert_eq!(exec(job, &["read", &file]), ((*source).to_owned(), 0));
        assert_eq!(exec(job, &["read", &given]).1, 2, "what was there is hidden");
    }
    assert_eq!(world.names("target"), ["given"]);
    assert_eq!(world.read("target/given"), "by the host");
    the_host_mounts_nothing_in(&world);
    for (job, child, _) in jobs {
        job.close().unwrap();
        exit_of(&child);
    }
}

// proves: RT-06 twin
#[test]
fn a_single_file_is_seen_among_the_others() {
    let world = World::new(&["a, b:c", "target"]);
    world.write("a, b:c/one file", "from the volume");
    world.write("target/config", "from the host");
    world.write("target/beside", "stays");
    let job = Job::create(&unique()).unwrap();
    let bind = Bind { file: true, ..world.bind("a, b:c/one file", "target/config") };
    let (config, beside) = (world.text("target/config"), world.text("target/beside"));
    let (output, errors, exit) = run_in(&job, &seeing(&binds(vec![bind]), &["read", &config]));
    assert_eq!((output.as_str(), exit.code), ("from the volume\n", 0), "{errors}");
    assert_eq!(exec(&job, &["read", &beside]).0, "stays");
    assert_eq!(exec(&job, &["write", &config, "changed"]).1, 0);
    assert_eq!(world.read("a, b:c/one file"), "changed");
    assert_eq!(world.read("target/config"), "from the host");
}

#[test]
fn a_read_only_volume_is_read_and_not_written() {
    let world = World::new(&["source", "target", "open"]);
    world.write("source/given", "given");
    let closed = Bind { readonly: true, ..world.bind("source", "target") };
    let view = binds(vec![closed, world.bind("source", "open")]);
    let job = Job::create(&unique()).unwrap();
    let first = run_in(&job, &seeing(&view, &["read", &world.text("target/given")]));
    assert_eq!(first.0, "given\n", "{}", first.1);
    for name in ["target/given", "target/new"] {
        let (said, code) = exec(&job, &["write", &world.text(name), "changed"]);
        assert!(code == 2 && said.contains("Read-only file system"), "{said}");
    }
    assert_eq!(exec(&job, &["write", &world.text("open/new"), "x"]).1, 0);
    assert_eq!((world.read("source/given"), world.names("source").len()), ("given".to_owned(), 2));
}

/// The keeper gets a world in which something is mounted below the volume.
#[test]
fn what_is_mounted_below_a_volume_is_seen_and_read_only_with_it() {
    let world = World::new(&["source/sub", "closed", "open"]);
    let script = r#"mount -t tmpfs t "$0" && echo below > "$0/file" && exec "$@""#;
    let command = || {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "--", "sh", "-c", script]);
        command.arg(world.path("source/sub")).arg(fixture_for_all());
        command
    };
    let source = world.text("source");
    let options =
        [format!("ro={source}|{}", world.text("closed")), format!("bind={source}|{}", world.text("open"))];
    let read = ["read", &world.text("closed/sub/file")];
    assert_eq!(Keeper::start(command(), &unique(), &options, &read).expect("out"), "below");
    for (name, expected) in [("closed/sub/new", "2 None"), ("open/sub/new", "0 None")] {
        let write = ["write", &world.text(name), "x"];
        assert_eq!(Keeper::start(command(), &unique(), &options, &write).expect("ended"), expected, "{name}");
    }
}

#[test]
fn a_source_is_the_hosts_whatever_an_earlier_volume_covers() {
    let world = World::new(&["one", "two", "out"]);
    world.write("one/name", "one");
    world.write("two/name", "two");
    let job = Job::create(&unique()).unwrap();
    let view = binds(vec![world.bind("one", "two"), world.bind("two", "out")]);
    let said = run_in(&job, &seeing(&view, &["read", &world.text("out/name")]));
    assert_eq!(said.0, "two\n", "{}", said.1);
    assert_eq!(exec(&job, &["read", &world.text("two/name")]).0, "one");
}

fn mount_points_in_the_image_are_made(options: impl Fn(&World) -> Vec<String>, command: fn() -> Command) {
    let world = World::new(&[&IMAGE[..], &["outer/inner", "inner"]].concat());
    world.write("outer/name", "outer");
    world.write("inner/name", "inner");
    world.write("file", "a file");
    let root = "scratch/rootfs/var/data";
    for (name, expected) in
        [("", "outer"), ("/inner", "inner"), ("/inner/made/here", "outer"), ("/../../etc/deep", "outer")]
    {
        let read = ["read", &world.text(&format!("{root}{name}/name"))];
        let mut keeper = Keeper::start(command(), &unique(), &options(&world), &read);
        assert_eq!(keeper.expect("out"), expected, "{name}");
    }
    let read = ["read", &world.text("scratch/rootfs/etc/one.conf")];
    assert_eq!(Keeper::start(command(), &unique(), &options(&world), &read).expect("out"), "a file");
    assert_eq!((world.names("lower"), world.names("scratch/rootfs")), (vec![], vec![]));
    the_host_mounts_nothing_in(&world);
}

fn image_options(world: &World) -> Vec<String> {
    let overlay = world.overlay();
    let bind = |kind: &str, source: &str, target: &str| {
        format!("{kind}={}|{}", world.text(source), world.text(&format!("scratch/rootfs/{target}")))
    };
    vec![
        format!("lower={}", overlay.lower[0].display()),
        format!("upper={}", overlay.upper.display()),
        format!("work={}", overlay.work.display()),
        format!("target={}", overlay.target.display()),
        bind("bind", "outer", "var/data"),
        bind("bind", "inner", "var/data/inner"),
        bind("ro", "outer", "var/data/inner/made/here"),
        bind("file", "file", "etc/one.conf"),
        bind("bind", "outer", "etc/deep"),
    ]
}

fn bounded_options(world: &World) -> Vec<String> {
    [image_options(world), vec![format!("scratch={}", 4 << 20)]].concat()
}

#[test]
fn mount_points_inside_the_image_are_made_one_in_the_other() {
    mount_points_in_the_image_are_made(image_options, as_root);
}

#[test]
fn without_root_mount_points_inside_the_image_are_made_one_in_the_other() {
    mount_points_in_the_image_are_made(image_options, as_nobody);
}

#[test]
fn mount_points_inside_a_bounded_image_are_made_one_in_the_other() {
    mount_points_in_the_image_are_made(bounded_options, as_root);
}

#[test]
fn without_root_mount_points_inside_a_bounded_image_are_made_one_in_the_other() {
    mount_points_in_the_image_are_made(bounded_options, as_nobody);
}

#[test]
fn a_link_that_leads_out_of_the_image_makes_no_mount_point_on_the_host() {
    let world = World::new(&[&IMAGE[..], &["source", "host"]].concat());
    std::os::unix::fs::symlink(world.path("host"), world.path("lower/out")).unwrap();
    let job = Job::create(&unique()).unwrap();
    let bind = world.bind("source", "scratch/rootfs/out/volume");
    let view = View { overlay: Some(world.overlay()), binds: vec![bind], ..View::default() };
    let error = job.spawn(&seeing(&view, &["exit", "0"])).unwrap_err();
    assert_eq!(error.step, SpawnStep::Bind, "{error}");
    assert!(error.to_string().contains("rootfs/out/volume"), "{error}");
    assert_eq!(world.names("host"), [""; 0]);
}

#[test]
fn a_missing_source_or_mount_point_is_named() {
    let world = World::new(&["source", "target"]);
    for (source, target, named) in [("not here", "target", "not here"), ("source", "nor there", "nor there")]
    {
        let job = Job::create(&unique()).unwrap();
        let view = binds(vec![world.bind("source", "target"), world.bind(source, target)]);
        let error = job.spawn(&seeing(&view, &["exit", "0"])).unwrap_err();
        assert_eq!((error.step, error.source.kind()), (SpawnStep::Bind, ErrorKind::NotFound), "{error}");
        assert!(error.to_string().contains(&world.text(named)), "{error}");
        assert_eq!(job.processes().unwrap(), [0; 0]);
        // The next try is not bound to what failed.
        assert_eq!(exec(&job, &["exit", "0"]).1, 0);
    }
}

#[test]
fn a_file_is_not_mounted_on_a_directory() {
    let world = World::new(&["target"]);
    world.write("file", "x");
    let job = Job::create(&unique()).unwrap();
    let error = job.spawn(&seeing(&binds(vec![world.bind("file", "target")]), &["exit", "0"])).unwrap_err();
    assert_eq!(error.step, SpawnStep::Bind);
    assert!(error.to_string().contains(&world.text("target")), "{error}");
}

// proves: HP-08 twin
#[test]
fn a_scratch_space_fills_up_and_ends_with_its_job() {
    let world = World::new(&IMAGE);
    world.write("lower/given", "from the image");
    world.write("scratch/upper/prepared", "before the start");
    let view = View { overlay: Some(world.overlay()), scratch_bytes: Some(8 << 20), ..View::default() };
    let job = Job::create(&unique()).unwrap();
    let (said, errors, exit) =
        run_in(&job, &seeing(&view, &["fill", &world.text("scratch/rootfs/big"), "64"]));
    assert!(exit.code == 1 && said.contains("No space left on device"), "{said}{errors}");
    let fitted: u32 = said.split(' ').next().unwrap().parse().unwrap();
    assert!((6..=8).contains(&fitted), "{said}");
    // The first process has ended, and what it wrote is still there for the next.
    let at = |name: &str| world.text(&format!("scratch/rootfs/{name}"));
    assert!(exec(&job, &["write", &at("other"), &"x".repeat(100_000)]).0.contains("No space left"));
    assert_eq!(exec(&job, &["read", &at("given")]).0, "from the image");
    assert_eq!(exec(&job, &["read", &at("prepared")]).0, "before the start");
    assert_eq!(exec(&job, &["remove-tree", &at("big")]).1, 0);
    assert_eq!(exec(&job, &["write", &at("prepared"), "changed"]).1, 0);
    assert_eq!(exec(&job, &["read", &at("prepared")]).0, "changed");
    assert_eq!(world.read("scratch/upper/prepared"), "before the start");
    assert_eq!(world.names("scratch/upper"), ["prepared"]);
    job.close().unwrap();
    the_host_mounts_nothing_in(&world);
}

/// Whether a first process ends before anybody looks is a race, so it is run many times.
#[test]
fn a_process_after_the_end_of_the_first_sees_the_same() {
    let world = World::new(&IMAGE);
    let file = world.text("scratch/rootfs/file");
    let view = View { overlay: Some(world.overlay()), scratch_bytes: Some(1 << 20), ..View::default() };
    for number in 0..20 {
        let job = Job::create(&unique()).unwrap();
        let first = job.spawn(&seeing(&view, &["write", &file, &number.to_string()])).unwrap();
        assert_eq!(exit_of(&first).code, 0);
        assert_eq!(exec(&job, &["read", &file]), (number.to_string(), 0));
        let second = run_in(&job, &seeing(&view, &["read", &file]));
        assert_eq!(second.0.trim_end(), number.to_string());
    }
}

#[test]
fn one_job_has_one_view() {
    let world = World::new(&["one", "two", "target"]);
    let job = Job::create(&unique()).unwrap();
    let first = job.spawn(&seeing(&binds(vec![world.bind("one", "target")]), &["pause"])).unwrap();
    let other = seeing(&binds(vec![world.bind("two", "target")]), &["exit", "0"]);
    let error = job.spawn(&other).unwrap_err();
    assert_eq!((error.step, error.source.kind()), (SpawnStep::Namespace, ErrorKind::InvalidInput));
    job.terminate(137).unwrap();
    exit_of(&first);
}

/// Most hosts share mounts between namespaces by default; this one may not, so the keeper gets a world that does.
#[test]
fn a_volume_stays_private_on_a_host_that_shares_mounts() {
    let world = World::new(&["source", "target"]);
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "shared", "--"]).arg(fixture_for_all());
    let options = [format!("bind={}|{}", world.text("source"), world.text("target"))];
    let mut keeper = Keeper::start(command, &unique(), &options, &["pause"]);
    let first = keeper.expect("held");
    keeper.expect("out ready");
    let sees = |pid: &str| {
        let table = std::fs::read_to_string(Path::new("/proc").join(pid).join("mountinfo")).unwrap();
        table.contains(&world.text("target"))
    };
    assert!(sees(&first), "the program does not see its volume");
    assert!(!sees(&keeper.id().to_string()), "the mount reached the keeper");
}
