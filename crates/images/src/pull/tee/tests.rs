//! Two who go the same way at their own pace.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::*;
use crate::content::{Content, Key};
use crate::digest::Digest;
use crate::progress::{Caller, Progress};

/// Comes piece by piece, each when it is let through.
struct Slow<'b> {
    bytes: &'b [u8],
    let_through: Receiver<usize>,
}

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Ok(length) = self.let_through.recv() else { return Err(io::Error::other("cut")) };
        let (now, later) = self.bytes.split_at(length.min(buffer.len()).min(self.bytes.len()));
        buffer[..now.len()].copy_from_slice(now);
        self.bytes = later;
        Ok(now.len())
    }
}

fn bytes() -> Vec<u8> {
    (0..=250).cycle().take(3 * PIECE + 12_345).collect()
}

/// How it ended.
struct Followed<T> {
    answer: T,
    kept: Result<Ingest, Failure>,
    length: u64,
    stages: Vec<Stage>,
}

/// Follows a blob of which `there` is kept already.
fn follow<T>(
    there: usize,
    stream: Option<Box<dyn Read + Send + '_>>,
    use_it: impl FnOnce(&mut Follower<'_, '_, '_>) -> T,
) -> Followed<T> {
    let dir = tempfile::tempdir().unwrap();
    let content = Content::open(dir.path()).unwrap();
    let (whole, digest) = (bytes(), Digest::of(&bytes()));
    let _flight = content.try_flight(&Key::Blob(digest.clone())).unwrap().unwrap();
    let mut ingest = content.ingest(&digest, whole.len() as u64).unwrap();
    ingest.append(&whole[..there]).unwrap();
    let stages = Mutex::new(Vec::new());
    let tell = |progress: &Progress| match progress {
        Progress::Layer { stage, .. } => stages.lock().unwrap().push(*stage),
        other => panic!("{other}"),
    };
    let caller = Caller { tell: &tell, gave_up: &|| false };
    let mut meter = Meter::new(caller, &digest, whole.len() as u64);
    let kept = File::open(content.ingest_path(&digest)).unwrap();
    let halt = Halt::new(Caller::silent());
    let tee = Tee { kept, stream, ingest, meter: &mut meter, halt: &halt };
    let (answer, kept) = tee.follow(use_it);
    let length = std::fs::metadata(content.ingest_path(&digest)).unwrap().len();
    Followed { answer, kept, length, stages: stages.into_inner().unwrap() }
}

fn read_all(follower: &mut Follower<'_, '_, '_>) -> io::Result<Vec<u8>> {
    let mut read = Vec::new();
    follower.read_to_end(&mut read).map(|_| read)
}

/// Waits until all has come, none of which is read meanwhile.
fn kept_when_whole(follower: &Follower<'_, '_, '_>) -> u64 {
    let coming = |now: &mut Now<'_, '_>| now.state == State::Coming;
    let way = follower.way;
    let (now, waited) = way.further.wait_timeout_while(way.lock(), Duration::from_secs(30), coming).unwrap();
    assert!(!waited.timed_out(), "it does not come");
    now.kept
}

#[test]
fn what_comes_is_read_from_its_beginning_whatever_was_there_before() {
    let whole = bytes();
    for there in [0, 1, PIECE, whole.len() - 1] {
        let followed = follow(there, Some(Box::new(&whole[there..])), read_all);
        assert!(followed.answer.unwrap() == whole, "{there}");
        assert!(followed.kept.is_ok_and(|ingest| ingest.offset() == whole.len() as u64));
        assert_eq!(followed.stages.last(), Some(&Stage::Unpacking));
    }
    assert!(follow(whole.len(), None, read_all).answer.unwrap() == whole);
}

/// What is kept can be read before more comes, and one who reads behind holds nobody up.
#[test]
fn neither_waits_for_more_than_there_is() {
    let whole = bytes();
    let (go, let_through) = channel();
    let slow = Slow { bytes: &whole, let_through };
    let followed = follow(0, Some(Box::new(slow)), move |follower| {
        let mut first = vec![0; PIECE];
        go.send(PIECE).unwrap();
        follower.read_exact(&mut first).unwrap();
        (0..5).for_each(|_| go.send(PIECE).unwrap());
        // All of the rest is kept before any of it is read.
        assert_eq!(kept_when_whole(follower), bytes().len() as u64);
        [first, read_all(follower).unwrap()].concat()
    });
    assert!(followed.answer == whole && followed.kept.is_ok());
}

#[test]
fn one_who_stops_reading_does_not_keep_the_blob_from_coming() {
    let whole = bytes();
    let followed = follow(0, Some(Box::new(whole.as_slice())), |follower| follower.read(&mut [0; 10]));
    assert_eq!(followed.answer.unwrap(), 10);
    assert!(followed.kept.is_ok() && followed.length == whole.len() as u64);
}

/// The rest of a large layer would be used for minutes by somebody whom nobody waits for.
#[test]
fn what_has_come_is_not_used_to_its_end_after_giving_up() {
    let whole = bytes();
    let followed = follow(0, Some(Box::new(whole.as_slice())), |follower| {
        kept_when_whole(follower);
        follower.halt.call();
        read_all(follower)
    });
    assert_eq!(followed.answer.unwrap_err().to_string(), "given up");
    assert!(followed.kept.is_ok() && followed.length == whole.len() as u64);
}

/// On a slow line a piece takes seconds, and somebody watches.
#[test]
fn what_comes_is_told_of_before_a_piece_is_full() {
    let whole = bytes();
    let (go, let_through) = channel();
    let slow = Slow { bytes: &whole, let_through };
    let followed = follow(0, Some(Box::new(slow)), move |follower| {
        go.send(1000).unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        while follower.way.lock().meter.done() == 0 {
            assert!(Instant::now() < deadline, "nobody is told");
            std::thread::yield_now();
        }
        follower.way.lock().kept
    });
    assert_eq!(followed.answer, 0);
}

#[test]
fn a_stream_that_breaks_is_told_by_the_keeper_and_leaves_what_came() {
    let whole = bytes();
    let (go, let_through) = channel();
    [PIECE, PIECE, 17].into_iter().for_each(|length| go.send(length).unwrap());
    drop(go);
    let followed = follow(0, Some(Box::new(Slow { bytes: &whole, let_through })), read_all);
    assert_eq!(followed.answer.unwrap_err().to_string(), "the blob ended early");
    assert!(matches!(followed.kept, Err(Failure::Stream(error)) if error.to_string() == "cut"));
    assert_eq!(followed.length, 2 * PIECE as u64 + 17);
}
