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
    command.args(["--no-run", "--package", "images", "--lib", "--test", "twin_content"]);
    let output = progress::step("build the tests of the store for Windows", || progress::run(&mut command));
    let built = cargo::built(&output.expect("built").stdout).expect("cargo's report");
    let program = |name: &str| built.iter().find(|it| it.name == name).expect(name).path.clone();
    let fixture = program("images-fixture");
    let wine = Wine::builder().bind(fixture.parent().expect("a directory")).start().expect("a Wine machine");
    let run = |name: &str, args: &[&str]| {
        let output = wine.run(program(name), args, PATIENCE).expect("ran");
        assert_eq!(output.code, 0, "{}\n{}", output.stdout, output.stderr);
        output.stdout
    };
    let said = run("images", &["content::", "lease::", "collect::", "fsck::", "names::", "digest::"]);
    assert!(
        said.contains("content::tests::an_open_blob_can_be_deleted_and_read_to_its_end ... ok"),
        "{said}"
    );
    let said = run("twin_content", &["--test-threads", "1"]);
    for name in ["sharing::open_files_do_not_stop_a_removal ... ok", "crash::a_kill_at_any_fail_point"] {
        assert!(said.contains(name), "{name}: {said}");
    }
}
