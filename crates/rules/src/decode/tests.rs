use super::*;

/// What became of every object, a line each: `index[.item] kind name: outcome`.
fn outcomes(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for document in documents(text) {
        document.each(|object| {
            let item = object.item.map_or_else(String::new, |item| format!(".{item}"));
            let outcome = match object.read() {
                Ok(Read::PassedOver) => "passed over".to_owned(),
                Ok(Read::Subject { unknown, .. }) if unknown.is_empty() => "read".to_owned(),
                Ok(Read::Subject { unknown, .. }) => format!("unknown {}", unknown.join(" ")),
                Err(error) => format!("{}={}: {}", error.field, error.value, error.message),
            };
            lines.push(format!("{}{item} {} {}: {outcome}", document.index, object.kind(), object.name()));
        });
    }
    lines
}

fn subject(text: &str) -> Subject {
    let mut found = None;
    let document = documents(text).next().expect("a document");
    document.each(|object| match object.read() {
        Ok(Read::Subject { subject, .. }) => found = Some(*subject),
        other => panic!("{other:?}"),
    });
    found.expect("an object")
}

fn pod(spec: &str) -> String {
    format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n{spec}")
}

fn line(text: &str, field: &str) -> usize {
    let mut at = 0;
    documents(text).for_each(|document| document.each(|object| at = object.offset(field)));
    text[..at].matches('\n').count() + 1
}

#[test]
fn documents_of_both_sorts_in_their_order() {
    let pod = "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"j\"}}";
    let yaml = "apiVersion: v1\nkind: Pod\nmetadata: {name: m}\n";
    let both = ["0 Pod j: read", "1 Pod j: read"];
    assert_eq!(outcomes(&format!("{pod}{pod}")), both);
    assert_eq!(outcomes(&format!("{pod}\n\n{pod}\n")), both);
    assert_eq!(outcomes(&format!("{pod}\n---\n{pod}\n")), both);
    assert_eq!(
        outcomes(&format!("# first\n---\n{yaml}---\n# nothing\n---\n{yaml}")),
        ["0 Pod m: read", "2 Pod m: read"]
    );
    assert_eq!(outcomes("{apiVersion: v1, kind: Pod, metadata: {name: flow}}"), ["0 Pod flow: read"]);
    assert_eq!(outcomes(""), [""; 0]);
    assert_eq!(outcomes("---\n...\n"), [""; 0]);
}

#[test]
fn lists_are_their_members() {
    let list = "kind: List\napiVersion: v1\nitems:\n- {kind: Pod, apiVersion: v1, metadata: {name: a}}\n- {kind: Service, apiVersion: v1}\n";
    assert_eq!(outcomes(list), ["0.0 Pod a: read", "0.1 Service : passed over"]);
    let typed = r#"{"kind":"DeploymentList","apiVersion":"apps/v1","items":[{"metadata":{"name":"d"}}]}"#;
    assert_eq!(outcomes(typed), ["0.0 Deployment d: read"]);
    let nested = "{kind: List, apiVersion: v1, items: [{kind: PodList, apiVersion: v1, items: [{}, {}]}, {kind: Pod, apiVersion: v1}]}";
    assert_eq!(outcomes(nested), ["0.0 Pod : read", "0.1 Pod : read", "0.2 Pod : read"]);
    assert_eq!(outcomes("kind: PodList\napiVersion: v1\nitems:\n"), [""; 0]);
    assert_eq!(
        outcomes("kind: List\napiVersion: v1\nitems: [3]\n"),
        ["0.0  : =3: wanted an object with apiVersion and kind"]
    );
    assert_eq!(outcomes("kind: WatchList\napiVersion: x.io/v1\nspec: {}\n"), ["0 WatchList : passed over"]);
}

#[test]
fn what_has_no_pod_is_passed_over_and_what_is_not_served_is_not() {
    assert_eq!(outcomes("kind: Service\napiVersion: v1\n"), ["0 Service : passed over"]);
    assert_eq!(outcomes("kind: Job\napiVersion: batch.volcano.sh/v1alpha1\n"), ["0 Job : passed over"]);
    let old = outcomes("kind: Deployment\napiVersion: extensions/v1beta1\n");
    assert_eq!(
        old,
        [
            "0 Deployment : apiVersion=\"extensions/v1beta1\": kind Deployment is not served in this version; wanted \"apps/v1\""
        ]
    );
    assert_eq!(outcomes("a: b\n"), ["0  : apiVersion=\"\": must be set to a string"]);
    assert_eq!(outcomes("apiVersion: v1\nkind: 3\n"), ["0  : kind=3: must be set to a string"]);
    assert_eq!(outcomes("just text\n"), ["0  : =\"just text\": wanted an object with apiVersion and kind"]);
}

