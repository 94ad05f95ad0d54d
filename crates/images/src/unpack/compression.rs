//! What a layer is packed with: its first bytes say it, its media type must not say otherwise.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use super::error::UnpackError;
use super::gzip::Gzip;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

/// As much of a layer as tells what it is.
const START: usize = 6;
/// Read at once from a file or the network.
const READ: usize = 128 * 1024;
/// The largest window of a zstd layer, as a power of two: what `zstd -d` takes without being asked.
const LARGEST_WINDOW: u32 = 27;

/// The first bytes that others use, and who writes them.
const STRANGERS: &[(&[u8], &str)] = &[
    (b"BZh", "compressed with bzip2"),
    (b"\xfd7zXZ\0", "compressed with xz"),
    (b"PK\x03\x04", "a zip file"),
    (b"\x04\x22\x4d\x18", "compressed with lz4"),
];

/// Looks at the start of a layer and gives it back.
pub(crate) fn detect<R: Read>(
    mut layer: R,
    media_type: Option<&str>,
) -> Result<(impl Read + use<R>, Compression), UnpackError> {
    let mut start = Vec::with_capacity(START);
    (&mut layer).take(START as u64).read_to_end(&mut start).map_err(at_the_start)?;
    let found = by_start(&start)?;
    if let Some(said) = media_type.and_then(by_media_type)
        && said != found
        && !start.is_empty()
    {
        return Err(UnpackError::Compression { found: found.text(), wanted: said.text() });
    }
    Ok((Cursor::new(start).chain(layer), found))
}

fn at_the_start(source: io::Error) -> UnpackError {
    UnpackError::Read { after: "the start".to_owned(), source }
}

fn by_start(start: &[u8]) -> Result<Compression, UnpackError> {
    // A skippable frame may come before the first frame with content.
    let skippable = start.len() >= 4 && start[0] & 0xf0 == 0x50 && start[1..4] == [0x2a, 0x4d, 0x18];
    if start.starts_with(&[0x1f, 0x8b]) {
        Ok(Compression::Gzip)
    } else if skippable || start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        Ok(Compression::Zstd)
    } else if let Some((_, found)) = STRANGERS.iter().find(|(magic, _)| start.starts_with(magic)) {
        Err(UnpackError::Compression { found, wanted: "gzip, zstd or plain tar" })
    } else {
        Ok(Compression::None)
    }
}

/// Plain tar is said by builders that compress as well, so it promises nothing.
fn by_media_type(media_type: &str) -> Option<Compression> {
    if media_type.ends_with("gzip") {
        Some(Compression::Gzip)
    } else if media_type.ends_with("zstd") {
        Some(Compression::Zstd)
    } else {
        None
    }
}

// === impl Compression ===

impl Compression {
    fn text(self) -> &'static str {
        match self {
            Compression::None => "not compressed",
            Compression::Gzip => "compressed with gzip",
            Compression::Zstd => "compressed with zstd",
        }
    }

    pub(crate) fn decoder<'l>(self, layer: impl Read + Send + 'l) -> io::Result<Box<dyn Read + 'l>> {
        let layer = BufReader::with_capacity(READ, layer);
        Ok(match self {
            Compression::None => Box::new(layer),
            Compression::Gzip => Box::new(Gzip::new(layer)),
            Compression::Zstd => Box::new(zstd_decoder(layer)?),
        })
    }
}

fn zstd_decoder<'l, R: BufRead + 'l>(layer: R) -> io::Result<impl Read + 'l> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(layer)?;
    decoder.window_log_max(LARGEST_WINDOW)?;
    Ok(decoder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_media_types_promise() {
        let table = [
            ("application/vnd.oci.image.layer.v1.tar", None),
            ("application/vnd.oci.image.layer.v1.tar+gzip", Some(Compression::Gzip)),
            ("application/vnd.oci.image.layer.v1.tar+zstd", Some(Compression::Zstd)),
            ("application/vnd.docker.image.rootfs.diff.tar.gzip", Some(Compression::Gzip)),
            ("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", Some(Compression::Gzip)),
        ];
        for (media_type, said) in table {
            assert_eq!(by_media_type(media_type), said, "{media_type}");
        }
    }

    #[test]
    fn what_first_bytes_say() {
        assert_eq!(by_start(b"").unwrap(), Compression::None);
        assert_eq!(by_start(b"\x1f\x8b\x08").unwrap(), Compression::Gzip);
        assert_eq!(by_start(b"\x28\xb5\x2f\xfd").unwrap(), Compression::Zstd);
        assert_eq!(by_start(b"\x5e\x2a\x4d\x18").unwrap(), Compression::Zstd);
        assert!(by_start(b"BZh91A").unwrap_err().to_string().contains("bzip2"));
    }
}
