//! Objects for the comparison with a real API server: valid ones, with mutations.
//!
//! A mutation sets one field. Every one of them, every pair, and random sets are tried; where an answer differs, those
//! that do not matter are dropped again, so that the smallest object is shown.

mod mutations;
mod object;

pub(crate) use mutations::{debug_mutations, mutations};
pub(crate) use object::{BASES, base, debug_call, object};

use serde_json::Value;

/// One field of a pod's spec and what it is set to.
#[derive(Debug, Clone)]
pub(crate) struct Mutation {
    /// Steps with dots between; a container's list has a number next: `containers.0.image`.
    pub(crate) path: String,
    pub(crate) value: Value,
    /// One more value for a rule that others stand for in pairs: tried alone and in random sets.
    pub(crate) edge: bool,
}

/// Random numbers that come again with the same seed.
#[derive(Debug)]
pub(crate) struct Dice(u64);

/// Every set of two that can be had together, as indices. Edges are left out: pairs are of rules, not of letters.
pub(crate) fn pairs(mutations: &[Mutation]) -> Vec<[usize; 2]> {
    let chosen: Vec<_> = (0..mutations.len()).filter(|i| !mutations[*i].edge).collect();
    let all = chosen.iter().flat_map(|b| chosen.iter().take_while(move |a| *a < b).map(|a| [*a, *b]));
    all.filter(|[a, b]| mutations[*a].goes_with(&mutations[*b])).collect()
}

/// A random set of up to this many that can be had together.
pub(crate) fn some(mutations: &[Mutation], most: usize, dice: &mut Dice) -> Vec<usize> {
    let wanted = 3 + dice.below(most - 2);
    let mut chosen: Vec<usize> = Vec::new();
    for _ in 0..wanted {
        let next = dice.below(mutations.len());
        if chosen.iter().all(|i| mutations[*i].goes_with(&mutations[next])) {
            chosen.push(next);
        }
    }
    chosen
}

// === impl Mutation ===

impl Mutation {
    pub(crate) fn new(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { path: path.into(), value: value.into(), edge: false }
    }

    /// Two that set the same field, or one inside the other, cannot be had together.
    fn goes_with(&self, other: &Self) -> bool {
        let inside = |outer: &str, inner: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        !inside(&self.path, &other.path) && !inside(&other.path, &self.path)
    }
}

// === impl Dice ===

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Less than the limit, which is not 0 (splitmix64).
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let limit = u64::try_from(limit).expect("fits");
        usize::try_from((z ^ (z >> 31)) % limit).expect("below a usize")
    }
}
