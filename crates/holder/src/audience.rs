//! Those who watch a container's output besides its log.
//!
//! Each has a queue of its own with a bound. Who reads too slowly is sent away when the queue is full, rather than the
//! container stopped or the log delayed: the log is complete, an attach is for looking on.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::stream::{Channel, LONGEST_CHUNK};

/// How much may wait for one client.
pub(crate) const QUEUE: usize = 256 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Audience {
    seats: Mutex<Seats>,
}

#[derive(Debug, Default)]
struct Seats {
    over: bool,
    taken: Vec<Arc<Queue>>,
}

/// What one client has not been given yet.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    pieces: VecDeque<(Channel, Vec<u8>)>,
    bytes: usize,
    end: Option<End>,
}

/// Why nothing follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Over,
    Overrun,
    Left,
}

// === impl Audience ===

impl Audience {
    /// `None` when the output has ended.
    pub(crate) fn join(&self) -> Option<Arc<Queue>> {
        let mut seats = self.seats();
        if seats.over {
            return None;
        }
        let queue = Arc::new(Queue::default());
        seats.taken.push(queue.clone());
        Some(queue)
    }

    pub(crate) fn give(&self, channel: Channel, bytes: &[u8]) {
        self.seats().taken.retain(|queue| queue.give(channel, bytes));
    }

    pub(crate) fn leave(&self, queue: &Arc<Queue>) {
        queue.end(End::Left);
        self.seats().taken.retain(|taken| !Arc::ptr_eq(taken, queue));
    }

    /// Everybody gets what still waits for them, and then an end.
    pub(crate) fn close(&self) {
        let mut seats = self.seats();
        seats.over = true;
        seats.taken.drain(..).for_each(|queue| queue.end(End::Over));
    }

    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Queue ===

impl Queue {
    /// Whether it goes on. One that overflows is emptied: what was given until then is without a gap.
    fn give(&self, channel: Channel, bytes: &[u8]) -> bool {
        let mut waiting = self.waiting();
        if waiting.end.is_some() {
            return false;
        }
        if waiting.bytes + bytes.len() > QUEUE {
            *waiting = Waiting { end: Some(End::Overrun), ..Waiting::default() };
        } else {
            waiting.put(channel, bytes);
        }
        self.changed.notify_one();
        waiting.end.is_none()
    }

    /// The next piece, when there is one; or the end.
    pub(crate) fn take(&self) -> Result<(Channel, Vec<u8>), End> {
        let mut waiting = self.waiting();
        loop {
            if let Some(piece) = waiting.pieces.pop_front() {
                waiting.bytes -= piece.1.len();
                return Ok(piece);
            }
            if let Some(end) = waiting.end {
                return Err(end);
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn end(&self, end: End) {
        let mut waiting = self.waiting();
        waiting.end.get_or_insert(end);
        if end == End::Left {
            waiting.pieces.clear();
        }
        self.changed.notify_one();
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Waiting ===

impl Waiting {
    /// Small pieces are put together, so that the bound counts bytes and not writes.
    fn put(&mut self, channel: Channel, bytes: &[u8]) {
        self.bytes += bytes.len();
        match self.pieces.back_mut() {
            Some((last, piece)) if *last == channel && piece.len() + bytes.len() <= LONGEST_CHUNK => {
                piece.extend_from_slice(bytes);
            }
            _ => self.pieces.push_back((channel, bytes.to_vec())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_gets_everything_in_order_and_then_an_end() {
        let audience = Audience::default();
        let (early, late) = (audience.join().unwrap(), audience.join().unwrap());
        audience.give(Channel::Stdout, b"a");
        audience.give(Channel::Stdout, b"b");
        audience.give(Channel::Stderr, b"c");
        audience.close();
        for queue in [early, late] {
            assert_eq!(queue.take(), Ok((Channel::Stdout, b"ab".to_vec())));
            assert_eq!(queue.take(), Ok((Channel::Stderr, b"c".to_vec())));
            assert_eq!(queue.take(), Err(End::Over));
            assert_eq!(queue.take(), Err(End::Over));
        }
        assert!(audience.join().is_none());
    }

    #[test]
    fn who_does_not_keep_up_is_sent_away_and_nobody_else() {
        let audience = Audience::default();
        let (slow, quick) = (audience.join().unwrap(), audience.join().unwrap());
        let part = [7; QUEUE / 4];
        for _ in 0..4 {
            audience.give(Channel::Stdout, &part);
            quick.take().unwrap();
        }
        assert_eq!(audience.seats().taken.len(), 2);
        audience.give(Channel::Stdout, b"x");
        assert_eq!(slow.take(), Err(End::Overrun));
        assert_eq!(quick.take(), Ok((Channel::Stdout, b"x".to_vec())));
        assert_eq!(audience.seats().taken.len(), 1);
    }

    #[test]
    fn many_small_writes_are_not_more_than_they_are() {
        let audience = Audience::default();
        let queue = audience.join().unwrap();
        for _ in 0..QUEUE {
            audience.give(Channel::Stdout, b"x");
        }
        let mut read = 0;
        while read < QUEUE {
            let piece = queue.take().unwrap().1.len();
            assert!(piece <= LONGEST_CHUNK);
            read += piece;
        }
        assert_eq!(read, QUEUE);
    }

    #[test]
    fn who_leaves_is_forgotten_at_once() {
        let audience = Audience::default();
        let queue = audience.join().unwrap();
        audience.give(Channel::Stdout, b"x");
        audience.leave(&queue);
        assert_eq!(queue.take(), Err(End::Left));
        assert_eq!(audience.seats().taken.len(), 0);
    }
}
