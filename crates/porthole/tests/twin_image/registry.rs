//! pull and push: accounts, mirrors, platforms, faults, Ctrl-C.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use testbed::image::{Image, Layer};
use testbed::registry::{Auth, Fault, Wrong};

use super::desk::{BLOBS, Desk, Ended, bytes_in};
use super::stage::eventually;

#[test]
fn a_pull_brings_an_image_once() {
    let desk = Desk::new();
    let image = Desk::image("one");
    let name = desk.push(&image, "try/app:1");
    let pulled = desk.json(&["pull", &name])["images"][0].clone();
    assert_eq!(pulled["reference"], name.as_str());
    assert_eq!(pulled["digest"], image.digest());
    assert_eq!(pulled["platform"], "linux/amd64");
    assert!(pulled["id"].as_str().is_some_and(|id| image.blobs().contains_key(id)), "{pulled}");
    assert_eq!(desk.asked("GET", "blobs").len(), 3, "{:?}", desk.registry.requests());
    desk.registry.clear_requests();
    let again = desk.ok(&["pull", &name]);
    assert!(again.stdout.starts_with(image.digest()), "{}", again.stdout);
    assert_eq!(desk.asked("GET", "blobs").len(), 0, "{:?}", desk.registry.requests());
    // A layer that another image brought does not move either.
    let other = desk.push(&Desk::image("two"), "try/other:1");
    desk.ok(&["pull", &other]);
    assert_eq!(desk.asked("GET", "blobs").len(), 2, "{:?}", desk.registry.requests());
}

#[test]
fn only_the_result_is_on_standard_output_and_quiet_is_quiet() {
    let desk = Desk::new();
    let name = desk.push(&Desk::image("one"), "try/app:1");
    let pulled = desk.ok(&["pull", &name]);
    assert_eq!(pulled.stdout.lines().count(), 1, "{}", pulled.stdout);
    let said: Vec<_> = pulled.stderr.lines().collect();
    assert!(said.iter().all(|line| line.starts_with("porthole: ")), "{said:#?}");
    assert!(said[0].contains(&format!("pulling {name}")), "{said:#?}");
    assert_eq!(said.iter().filter(|line| line.ends_with(" done")).count(), 2, "{said:#?}");
    assert!(said.last().is_some_and(|line| line.contains("pulled")), "{said:#?}");
    let again = desk.ok(&["pull", "--quiet", &name]);
    assert_eq!(again.stderr, "");
}

// proves: RT-09 twin
#[test]
fn what_cannot_be_had_says_why() {
    let desk = Desk::new();
    let name = desk.name("try/none:1");
    desk.run(&["pull", &name]).refused(1, &[&name, "(404)", "check the name and the tag"]);
    desk.run(&["pull", "Not A Name"]).refused(2, &["is not the name of an image"]);
    desk.run(&["pull", "--platform", "windows", &name]).refused(2, &["wanted OS/ARCH"]);
    desk.run(&["pull", "--platform", "linux/amd64", "--all-platforms", &name])
        .refused(2, &["cannot be used with"]);
    desk.run(&["pull", "--user", "jane", &name]).refused(2, &["--password-stdin"]);
    desk.run(&["push", &name]).refused(1, &[&name, "is not on this host"]);
    let windows = desk.push(
        &Desk::image_for("windows", "one").os_version("10.0.20348.1").build().expect("made"),
        "try/w:1",
    );
    desk.run(&["pull", &windows]).refused(1, &["no image for linux/amd64", "windows/amd64 10.0.20348.1"]);
    desk.registry.refuse();
    desk.run(&["pull", &name]).refused(1, &["could not be asked", "Connection refused"]);
    assert_eq!(desk.names(), Vec::<String>::new());
}

fn closed() -> Desk {
    let (user, password, lifetime) = ("jane".into(), "se cret".into(), Duration::from_secs(60));
    Desk::with(Auth::Token { user, password, lifetime })
}

