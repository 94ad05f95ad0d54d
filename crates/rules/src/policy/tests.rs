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

#[test]
fn the_shared_cases() {
    let cases = cases();
    for case in &cases.cases {
        let policy = Policy::parse(&cases.policies[&case.policy]).expect("a policy");
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
