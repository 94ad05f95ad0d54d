//! Which platform is made and from which base, and what a stage takes over from the one below.

use super::*;
use crate::hosts::Hosts;

impl World {
    /// Builds, and puts the archive beside the Dockerfile as a base for others.
    fn base(&self, name: &str, text: &str) {
        let seen = self.build(text).unwrap();
        std::fs::copy(seen._dir.path().join("image.tar"), self.dir.path().join(name)).unwrap();
    }

    /// Takes such an archive into the store of this machine, under a name of a registry that cannot be asked.
    fn take(&mut self, archive: &str, name: &str) {
        let certs = self.dir.path().join("certs.d");
        std::fs::create_dir_all(certs.join("r.test")).unwrap();
        std::fs::write(certs.join("r.test/hosts.toml"), "none").unwrap();
        self.access.hosts = Hosts::default().with_dir(&certs);
        let store = Store::open(&self.dir.path().join("store")).unwrap();
        let name = Reference::parse(name).unwrap();
        store.load(&self.dir.path().join(archive), &name, "windows", "amd64").unwrap();
        self.store = Some(store);
    }

    fn env(&self, text: &str) -> Value {
        self.build(text).unwrap().json("linux")["config"]["Env"].clone()
    }
}

impl Seen {
    /// What the configuration of the only image says.
    fn platform(&self) -> String {
        let entry = &crate::candidates::candidates(&self.archive).unwrap()[0];
        entry.platform.as_ref().unwrap().to_string()
    }
}

/// A directory with a base for two builds.
fn world_of_old_builds() -> World {
    let mut world = World::new(&[("a.exe", "x")]);
    world.versions = vec!["10.0.17763.1".into(), "10.0.20348.1".into()];
    world.base("base.tar", "FROM hpc\nCOPY a.exe /");
    world
}

#[test]
fn no_image_says_a_build_that_its_base_does_not_have() {
    let mut world = world_of_old_builds();
    world.versions = vec!["10.0.26100.0".into()];
    assert_eq!(
        world.error("FROM oci-archive:base.tar"),
        "base image oci-archive:base.tar is of Windows 10.0.20348.1, and --os-version wants 10.0.26100.0: \
         it offers windows/amd64 10.0.17763.1, windows/amd64 10.0.20348.1"
    );
    assert!(
        world.error("FROM oci-archive:base.tar AS base\nFROM base\nENV A=1").contains("wants 10.0.26100.0")
    );
    world.versions = vec!["10.0.20348.7".into()];
    let seen = world.build("FROM oci-archive:base.tar").unwrap();
    assert_eq!(seen.platform(), "windows/amd64 10.0.20348.7");
}

/// Such a base was built here and never pushed: what its registry says would be no help.
#[test]
fn a_base_of_this_machine_that_is_of_another_build_is_refused_for_that_and_not_for_its_registry() {
    let mut world = world_of_old_builds();
    world.take("base.tar", "r.test/team/index:1");
    world.versions = vec!["10.0.20348.1".into()];
    world.base("lone.tar", "FROM hpc\nCOPY a.exe /");
    world.take("lone.tar", "r.test/team/lone:1");
    for (image, version, wanted) in [
        (
            "r.test/team/lone:1",
            "10.0.26100.0",
            "is of Windows 10.0.20348.1, and --os-version wants 10.0.26100.0: \
             it offers windows/amd64 10.0.20348.1",
        ),
        (
            "r.test/team/index:1",
            "10.0.19042.1",
            "no image for windows/amd64 10.0.19042.1 with process isolation: \
             it offers windows/amd64 10.0.17763.1, windows/amd64 10.0.20348.1",
        ),
    ] {
        world.versions = vec![version.into()];
        let error = world.error(&format!("FROM {image}"));
        assert!(error.starts_with(&format!("base image {image}")) && error.ends_with(wanted), "{error}");
    }
    // Another system is no reason to stop at what is here: the registry may have it, and says what is wrong.
    world.versions.clear();
    world.os = Some("linux");
    for image in ["r.test/team/lone:1", "r.test/team/none:1"] {
        let error = world.error(&format!("FROM {image}"));
        assert!(error.contains("hosts.toml is not the TOML it should be"), "{error}");
    }
}