#[test]
fn a_broken_document_costs_only_itself() {
    let text = format!("{}---\nkind: [\n---\n{}", pod("  containers: []\n"), pod("  containers: []\n"));
    let found = outcomes(&text);
    assert_eq!((found.len(), &*found[0], &*found[2]), (3, "0 Pod p: read", "2 Pod p: read"), "{found:?}");
    assert!(found[1].starts_with("1  : =\"\": "), "{found:?}");
}

#[test]
fn a_wrong_type_is_named_with_its_field_and_value() {
    for (spec, expected) in [
        (
            "  hostNetwork: \"yes\"\n",
            "spec.hostNetwork=\"yes\": invalid type: string \"yes\", expected a boolean",
        ),
        (
            "  containers: [{name: on}]\n",
            "spec.containers[0].name=true: invalid type: boolean `true`, expected a string",
        ),
        (
            "  containers: [{env: [{name: A, value: 1}]}]\n",
            "spec.containers[0].env[0].value=1: invalid type: integer `1`, expected a string",
        ),
        ("  containers: {}\n", "spec.containers=\"\": invalid type: map, expected a sequence"),
        (
            "  priority: 3000000000\n",
            "spec.priority=3000000000: invalid value: integer `3000000000`, expected i32",
        ),
        ("  priority: 1.5\n", "spec.priority=1.5: invalid type: floating point `1.5`, expected i32"),
    ] {
        assert_eq!(outcomes(&pod(spec)), [format!("0 Pod p: {expected}")]);
    }
}

#[test]
fn unknown_fields_are_noticed() {
    assert_eq!(
        outcomes(&pod("  hostNetwrok: true\n  containers: [{nmae: x, name: z}]\n")),
        ["0 Pod p: unknown spec.hostNetwrok spec.containers[0].nmae"]
    );
    let json =
        r#"{"apiVersion":"v1","kind":"Pod","spec":{"containers":[],"x":{"y":1}},"metadata":{"name":"p"}}"#;
    assert_eq!(outcomes(json), ["0 Pod p: unknown spec.x"]);
}

#[test]
fn a_key_that_is_there_twice_is_an_error() {
    let twice = outcomes(&pod("  hostNetwork: true\n  hostNetwork: false\n"));
    assert_eq!(twice, ["0 Pod p: spec.hostNetwork=false: duplicate field \"spec.hostNetwork\""]);
    let json = r#"{"apiVersion":"v1","kind":"Pod","kind":"Pod"}"#;
    assert_eq!(outcomes(json), ["0 Pod : kind=\"Pod\": duplicate field \"kind\""]);
    let many: String = (0..100).map(|i| format!("k{i}: 1\n")).collect();
    assert_eq!(outcomes(&format!("{many}k7: 2\n")), ["0  : k7=2: duplicate field \"k7\""]);
    let list = "kind: List\napiVersion: v1\nitems: [{kind: Pod, apiVersion: v1, a: 1, a: 2}, {kind: Pod, apiVersion: v1}]\n";
    assert_eq!(outcomes(list), ["0.0 Pod : a=2: duplicate field \"a\"", "0.1 Pod : read"]);
}

#[test]
fn numbers_words_and_nulls_are_taken_as_kubectl_takes_them() {
    let spec = "  hostNetwork: yes\n  priority: 1e3\n  nodeSelector: {a: null, \"1\": b}\n  containers:\n  - name: c\n    \
                ports: [{containerPort: 0x50}]\n    resources: {limits: {cpu: 1, memory: 1.5}}\n    args: [~]\n    \
                livenessProbe: {httpGet: {port: 80.0}}\n  volumes:\n";
    let subject = subject(&pod(spec));
    assert_eq!((subject.spec.host_network, subject.spec.priority), (Some(true), Some(1000)));
    let container = &subject.spec.containers[0];
    assert_eq!(container.ports.as_ref().unwrap()[0].container_port, 80);
    assert_eq!(container.args.as_deref(), Some(&[String::new()][..]));
    let limits = container.resources.as_ref().unwrap().limits.as_ref().unwrap();
    assert_eq!((&*limits["cpu"].0, &*limits["memory"].0), ("1", "1.5"));
    assert_eq!(subject.spec.node_selector.unwrap()["a"], "");
    assert!(subject.spec.volumes.is_none());
}