#[test]
fn an_account_comes_from_the_line_a_docker_config_or_a_pull_secret() {
    let desk = closed();
    let name = desk.push(&Desk::image("one"), "try/app:1");
    desk.run(&["pull", &name]).refused(1, &[&name, "private"]);
    let wrong = desk.run_with(&["pull", "--user", "jane", "--password-stdin", &name], b"wrong\n");
    assert_eq!(wrong.code, 1, "{}", wrong.stderr);
    assert!(!wrong.stderr.contains("wrong"), "a password is shown: {}", wrong.stderr);
    let right = desk.run_with(&["pull", "--user", "jane", "--password-stdin", &name], b"se cret\n");
    assert_eq!(right.code, 0, "{}", right.stderr);
    let auths = format!(
        r#"{{"auths":{{"{}":{{"auth":"{}"}}}}}}"#,
        desk.registry.address(),
        BASE64_STANDARD.encode("jane:se cret")
    );
    let secret = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: pull}}\ntype: kubernetes.io/dockerconfigjson\n\
         data:\n  .dockerconfigjson: {}\n",
        BASE64_STANDARD.encode(&auths)
    );
    std::fs::write(desk.path("secret.yaml"), secret).expect("written");
    std::fs::write(desk.path("config.json"), &auths).expect("written");
    desk.ok(&["pull", "--pull-secret", "secret.yaml", &name]);
    desk.ok(&["pull", "--docker-config", "config.json", &name]);
    // Where `docker login` puts it.
    std::fs::create_dir(desk.path(".docker")).expect("made");
    std::fs::write(desk.path(".docker/config.json"), &auths).expect("written");
    desk.ok(&["pull", &name]);
    desk.ok(&["push", &name]);
    // A program that is not installed is in the way of nobody who does not need it.
    std::fs::write(desk.path(".docker/config.json"), r#"{"credsStore":"porthole-none"}"#).expect("written");
    let right = desk.run_with(&["pull", "--user", "jane", "--password-stdin", &name], b"se cret\n");
    assert_eq!(right.code, 0, "{}", right.stderr);
    desk.ok(&["pull", "--pull-secret", "secret.yaml", &name]);
    desk.run(&["pull", &name]).refused(1, &["docker-credential-porthole-none"]);
    desk.run(&["pull", "--docker-config", "none.json", &name]).refused(2, &["none.json"]);
    desk.run(&["pull", "--pull-secret", "config.json", &name]).refused(2, &["config.json"]);
}

#[test]
fn a_mirror_stands_in_for_a_registry() {
    let desk = Desk::new();
    desk.push(&Desk::image("one"), "try/app:1");
    let dir = desk.path("hosts/registry.invalid");
    std::fs::create_dir_all(&dir).expect("made");
    let text =
        format!("[host.\"http://{}\"]\n  capabilities = [\"pull\", \"resolve\"]\n", desk.registry.address());
    std::fs::write(dir.join("hosts.toml"), &text).expect("written");
    desk.ok(&["pull", "--hosts-dir", "hosts", "registry.invalid/try/app:1"]);
    assert_eq!(desk.names(), ["registry.invalid/try/app:1"]);
    // The root has a place for them too.
    std::fs::rename(desk.path("hosts"), desk.root().join("certs.d")).expect("moved");
    desk.ok(&["pull", "registry.invalid/try/app:1"]);
    std::fs::write(desk.root().join("certs.d/registry.invalid/hosts.toml"), "[host").expect("written");
    desk.run(&["pull", "registry.invalid/try/app:1"]).refused(1, &["hosts.toml"]);
}

fn two_platforms() -> Image {
    let windows = Desk::image_for("windows", "two").os_version("10.0.20348.1").build().expect("made");
    Image::index(&[windows, Desk::image("one")])
}

// proves: RT-09 twin
#[test]
fn another_platform_and_all_of_them() {
    let desk = Desk::new();
    let index = two_platforms();
    let name = desk.push(&index, "try/app:1");
    let pulled = desk.json(&["pull", "--platform", "windows/amd64:10.0.20348", &name])["images"][0].clone();
    assert_eq!(pulled["platform"], "windows/amd64 10.0.20348.1");
    let saved = desk.run(&["save", "--all-platforms", "-o", "all.tar", &name]);
    saved.refused(1, &["pull it again with --all-platforms"]);
    desk.ok(&["pull", "--all-platforms", &name]);
    desk.ok(&["save", "--all-platforms", "-o", "all.tar", &name]);
    let copy = desk.name("try/copy:1");
    desk.ok(&["load", "-t", &copy, "all.tar"]);
    let pushed = desk.json(&["push", "--all-platforms", &copy])["images"][0].clone();
    assert_eq!(pushed["digest"], index.digest());
    let explained = desk.json(&["explain", &copy]);
    assert_eq!(explained["candidates"].as_array().map(Vec::len), Some(2));
    // A name goes alone, an image with all its platforms.
    desk.ok(&["rm", &name]);
    assert_eq!(desk.json(&["ls"])["images"].as_array().map(Vec::len), Some(2));
    desk.ok(&["rm", &copy]);
    assert_eq!(desk.json(&["ls"])["images"], serde_json::json!([]));
    assert_eq!(bytes_in(&desk.root().join("images/blobs")), 0);
}

/// Bytes that do not compress.
pub(crate) fn noise(size: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    };
    (0..size).map(|_| next()).collect()
}

