//! Requests to a real API server: answers with causes and warnings, in order, as whom the test wants.

use serde_json::{Value, json};
use testbed::api::{Api, Call};
use testbed::control_plane::{ControlPlane, Options};

fn pod(name: &str) -> Value {
    let head = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}});
    let mut pod = head;
    pod["spec"] = json!({"containers": [{"name": "c", "image": "i"}]});
    pod
}

#[test]
fn many_dry_runs_are_answered_in_their_order() {
    let plane = ControlPlane::start(Options::default()).expect("a control plane");
    let api = Api::connect(&plane.kubeconfig()).expect("connected");
    api.wait_for_account("default").expect("an account");

    let calls: Vec<_> = (0..200)
        .map(|i| Call::create(&pod(&if i % 2 == 0 { format!("p{i}") } else { format!("P{i}") })))
        .collect::<Result<_, _>>()
        .expect("calls");
    for (i, answer) in api.send_all(&calls).expect("answers").iter().enumerate() {
        let expected = if i % 2 == 0 { 201 } else { 422 };
        assert_eq!(answer.code, expected, "{i}: {}", answer.body);
        assert_eq!(answer.causes().len(), i % 2);
    }
    assert_eq!(api.send(&Call::get("/api/v1/namespaces/default/pods/p0")).expect("an answer").code, 404);

    let mut odd = pod("odd");
    odd["spec"]["colour"] = json!("red");
    let warned = api.send(&Call::create(&odd).expect("a call")).expect("an answer");
    assert_eq!(warned.warnings, [r#"unknown field "spec.colour""#]);
    let strict = Call::create(&odd).expect("a call").field_validation("Strict");
    assert_eq!(api.send(&strict).expect("an answer").code, 400);

    let other = api.send(&Call::create(&pod("p")).expect("a call").by("jane")).expect("an answer");
    assert_eq!((other.code, other.reason()), (403, "Forbidden"));

    api.namespace("own", &json!({"team": "a"})).expect("a namespace");
    let mut stays = pod("stays");
    stays["metadata"]["namespace"] = json!("own");
    let made = api.send(&Call::create(&stays).expect("a call").for_real()).expect("an answer");
    assert!(made.ok(), "{}", made.message());
    // The scheduler writes into the pod too: whoever meets it begins again with what is there now.
    let debug = || {
        let mut now = api.send(&Call::get("/api/v1/namespaces/own/pods/stays")).expect("an answer").body;
        now["spec"]["ephemeralContainers"] = json!([{"name": "e", "image": "i"}]);
        api.send(&Call::ephemeral(&now).expect("a call")).expect("an answer")
    };
    let debugged = std::iter::repeat_with(debug).take(10).find(|answer| answer.code != 409);
    let debugged = debugged.expect("something else than conflicts");
    assert_eq!(debugged.code, 200, "{}", debugged.message());
}
