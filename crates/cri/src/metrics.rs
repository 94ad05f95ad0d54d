//! What was counted: calls by verb and code, how long they took, what was pulled.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// From an answer out of memory to a container that takes its whole grace period.
const BUCKETS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0];

#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    calls: Family<Call, Counter>,
    duration: Family<Verb, Histogram, fn() -> Histogram>,
    pulled_bytes: Counter,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Call {
    verb: &'static str,
    code: String,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Verb {
    verb: &'static str,
}

// === impl Metrics ===

impl Default for Metrics {
    fn default() -> Metrics {
        let mut registry = Registry::with_prefix("porthole_cri");
        let calls = Family::default();
        let duration: Family<Verb, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(BUCKETS));
        let pulled_bytes = Counter::default();
        registry.register("calls", "Calls answered, by verb and code", calls.clone());
        registry.register_with_unit("call_duration", "How long calls took", Unit::Seconds, duration.clone());
        registry.register_with_unit("pulled", "What came from registries", Unit::Bytes, pulled_bytes.clone());
        Metrics { registry, calls, duration, pulled_bytes }
    }
}

impl Metrics {
    pub fn call(&self, verb: &'static str, code: tonic::Code, took: Duration) {
        self.calls.get_or_create(&Call { verb, code: format!("{code:?}") }).inc();
        self.duration.get_or_create(&Verb { verb }).observe(took.as_secs_f64());
    }

    pub fn pulled(&self, bytes: u64) {
        self.pulled_bytes.inc_by(bytes);
    }

    /// In the OpenMetrics text format.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a text does not fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_in_the_text() {
        let metrics = Metrics::default();
        metrics.call("RunPodSandbox", tonic::Code::Ok, Duration::from_millis(4));
        metrics.call("RunPodSandbox", tonic::Code::NotFound, Duration::from_millis(4));
        metrics.pulled(77);
        let text = metrics.text();
        for line in [
            r#"porthole_cri_calls_total{verb="RunPodSandbox",code="NotFound"} 1"#,
            r#"porthole_cri_call_duration_seconds_bucket{le="0.005",verb="RunPodSandbox"} 2"#,
            "porthole_cri_pulled_bytes_total 77",
        ] {
            assert!(text.lines().any(|have| have == line), "{line} is not in:\n{text}");
        }
    }
}
