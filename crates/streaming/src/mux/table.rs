//! Which streams a connection has, and how far each has come. Does no I/O.

use std::collections::HashMap;

use tokio::sync::{mpsc, oneshot};

use super::stream::Piece;
use super::{MOST_STREAMS, QUEUE};
use crate::spdy::StreamId;

#[derive(Debug, Default)]
pub(super) struct Table {
    slots: HashMap<StreamId, Slot>,
    /// The highest number that the peer has used, and the next of ours.
    pub(super) heard: StreamId,
    next: StreamId,
    over: bool,
}

#[derive(Debug)]
struct Slot {
    /// None once the peer has said that no more comes.
    pieces: Option<mpsc::Sender<Piece>>,
    /// The answer to a SYN_STREAM of ours is awaited.
    reply: Option<oneshot::Sender<()>>,
    /// We have said that no more comes.
    finished: bool,
}

/// Why a stream that the peer opens cannot be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Its number is one of ours, or not above the last.
    Number,
    TooMany,
}

// === impl Table ===

impl Table {
    pub(super) fn new(first: StreamId) -> Table {
        Table { next: first, ..Table::default() }
    }

    /// The peer opens a stream; `fin` means that it will say nothing on it.
    pub(super) fn accept(&mut self, id: StreamId, fin: bool) -> Result<mpsc::Receiver<Piece>, Refused> {
        if id <= self.heard || id % 2 == self.next % 2 {
            return Err(Refused::Number);
        }
        self.heard = id;
        if self.slots.len() >= MOST_STREAMS {
            return Err(Refused::TooMany);
        }
        let (pieces, received) = mpsc::channel(QUEUE);
        if fin {
            let _ = pieces.try_send(Piece::Fin);
        }
        self.slots.insert(id, Slot { pieces: (!fin).then_some(pieces), reply: None, finished: false });
        Ok(received)
    }

    /// We open one. None when numbers are used up or the connection is over.
    pub(super) fn open(&mut self) -> Option<(StreamId, mpsc::Receiver<Piece>, oneshot::Receiver<()>)> {
        let id = self.next;
        if self.over || id > crate::spdy::frame::LAST_STREAM {
            return None;
        }
        self.next += 2;
        let (pieces, received) = mpsc::channel(QUEUE);
        let (reply, replied) = oneshot::channel();
        self.slots.insert(id, Slot { pieces: Some(pieces), reply: Some(reply), finished: false });
        Some((id, received, replied))
    }

    pub(super) fn replied(&mut self, id: StreamId) {
        if let Some(reply) = self.slots.get_mut(&id).and_then(|slot| slot.reply.take()) {
            let _ = reply.send(());
        }
    }

    /// Where a stream's data goes. None for one that is closed or never was: such data is dropped.
    pub(super) fn pieces(&self, id: StreamId) -> Option<mpsc::Sender<Piece>> {
        self.slots.get(&id)?.pieces.clone()
    }

    /// The peer will say no more on this stream.
    pub(super) fn peer_finished(&mut self, id: StreamId) {
        if let Some(slot) = self.slots.get_mut(&id) {
            slot.pieces = None;
            if slot.finished {
                self.slots.remove(&id);
            }
        }
    }

    /// We say no more on this stream. False if we had said so, or it is gone.
    pub(super) fn finish(&mut self, id: StreamId) -> bool {
        let Some(slot) = self.slots.get_mut(&id) else { return false };
        let first = !slot.finished;
        slot.finished = true;
        if slot.pieces.is_none() {
            self.slots.remove(&id);
        }
        first
    }

    pub(super) fn may_write(&self, id: StreamId) -> bool {
        self.slots.get(&id).is_some_and(|slot| !slot.finished)
    }

    /// Either end has cut it off. False if there was nothing to cut.
    pub(super) fn remove(&mut self, id: StreamId) -> bool {
        self.slots.remove(&id).is_some()
    }

    /// Nothing comes any more for anybody.
    pub(super) fn end(&mut self) {
        self.over = true;
        self.slots.clear();
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.slots.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> Table {
        Table::new(2)
    }

    #[test]
    fn numbers_rise_and_are_the_peers_own() {
        let mut table = server();
        assert!(table.accept(1, false).is_ok());
        assert!(table.accept(5, false).is_ok(), "gaps are allowed");
        for id in [3, 5, 6, 1] {
            assert_eq!(table.accept(id, false).err(), Some(Refused::Number), "{id}");
        }
    }

    #[test]
    fn a_stream_is_forgotten_when_both_ends_have_finished() {
        let mut table = server();
        let _kept = table.accept(1, false).expect("taken");
        table.peer_finished(1);
        assert!(table.may_write(1), "half closed");
        assert!(table.finish(1));
        assert_eq!(table.len(), 0);
        assert!(!table.finish(1) && !table.may_write(1));
        let _kept = table.accept(3, true).expect("taken");
        assert!(table.finish(3));
        assert_eq!(table.len(), 0);
    }

    #[test]
    fn a_stream_that_begins_with_its_end_says_so() {
        let mut table = server();
        let mut received = table.accept(1, true).expect("taken");
        assert!(matches!(received.try_recv(), Ok(Piece::Fin)));
        assert!(table.pieces(1).is_none());
    }

    #[test]
    fn too_many_streams_are_refused_until_one_ends() {
        let mut table = server();
        let ids: Vec<u32> = (1..).step_by(2).take(MOST_STREAMS).collect();
        let _kept: Vec<_> = ids.iter().map(|id| table.accept(*id, false).expect("room")).collect();
        let next = ids.last().expect("some") + 2;
        assert_eq!(table.accept(next, false).err(), Some(Refused::TooMany));
        assert!(table.remove(1));
        assert!(table.accept(next + 2, false).is_ok());
    }

    #[test]
    fn nothing_is_opened_on_a_connection_that_is_over() {
        let mut table = Table::new(1);
        let (id, _pieces, mut reply) = table.open().expect("opened");
        assert_eq!(id, 1);
        table.end();
        assert!(reply.try_recv().is_err(), "whoever waits is woken");
        assert!(table.open().is_none());
    }
}
