//! Files for `porthole check`, the same for every system it runs on.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// A pod that the API server takes and that even `restricted` allows.
pub(crate) const GOOD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: good, namespace: shop}
spec:
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: main
    image: example.test/good:1
    resources: {limits: {cpu: 1, memory: 1.5}}
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
";

/// A HostProcess pod as it should be.
pub(crate) const HOST_PROCESS: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: agent, namespace: monitoring}
spec:
  os: {name: windows}
  nodeSelector: {kubernetes.io/os: windows}
  hostNetwork: true
  securityContext:
    windowsOptions: {hostProcess: true, runAsUserName: 'NT AUTHORITY\\SYSTEM'}
  containers:
  - {name: main, image: example.test/agent:1}
";

/// Everything in one file: good, wrong, a list, passed over, a wrong type, no YAML at all, and good again.
pub(crate) const MIXED: &str = "\
# Comments before the first document are no document.
---
apiVersion: v1
kind: Pod
metadata: {name: wrong}
spec:
  hostNetwrok: yes
  hostPID: true
  securityContext:
    windowsOptions: {hostProcess: true}
  containers:
  - name: main
    image: i
---
# An empty one counts.
---
apiVersion: v1
kind: List
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web}
  spec:
    template:
      spec:
        containers: [{name: main, image: i, securityContext: {privileged: true}}]
- {apiVersion: v1, kind: Service, metadata: {name: web}}
---
apiVersion: v1
kind: Pod
metadata: {name: typed}
spec:
  containers:
  - name: main
    env: [{name: DEBUG, value: on}]
---
kind: [
---
apiVersion: v1
kind: Pod
metadata: {generateName: last-}
spec:
  containers: [{name: main, image: i}]
";

pub(crate) const POLICY: &str = "\
apiVersion: porthole.dev/v1alpha1
kind: HostProcessPolicy
rules:
- namespaces: [monitoring]
";

/// Writes the files into the directory.
pub(crate) fn write(dir: &Path) {
    let wide: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(GOOD.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let files: [(&str, &[u8]); 6] = [
        ("good.yaml", GOOD.as_bytes()),
        ("hpc.yaml", HOST_PROCESS.as_bytes()),
        ("mixed.yaml", MIXED.as_bytes()),
        ("wide.yaml", &wide),
        ("binary.yaml", b"a: 1\nb: \xc3\x28\n"),
        ("policy.yaml", POLICY.as_bytes()),
    ];
    for (name, bytes) in files {
        fs::write(dir.join(name), bytes).expect("written");
    }
}

/// `source:index[.item] kind name verdict`, for each entry.
pub(crate) fn digest(entries: &Value) -> Vec<String> {
    let entries = entries.as_array().expect("one array");
    let line = |entry: &Value| {
        let item = entry.get("item").map_or_else(String::new, |item| format!(".{item}"));
        let word = |key: &str| entry[key].as_str().expect("a string").to_owned();
        let verdict = if entry["allowed"] == true { "allowed" } else { "refused" };
        format!("{}:{}{item} {} {} {verdict}", word("source"), entry["index"], word("kind"), word("name"))
    };
    entries.iter().map(line).collect()
}
