//! What a layer has, without unpacking it: for who asks where directories are, not for what is in files.

use std::io::{BufReader, Read};

use super::budget::Budget;
use super::compression::detect;
use super::error::{UnpackError, shown};
use super::members::{Kind, Reader};
use super::whiteout::{self, Said};
use super::{Limits, unwrapped};

/// A name of a layer, as parts of a path with slashes between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Listed {
    Directory(String),
    /// With its text.
    Symlink(String, String),
    Other(String),
    /// The layers below lose this name.
    Hidden(String),
    /// The layers below lose everything in this directory.
    AllHidden(String),
}

/// Reads at once, since a decoder gives little at a time.
const READ: usize = 128 * 1024;

/// Every name of a layer, in its order. All of them are in memory, so they have no more room than when it is unpacked.
pub(crate) fn list(layer: impl Read + Send, media_type: Option<&str>) -> Result<Vec<Listed>, UnpackError> {
    let limits = Limits::default();
    let (layer, compression) = detect(layer, media_type)?;
    let at_the_start = |e| unwrapped(e, |source| UnpackError::Read { after: "the start".to_owned(), source });
    let decoder = compression.decoder(layer).map_err(at_the_start)?;
    let mut reader = Reader::new(BufReader::with_capacity(READ, decoder.take(limits.bytes)), limits);
    let (mut listed, budget) = (Vec::new(), Budget::new(limits.names));
    while let Some(member) = reader.next()? {
        let Some(each) = read(&member.name, &member.kind) else { continue };
        let (path, text) = each.texts();
        if path.split('/').count() > limits.depth {
            return Err(UnpackError::Deep { name: shown(&member.name), limit: limits.depth });
        }
        budget.take(path.len() + text.len())?;
        listed.push(each);
    }
    Ok(listed)
}

// === impl Listed ===

impl Listed {
    /// The path, and what a link says.
    fn texts(&self) -> (&str, &str) {
        match self {
            Self::Symlink(path, to) => (path, to),
            Self::Directory(path) | Self::Other(path) | Self::Hidden(path) | Self::AllHidden(path) => {
                (path, "")
            }
        }
    }
}

/// `None` for the root, for notes, and for names that climb, which no host unpacks.
fn read(name: &[u8], kind: &Kind) -> Option<Listed> {
    let mut parts: Vec<&[u8]> =
        name.split(|byte| *byte == b'/').filter(|part| !matches!(*part, b"" | b".")).collect();
    if parts.contains(&b"..".as_slice()) {
        return None;
    }
    let last = parts.pop()?;
    let path = |last: &[u8]| {
        let parts = parts.iter().copied().chain([last]).filter(|part| !part.is_empty());
        parts.map(String::from_utf8_lossy).collect::<Vec<_>>().join("/")
    };
    match (whiteout::read(last), kind) {
        (Said::Note, _) => None,
        (Said::HideAll, _) => Some(Listed::AllHidden(path(b""))),
        (Said::Hide(hidden), _) => Some(Listed::Hidden(path(hidden))),
        (Said::Name, Kind::Directory) => Some(Listed::Directory(path(last))),
        (Said::Name, Kind::Symlink { to, .. }) => {
            Some(Listed::Symlink(path(last), String::from_utf8_lossy(to).into_owned()))
        }
        (Said::Name, _) => Some(Listed::Other(path(last))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_layer() {
        let file = || Kind::File { size: 0, segments: None };
        let link = Kind::Symlink { to: b"../run".to_vec(), directory: false };
        for (name, kind, wanted) in [
            ("./tmp/", Kind::Directory, Some(Listed::Directory("tmp".into()))),
            ("a//b", file(), Some(Listed::Other("a/b".into()))),
            ("var/run", link, Some(Listed::Symlink("var/run".into(), "../run".into()))),
            ("a/.wh.b", file(), Some(Listed::Hidden("a/b".into()))),
            ("a/.wh..wh..opq", file(), Some(Listed::AllHidden("a".into()))),
            (".wh..wh..opq", file(), Some(Listed::AllHidden(String::new()))),
            (".wh..wh.plnk", file(), None),
            ("./", Kind::Directory, None),
            ("a/../../b", file(), None),
        ] {
            assert_eq!(read(name.as_bytes(), &kind), wanted, "{name}");
        }
    }
}
