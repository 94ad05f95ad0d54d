use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::Kind;

#[path = "../../../porthole/tests/stage/policy_cases.rs"]
mod policy_cases;

use policy_cases::{Case, Expect, cases};

fn decide(policy: &Policy, case: &Case) -> Decision {
    let object = case.object();
    let text = |name: &str| object[name].as_str().expect("a text").to_owned();
    let kind = Kind::of(&text("apiVersion"), &text("kind")).expect("a known kind");
    let subject = Subject::decode(kind, &object).expect("decodes");
    policy.decide(&subject, &Asker { namespace: &case.namespace, user: Some(&case.user) })
}

// proves: KA-11 pure
#[test]
fn the_shared_cases() {
    let cases = cases();
    for case in &cases.cases {
        let policy = Policy::parse(&cases.policies[&case.policy]).expect("a policy");
        assert!(policy.name().is_some_and(|name| name == case.policy || case.policy == "quoting"));
        let decision = decide(&policy, case);
        let as_expected = match (&case.expect, &decision) {
            (Expect::Allowed(wanted), Decision::Allowed { rule }) => wanted == rule,
            (Expect::Refused(wanted), Decision::Refused { message }) => message.contains(wanted.as_str()),
            (Expect::NotHostProcess, Decision::NotHostProcess) => true,
            _ => false,
        };
        assert!(as_expected, "{}: {decision:?}, wanted {:?}", case.name, case.expect);
        assert_eq!(case.passes(), !matches!(decision, Decision::Refused { .. }));
    }
    let before = cases.cases.iter().filter_map(Case::pod_before);
    assert!(before.clone().all(|pod| pod["spec"]["ephemeralContainers"].is_null()));
    assert!(before.count() >= 4, "ephemeral containers are among the cases");
}

fn policy(rules: &str) -> Result<Policy, PolicyError> {
    Policy::parse(&format!("apiVersion: porthole.dev/v1alpha1\nkind: HostProcessPolicy\nrules:\n{rules}"))
}

fn one_rule(field: Field, pattern: &str) -> Policy {
    policy(&format!("- {{{}: [{}]}}", field.name(), json!(pattern))).expect("a policy")
}

fn pod(spec: serde_json::Value) -> Subject {
    let mut object = json!({"spec": {"securityContext": {"windowsOptions": {"hostProcess": true}}}});
    let all = object["spec"].as_object_mut().expect("a map");
    all.extend(spec.as_object().expect("a map").clone());
    let pod: k8s_openapi::api::core::v1::Pod = serde_json::from_value(
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": object["spec"]}),
    )
    .expect("a pod");
    pod.into()
}

fn allowed(policy: &Policy, subject: &Subject) -> bool {
    let asker = Asker { namespace: "n", user: None };
    matches!(policy.decide(subject, &asker), Decision::Allowed { .. })
}

fn takes(field: Field, pattern: &str, value: &str) -> bool {
    let spec = match field {
        Field::Images => json!({"containers": [{"name": "c", "image": value}]}),
        Field::HostPaths => {
            json!({"containers": [{"name": "c"}], "volumes": [{"name": "v", "hostPath": {"path": value}}]})
        }
        field => panic!("no values for {field:?}"),
    };
    allowed(&one_rule(field, pattern), &pod(spec))
}

