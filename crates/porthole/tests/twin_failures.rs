//! Known ways to fail, on the twin: each with its error, its hint and its counter, as a user of `up` meets them.

#[expect(dead_code, reason = "each kind of stage is used by its own tests")]
mod stage;

mod failures;

use failures::{container, run, run_as};
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
        ],
    );
    failed.assert_met(FailureMode::AccountUnknown, 1);
    failed.assert_met(FailureMode::ProgramNotFound, 1);
    failed.assert_met(FailureMode::TokenPathMissing, 1);
    stage.assert_nothing_left();
    let missing = run(&stage, "bind", &[container("image", |it| it["image"] = "dir:nowhere".into())]);
    missing.assert_met(FailureMode::ImageNotFound, 1);
}