#[test]
fn json_numbers_are_not_bent() {
    let found = outcomes(r#"{"apiVersion":"v1","kind":"Pod","spec":{"containers":[],"priority":1.0}}"#);
    assert!(found[0].contains("spec.priority=1.0: invalid type"), "{found:?}");
}

#[test]
fn anchors_aliases_and_merges() {
    let spec = "  nodeSelector: &all {os: windows, a: x}\n  containers:\n  - &base\n    name: a\n    image: i\n    env: []\n  \
                - <<: *base\n    name: b\n  - <<: [{image: first}, {image: second, name: c}]\n  overhead: {}\n";
    let subject = subject(&pod(spec));
    let seen: Vec<_> =
        subject.spec.containers.iter().map(|c| (c.name.as_str(), c.image.as_deref().unwrap())).collect();
    assert_eq!(seen, [("a", "i"), ("b", "i"), ("c", "first")]);
    assert_eq!(
        outcomes(&pod("  containers: [{<<: 3}]\n")),
        ["0 Pod p: spec.containers[0].<<=3: only a map can be merged"]
    );
    assert!(outcomes("&a [*a]\n")[0].contains("an alias of what it is a part of"));
    assert!(outcomes("a: *nothing\n")[0].starts_with("0  : =\"\": "));
}

#[test]
fn bombs_do_not_go_off() {
    let bomb: String = (1..40).fold("a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, i| {
        let before = format!("*a{}", i - 1);
        format!("{text}a{i}: &a{i} [{}]\n", [before.as_str(); 9].join(","))
    });
    // Nothing that a pod has uses the bomb: it is never expanded.
    assert!(outcomes(&format!("{bomb}kind: Service\napiVersion: v1\n"))[0].contains("passed over"));
    let used = format!("{bomb}kind: Pod\napiVersion: v1\nspec: {{containers: [{{args: *a39}}]}}\n");
    assert!(
        outcomes(&used)[0].contains("invalid type: sequence, expected a string"),
        "{:?}",
        outcomes(&used)
    );
    let strings = format!(
        "apiVersion: v1\nkind: Pod\nb: &b [{}]\nc: &c {{args: *b}}\nspec: {{containers: [{}]}}\n",
        "x,".repeat(1000),
        "*c,".repeat(1000)
    );
    assert!(
        outcomes(&strings)[0].contains("aliases make the document too large"),
        "{:?}",
        outcomes(&strings)
    );
    let merges = (1..64).fold("m0: &m0 {a: 1}\n".to_owned(), |text, i| {
        format!("{text}m{i}: &m{i} {{<<: [*m{0}, *m{0}]}}\n", i - 1)
    });
    let merged = outcomes(&format!("{merges}apiVersion: v1\nkind: Pod\nspec: {{<<: *m63}}\n"));
    assert!(merged[0].contains("too large"), "{merged:?}");
}

#[test]
fn depth_has_an_end() {
    for text in ["[".repeat(1000), "- ".repeat(1000), "{\"a\":".repeat(1000), "a: {".repeat(1000)] {
        let found = outcomes(&text);
        assert!(found.len() == 1 && !found[0].contains("read"), "{found:?}");
    }
    let whole = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    assert!(outcomes(&whole)[0].contains("recursion limit exceeded"), "{:?}", outcomes(&whole));
    let block: String = (0..1000).map(|i| format!("{}a:\n", " ".repeat(i))).collect();
    assert!(outcomes(&block)[0].contains("nest"), "{:?}", outcomes(&block));
}

#[test]
fn a_field_has_a_line() {
    let yaml = "# x\napiVersion: v1\nkind: Pod\nspec:\n  nodeSelector:\n    kubernetes.io/os: windows\n  containers:\n  - name: a\n  - name: b\n    \
                image: i\n";
    for (field, expected) in [
        ("spec", 4),
        ("spec.containers[1].image", 10),
        ("spec.containers[1]", 9),
        ("spec.containers[1].securityContext.privileged", 9),
        ("spec.nodeSelector.kubernetes.io/os", 6),
        ("spec.nodeSelector[kubernetes.io/os]", 6),
        ("spec.hostNetwork", 4),
        ("", 2),
    ] {
        assert_eq!(line(yaml, field), expected, "{field}");
    }
    assert_eq!(line(&format!("a: 1\n---\n{yaml}"), "spec.containers"), 9);
    let json = "{\n \"kind\": \"Pod\", \"apiVersion\": \"v1\",\n \"spec\": {\n  \"containers\": [\n   {\"name\": \"a\"},\n   {\n    \"name\": \"b\"}]}}";
    for (field, expected) in [("spec.containers", 4), ("spec.containers[1]", 7), ("spec.hostNetwork", 3)] {
        assert_eq!(line(json, field), expected, "{field}");
    }
}
