//! From what was taken in one round to figures with names. Pure.

use std::collections::BTreeMap;

use crate::bench::{percentile, ratio};

/// What the client is asked for, and what that is called.
pub(super) const STREAMS: &[(&str, &str)] = &[
    ("exec out spdy", "exec out over SPDY"),
    ("exec in spdy", "exec in over SPDY"),
    ("exec out websocket", "exec out over WebSocket"),
    ("exec in websocket", "exec in over WebSocket"),
    ("forward out spdy", "port-forward out over SPDY"),
    ("forward in spdy", "port-forward in over SPDY"),
    ("forward out websocket", "port-forward out over WebSocket"),
    ("forward in websocket", "port-forward in over WebSocket"),
];

/// What one runtime showed in one round.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Milliseconds that the three calls took for each pod.
    pub(super) one_by_one: Vec<f64>,
    /// The same beside those of the batch.
    pub(super) on_full_node: Vec<f64>,
    pub(super) batch: Vec<f64>,
    /// Until the whole batch ran.
    pub(super) batch_seconds: f64,
    pub(super) memory: BTreeMap<usize, Memory>,
    pub(super) exec_sync: Vec<f64>,
    /// MB/s.
    pub(super) streams: BTreeMap<&'static str, f64>,
}

/// MiB of the agent, and of one program that holds a pod.
#[derive(Debug, Clone, Copy)]
pub(super) struct Memory {
    pub(super) agent: f64,
    pub(super) holder: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) value: f64,
    /// Of rates, more is better; of everything else, less.
    is_rate: bool,
}

/// What ours costs for each unit that the peer's costs, where both were measured: below 1, ours is better.
pub(super) fn compared(ours: &[Figure], theirs: &[Figure]) -> Vec<(String, f64)> {
    let compare = |ours: &Figure| {
        let theirs = theirs.iter().find(|theirs| theirs.name == ours.name)?;
        Some((ours.name.clone(), ours.cost(theirs)))
    };
    ours.iter().filter_map(compare).collect()
}

// === impl Taken ===

impl Taken {
    pub(super) fn figures(&self) -> Vec<Figure> {
        let mut all = percentiles("three calls", "one by one", &self.one_by_one);
        all.extend(percentiles("three calls", "one by one on a full node", &self.on_full_node));
        let batch = format!("{} in one batch", self.batch.len());
        all.extend(percentiles("three calls", &batch, &self.batch));
        all.push(Figure::of(format!("s until all run, {batch}"), self.batch_seconds));
        all.extend(self.memory.iter().flat_map(|(pods, memory)| memory.figures(*pods)));
        all.extend(percentiles("ExecSync", "one by one", &self.exec_sync));
        all.extend(self.streams.iter().map(|(name, rate)| Figure::rate(format!("MB/s, {name}"), *rate)));
        all
    }
}

fn percentiles(what: &str, how: &str, ms: &[f64]) -> Vec<Figure> {
    let figure = |percent| Figure::of(format!("{what} p{percent} ms, {how}"), percentile(ms, percent));
    [50, 90, 99].map(figure).into()
}

// === impl Memory ===

impl Memory {
    fn figures(self, pods: usize) -> [Figure; 3] {
        let counted = format!("{pods} pod{}", if pods == 1 { "" } else { "s" });
        let number = f64::from(u32::try_from(pods).unwrap_or(u32::MAX));
        [
            Figure::of(format!("agent MiB, {counted}"), self.agent),
            Figure::of(format!("holder MiB, {counted}"), self.holder),
            Figure::of(format!("MiB for each pod, all told, {counted}"), self.agent / number + self.holder),
        ]
    }
}

// === impl Figure ===

impl Figure {
    fn of(name: String, value: f64) -> Self {
        Self { name, value, is_rate: false }
    }

    fn rate(name: String, value: f64) -> Self {
        Self { name, value, is_rate: true }
    }

    fn cost(&self, theirs: &Self) -> f64 {
        if self.is_rate { ratio(theirs.value, self.value) } else { ratio(self.value, theirs.value) }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What a round could have shown.
    pub(in super::super) fn taken(factor: f64) -> Taken {
        let ms = |count: u32| (1..=count).map(|number| f64::from(number) * factor).collect();
        let memory = Memory { agent: 11.0 * factor, holder: 0.5 * factor };
        Taken {
            one_by_one: ms(100),
            on_full_node: ms(20),
            batch: ms(110),
            batch_seconds: factor,
            memory: [1, 10, 110].map(|pods| (pods, memory)).into(),
            exec_sync: ms(100),
            streams: STREAMS.iter().map(|(_, name)| (*name, 100.0 / factor)).collect(),
        }
    }

    fn value(figures: &[Figure], name: &str) -> f64 {
        figures.iter().find(|figure| figure.name == name).unwrap_or_else(|| panic!("no {name}")).value
    }

    #[test]
    fn a_round_gives_percentiles_and_the_share_of_each_pod() {
        let figures = taken(1.0).figures();
        assert_eq!(value(&figures, "three calls p90 ms, one by one"), 90.0);
        assert_eq!(value(&figures, "three calls p50 ms, 110 in one batch"), 55.0);
        assert_eq!(value(&figures, "MiB for each pod, all told, 1 pod"), 11.5);
        assert_eq!(value(&figures, "MiB for each pod, all told, 110 pods"), 0.6);
    }

    #[test]
    fn twice_as_slow_is_a_cost_of_two_whatever_is_counted() {
        let (slow, quick) = (taken(2.0).figures(), taken(1.0).figures());
        let compared = compared(&slow, &quick);
        assert_eq!(compared.len(), quick.len());
        for (name, cost) in compared {
            assert!((cost - 2.0).abs() < 1e-9, "{name}: {cost}");
        }
    }

    #[test]
    fn what_one_side_lacks_is_not_compared() {
        let (ours, mut theirs) = (taken(1.0), taken(1.0));
        theirs.streams.remove("port-forward in over WebSocket");
        let compared = compared(&ours.figures(), &theirs.figures());
        assert_eq!(compared.len(), ours.figures().len() - 1);
    }
}
