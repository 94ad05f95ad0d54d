//! What a pull tells the one who waits for it. This crate has no terminal.

use std::fmt;
use std::time::{Duration, Instant};

use crate::digest::Digest;

/// Whoever asked for an image: hears how it goes, and may lose patience.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    pub tell: &'a (dyn Fn(&Progress) + Sync),
    /// Asked several times a second while the network is waited for, by every thread of a pull; true ends it, and
    /// stays true.
    pub gave_up: &'a (dyn Fn() -> bool + Sync),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    Pulling {
        reference: String,
    },
    /// What the name means, and what it is made of: layers with their sizes as they travel.
    Resolved {
        reference: String,
        digest: Digest,
        blobs: Vec<(Digest, u64)>,
    },
    /// How far one layer is, told a few times a second and at every change of stage.
    Layer {
        digest: Digest,
        done: u64,
        total: u64,
        stage: Stage,
    },
    Retrying {
        reference: String,
        why: String,
        delay: Duration,
    },
    Pulled {
        reference: String,
        bytes: u64,
        took: Duration,
    },
}

/// What is being done with a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It was here before.
    Present,
    /// Somebody else is at it, or its turn has not come.
    Waiting,
    /// It comes over the network, and is unpacked on the way where that is asked for.
    Downloading,
    /// It goes over the network, to a registry.
    Uploading,
    /// It is unpacked from what came before.
    Unpacking,
    Done,
}

/// Tells a caller how far one layer is, and not too often.
pub(crate) struct Meter<'a> {
    caller: Caller<'a>,
    digest: &'a Digest,
    total: u64,
    done: u64,
    stage: Option<Stage>,
    told: Option<Instant>,
}

/// Between two words about the same stage of a layer.
const PAUSE: Duration = Duration::from_millis(100);

// === impl Caller ===

impl Caller<'static> {
    /// Nobody listens, and nobody hurries.
    pub fn silent() -> Caller<'static> {
        Caller { tell: &|_| {}, gave_up: &|| false }
    }
}

impl fmt::Debug for Caller<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").finish_non_exhaustive()
    }
}

// === impl Meter ===

impl<'a> Meter<'a> {
    pub(crate) fn new(caller: Caller<'a>, digest: &'a Digest, total: u64) -> Meter<'a> {
        Meter { caller, digest, total, done: 0, stage: None, told: None }
    }

    /// Another stage, which begins with so much done; or the same one, which is so far.
    pub(crate) fn stage(&mut self, stage: Stage, done: u64) {
        self.done = done;
        if self.stage.replace(stage) == Some(stage) {
            self.advance(0);
        } else {
            self.tell(stage);
        }
    }

    pub(crate) fn advance(&mut self, by: u64) {
        self.done += by;
        if let Some(stage) = self.stage
            && self.told.is_none_or(|told| told.elapsed() >= PAUSE)
        {
            self.tell(stage);
        }
    }

    #[cfg(test)]
    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    fn tell(&mut self, stage: Stage) {
        self.told = Some(Instant::now());
        let (digest, done, total) = (self.digest.clone(), self.done, self.total);
        (self.caller.tell)(&Progress::Layer { digest, done, total, stage });
    }
}

// === impl Progress ===

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Progress::Pulling { reference } => write!(f, "pulling {reference}"),
            Progress::Resolved { reference, digest, blobs } => {
                let bytes = blobs.iter().map(|(_, size)| size).sum();
                write!(f, "{reference} is {digest}, {} layers, {} MB", blobs.len(), Megabytes(bytes))
            }
            Progress::Layer { digest, done, total, stage } => {
                write!(f, "layer {digest}: {stage}, {} of {} MB", Megabytes(*done), Megabytes(*total))
            }
            Progress::Retrying { reference, why, delay } => {
                write!(f, "{reference}: {why}; trying again in {:.1} s", delay.as_secs_f64())
            }
            Progress::Pulled { reference, bytes, took } => {
                write!(f, "pulled {reference}, {} MB in {:.1} s", Megabytes(*bytes), took.as_secs_f64())
            }
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::Present => "here already",
            Stage::Waiting => "waiting",
            Stage::Downloading => "downloading",
            Stage::Uploading => "uploading",
            Stage::Unpacking => "unpacking",
            Stage::Done => "done",
        })
    }
}

/// Bytes as people read them.
struct Megabytes(u64);

impl fmt::Display for Megabytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1_000_000, self.0 / 100_000 % 10)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn a_layer_is_told_of_at_every_stage_and_not_at_every_byte() {
        let heard = Mutex::new(Vec::new());
        let tell = |progress: &Progress| heard.lock().unwrap().push(progress.clone());
        let digest = Digest::of(b"x");
        let mut meter = Meter::new(Caller { tell: &tell, gave_up: &|| false }, &digest, 1000);
        meter.stage(Stage::Waiting, 0);
        meter.stage(Stage::Downloading, 100);
        (0..900).for_each(|_| meter.advance(1));
        meter.stage(Stage::Done, 1000);
        let heard = heard.into_inner().unwrap();
        let stages: Vec<_> = heard
            .iter()
            .map(|each| match each {
                Progress::Layer { stage, done, .. } => (*stage, *done),
                other => panic!("{other:?}"),
            })
            .collect();
        let expected = [(Stage::Waiting, 0), (Stage::Downloading, 100), (Stage::Done, 1000)];
        assert!(expected.iter().all(|each| stages.contains(each)), "{stages:?}");
        assert!(stages.len() < 20, "{stages:?}");
    }

    #[test]
    fn lines_as_a_user_sees_them() {
        let reference = "example.com/app:1".to_owned();
        let took = Duration::from_millis(2340);
        let pulled = Progress::Pulled { reference: reference.clone(), bytes: 12_345_678, took };
        assert_eq!(pulled.to_string(), "pulled example.com/app:1, 12.3 MB in 2.3 s");
        let again = Progress::Retrying {
            reference,
            why: "it answered 500".into(),
            delay: Duration::from_millis(500),
        };
        assert_eq!(again.to_string(), "example.com/app:1: it answered 500; trying again in 0.5 s");
    }
}
