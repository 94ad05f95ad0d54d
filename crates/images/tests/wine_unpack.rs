//! Unpacking on Windows, under Wine: the tests of the real file system as a Windows program.
#![cfg(target_os = "linux")]

use std::time::Duration;

use testbed::tools::{cargo, progress, windows};
use testbed::wine::Wine;

const PATIENCE: Duration = Duration::from_secs(240);

#[test]
fn hostile_archives_stay_in_their_image_on_windows() {
    let target = windows::toolchain().expect("a toolchain for Windows");
    let mut command = target.cargo("test").expect("cargo");
    command.args(["--no-run", "--package", "images", "--test", "twin_unpack"]);
    let output = progress::step("build the tests of unpacking for Windows", || progress::run(&mut command));
    let built = cargo::built(&output.expect("built").stdout).expect("cargo's report");
    let test = built.iter().find(|it| it.is_test).expect("a test program").path.clone();
    let wine = Wine::builder().bind(test.parent().expect("a directory")).start().expect("a Wine machine");
    let output = wine.run(&test, ["--test-threads", "2"], PATIENCE).expect("ran");
    assert_eq!(output.code, 0, "{}\n{}", output.stdout, output.stderr);
    for name in [
        "hostile::no_hostile_archive_leaves_a_flat_image",
        "left_out::extended_attributes_of_windows_are_warned_of_once_a_layer",
        "windows::attributes_and_descriptors",
    ] {
        assert!(output.stdout.contains(&format!("{name} ... ok")), "{name}: {}", output.stdout);
    }
}
