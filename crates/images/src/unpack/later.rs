//! Small files get their bytes and attributes in a second thread, while the first makes the next ones: with many of
//! them nearly all the time is the system's, and it can do both at once. Only where a core is to spare, which is for
//! [the crowd](super::crowd) to say.
//!
//! They go over in batches, of which there are few: what is open and in memory is bounded. Who removes a name first
//! waits until all before it are [settled](Later::settle), so that nothing is given to what came in its place.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use os::tree::{Attributes, Refused};

use super::place::Spot;

/// Larger files are written where they are read.
pub(super) const SMALL: u64 = 64 << 10;
const BATCHES: usize = 3;
/// A batch goes over when it has so many files, or bytes.
const FILES: usize = 8;
const BYTES: usize = 256 << 10;

/// A file that was made, whose bytes are in its batch after those of the files before it.
pub(super) struct Made {
    pub(super) parent: Arc<Spot>,
    pub(super) name: OsString,
    pub(super) file: File,
    pub(super) length: usize,
    pub(super) attributes: Attributes,
}

/// What became of a file that did not get everything.
pub(super) struct Short {
    pub(super) parent: Arc<Spot>,
    pub(super) name: OsString,
    pub(super) why: io::Result<Refused>,
}

#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    files: Vec<Made>,
    short: Vec<Short>,
}

/// The side that makes files.
pub(super) struct Later {
    now: Batch,
    over: SyncSender<Batch>,
    back: Receiver<Batch>,
    /// Batches that went over and were not taken back.
    out: usize,
}

/// The side that finishes them.
pub(super) struct Finisher {
    come: Receiver<Batch>,
    back: Sender<Batch>,
}

/// The two sides. The second ends once the first is gone.
pub(super) fn pair() -> (Later, Finisher) {
    let (over, come) = sync_channel(BATCHES);
    let (give, back) = channel();
    (Later { now: Batch::default(), over, back, out: 0 }, Finisher { come, back: give })
}

// === impl Later ===

impl Later {
    /// Where the bytes of the next file are added.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.now.bytes
    }

    /// The bytes are there. What has been found of earlier files comes back.
    pub(super) fn add(&mut self, made: Made) -> Vec<Short> {
        self.now.files.push(made);
        if self.now.files.len() < FILES && self.now.bytes.len() < BYTES {
            return Vec::new();
        }
        self.send();
        if self.out < BATCHES { Vec::new() } else { self.take_back() }
    }

    /// Waits until every file is finished.
    pub(super) fn settle(&mut self) -> Vec<Short> {
        if !self.now.files.is_empty() {
            self.send();
        }
        let mut short = Vec::new();
        while self.out > 0 {
            short.extend(self.take_back());
        }
        short
    }

    fn send(&mut self) {
        // The other side goes only after this one.
        drop(self.over.send(std::mem::take(&mut self.now)));
        self.out += 1;
    }

    /// The next of those that went over, to be filled again.
    fn take_back(&mut self) -> Vec<Short> {
        self.now = self.back.recv().unwrap_or_default();
        self.out -= 1;
        std::mem::take(&mut self.now.short)
    }
}

// === impl Finisher ===

impl Finisher {
    pub(super) fn run(self) {
        while let Ok(mut batch) = self.come.recv() {
            batch.finish();
            // Nobody waits for it if the layer was given up.
            drop(self.back.send(batch));
        }
    }
}

// === impl Batch ===

impl Batch {
    fn finish(&mut self) {
        let mut rest = self.bytes.as_slice();
        for Made { parent, name, mut file, length, attributes } in self.files.drain(..) {
            let (own, others) = rest.split_at(length.min(rest.len()));
            rest = others;
            let written = file.write_all(own);
            let why = written.and_then(|()| parent.dir.finish(&name, file, &attributes));
            if !matches!(&why, Ok(refused) if refused.is_empty()) {
                self.short.push(Short { parent, name, why });
            }
        }
        self.bytes.clear();
    }
}

#[cfg(test)]
mod tests {
    use os::tree::Dir;

    use super::*;

    fn spot(dir: &tempfile::TempDir) -> Arc<Spot> {
        let dir = Dir::open(dir.path()).unwrap();
        Arc::new(Spot { dir, key: Vec::new(), path: Vec::new() })
    }

    fn made(parent: &Arc<Spot>, name: &str, length: usize) -> Made {
        let file = parent.dir.create(name.as_ref(), 0o644).unwrap();
        Made { parent: parent.clone(), name: name.into(), file, length, attributes: Attributes::default() }
    }

    #[test]
    fn every_file_has_its_own_bytes_once_all_is_settled() {
        let room = tempfile::tempdir().unwrap();
        let parent = spot(&room);
        let body = |number: usize| number.to_string().repeat(number * 7 % 5000).into_bytes();
        let (mut later, finisher) = pair();
        std::thread::scope(|scope| {
            scope.spawn(|| finisher.run());
            for round in 0..2 {
                for number in 0..BATCHES * FILES * 3 + 1 {
                    later.bytes().extend(body(number));
                    let made = made(&parent, &format!("{round}-{number}"), body(number).len());
                    assert!(later.add(made).is_empty());
                    assert!(later.out < BATCHES);
                }
                assert!(later.settle().is_empty());
                for number in 0..BATCHES * FILES * 3 + 1 {
                    let found = std::fs::read(room.path().join(format!("{round}-{number}"))).unwrap();
                    assert!(found == body(number), "{round}-{number}");
                }
            }
            drop(later);
        });
    }

    #[test]
    fn a_batch_of_large_ones_goes_over_before_it_has_all_its_files() {
        let room = tempfile::tempdir().unwrap();
        let parent = spot(&room);
        let (mut later, _finisher) = pair();
        for number in 0..4 {
            assert_eq!(later.out, 0);
            later.bytes().resize((number + 1) * (BYTES / 4), 0);
            assert!(later.add(made(&parent, &number.to_string(), BYTES / 4)).is_empty());
        }
        assert_eq!(later.out, 1);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named_and_the_others_are_whole() {
        let room = tempfile::tempdir().unwrap();
        let parent = spot(&room);
        let (mut later, finisher) = pair();
        std::thread::scope(|scope| {
            scope.spawn(|| finisher.run());
            for name in ["a", "b", "c"] {
                later.bytes().extend_from_slice(name.as_bytes());
                let mut made = made(&parent, name, 1);
                if name == "b" {
                    made.file = File::open(room.path().join(name)).unwrap();
                }
                assert!(later.add(made).is_empty());
            }
            let short = later.settle();
            assert_eq!(short.len(), 1);
            assert!(short[0].name == "b" && short[0].why.is_err());
            let read = |name: &str| std::fs::read_to_string(room.path().join(name)).unwrap();
            assert_eq!([read("a"), read("b"), read("c")], ["a", "", "c"]);
            drop(later);
        });
    }
}
