//! Which containers a pod has, and which attempt to run each was the last.
//!
//! A directory tells the attempt, and not always the container: names that are no labels stand there as digests.

use std::collections::BTreeMap;

use crate::layout::{ContainerDir, PodDir};
use crate::record::{self, ContainerName, ContainerRecord, Kind, Origin};

/// An attempt to run a container.
pub(super) struct Attempt {
    pub name: ContainerName,
    pub number: u32,
    pub dir: ContainerDir,
}

/// The last one of every container that the pod's file names; without a file, of every container that was made.
pub(super) fn last(pod: &PodDir, origin: Option<&Origin>) -> Vec<Attempt> {
    let mut made = last_made(pod);
    let Some(origin) = origin else {
        let mut all: Vec<_> = made.into_iter().map(|(stem, made)| Attempt::as_made(stem, made)).collect();
        all.sort_by(|a, b| a.name.name.cmp(&b.name.name));
        return all;
    };
    let last = |name: &ContainerName| {
        let made = made.remove(&PodDir::stem(&name.name));
        let (number, dir) = made.unwrap_or_else(|| (0, pod.container(&name.name, 0)));
        Attempt { name: name.clone(), number, dir }
    };
    origin.containers.iter().map(last).collect()
}

/// By the stem of its directories, which attempt of a container was the last.
fn last_made(pod: &PodDir) -> BTreeMap<String, (u32, ContainerDir)> {
    let entries = std::fs::read_dir(pod.containers()).into_iter().flatten().flatten();
    let made = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        let (stem, number) = name.to_str()?.rsplit_once('-')?;
        Some((stem.to_owned(), (number.parse().ok()?, ContainerDir::at(entry.path()))))
    };
    // A directory without its record is only just being made.
    let recorded = entries.filter_map(made).filter(|(_, (_, dir))| dir.record().exists());
    let mut all: Vec<(String, (u32, ContainerDir))> = recorded.collect();
    all.sort_by_key(|(_, (number, _))| *number);
    // Of one stem the last one stays.
    all.into_iter().collect()
}

// === impl Attempt ===

impl Attempt {
    /// One whose record cannot be read is shown by its directory's name rather than hidden.
    fn as_made(stem: String, (number, dir): (u32, ContainerDir)) -> Attempt {
        let record = record::read::<ContainerRecord>(&dir.record()).ok().flatten();
        let name = record.map_or(stem, |record| record.config.name);
        Attempt { name: ContainerName { name, kind: Kind::Regular }, number, dir }
    }
}
