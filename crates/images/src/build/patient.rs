//! Bytes for a caller who may lose patience: layers are large, and Ctrl-C is not to wait for the end of one.

use std::io::{self, Read};

use crate::progress::Caller;

#[derive(Debug)]
pub(super) struct Patient<'a, R> {
    pub(super) from: R,
    pub(super) caller: Caller<'a>,
}

impl<R: Read> Read for Patient<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.caller.gave_up)() {
            return Err(io::Error::other("given up"));
        }
        self.from.read(buffer)
    }
}
