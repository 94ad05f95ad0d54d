//! explain and inspect: what a host takes and what it refuses, and what an image says of itself.

use serde_json::json;
use testbed::image::Image;

use super::desk::Desk;

/// An image for these builds of Windows, pushed; its name.
fn offering(desk: &Desk, builds: &[&str]) -> String {
    let image = |build: &&str| Desk::image_for("windows", build).os_version(build).build().expect("made");
    let images: Vec<_> = builds.iter().map(image).collect();
    desk.push(&Image::index(&images), "try/windows:1")
}

#[test]
fn a_host_that_takes_none_is_told_its_build_and_those_on_offer() {
    let desk = Desk::new();
    let name = offering(&desk, &["10.0.17763.1", "10.0.26100.1"]);
    let offers = "it offers windows/amd64 10.0.17763.1, windows/amd64 10.0.26100.1";
    let process = ["explain", "--host-build", "10.0.20348.2031", "--isolation", "process", &name];
    let refused = desk.run(&process);
    let no = "no image for windows/amd64 10.0.20348.2031 with process isolation";
    refused.refused(1, &[&format!("porthole: {no}: {offers}\n")]);
    // The table says of each one why.
    let rows: Vec<_> = refused.stdout.lines().skip(1).collect();
    assert_eq!(rows.len(), 2, "{}", refused.stdout);
    assert!(rows.iter().all(|row| row.starts_with("no ")), "{}", refused.stdout);
    let json = desk.run(&[&process[..], &["-o", "json"]].concat());
    assert_eq!((json.code, &json.json()["candidates"][0]["fits"]), (1, &json!(false)));
    // A kernel of its own may be older, and then the same host takes one of them.
    let taken = desk.ok(&["explain", "--host-build", "20348", "--isolation", "hyper-v", &name]);
    assert_eq!(taken.stderr, "");
}

#[test]
fn with_hyper_v_only_newer_builds_are_refused() {
    let desk = Desk::new();
    let name = offering(&desk, &["10.0.20348.1", "10.0.26100.1"]);
    let hyper_v = ["explain", "--host-build", "17763", "--isolation", "hyper-v", &name];
    let no = "no image for windows/amd64 10.0.17763 with Hyper-V isolation: \
              it offers windows/amd64 10.0.20348.1, windows/amd64 10.0.26100.1\n";
    desk.run(&hyper_v).refused(1, &[no]);
    desk.run(&["explain", "--host-build", "ltsc2022", &name]).refused(2, &["wanted 10.0.BUILD[.REVISION]"]);
}

/// The registry was asked for what had never been in one.
#[test]
fn what_was_built_here_is_explained_without_a_registry() {
    let desk = Desk::new();
    let name = desk.name("try/hello:1");
    let explain = ["explain", "--host-build", "20348", "--isolation", "process", &name];
    desk.run(&explain).refused(1, &[&name, "(404)"]);
    assert!(!desk.root().join("images").exists(), "who only looks has made a store");
    std::fs::write(desk.path("Dockerfile"), "FROM hpc\nCMD [\"app.exe\"]\n").expect("written");
    let versions = ["--os-version", "10.0.20348.1", "--os-version", "10.0.26100.1"];
    desk.ok(&[&["build", "-t", &name][..], &versions, &["."]].concat());
    desk.registry.refuse();
    let candidates = desk.json(&explain)["candidates"].clone();
    let verdict = |at: usize| (&candidates[at]["platform"]["os.version"], &candidates[at]["chosen"]);
    assert_eq!(verdict(0), (&json!("10.0.20348.1"), &json!(true)));
    assert_eq!(verdict(1), (&json!("10.0.26100.1"), &json!(false)));
    // Another name is still the registry's.
    desk.run(&["explain", &desk.name("try/other:1")]).refused(1, &["could not be asked"]);
}

#[test]
fn inspect_shows_whom_an_image_runs_as_and_its_labels() {
    let desk = Desk::new();
    let text = "FROM hpc\nUSER ContainerUser\nLABEL owner=\"the night shift\" tier=2\nCMD [\"app.exe\"]\n";
    std::fs::write(desk.path("Dockerfile"), text).expect("written");
    desk.ok(&["build", "-t", "example.com/labelled:1", "."]);
    let image = desk.json(&["inspect", "example.com/labelled:1"])["images"][0].clone();
    assert_eq!(image["user"], "ContainerUser");
    assert_eq!(image["labels"], json!({"owner": "the night shift", "tier": "2"}));
    let said = desk.ok(&["inspect", "example.com/labelled:1"]).stdout;
    for line in ["user          ContainerUser", "labels        owner=the night shift", "              tier=2"]
    {
        assert!(said.lines().any(|said| said == line), "no {line:?} in: {said}");
    }
}
