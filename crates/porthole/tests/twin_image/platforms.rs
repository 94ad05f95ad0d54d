//! build: for which platform, and on which image of the base.

use serde_json::json;
use testbed::image::Image;

use super::desk::{Desk, Ended};

fn build(desk: &Desk, flags: &[&str]) -> Ended {
    desk.run(&[&["build", "--json", "-o", "image.tar"], flags, &["."]].concat())
}

#[test]
fn a_system_that_is_none_is_wrong_use_and_a_processor_has_one_name() {
    let desk = Desk::new();
    std::fs::write(desk.path("Dockerfile"), "FROM scratch\nENV A=1\n").expect("written");
    build(&desk, &["--os", "plan9"]).refused(2, &["wanted windows or linux"]);
    build(&desk, &["--arch", "arm/v6/x"]).refused(2, &["wanted ARCHITECTURE[/VARIANT]"]);
    assert!(!desk.path("image.tar").exists());
    for (os, arch, platform) in [
        ("Windows", "x86_64", "windows/amd64"),
        ("linux", "AArch64", "linux/arm64"),
        ("linux", "armel", "linux/arm/v6"),
    ] {
        let built = build(&desk, &["--os", os, "--arch", arch]);
        assert_eq!(built.code, 0, "{}", built.stderr);
        assert_eq!(built.json()["platforms"], json!([platform]), "{os} {arch}");
    }
}

#[test]
fn a_base_of_another_build_of_windows_is_refused_also_where_it_is_the_only_one() {
    let desk = Desk::new();
    let of = |version: &str| Desk::image_for("windows", "old").os_version(version).build().expect("made");
    let old = of("10.0.17763.1");
    let both = Image::index(&[old.clone(), of("10.0.20348.1")]);
    for (name, image, has) in [("try/lone:1", &old, "10.0.17763.1"), ("try/index:1", &both, "10.0.20348.1")] {
        let base = desk.push(image, name);
        std::fs::write(desk.path("Dockerfile"), format!("FROM {base}\nENV A=1\n")).expect("written");
        let words = format!("{base} is of Windows {has}, and --os-version wants 10.0.26100.0: it offers");
        build(&desk, &["--os-version", "10.0.26100.0"]).refused(1, &[&words, "windows/amd64 10.0.17763.1"]);
        assert!(!desk.path("image.tar").exists());
    }
    let built = build(&desk, &["--os-version", "10.0.20348.9"]);
    assert_eq!(built.json()["platforms"], json!(["windows/amd64 10.0.20348.9"]));
}
