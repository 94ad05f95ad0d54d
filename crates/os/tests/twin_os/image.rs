//! An image with volumes in it, and a scratch space above it that fills up.

use std::process::Command;

use os::job::Job;
use os::process::SpawnStep;
use os::view::View;

use crate::keeper::{Keeper, as_nobody, as_root};
use crate::support::{exit_of, run_in, unique};
use crate::world::{IMAGE, World, exec, seeing, the_host_mounts_nothing_in};

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
