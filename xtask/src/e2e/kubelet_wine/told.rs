//! What documents tell: a page of its calls, a summary of its pods.

use serde_json::Value;

/// Whether a page has, as code, the function of a line `FUNCTION ARGUMENTS -> ANSWER`, and the counter that it asks for.
pub(super) fn is_named(page: &str, call: &str) -> bool {
    let is_there = |word: &str| page.contains(&format!("`{word}`"));
    let (function, rest) = call.split_once(' ').unwrap_or((call, ""));
    let counter = rest.strip_prefix("path=").and_then(|rest| rest.split(" -> ").next());
    is_there(function) && counter.filter(|_| function.starts_with("Pdh")).is_none_or(is_there)
}

/// Whether a summary tells that the pod's container has used a processor and memory.
pub(super) fn uses(summary: &Value, pod: &str) -> bool {
    let pods = summary["pods"].as_array().into_iter().flatten();
    let containers = pods.filter(|it| it["podRef"]["name"] == pod).map(|pod| &pod["containers"][0]);
    let used = |container: &Value| {
        container["cpu"]["usageCoreNanoSeconds"].as_u64() > Some(0)
            && container["memory"]["workingSetBytes"].as_u64() > Some(0)
    };
    containers.into_iter().any(used)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_names_a_call_and_its_counter() {
        let page = r"`PdhAddEnglishCounterW`: `\Memory\Committed Bytes`; `bind`";
        assert!(is_named(page, r"PdhAddEnglishCounterW path=\Memory\Committed Bytes -> 0x0"));
        assert!(!is_named(page, r"PdhAddEnglishCounterW path=\System\Threads -> 0x0"));
        assert!(is_named(page, r"bind path=C:\x.sock -> 0x0"));
        assert!(!is_named(page, "HNSCall method=GET -> 0x0"));
    }

    #[test]
    fn figures_that_are_nothing_are_none() {
        let summary = |cpu: u64| {
            let container = json!({"cpu": {"usageCoreNanoSeconds": cpu}, "memory": {"workingSetBytes": 1}});
            json!({"pods": [{"podRef": {"name": "a"}, "containers": [container]}]})
        };
        assert!(uses(&summary(1), "a"));
        assert!(!uses(&summary(0), "a"));
        assert!(!uses(&summary(1), "b"));
    }
}