#[test]
fn a_platform_that_hpc_cannot_have_is_wrong_use_only_if_it_was_typed() {
    let mut world = World::new(&[]);
    let refused = |world: &World, text: &str| {
        let error = world.build(text).map(drop).unwrap_err();
        (error.to_string(), error.is_wrong_use())
    };
    let text = "ARG A=1\nFROM --platform=linux/amd64 hpc";
    let by_the_line = "line 2: the base hpc is for windows: wanted no other --platform, found linux";
    for os in [None, Some("windows")] {
        world.os = os;
        assert_eq!(refused(&world, text), (by_the_line.to_owned(), false), "{os:?}");
    }
    world.os = Some("linux");
    for text in ["FROM hpc", "FROM --platform=$TARGETPLATFORM hpc"] {
        let by_the_flag = "the base hpc is for windows: wanted no other --os, found linux";
        assert_eq!(refused(&world, text), (by_the_flag.to_owned(), true), "{text}");
    }
}

#[test]
fn files_are_copied_from_an_image_of_another_build() {
    let mut world = world_of_old_builds();
    world.versions = vec!["10.0.26100.0".into()];
    for text in [
        "FROM hpc\nCOPY --from=oci-archive:base.tar /a.exe /",
        "FROM oci-archive:base.tar AS files\nFROM hpc\nCOPY --from=files /a.exe /",
    ] {
        let seen = world.build(text).unwrap();
        assert_eq!(seen.platform(), "windows/amd64 10.0.26100.0");
        assert_eq!(seen.files("windows"), ["a.exe"]);
    }
}

#[test]
fn a_stage_has_the_arguments_of_the_stage_it_is_based_on() {
    let mut world = World::new(&[]);
    let text = "FROM scratch AS base\nARG V=1\nFROM base AS more\nARG W=2\nFROM more\nENV VERSION=$V.$W";
    assert_eq!(world.env(text), json!(["VERSION=1.2"]));
    let other = "FROM scratch AS base\nARG V=1\nFROM scratch\nENV VERSION=${V:-none}";
    assert_eq!(world.env(other), json!(["VERSION=none"]));
    let again = "FROM scratch AS base\nARG V=1\nFROM base\nARG V\nENV A=$V\nARG V=3\nENV B=$V";
    assert_eq!(world.env(again), json!(["A=1", "B=3"]));
    world.args.insert("V".to_owned(), "9".to_owned());
    assert_eq!(world.env(text), json!(["VERSION=9.2"]));
}

#[test]
fn the_platform_of_from_is_read_in_any_case_and_with_its_variant() {
    let world = World::new(&[]);
    for (typed, made) in [
        ("Linux/X86_64", "linux/amd64"),
        ("linux/aarch64", "linux/arm64"),
        ("linux/arm/6", "linux/arm/v6"),
        ("linux/armhf", "linux/arm/v7"),
        ("WINDOWS/amd64", "windows/amd64"),
    ] {
        let text = format!("FROM --platform={typed} scratch\nARG TARGETPLATFORM\nENV IS=$TARGETPLATFORM");
        let seen = world.build(&text).unwrap();
        assert_eq!(seen.platform(), made, "{typed}");
        let only = crate::candidates::candidates(&seen.archive).unwrap()[0].digest.clone();
        let config = config_of(&seen, &only);
        assert_eq!(config["config"]["Env"], json!([format!("IS={made}")]), "{typed}");
        assert_eq!(config["variant"].as_str(), made.split('/').nth(2), "{typed}");
    }
    assert_eq!(
        world.error("FROM --platform=plan9/amd64 scratch"),
        "line 1: --platform: wanted windows or linux, found \"plan9\""
    );
    assert!(world.error("FROM --platform=linux scratch").contains("wanted OS/ARCHITECTURE[/VARIANT]"));
}

#[test]
fn a_base_for_a_newer_variant_is_not_taken() {
    let world = World::new(&[]);
    world.base("base.tar", "FROM --platform=linux/arm/v7 scratch\nENV A=1");
    assert_eq!(
        world.error("FROM --platform=linux/arm/v6 oci-archive:base.tar"),
        "base image oci-archive:base.tar: no image for linux/arm/v6: it offers linux/arm/v7"
    );
    let seen = world.build("FROM --platform=linux/arm oci-archive:base.tar").unwrap();
    assert_eq!(seen.platform(), "linux/arm/v7");
}

/// The configuration of a manifest, whatever it is for.
fn config_of(seen: &Seen, digest: &str) -> Value {
    let named = |digest: &str| serde_json::from_value(json!({"digest": digest})).unwrap();
    let manifest: Manifest = serde_json::from_slice(&seen.archive.manifest(&named(digest)).unwrap()).unwrap();
    serde_json::from_slice(&seen.archive.document(&manifest.config).unwrap()).unwrap()
}
