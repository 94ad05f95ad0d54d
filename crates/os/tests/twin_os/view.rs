//! What one job sees and no other, and not the host: volumes at their paths.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use os::job::Job;
use os::process::SpawnStep;
use os::view::Bind;

use crate::keeper::{Keeper, fixture_for_all};
use crate::support::{exit_of, lines, run_in, unique};
use crate::world::{World, binds, exec, seeing, the_host_mounts_nothing_in};

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
