//! Reading from a pipe that somebody may keep open for ever.
//!
//! What a process leaves in the background has its stdout too, so that the end of the pipe says nothing about the end
//! of the process. A [`Tap`] reads until the pipe ends or its [`Closer`] says that it is enough.

use std::fs::File;
use std::io::{self, Read};

use crate::sys;

/// The reading end of a pipe or terminal.
#[derive(Debug)]
pub struct Tap(sys::tap::Tap);

/// Ends the taps that were made with it, whoever is reading from them.
#[derive(Debug)]
pub struct Closer(sys::tap::Closer);

// === impl Closer ===

impl Closer {
    pub fn new() -> io::Result<Self> {
        sys::tap::Closer::new().map(Self)
    }

    pub fn tap(&self, file: File) -> Tap {
        Tap(self.0.tap(file))
    }

    /// From now on every read is at its end.
    pub fn close(&self) {
        self.0.close();
    }
}

// === impl Tap ===

impl Read for Tap {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn pipe() -> (File, File) {
        let (read, write) = io::pipe().unwrap();
        let file = |end| -> File { sys::tap::into_file(end) };
        (file(read.into()), file(write.into()))
    }

    #[test]
    fn a_tap_reads_to_the_end() {
        let (read, mut write) = pipe();
        let mut tap = Closer::new().unwrap().tap(read);
        write.write_all(b"all of it").unwrap();
        drop(write);
        let mut text = String::new();
        tap.read_to_string(&mut text).unwrap();
        assert_eq!(text, "all of it");
    }

    #[test]
    fn a_closed_tap_ends_although_the_pipe_does_not() {
        let closer = Closer::new().unwrap();
        let ((one, mut write), (two, _kept)) = (pipe(), pipe());
        let taps = [closer.tap(one), closer.tap(two)];
        let readers = taps.map(|mut tap| {
            std::thread::spawn(move || {
                let mut all = Vec::new();
                tap.read_to_end(&mut all).map(|_| all)
            })
        });
        write.write_all(b"x").unwrap();
        // Whether they read already or not yet, this ends them.
        closer.close();
        for reader in readers {
            assert!(reader.join().unwrap().unwrap().len() <= 1);
        }
    }
}