#[test]
fn images_by_repository_and_digest() {
    let digest = format!("sha256:{}", "0a".repeat(32));
    let takes = |pattern: &str, image: &str| takes(Field::Images, pattern, image);
    for (pattern, image) in [
        ("*", "anything"),
        ("*", "dir:app"),
        ("reg.io", "reg.io/a/b:c"),
        ("reg.io/", "reg.io/a"),
        ("localhost:5000/", "localhost:5000/a"),
        ("localhost", "localhost/a"),
        ("reg.io:1/a", "reg.io:1/a:t"),
        ("reg.io/a/", "reg.io/a"),
        ("reg.io/a*", "reg.io/abc/d:t"),
        ("reg.io/*/x", "reg.io/a/b/x/y"),
        ("CORP/a", "CORP/a"),
        ("a/b", "docker.io/a/b"),
        ("a/", "a/b"),
        ("docker.io", "x"),
        ("docker.io/a", "docker.io/a/b"),
        ("docker.io/a", "a"),
        ("docker.io/library", "a"),
        ("docker.io/a/b", "a/b"),
    ] {
        assert!(takes(pattern, image), "{pattern} does not take {image}");
    }
    for (pattern, image) in [
        ("reg.io", "reg.io"),
        ("reg.io", "reg.io:1/a"),
        ("reg.io", "reg.iox/a"),
        ("reg.io", "regxio/a"),
        ("localhost", "localhost:5000/a"),
        ("localhost", "localhost"),
        ("reg.io/a", "reg.io/A"),
        ("reg.io/a*b", "reg.io/a:b"),
        ("reg.io/a*b", "reg.io/a@b"),
        ("a", "CORP/a"),
        ("docker.io/*", "CORP/a"),
        ("dir", "dir:app"),
        ("oci-archive", "oci-archive:app"),
        ("a", "a/b"),
        ("a", "b/a"),
        ("a/b", "reg.io/a/b"),
        ("docker.io/a/b", "docker.io/library/a/b"),
        ("docker.io/a", "docker.io/ab"),
    ] {
        assert!(!takes(pattern, image), "{pattern} takes {image}");
    }
    assert!(takes(&digest, &format!("any.io/x:t@{digest}")));
    assert!(takes(&format!("reg.io/a@{digest}"), &format!("reg.io/a@{digest}")));
    assert!(!takes(&format!("reg.io/a@{digest}"), &format!("reg.io/a/b@{digest}")));
    assert!(!takes(&format!("reg.io/a@{digest}"), &format!("reg.io/b@{digest}")));
    assert!(!takes(&digest, &format!("any.io/x@{digest}0")));
    assert!(!takes(&digest, &digest));
}

