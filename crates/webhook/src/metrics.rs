//! What a scraper sees.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// Below and above the 10 ms that are promised.
const BUCKETS: [f64; 10] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5];

#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    reviews: Family<Review, Counter>,
    duration: Histogram,
    bad_requests: Family<BadRequest, Counter>,
    reloads: Family<Reload, Counter>,
    pub(crate) certificate_expiry: Gauge,
    pub(crate) policy_generation: Gauge,
    pub(crate) connections: Gauge,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Review {
    verdict: &'static str,
    kind: &'static str,
    dry_run: &'static str,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct BadRequest {
    code: u16,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Reload {
    what: &'static str,
    result: &'static str,
}

// === impl Metrics ===

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("porthole_webhook");
        let metrics = Self {
            reviews: Family::default(),
            duration: Histogram::new(BUCKETS),
            bad_requests: Family::default(),
            reloads: Family::default(),
            certificate_expiry: Gauge::default(),
            policy_generation: Gauge::default(),
            connections: Gauge::default(),
            registry: Registry::default(),
        };
        registry.register("reviews", "Reviews answered", metrics.reviews.clone());
        registry.register_with_unit(
            "review_duration",
            "From the last byte of a review to its answer",
            Unit::Seconds,
            metrics.duration.clone(),
        );
        registry.register(
            "bad_requests",
            "Requests that were no review, by code",
            metrics.bad_requests.clone(),
        );
        registry.register("reloads", "New policies and certificates, taken or not", metrics.reloads.clone());
        registry.register(
            "certificate_expiry_timestamp",
            "When the serving certificate ends, in seconds since 1970",
            metrics.certificate_expiry.clone(),
        );
        registry.register(
            "policy_generation",
            "The policy in use: 1 at the start, one more with each new one",
            metrics.policy_generation.clone(),
        );
        registry.register("connections", "Connections open now", metrics.connections.clone());
        Self { registry, ..metrics }
    }

    pub(crate) fn review(&self, verdict: &'static str, kind: &'static str, dry_run: bool, took: Duration) {
        let dry_run = if dry_run { "true" } else { "false" };
        self.reviews.get_or_create(&Review { verdict, kind, dry_run }).inc();
        self.duration.observe(took.as_secs_f64());
    }

    pub(crate) fn bad_request(&self, code: u16) {
        self.bad_requests.get_or_create(&BadRequest { code }).inc();
    }

    pub(crate) fn reload(&self, what: &'static str, taken: bool) {
        let result = if taken { "taken" } else { "failed" };
        self.reloads.get_or_create(&Reload { what, result }).inc();
    }

    /// In the OpenMetrics text format.
    pub(crate) fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_in_the_text() {
        let metrics = Metrics::new();
        metrics.review("refused", "Pod", true, Duration::from_millis(3));
        metrics.bad_request(413);
        metrics.reload("policy", false);
        metrics.certificate_expiry.set(77);
        let text = metrics.text().expect("encodes");
        for line in [
            r#"porthole_webhook_reviews_total{verdict="refused",kind="Pod",dry_run="true"} 1"#,
            r#"porthole_webhook_review_duration_seconds_bucket{le="0.005"} 1"#,
            r#"porthole_webhook_bad_requests_total{code="413"} 1"#,
            r#"porthole_webhook_reloads_total{what="policy",result="failed"} 1"#,
            "porthole_webhook_certificate_expiry_timestamp 77",
        ] {
            assert!(text.lines().any(|have| have == line), "{line} is not in:\n{text}");
        }
    }
}
