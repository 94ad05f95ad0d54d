use serde_json::Value;

use super::*;

fn documents(policy: &str) -> Vec<Value> {
    let policy =
        Policy::parse(&format!("apiVersion: porthole.dev/v1alpha1\nkind: HostProcessPolicy\n{policy}"));
    serde_saphyr::from_multiple(&render(Some(&policy.expect("a policy")))).expect("YAML")
}

fn names(documents: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    documents.iter().map(|d| format!("{}/{}", text(&d["kind"]), text(&d["metadata"]["name"]))).collect()
}

#[test]
fn what_is_rendered() {
    let documents = documents("rules: [{namespaces: [b, a, x-*, '7']}, {namespaces: [a]}, {users: [u]}]");
    let expected = [
        "Namespace/7",
        "Namespace/a",
        "Namespace/b",
        "ValidatingAdmissionPolicy/porthole-host-process",
        "ValidatingAdmissionPolicyBinding/porthole-host-process",
        "ValidatingAdmissionPolicy/porthole-endpoints",
        "ValidatingAdmissionPolicyBinding/porthole-endpoints",
    ];
    assert_eq!(names(&documents), expected);
    assert_eq!(documents[0]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], "privileged");
    let validation = documents[3]["spec"]["validations"][0]["expression"].as_str().expect("a text");
    assert!(
        validation.ends_with("|| variables.rule0\n|| variables.rule1\n|| variables.rule2"),
        "{validation}"
    );
    assert_eq!(documents[3]["spec"]["failurePolicy"], "Fail");
}

#[test]
fn the_example_is_a_policy() {
    let policy = Policy::parse(include_str!("../../../../../examples/policy.yaml")).expect("a policy");
    let documents: Vec<Value> = serde_saphyr::from_multiple(&render(Some(&policy))).expect("YAML");
    let namespaces = names(&documents).into_iter().filter(|name| name.starts_with("Namespace/"));
    let expected =
        ["debug", "kube-flannel", "kube-system", "storage"].map(|name| format!("Namespace/{name}"));
    assert_eq!(namespaces.collect::<Vec<_>>(), expected);
}

#[test]
fn without_a_policy_only_the_sockets_are_kept_out() {
    let text = render(None);
    assert!(text.starts_with("# No policy was given"), "{text}");
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text).expect("YAML");
    assert_eq!(names(&documents).len(), 2);
    assert!(!text.contains('@'), "every name is filled in: {text}");
}

#[test]
fn names_with_signs_stay_on_their_line() {
    let head = r#"metadata: {name: "a\n- b: @RULES@"}"#;
    let rules = r#"rules: [{name: "x\ny: \u2028@ANY@", users: ["@POD@\n"]}]"#;
    let documents = documents(&format!("{head}\n{rules}"));
    let message = documents[0]["spec"]["validations"][0]["message"].as_str().expect("a text");
    assert_eq!(
        message,
        r#"no rule of policy "a\n- b: @RULES@" allows this HostProcess pod: "x\ny: \u{2028}@ANY@""#
    );
}

#[test]
fn a_file_that_is_not_there_or_not_a_policy_is_wrong_use() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("policy.yaml");
    let run = || policies(&PoliciesArgs { policy: Some(path.clone()), output: Format::Json });
    let failure = run().expect_err("no file");
    assert_eq!(failure.code, crate::failure::code::USAGE);
    std::fs::write(&path, "kind: Pod\n").expect("written");
    let failure = run().expect_err("no policy");
    assert_eq!(failure.code, crate::failure::code::USAGE);
    assert!(failure.line().contains("policy.yaml: not a HostProcessPolicy: "), "{}", failure.line());
}