#[test]
fn paths_in_any_spelling() {
    let takes = |pattern: &str, path: &str| takes(Field::HostPaths, pattern, path);
    for (pattern, path) in [
        ("*", r"D:\any"),
        (r"C:\a\b", "/a/b"),
        ("/a/b/", r"\A\\B\."),
        (r"\\?\C:\a", "c:/a"),
        (r"\\.\C:", r"C:\"),
        (r"\\.\pipe\x", "//?/PIPE/x"),
        (r"\\.\pipe\x", r"\\\.\pipe\x"),
        (r"\\server\share\*", "//SERVER/share/x"),
        (r"C:\a*", r"C:\ab\c"),
        (r"*\logs", r"d:\x\logs"),
    ] {
        assert!(takes(pattern, path), "{pattern} does not take {path}");
    }
    for (pattern, path) in [
        (r"C:\a", r"C:\ab"),
        (r"C:\a\*", r"C:\a"),
        (r"C:\server\share", r"\\server\share"),
        (r"C:\*", "C:x"),
        (r"C:\*", r"C:\a:s"),
        (r"C:\*", r"C:\a:"),
        (r"C:\*", r"C:\a "),
        (r"C:\*", r"C:\a.\b"),
        ("*", "a:b:"),
        ("*", ":a"),
        ("*", ":"),
        ("*", "ab:/c"),
        (r"C:\*", "1:/x"),
        (r"C:\.", "relative"),
    ] {
        assert!(!takes(pattern, path), "{pattern} takes {path}");
    }
}

#[test]
fn the_pod_s_own_account_and_the_requester() {
    let accounts = one_rule(Field::ServiceAccounts, "old");
    let bare = json!({"containers": [{"name": "c"}]});
    assert!(!allowed(&accounts, &pod(bare.clone())));
    assert!(allowed(&one_rule(Field::ServiceAccounts, "default"), &pod(bare.clone())));
    let with = |name: &str, other: &str| {
        pod(json!({"containers": [{"name": "c"}], "serviceAccountName": name, "serviceAccount": other}))
    };
    assert!(allowed(&accounts, &with("", "old")), "the field's old name");
    assert!(!allowed(&accounts, &with("new", "old")), "the new name wins");

    let users = one_rule(Field::Users, "u");
    assert!(allowed(&users, &pod(bare)), "nobody is known when a file is checked");
    assert!(allowed(&one_rule(Field::RunAsUserNames, ""), &pod(json!({"containers": [{"name": "c"}]}))));
    assert!(!allowed(&one_rule(Field::RunAsUserNames, "a"), &pod(json!({"containers": [{"name": "c"}]}))));
}

#[test]
fn the_nearest_rule_is_the_first_that_came_furthest() {
    let policy = policy(
        "- {name: a, namespaces: [x]}\n- {name: b, namespaces: [n], images: [i]}\n- {name: c, images: [j]}\n",
    );
    let policy = policy.expect("a policy");
    assert_eq!(policy.name(), None);
    let subject = pod(json!({"containers": [{"name": "c", "image": "k"}]}));
    let Decision::Refused { message } = policy.decide(&subject, &Asker { namespace: "n", user: None }) else {
        panic!("allowed");
    };
    let expected = r#"no rule of the policy allows it: rule "b", the nearest of 3: image "k" of container "c" matches none of ["i"]"#;
    assert_eq!(message, expected);
    let one = one_rule(Field::Namespaces, "x").decide(&subject, &Asker { namespace: "n", user: None });
    let expected = r#"no rule of the policy allows it: rule "rules[0]": namespace "n" matches none of ["x"]"#;
    assert_eq!(one, Decision::Refused { message: expected.to_owned() });
}

#[test]
fn json_is_read_too_and_empty_names_are_none() {
    let text = json!({
        "apiVersion": "porthole.dev/v1alpha1", "kind": "HostProcessPolicy",
        "metadata": {"name": "", "labels": {"a": "b"}, "annotations": {"c": "d"}},
        "rules": [{"name": "", "hostPaths": []}],
    });
    let policy = Policy::parse(&text.to_string()).expect("a policy");
    assert_eq!((policy.name(), policy.rules()[0].label()), (None, "rules[0]"));
    let rule = &policy.rules()[0];
    let regex = |field, pattern| {
        let policy = one_rule(field, pattern);
        policy.rules()[0].list(field).expect("a list").regex().to_owned()
    };
    assert_eq!(regex(Field::HostPaths, r"C:\A.b\*"), "^(?s:c:/a\\.b/.*)$", "CEL takes the same expression");
    assert!(rule.list(Field::Images).is_none());
    assert!(rule.list(Field::HostPaths).is_some_and(|list| list.patterns().is_empty()));
    assert!(allowed(&policy, &pod(json!({"containers": [{"name": "c"}]}))), "no path, nothing to refuse");
}

#[test]
fn what_is_wrong_with_a_policy() {
    let head = "apiVersion: porthole.dev/v1alpha1\nkind: HostProcessPolicy\n";
    let hex = "0".repeat(63);
    let with = |rest: &str| Policy::parse(&format!("{head}{rest}"));
    for (text, expected) in [
        ("rules: []", "the policy has no rules: to allow nothing, say rules: [{namespaces: []}]"),
        (
            "rules:\n- {name: x, images: [a]}\n- {name: x, images: [b]}",
            "line 5: two rules have the name \"x\"",
        ),
        ("rules:\n- images: [a]\n- name: x", "line 5: rule \"x\" sets no field and would allow everything"),
        ("rules: [{}]", "rule \"rules[0]\" sets no field"),
        ("rules:\n- images:\n", "wanted a list, found nothing"),
        ("rules:\n", "wanted a list, found nothing"),
        ("rules: [{images: nginx}]", "not a HostProcessPolicy: "),
        ("rules: [{images: {a: b}}]", "line 3"),
        ("rules: {}", "line 3"),
        ("rules: [{image: [a]}]", "unknown field"),
        ("rules: [{images: [a]}]\nspec: {}", "unknown field"),
        ("metadata: {nam: x}\nrules: [{images: [a]}]", "unknown field"),
        ("rules: [{images: [a], images: [b]}]", "duplicate"),
        ("", "missing field"),
        ("rules: [{images: [a]}]\n---\n{}", "not a HostProcessPolicy: "),
        ("rules: [", "not a HostProcessPolicy: "),
        (
            "rules:\n- name: r\n  namespaces:\n  - ok\n  - Bad",
            "line 7: rule \"r\": namespaces has \"Bad\", wanted lower-case",
        ),
        ("rules: [{namespaces: [a.b]}]", "namespaces has \"a.b\""),
        ("rules: [{namespaces: ['']}]", "namespaces has \"\""),
        ("rules: [{serviceAccounts: [a/b]}]", "serviceAccounts has \"a/b\""),
        ("rules: [{users: ['']}]", "users has \"\", wanted a name"),
        ("rules: [{images: ['']}]", "images has \"\", wanted a registry"),
        ("rules: [{images: ['a:1']}]", "wanted no tag"),
        ("rules: [{images: ['a.b/c:1']}]", "wanted no tag"),
        ("rules: [{images: ['*.io/x']}]", "wanted a registry without"),
        ("rules: [{images: ['*:1/x']}]", "wanted a registry without"),
        ("rules: [{images: ['/a']}]", "images has"),
        ("rules: [{images: ['a//b']}]", "images has"),
        ("rules: [{images: ['a?']}]", "images has"),
        ("rules: [{images: ['sha256:abc']}]", "wanted a digest"),
        ("rules: [{images: ['a@md5:abc']}]", "wanted a digest"),
        (&format!("rules: [{{images: ['sha256:{hex}G']}}]"), "wanted a digest"),
        (&format!("rules: [{{images: ['reg.io@sha256:{hex}0']}}]"), "wanted a registry or"),
        (r"rules: [{hostPaths: ['C:\a\..\b']}]", "wanted a path without"),
        (r"rules: [{hostPaths: ['C:\a?']}]", "only \"*\" is a wildcard"),
        (r"rules: [{hostPaths: ['\\?\C:\a|']}]", "only \"*\" is a wildcard"),
        ("rules: [{hostPaths: [relative]}]", "wanted a whole path"),
        ("rules: [{hostPaths: ['c:relative']}]", "hostPaths has"),
    ] {
        let error = with(text).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let error = Policy::parse("apiVersion: v1\nkind: HostProcessPolicy\nrules: []").expect_err("a version");
    assert_eq!(error, PolicyError::Version { line: 1, found: "v1".to_owned() });
    let error = Policy::parse("apiVersion: porthole.dev/v1alpha1\nkind: Pod\nrules: []").expect_err("a kind");
    assert_eq!(error.to_string(), "line 2: wanted kind \"HostProcessPolicy\", found \"Pod\"");
    assert!(Policy::parse("- a\n- b").is_err() && Policy::parse("").is_err());
}

#[test]
fn a_list_can_be_too_long_but_not_harm() {
    let long = format!("- {{users: [{}]}}", json!("é*".repeat(100_000)));
    let error = policy(&long).expect_err("too long");
    assert!(matches!(error, PolicyError::TooLong { field: "users", .. }), "{error}");
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>()) {
        let _ = Policy::parse(&text);
    }

    #[test]
    fn every_user_name_without_a_star_is_taken_as_it_is(name in "[^*]{1,20}", other in "[^*]{1,20}") {
        let list = List::new(Field::Users, vec![name.clone()]).expect("a list");
        let value = |text: &str| pod::Value { what: String::new(), normal: Some(text.to_owned()) };
        prop_assert!(list.matches_value(&value(&name)));
        prop_assert_eq!(list.matches_value(&value(&other)), name == other);
        let more = format!("{name}{other}");
        prop_assert!(!list.matches_value(&value(&more)));
        let glob = List::new(Field::Users, vec![format!("{name}*")]).expect("a list");
        prop_assert!(glob.matches_value(&value(&more)));
    }

    #[test]
    fn a_path_in_its_normal_form_stays_so(path in r"([a-cC]:|[\\/.? ]|\.\.|pipe|x~1){0,8}") {
        let normal = path::normal(&path);
        prop_assert_eq!(path::normal(&path.to_ascii_uppercase().replace('/', "\\")), normal.clone());
        prop_assert!(!normal.contains('\\') && !normal.ends_with("/."), "{}", normal);
        // A bare pair of slashes is nothing that could be mounted.
        if normal != "/" && !normal.is_empty() {
            prop_assert_eq!(path::normal(&normal), normal);
        }
    }
}
