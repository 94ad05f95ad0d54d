//! How much containers have written into their images: measured in the background, now and then.
//!
//! A kubelet asks every ten seconds for every container, and walking their directories each time would cost more than
//! everything else here together. So the last measure is given, and an old one is a reason to measure again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::{Container, Runtime, lock};
use crate::ids::ContainerId;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    pub bytes: u64,
    pub files: u64,
    pub measured: SystemTime,
}

/// The last measures, and whether somebody is at it.
#[derive(Debug, Default)]
pub(super) struct Gauge(Arc<Mutex<Measures>>);

#[derive(Debug, Default)]
struct Measures {
    known: BTreeMap<ContainerId, (Usage, Instant)>,
    wanted: BTreeMap<ContainerId, PathBuf>,
    /// Whose directory is being walked, unless that one was removed meanwhile.
    current: Option<ContainerId>,
    busy: bool,
}

/// How old a measure may get.
const LASTS: Duration = Duration::from_secs(30);

// === impl Runtime ===

impl Runtime {
    pub(super) fn usage_of(&self, container: &Container) -> Option<Usage> {
        let sized = container.life().record.config.scratch_bytes.is_some();
        if sized { None } else { self.inner.usage.ask(&container.id, container.dir.scratch()) }
    }
}

// === impl Gauge ===

impl Gauge {
    fn ask(&self, id: &ContainerId, path: PathBuf) -> Option<Usage> {
        let mut measures = lock(&self.0);
        let known = measures.known.get(id).copied();
        if known.is_none_or(|(_, when)| when.elapsed() > LASTS) {
            measures.wanted.insert(id.clone(), path);
            if !std::mem::replace(&mut measures.busy, true) {
                let shared = self.0.clone();
                // Without a thread the next question tries again.
                let started = thread::Builder::new().name("usage".to_owned()).spawn(move || measure(&shared));
                measures.busy = started.is_ok();
            }
        }
        known.map(|(usage, _)| usage)
    }

    pub(super) fn forget(&self, id: &ContainerId) {
        let mut measures = lock(&self.0);
        measures.known.remove(id);
        measures.wanted.remove(id);
        measures.current.take_if(|current| current == id);
    }
}

// === impl Measures ===

impl Measures {
    fn next(&mut self) -> Option<PathBuf> {
        let next = self.wanted.pop_first();
        self.busy = next.is_some();
        let (id, path) = next?;
        self.current = Some(id);
        Some(path)
    }

    /// Of one that was removed while it was measured nothing is kept: nobody would ever take it away again.
    fn learn(&mut self, usage: Usage) {
        if let Some(id) = self.current.take() {
            self.known.insert(id, (usage, Instant::now()));
        }
    }
}

/// Measures until nothing is wanted; one directory after the other, and nobody waits for it.
fn measure(measures: &Mutex<Measures>) {
    loop {
        let Some(path) = lock(measures).next() else { return };
        let (bytes, files) = walk(&path);
        lock(measures).learn(Usage { bytes, files, measured: SystemTime::now() });
    }
}

/// What vanishes while we look counts as nothing.
fn walk(path: &Path) -> (u64, u64) {
    let mut sum = (0, 0);
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        let Ok(found) = entry.metadata() else { continue };
        sum.1 += 1;
        if found.is_dir() {
            let below = walk(&entry.path());
            sum = (sum.0 + below.0, sum.1 + below.1);
        } else {
            sum.0 += found.len();
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::PodId;

    #[test]
    fn a_measure_comes_from_the_background_and_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("upper")).unwrap();
        std::fs::write(dir.path().join("upper/file"), [0; 5000]).unwrap();
        let gauge = Gauge::default();
        let id = ContainerId::of(&PodId::parse("p").unwrap(), "main", 0);
        assert_eq!(gauge.ask(&id, dir.path().to_owned()), None, "the first question does not wait");
        let deadline = Instant::now() + Duration::from_secs(10);
        let usage = loop {
            if let Some(usage) = gauge.ask(&id, dir.path().to_owned()) {
                break usage;
            }
            assert!(Instant::now() < deadline);
            thread::sleep(Duration::from_millis(1));
        };
        assert_eq!((usage.bytes, usage.files), (5000, 2));
        std::fs::write(dir.path().join("more"), [0; 5000]).unwrap();
        assert_eq!(gauge.ask(&id, dir.path().to_owned()), Some(usage), "it is not old yet");
        gauge.forget(&id);
        assert_eq!(gauge.ask(&id, dir.path().to_owned()), None);
    }

    #[test]
    fn of_a_container_that_was_removed_while_it_was_measured_nothing_is_kept() {
        let [stays, goes] =
            ["stays", "goes"].map(|name| ContainerId::of(&PodId::parse(name).unwrap(), "main", 0));
        let gauge = Gauge::default();
        for id in [&stays, &goes] {
            lock(&gauge.0).wanted.insert(id.clone(), PathBuf::new());
            lock(&gauge.0).next().unwrap();
            gauge.forget(&goes);
            lock(&gauge.0).learn(Usage { bytes: 1, files: 1, measured: SystemTime::now() });
        }
        assert_eq!(lock(&gauge.0).known.keys().collect::<Vec<_>>(), [&stays]);
    }
}
