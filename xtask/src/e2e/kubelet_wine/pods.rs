//! The pods that a Windows kubelet is given: HostProcess ones, by the field of their security context.

use serde_json::{Value, json};

/// A pod of one container that runs the fixture with these words.
pub(super) fn fixture(name: &str, image: &str, words: &[&str]) -> Value {
    let command: Vec<&str> = [&["fixture.exe"], words].concat();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "os": {"name": "windows"},
            "hostNetwork": true,
            "terminationGracePeriodSeconds": 2,
            "tolerations": [{"operator": "Exists"}],
            "securityContext": {"windowsOptions": {"hostProcess": true, "runAsUserName": "NT AUTHORITY\\SYSTEM"}},
            "containers": [{"name": "main", "image": image, "command": command}],
        },
    })
}

/// The same for the scheduler, without the token that every other pod has: its volume is made of links.
pub(super) fn scheduled(name: &str, image: &str, words: &[&str]) -> Value {
    let mut pod = fixture(name, image, words);
    pod["spec"]["nodeSelector"] = json!({"kubernetes.io/os": "windows"});
    pod["spec"]["automountServiceAccountToken"] = false.into();
    pod
}

/// One that asks by the annotation of old instead of by the field.
pub(super) fn annotated(name: &str, image: &str) -> Value {
    let mut pod = fixture(name, image, &["lines", "0", "1000"]);
    pod["metadata"]["annotations"] = json!({"microsoft.com/hostprocess-container": "true"});
    pod["spec"]["securityContext"] = json!({});
    pod
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_field_asks_for_host_process() {
        let pod = fixture("a", "b", &["lines", "0"]);
        assert_eq!(pod["spec"]["securityContext"]["windowsOptions"]["hostProcess"], true);
        assert_eq!(pod["spec"]["containers"][0]["command"], json!(["fixture.exe", "lines", "0"]));
        assert!(pod["metadata"]["annotations"].is_null());
        assert!(annotated("a", "b")["spec"]["securityContext"]["windowsOptions"].is_null());
    }
}
