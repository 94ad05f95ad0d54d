//! Known ways to fail, by porthole.exe: each with its error, its hint and its counter.

#[expect(dead_code, reason = "each kind of stage is used by its own tests")]
mod stage;

#[expect(dead_code, reason = "some failures are the twin's alone")]
mod failures;

use failures::{container, lose_the_agent, lose_the_holder, run, run_as};
use runtime::failure::FailureMode;
use serde_json::json;
use stage::Stage;

const TOKEN: &str = r"C:\var\run\secrets\kubernetes.io\serviceaccount";
const ACCESS_DENIED: u32 = 5;

// proves: HP-25 wine
#[test]
fn each_failure_has_its_error_its_hint_and_its_counter() {
    let stage = Stage::wine();
    let failed = run(
        &stage,
        "bind",
        &[
            container("account", |it| it["securityContext"] = run_as(r"CORP\alice")),
            container("program", |it| it["command"] = json!(["no-such-program"])),
            container("token", |it| it["volumeMounts"] = json!([{"name": "token", "mountPath": TOKEN}])),
            container("mount", |it| it["volumeMounts"] = json!([{"name": "pipe", "mountPath": "/pipe"}])),
        ],
    );
    failed.assert_met(FailureMode::AccountUnknown, 1);
    failed.assert_met(FailureMode::ProgramNotFound, 1);
    failed.assert_met(FailureMode::TokenPathMissing, 1);
    failed.assert_met(FailureMode::MountRefused, 1);
    // Wine has no bind filter: noticed for the one that could be made.
    failed.assert_met(FailureMode::BindFilterMissing, 1);
    let missing = run(&stage, "bind", &[container("image", |it| it["image"] = "dir:nowhere".into())]);
    missing.assert_met(FailureMode::ImageNotFound, 1);
    stage.assert_nothing_left();
}

// proves: HP-25 wine
#[test]
fn a_holder_that_is_killed_has_its_error_its_hint_and_its_counter() {
    let stage = Stage::wine();
    lose_the_holder(&stage).assert_met(FailureMode::HolderLost, 1);
    stage.assert_nothing_left();
}

// proves: HP-25 wine
#[test]
fn a_runtime_that_was_down_has_its_error_its_hint_and_its_counter() {
    let stage = Stage::wine();
    lose_the_agent(&stage).assert_met(FailureMode::RuntimeDown, 1);
    stage.assert_nothing_left();
}

// proves: HP-25 sim
#[test]
fn a_runtime_that_may_not_log_on_anybody_says_what_guides_quote() {
    let (stage, sim) = Stage::simulated();
    sim.fault("LogonUserW", "user=LocalService", ACCESS_DENIED).unwrap();
    let failed = run(
        &stage,
        "bind",
        &[container("logon", |it| it["securityContext"] = run_as(r"NT AUTHORITY\Local Service"))],
    );
    failed.assert_met(FailureMode::LogonDenied, 1);
    stage.assert_nothing_left();
}
