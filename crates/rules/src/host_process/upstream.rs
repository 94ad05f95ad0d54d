//! The cases of upstream's own test of these rules, in its order: docs/upstream-tests.md says which is which.

use serde_json::{Value, json};

use crate::{ApiOptions, Kind, Subject, api_ephemeral};

struct Case {
    /// What the pod says of itself.
    pod: Option<bool>,
    /// What its init, regular and ephemeral containers say.
    init: &'static [Option<bool>],
    regular: &'static [Option<bool>],
    ephemeral: &'static [Option<bool>],
    host_network: bool,
    allow_privileged: bool,
    valid: bool,
}

const YES: Option<bool> = Some(true);
const NO: Option<bool> = Some(false);

/// One regular container that says nothing, on the host's network, in a cluster that allows privileged pods.
const PLAIN: Case = Case {
    pod: None,
    init: &[],
    regular: &[None],
    ephemeral: &[],
    host_network: true,
    allow_privileged: true,
    valid: true,
};

const CASES: [Case; 16] = [
    Case { pod: YES, host_network: false, valid: false, ..PLAIN },
    Case { pod: YES, ..PLAIN },
    Case { pod: YES, init: &[YES], regular: &[YES], ..PLAIN },
    Case { init: &[YES], regular: &[YES], ..PLAIN },
    Case { init: &[NO], regular: &[YES], valid: false, ..PLAIN },
    Case { init: &[None], regular: &[YES], valid: false, ..PLAIN },
    Case { pod: YES, init: &[NO], regular: &[YES], valid: false, ..PLAIN },
    Case { pod: YES, regular: &[YES, NO], valid: false, ..PLAIN },
    Case { pod: YES, init: &[None], regular: &[YES], ..PLAIN },
    Case { pod: NO, init: &[None], regular: &[YES], valid: false, ..PLAIN },
    Case { pod: YES, regular: &[NO], valid: false, ..PLAIN },
    Case { regular: &[YES], allow_privileged: false, valid: false, ..PLAIN },
    Case { pod: YES, ephemeral: &[NO], valid: false, ..PLAIN },
    Case { pod: YES, ephemeral: &[None], ..PLAIN },
    Case { ephemeral: &[NO], host_network: false, ..PLAIN },
    Case { ephemeral: &[YES], host_network: false, valid: false, ..PLAIN },
];

// === impl Case ===

impl Case {
    fn spec(&self) -> Value {
        json!({
            "hostNetwork": self.host_network, "securityContext": says(self.pod),
            "initContainers": list(self.init), "containers": list(self.regular),
            "ephemeralContainers": list(self.ephemeral),
        })
    }
}

fn list(flags: &[Option<bool>]) -> Value {
    flags.iter().map(|flag| json!({"name": "c", "image": "i", "securityContext": says(*flag)})).collect()
}

fn says(flag: Option<bool>) -> Value {
    json!({"windowsOptions": {"hostProcess": flag}})
}

// proves: HP-01 pure
// proves: HP-02 pure
// proves: HP-03 pure
#[test]
fn the_sixteen_cases_of_upstreams_validation() {
    for (number, case) in CASES.iter().enumerate().map(|(index, case)| (index + 1, case)) {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": case.spec()});
        let subject = Subject::decode(Kind::Pod, &pod).expect("a pod");
        let options = ApiOptions { allow_privileged: case.allow_privileged, ..ApiOptions::default() };
        let found = api_ephemeral(&subject, &options);
        assert_eq!(found.is_empty(), case.valid, "case {number}: {found:?}");
    }
}