#[test]
fn ctrl_c_ends_a_pull_and_the_next_one_goes_on() {
    let desk = Desk::new();
    let layer = Layer::new().file("noise", noise(400_000), 0o644);
    let image = testbed::image::ImageBuilder::new("linux", "amd64").layer(layer).build().expect("made");
    let name = desk.push(&image, "try/app:1");
    desk.registry.fault(Fault::new(Wrong::Slow { bytes_per_second: 100_000 }).method("GET").path(BLOBS));
    let child = desk.start(&["pull", &name]);
    let ingest = desk.root().join("images/ingest");
    eventually("a part of the layer is here", || (bytes_in(&ingest) > 50_000).then_some(()));
    let interrupt = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupt.expect("kill").success());
    let ended = Ended::wait(child);
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    assert!(ended.stderr.contains("interrupted") && ended.stderr.contains("goes on"), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
    assert_eq!(desk.names(), Vec::<String>::new());
    let here = bytes_in(&ingest);
    assert!(here > 50_000, "what came is gone: {here}");
    desk.registry.clear_faults();
    desk.registry.clear_requests();
    desk.ok(&["pull", &name]);
    let whole = image.blobs().values().map(|blob| blob.len() as u64).max().unwrap_or_default();
    let rest = desk.asked("GET", "blobs").into_iter().find(|request| request.range.is_some());
    let rest = rest.unwrap_or_else(|| panic!("{:?}", desk.registry.requests()));
    assert_eq!((rest.range.as_deref(), rest.bytes), (Some(&*format!("bytes={here}-")), whole - here));
    assert_eq!(desk.names(), [name]);
}

// proves: HP-17 twin
#[test]
fn what_is_built_is_pushed_and_pulled_elsewhere() {
    let desk = Desk::new();
    std::fs::write(desk.path("Dockerfile"), "FROM hpc\nCOPY words /app/\nCMD [\"app.exe\"]\n")
        .expect("written");
    std::fs::write(desk.path("words"), "words").expect("written");
    let name = desk.name("try/built:1");
    let versions = ["--os-version", "10.0.20348.1", "--os-version", "10.0.26100.1"];
    let built = desk.ok(&[&["build", "-t", &name, "--json"][..], &versions, &["."]].concat()).json();
    let pushed = desk.json(&["push", "--all-platforms", &name])["images"][0].clone();
    assert_eq!(pushed["digest"], built["digest"]);
    let other = Desk::new();
    let pulled = other.json(&["pull", "--platform", "windows/amd64:10.0.26100", &name])["images"][0].clone();
    assert_eq!(pulled["digest"], built["digest"]);
    assert_eq!(pulled["platform"], "windows/amd64 10.0.26100.1");
    // Nothing moves to a registry that has it.
    desk.registry.clear_requests();
    desk.ok(&["push", "--all-platforms", &name]);
    assert_eq!(desk.asked("PUT", "blobs").len(), 0, "{:?}", desk.registry.requests());
}

// proves: HP-17 twin
#[test]
fn a_base_is_taken_from_this_machine_before_its_registry() {
    let desk = closed();
    let base = desk.push(&Desk::image("base"), "try/base:1");
    std::fs::write(desk.path("Dockerfile"), format!("FROM {base}\nENV WORD=$WORD-ours\n")).expect("written");
    let built = ["build", "--os", "linux", "-t", "example.com/ours:1", "."];
    desk.run(&built).refused(1, &[&base, "private"]);
    let pulled = desk.run_with(&["pull", "--user", "jane", "--password-stdin", &base], b"se cret");
    assert_eq!(pulled.code, 0, "{}", pulled.stderr);
    desk.registry.refuse();
    desk.ok(&built);
    let ours = desk.json(&["inspect", "example.com/ours:1"])["images"][0].clone();
    assert_eq!(ours["env"], serde_json::json!(["WORD=base-ours"]));
    let layers = |name: &str| desk.json(&["inspect", name])["images"][0]["layers"].clone();
    assert_eq!(layers("example.com/ours:1"), layers(&base));
}

/// It was given to the registry of the name that the image gets, which a build does not ask.
#[test]
fn the_account_of_a_build_is_for_the_registry_of_its_bases() {
    let desk = closed();
    let base = desk.push(&Desk::image("base"), "try/base:1");
    let build = |dockerfile: &str, goal: &[&str]| {
        std::fs::write(desk.path("Dockerfile"), dockerfile).expect("written");
        let account = ["build", "--os", "linux", "--user", "jane", "--password-stdin"];
        desk.run_with(&[&account[..], goal, &["."]].concat(), b"se cret\n")
    };
    for text in [
        format!("FROM {base}\nENV A=1\n"),
        format!("FROM scratch\nCOPY --from={base} /etc/word /\n"),
        // What is not built is not asked for either.
        format!("FROM other.example.com/files:1 AS unused\nFROM {base}\nENV A=1\n"),
    ] {
        for goal in [["-t", "example.com/ours:1"], ["-o", "ours.tar"]] {
            let built = build(&text, &goal);
            assert_eq!(built.code, 0, "{text}{}", built.stderr);
        }
    }
    desk.registry.clear_requests();
    let two = format!("FROM {base}\nCOPY --from=other.example.com/files:1 /a /\n");
    let address = desk.registry.address().to_string();
    let refused = build(&two, &["-o", "ours.tar"]);
    refused.refused(2, &["--user jane: ", &address, "other.example.com", "--pull-secret"]);
    build("FROM scratch\nENV A=1\n", &["-o", "ours.tar"]).refused(2, &["--user jane: ", "found none"]);
    assert_eq!(desk.registry.requests(), []);
}
