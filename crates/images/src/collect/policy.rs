//! Which images go: by age, and by how full the disk is. The kubelet's rules and defaults, purely.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use os::file::Disk;

/// When images are removed that nobody uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// From so many per cent of the disk on, images are removed …
    pub high: u8,
    /// … until it is this many.
    pub low: u8,
    /// Every image that may go goes, whatever the disk is like. Bytes cannot say that: a file system that compresses has
    /// fewer in use than its files hold together.
    pub all: bool,
    /// A younger image stays: its pod may not have come yet.
    pub min_age: Duration,
    /// An image that was not used for longer goes, however empty the disk is.
    pub max_age: Option<Duration>,
}

/// An image as the policy sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate<P> {
    /// What it is made of, with sizes. Images may share parts: a part is free when the last of them goes.
    pub parts: Vec<(P, u64)>,
    /// How long nobody has used it.
    pub unused: Duration,
    /// How long it is here.
    pub age: Duration,
    pub in_use: bool,
}

/// What is to be done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// Which of the candidates go, in order.
    pub remove: Vec<usize>,
    /// What that frees.
    pub frees: u64,
    /// What would have to be freed besides.
    pub missing: u64,
}

struct Shares<P> {
    users: HashMap<P, usize>,
}

/// Chooses among all images of a store.
pub fn choose<P: Eq + Hash + Clone>(images: &[Candidate<P>], thresholds: &Thresholds, disk: Disk) -> Choice {
    let mut order: Vec<usize> = (0..images.len()).filter(|index| !images[*index].in_use).collect();
    order.sort_by_key(|index| {
        (std::cmp::Reverse(images[*index].unused), std::cmp::Reverse(images[*index].age))
    });
    let mut shares = Shares::of(images);
    let mut choice = Choice::default();
    let too_old = |image: &Candidate<P>| thresholds.max_age.is_some_and(|most| image.unused > most);
    for index in order.iter().copied().filter(|index| too_old(&images[*index])) {
        choice.add(index, shares.release(&images[index]));
    }
    let needed = thresholds.needed(disk);
    for index in order {
        if !thresholds.all && choice.frees >= needed {
            break;
        }
        if images[index].age >= thresholds.min_age && !choice.remove.contains(&index) {
            choice.add(index, shares.release(&images[index]));
        }
    }
    Choice { missing: needed.saturating_sub(choice.frees), ..choice }
}

// === impl Thresholds ===

impl Thresholds {
    /// Everything that nobody uses goes, however young it is.
    pub const ALL: Thresholds =
        Thresholds { high: 0, low: 0, all: true, min_age: Duration::ZERO, max_age: None };

    /// Whether anything is to be freed.
    pub(crate) fn want_room(&self, disk: Disk) -> bool {
        self.all || self.needed(disk) > 0
    }

    /// How many bytes are to be freed. Who wants all that is unused gone wants no number of them.
    pub fn needed(&self, disk: Disk) -> u64 {
        if self.all {
            return 0;
        }
        let (total, available) = (u128::from(disk.total), u128::from(disk.available.min(disk.total)));
        let used = total - available;
        // As the kubelet counts: whole per cents, those in use rounded up.
        if total == 0 || (used * 100).div_ceil(total) < u128::from(self.high) {
            return 0;
        }
        let wanted = total * u128::from(100 - self.low.min(100)) / 100;
        u64::try_from(wanted.saturating_sub(available)).unwrap_or(u64::MAX)
    }
}

impl Default for Thresholds {
    fn default() -> Thresholds {
        Thresholds { high: 85, low: 80, all: false, min_age: Duration::from_secs(120), max_age: None }
    }
}

// === impl Choice ===

impl Choice {
    fn add(&mut self, index: usize, frees: u64) {
        self.remove.push(index);
        self.frees += frees;
    }
}

// === impl Shares ===

impl<P: Eq + Hash + Clone> Shares<P> {
    fn of(images: &[Candidate<P>]) -> Shares<P> {
        let mut users = HashMap::new();
        for (part, _) in images.iter().flat_map(|image| &image.parts) {
            *users.entry(part.clone()).or_insert(0) += 1;
        }
        Shares { users }
    }

    /// The bytes of those parts that no other image has any more.
    fn release(&mut self, image: &Candidate<P>) -> u64 {
        let mut free = 0;
        for (part, size) in &image.parts {
            let Some(users) = self.users.get_mut(part) else { continue };
            *users -= 1;
            if *users == 0 {
                free += size;
            }
        }
        free
    }
}

#[cfg(test)]
mod tests;
