//! The content store on Windows, under Wine: its locks, deaths and deletions as Windows programs.
#![cfg(target_os = "linux")]

use std::time::Duration;

use testbed::tools::{cargo, progress, windows};
use testbed::wine::Wine;

const PATIENCE: Duration = Duration::from_secs(400);

#[test]
fn processes_share_a_store_and_die_in_it_on_windows() {
    let target = windows::toolchain().expect("a toolchain for Windows");
    let mut command = target.cargo("test").expect("cargo");
    command.args(["--no-run", "--package", "images", "--test", "twin_content"]);
    let output = progress::step("build the tests of the store for Windows", || progress::run(&mut command));
    let built = cargo::built(&output.expect("built").stdout).expect("cargo's report");
    let test = built.iter().find(|it| it.is_test).expect("a test program").path.clone();
    let fixture = built.iter().find(|it| it.name == "images-fixture").expect("the fixture").path.clone();
    let wine = Wine::builder().bind(fixture.parent().expect("a directory")).start().expect("a Wine machine");
    let output = wine.run(&test, ["--test-threads", "1"], PATIENCE).expect("ran");
    assert_eq!(output.code, 0, "{}\n{}", output.stdout, output.stderr);
    for name in ["sharing::open_files_do_not_stop_a_removal", "crash::a_kill_at_any_fail_point"] {
        assert!(output.stdout.contains(name), "{name}: {}", output.stdout);
    }
}
