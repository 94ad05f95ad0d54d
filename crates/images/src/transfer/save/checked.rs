//! A blob that is compared with its digest while it is read.

use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

use crate::blobs::check;
use crate::digest::Digest;

/// Its last bytes come only if all were right: who writes them never has the whole of a damaged one.
pub(super) struct Checked<'a, R> {
    from: R,
    digest: &'a Digest,
    hash: Sha256,
    left: u64,
}

// === impl Checked ===

impl<'a, R: Read> Checked<'a, R> {
    pub(super) fn new(from: R, digest: &'a Digest, size: u64) -> io::Result<Checked<'a, R>> {
        let mut checked = Checked { from, digest, hash: Sha256::new(), left: size };
        // Nobody reads of nothing.
        checked.compare()?;
        Ok(checked)
    }

    fn compare(&mut self) -> io::Result<()> {
        if self.left > 0 {
            return Ok(());
        }
        check(self.digest.as_str(), &self.hash.finalize_reset()).map_err(io::Error::other)
    }
}

impl<R: Read> Read for Checked<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        if read == 0 {
            return Ok(0);
        }
        self.hash.update(&buffer[..read]);
        self.left = self.left.saturating_sub(read as u64);
        self.compare()?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_that_is_another_one_ends_with_an_error() {
        for (stored, found, right) in [
            ("abc", "abc", true),
            ("", "", true),
            ("abc", "abd", false),
            ("abc", "", false),
            ("", "x", false),
        ] {
            let digest = Digest::of(stored.as_bytes());
            let read = Checked::new(found.as_bytes(), &digest, found.len() as u64).and_then(|checked| {
                // No more is asked for than there is.
                io::copy(&mut checked.take(found.len() as u64), &mut io::sink())
            });
            assert_eq!(read.is_ok(), right, "{stored:?} as {found:?}: {read:?}");
            if let Err(error) = read {
                assert!(error.to_string().contains(digest.as_str()), "{error}");
            }
        }
    }
}
