use serde_json::{Value, json};

use super::*;

const POLICY: &str = "apiVersion: porthole.dev/v1alpha1\nkind: HostProcessPolicy\nrules:\n\
    - {name: nets, namespaces: [net], images: [registry.test/net]}\n\
    - {name: ops, namespaces: [ops], users: [alice]}\n";

fn judge() -> Judge {
    Judge { policy: Policy::parse(POLICY).expect("a policy"), options: ApiOptions::default() }
}

fn spec(image: &str) -> Value {
    json!({
        "hostNetwork": true,
        "securityContext": {"windowsOptions": {"hostProcess": true, "runAsUserName": "NT AUTHORITY\\SYSTEM"}},
        "containers": [{"name": "main", "image": image}],
    })
}

fn pod(spec: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
}

/// What was asked, in few words.
struct Case {
    operation: &'static str,
    namespace: &'static str,
    user: &'static str,
    object: Value,
    old: Value,
}

fn create(namespace: &'static str, user: &'static str, object: Value) -> Case {
    Case { operation: "CREATE", namespace, user, object, old: Value::Null }
}

fn update(namespace: &'static str, old: Value, object: Value) -> Case {
    Case { operation: "UPDATE", namespace, user: "mallory", object, old }
}

fn ask(judge: &Judge, case: &Case) -> Result<Verdict, String> {
    let kind = [&case.object, &case.old].into_iter().find(|object| !object.is_null()).expect("an object");
    let api_version = kind["apiVersion"].as_str().expect("apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let text = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "kind": {"group": group, "version": version, "kind": kind["kind"]}, "namespace": case.namespace,
        "operation": case.operation, "userInfo": {"username": case.user}, "object": case.object, "oldObject": case.old,
    }})
    .to_string();
    let request = Request::parse(text.as_bytes()).expect("a review");
    judge.judge(&request).map_err(|e| crate::follow::chain(&e))
}

fn message(case: &Case) -> String {
    match ask(&judge(), case).expect("judged") {
        Verdict::Refused { message } => message,
        allowed @ Verdict::Allowed { .. } => panic!("{:?} {:?}: {allowed:?}", case.operation, case.object),
    }
}

fn is_allowed(case: &Case) -> bool {
    ask(&judge(), case).expect("judged").is_allowed()
}

#[test]
fn the_policy_decides_about_host_process_pods() {
    assert!(is_allowed(&create("net", "anybody", pod(&spec("registry.test/net/proxy:1")))));
    assert!(is_allowed(&create("ops", "alice", pod(&spec("any")))));
    let refusal = message(&create("ops", "mallory", pod(&spec("any"))));
    assert!(refusal.contains("rule \"ops\"") && refusal.contains("user \"mallory\""), "{refusal}");
    assert!(is_allowed(&create(
        "other",
        "mallory",
        pod(&json!({"containers": [{"name": "a", "image": "any"}]}))
    )));
}

#[test]
fn templates_are_judged_like_pods() {
    for kind in Kind::all().filter(|kind| kind.is_template()) {
        let object = |image: &str| {
            let mut object = json!({"apiVersion": kind.api_version(), "kind": kind.name()});
            let mut at = &mut object;
            for step in kind.spec_path().split('.') {
                at = &mut at[step];
            }
            *at = spec(image);
            object
        };
        assert!(is_allowed(&create("net", "anybody", object("registry.test/net/proxy:1"))), "{kind:?}");
        let refusal = message(&create("net", "anybody", object("registry.test/other")));
        assert!(refusal.contains("registry.test/other"), "{kind:?}: {refusal}");
    }
}

#[test]
fn the_api_servers_rules_come_first() {
    let mut wrong = spec("registry.test/net/proxy:1");
    wrong["hostNetwork"] = false.into();
    let refusal = message(&create("net", "anybody", pod(&wrong)));
    assert!(refusal.contains("spec.hostNetwork"), "{refusal}");
}

// proves: HP-05 pure
#[test]
fn switched_off_nothing_new_starts_and_nothing_old_is_touched() {
    let off = ApiOptions { host_process: false, ..ApiOptions::default() };
    let judge = Judge { options: off, ..judge() };
    let running = pod(&spec("registry.test/net/proxy:1"));
    let Ok(Verdict::Refused { message }) = ask(&judge, &create("net", "a", running.clone())) else {
        panic!("allowed")
    };
    assert!(message.contains("HostProcess containers are off"), "{message}");
    let labelled = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}}, "spec": running["spec"]});
    assert!(ask(&judge, &update("net", running, labelled)).expect("judged").is_allowed());
}

