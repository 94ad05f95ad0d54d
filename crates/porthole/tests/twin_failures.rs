//! Known ways to fail, on the twin: each with its error, its hint and its counter, as a user of `up` meets them.

#[expect(dead_code, reason = "each kind of stage is used by its own tests")]
mod stage;

mod failures;

use std::path::PathBuf;
use std::process::Command;

use failures::{container, lose_the_agent, lose_the_holder, run, run_as, run_through};
use runtime::failure::FailureMode;
use serde_json::json;
use stage::Stage;

const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

// proves: HP-25 twin
#[test]
fn each_failure_has_its_error_its_hint_and_its_counter() {
    let stage = Stage::twin();
    let failed = run(
        &stage,
        "symlink",
        &[
            container("account", |it| it["securityContext"] = run_as("no-such-account")),
            container("program", |it| it["command"] = json!(["no-such-program"])),
            container("token", |it| it["volumeMounts"] = json!([{"name": "token", "mountPath": TOKEN}])),
            container("mount", |it| it["volumeMounts"] = json!([{"name": "pipe", "mountPath": "/pipe"}])),
        ],
    );
    failed.assert_met(FailureMode::AccountUnknown, 1);
    failed.assert_met(FailureMode::ProgramNotFound, 1);
    failed.assert_met(FailureMode::TokenPathMissing, 1);
    failed.assert_met(FailureMode::MountRefused, 1);
    stage.assert_nothing_left();
    let missing = run(&stage, "bind", &[container("image", |it| it["image"] = "dir:nowhere".into())]);
    missing.assert_met(FailureMode::ImageNotFound, 1);
}

// proves: HP-25 twin
#[test]
fn a_holder_that_is_killed_has_its_error_its_hint_and_its_counter() {
    let stage = Stage::twin();
    lose_the_holder(&stage).assert_met(FailureMode::HolderLost, 1);
    stage.assert_nothing_left();
}

// proves: HP-25 twin
#[test]
fn a_runtime_that_was_down_has_its_error_its_hint_and_its_counter() {
    let stage = Stage::twin();
    lose_the_agent(&stage).assert_met(FailureMode::RuntimeDown, 1);
    stage.assert_nothing_left();
}

/// What runs a program as on a kernel that cannot bind as we need it.
fn older_kernel(stage: &Stage) -> PathBuf {
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/failures/older_kernel.c");
    let program = stage.dir().join("older-kernel");
    let compiled = Command::new("cc").arg("-o").arg(&program).arg(source).status().unwrap();
    assert!(compiled.success());
    program
}

// proves: HP-25 twin
#[test]
fn where_the_kernel_cannot_bind_volumes_are_links_and_it_says_so() {
    let stage = Stage::twin();
    let print = container("links", |it| {
        it["command"] = json!(["./fixture", "write", "$CONTAINER_SANDBOX_MOUNT_POINT/data/x", "it ran"]);
        it["volumeMounts"] = json!([{"name": "token", "mountPath": "/data"}]);
    });
    let failed = run_through(&stage, &older_kernel(&stage), "bind", &[print]);
    failed.assert_met(FailureMode::BindFilterMissing, 1);
    failed.assert_ended("links", 0);
    stage.assert_nothing_left();
}
