//! What the checks' own tests share, and the verdicts as a whole.

use super::checks::Refuses;
use super::*;

/// Holds a check against pods in YAML, each with the detail it should get; empty where it should not mind.
#[track_caller]
pub(super) fn details(refuses: Refuses, cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let Subject { pod, spec, .. } = subject(text);
        let refusal = refuses(&Pod { metadata: &pod, spec: &spec });
        assert_eq!(refusal.map(|refusal| refusal.detail).unwrap_or_default(), *expected, "{text}");
    }
}

pub(super) fn subject(text: &str) -> Subject {
    serde_saphyr::from_str::<k8s_openapi::api::core::v1::Pod>(text).expect(text).into()
}

const HOST_PROCESS: &str = "
spec:
  hostNetwork: true
  os: {name: windows}
  securityContext: {windowsOptions: {hostProcess: true, runAsUserName: 'NT AUTHORITY\\SYSTEM'}}
  containers:
  - {name: proxy, ports: [{containerPort: 80}]}
  volumes:
  - {name: host, hostPath: {path: 'C:\\'}}
  - {name: scratch}
";

// proves: HP-19 pure
#[test]
fn both_levels_refuse_a_host_process_pod_in_the_plugins_words() {
    let pod = subject(HOST_PROCESS);
    let findings = judge(Level::Baseline, Version::Latest, &pod);
    let ids: Vec<_> = findings.iter().map(|finding| finding.id).collect();
    assert_eq!(ids, ["hostNamespaces", "hostPathVolumes", "hostPorts", "windowsHostProcess"]);
    assert_eq!(
        refusal(Level::Baseline, Version::Latest, &findings),
        "violates PodSecurity \"baseline:latest\": host namespaces (hostNetwork=true), hostPath volumes \
         (volume \"host\"), hostPort (container \"proxy\" uses hostPort 80), hostProcess (pod must not set \
         securityContext.windowsOptions.hostProcess=true)"
    );
    let version = Version::V1(36);
    let findings = judge(Level::Restricted, version, &pod);
    assert_eq!(
        warning(Level::Restricted, version, &findings),
        "would violate PodSecurity \"restricted:v1.36\": host namespaces (hostNetwork=true), hostPort (container \
         \"proxy\" uses hostPort 80), hostProcess (pod must not set \
         securityContext.windowsOptions.hostProcess=true), restricted volume types (volume \"host\" uses \
         restricted volume type \"hostPath\"), runAsNonRoot != true (pod or container \"proxy\" must set \
         securityContext.runAsNonRoot=true)"
    );
}

#[test]
fn a_finding_says_its_id_reason_and_detail() {
    let finding = Finding { id: "privileged", reason: "privileged", detail: "why".to_owned() };
    let json = serde_json::to_value([&finding]).expect("JSON");
    assert_eq!(json, serde_json::json!([{"id": "privileged", "reason": "privileged", "detail": "why"}]));
    assert_eq!(message(&[]), "");
    assert_eq!(message(&[finding.clone(), finding]), "privileged (why), privileged (why)");
}

// proves: HP-19 pure
#[test]
fn a_windows_pod_that_is_not_host_process_can_be_restricted_since_1_25() {
    let pod = subject(
        "spec: {os: {name: windows}, securityContext: {runAsNonRoot: true}, containers: [{name: a}]}",
    );
    let ids = |minor| {
        let findings = judge(Level::Restricted, Version::V1(minor), &pod);
        findings.iter().map(|finding| finding.id).collect::<Vec<_>>()
    };
    let linux_only = ["allowPrivilegeEscalation", "capabilities_restricted", "seccompProfile_restricted"];
    assert_eq!(ids(24), linux_only);
    assert!(ids(25).is_empty() && ids(36).is_empty() && ids(1).is_empty());
}

#[test]
fn evaluate_takes_the_pod_as_it_is() {
    let pod = subject("spec: {hostNetwork: true, containers: [{name: a, ports: [{containerPort: 80}]}]}");
    let as_given = evaluate(Level::Baseline, Version::Latest, &pod.pod, &pod.spec);
    assert_eq!(message(&as_given), "host namespaces (hostNetwork=true)");
    assert_eq!(judge(Level::Baseline, Version::Latest, &pod).len(), 2);
}