#[test]
fn privileged_pods_forbidden_forbids_host_process_too() {
    let judge = Judge { options: ApiOptions { allow_privileged: false, ..ApiOptions::default() }, ..judge() };
    let case = create("net", "a", pod(&spec("registry.test/net/proxy:1")));
    assert!(!ask(&judge, &case).expect("judged").is_allowed());
}

#[test]
fn a_pod_that_the_policy_no_longer_allows_is_not_bricked() {
    let old = pod(&spec("registry.test/other"));
    let changed = |change: fn(&mut Value)| {
        let mut new = old.clone();
        change(&mut new);
        update("net", old.clone(), new)
    };
    assert!(is_allowed(&changed(|new| new["metadata"]["finalizers"] = json!(["a/b"]))));
    assert!(is_allowed(&changed(|new| new["status"] = json!({"phase": "Running"}))));
    assert!(!is_allowed(
        &changed(|new| new["spec"]["containers"][0]["image"] = json!("registry.test/third"))
    ));
    assert!(!is_allowed(&changed(|new| new["spec"]["serviceAccountName"] = json!("root"))));
    let delete = Case { operation: "DELETE", object: Value::Null, ..changed(|_| ()) };
    assert!(is_allowed(&delete));
    assert!(!is_allowed(&update("net", Value::Null, old.clone())), "without the old one it is new");
}

#[test]
fn an_ephemeral_container_is_judged_with_its_pod() {
    let old = pod(&spec("registry.test/net/proxy:1"));
    let with = |image: &str| {
        let mut new = old.clone();
        new["spec"]["ephemeralContainers"] = json!([{"name": "debug", "image": image}]);
        update("net", old.clone(), new)
    };
    assert!(is_allowed(&with("registry.test/net/debug:1")));
    let refusal = message(&with("registry.test/shell"));
    assert!(refusal.contains("container \"debug\""), "{refusal}");
}

#[test]
fn what_cannot_be_judged_is_not_allowed() {
    let refusal = message(&create("net", "a", json!({"apiVersion": "apps/v1beta1", "kind": "Deployment"})));
    assert!(refusal.contains("not apps/v1beta1 Deployment"), "{refusal}");
    let error = ask(&judge(), &create("net", "a", pod(&json!({"containers": 3})))).expect_err("no pod");
    assert!(error.starts_with("the object is not a Pod: invalid type"), "{error}");
    let none = Case {
        operation: "CREATE",
        object: Value::Null,
        old: pod(&json!({})),
        ..create("n", "a", Value::Null)
    };
    assert!(ask(&judge(), &none).expect_err("no object").contains("has no object"));
}

#[test]
fn the_runtimes_own_socket_is_for_nobody() {
    let mut own = json!({"containers": [{"name": "a", "image": "any"}]});
    own["volumes"] = json!([{"name": "v", "hostPath": {"path": "/var/lib/porthole/run/cri.sock"}}]);
    assert!(message(&create("other", "a", pod(&own))).contains("the runtime's own"));
}

#[test]
fn an_author_is_warned_of_what_has_no_effect() {
    let mut odd = spec("registry.test/net/proxy:1");
    odd["containers"][0]["securityContext"] = json!({"privileged": true});
    let expected = rules::warnings(&decode_pod(&pod(&odd)));
    assert!(!expected.is_empty(), "choose another field");
    let Ok(Verdict::Allowed { warnings }) = ask(&judge(), &create("net", "a", pod(&odd))) else {
        panic!("refused")
    };
    assert_eq!(warnings.len(), expected.len());
    assert!(warnings[0].starts_with(&expected[0].field), "{warnings:?}");
}

fn decode_pod(object: &Value) -> Subject {
    Subject::decode(Kind::Pod, object).expect("a pod")
}

static JUDGE: std::sync::LazyLock<Judge> = std::sync::LazyLock::new(judge);

proptest::proptest! {
    /// Foreign bytes: whatever they are, a verdict or an error.
    #[test]
    fn a_broken_review_is_no_panic_and_a_torn_one_no_verdict(at in 0usize..1200, byte: u8, cut in 0usize..1200) {
        let object = pod(&spec("registry.test/other"));
        let text = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "namespace": "net",
            "operation": "CREATE", "userInfo": {"username": "mallory"}, "object": object,
        }}).to_string();
        let mut bytes = text.clone().into_bytes();
        let length = bytes.len();
        bytes[at % length] = byte;
        let judged = |bytes: &[u8]| JUDGE.judge(&Request::parse(bytes).ok()?).ok();
        // One byte can make it another namespace, another operation or no HostProcess pod, but then it is well-formed.
        drop(judged(&bytes));
        let torn = &text.as_bytes()[..cut % length];
        proptest::prop_assert!(judged(torn).is_none());
    }
}
