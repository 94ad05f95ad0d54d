//! What a header says about a file besides its content.

use std::ffi::OsString;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use os::tree::{Attributes, Descriptor, Time};
use tar::Header;

use super::pax::Records;

const XATTR: &str = "SCHILY.xattr.";
/// Those that NTFS has: other names, other rules, and a call of their own to set them.
const WINDOWS_XATTR: &str = "MSWINDOWS.xattr.";
/// The attribute bit of Windows that says directory.
const DIRECTORY: u32 = 0x10;
const BILLION: u32 = 1_000_000_000;

pub(super) fn of(header: &Header, records: &Records) -> Attributes {
    let id = |key, field: std::io::Result<u64>| {
        records.text(key).and_then(|text| text.parse().ok()).or_else(|| u32::try_from(field.ok()?).ok())
    };
    Attributes {
        mode: header.mode().ok().map(|mode| mode & 0o7777),
        owner: id("uid", header.uid()).zip(id("gid", header.gid())),
        modified: modified(header, records),
        created: records.text("LIBARCHIVE.creationtime").and_then(time),
        extended: extended(records),
        bits: bits(records),
        descriptor: descriptor(records),
    }
}

fn modified(header: &Header, records: &Records) -> Option<Time> {
    let field = || Some(Time { seconds: i64::try_from(header.mtime().ok()?).ok()?, nanos: 0 });
    records.text("mtime").and_then(time).or_else(field)
}

fn extended(records: &Records) -> Vec<(OsString, Vec<u8>)> {
    let named = records.iter().filter_map(|(key, value)| Some((key.strip_prefix(XATTR)?, value)));
    named.filter(|(name, _)| is_carried(name)).map(|(name, value)| (name.into(), value.to_vec())).collect()
}

/// Which attributes a layer may bring. Those of overlayfs would be marks of ours, those of the kernel's integrity
/// and labelling belong to the host.
fn is_carried(name: &str) -> bool {
    let known = ["security.capability", "system.posix_acl_access", "system.posix_acl_default"];
    known.contains(&name) || name.strip_prefix("user.").is_some_and(|rest| !rest.starts_with("overlay."))
}

/// Whether there is one that a file has on Windows alone. Nothing here sets them.
pub(super) fn has_windows_extended(records: &Records) -> bool {
    records.iter().any(|(key, value)| key.starts_with(WINDOWS_XATTR) && !value.is_empty())
}

fn bits(records: &Records) -> Option<u32> {
    records.text("MSWINDOWS.fileattr")?.parse().ok()
}

/// Whether a link of a Windows layer leads to a directory: Windows makes two kinds.
pub(super) fn says_directory(records: &Records) -> bool {
    records.text("MSWINDOWS.mountpoint") == Some("1")
        || bits(records).is_some_and(|bits| bits & DIRECTORY != 0)
}

fn descriptor(records: &Records) -> Option<Descriptor> {
    if let Some(raw) = records.bytes("MSWINDOWS.rawsd") {
        // What cannot be read goes on as nothing, which is no sound descriptor: who sets it says so.
        return Some(Descriptor::SelfRelative(BASE64_STANDARD.decode(raw).unwrap_or_default()));
    }
    records.text("MSWINDOWS.sd").map(|text| Descriptor::Text(text.to_owned()))
}

/// `1700000000.25`, before 1970 with a sign.
fn time(text: &str) -> Option<Time> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let seconds: i64 = whole.parse().ok()?;
    if !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits: String = part.chars().chain(std::iter::repeat('0')).take(9).collect();
    let nanos: u32 = digits.parse().ok()?;
    if whole.starts_with('-') && nanos > 0 {
        return Some(Time { seconds: seconds.checked_sub(1)?, nanos: BILLION - nanos });
    }
    Some(Time { seconds, nanos })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_pax_writes_them() {
        let table = [
            ("1700000000", Some((1_700_000_000, 0))),
            ("1700000000.25", Some((1_700_000_000, 250_000_000))),
            ("1.1234567891", Some((1, 123_456_789))),
            ("-1.5", Some((-2, 500_000_000))),
            ("-0.5", Some((-1, 500_000_000))),
            ("", None),
            ("1.x", None),
            ("99999999999999999999", None),
        ];
        for (text, wanted) in table {
            assert_eq!(time(text).map(|t| (t.seconds, t.nanos)), wanted, "{text}");
        }
    }

    #[test]
    fn what_windows_layers_say_about_a_file() {
        let body =
            b"38 LIBARCHIVE.creationtime=1400000000\n28 MSWINDOWS.rawsd=AQAEgA==\n24 MSWINDOWS.fileattr=3\n";
        let found = of(&Header::new_gnu(), &Records::parse(body).unwrap());
        assert_eq!(found.created, Some(Time { seconds: 1_400_000_000, nanos: 0 }));
        assert_eq!(found.bits, Some(3));
        assert!(matches!(found.descriptor, Some(Descriptor::SelfRelative(raw)) if raw == [1, 0, 4, 0x80]));
        let text = descriptor(&Records::parse(b"31 MSWINDOWS.sd=D:(A;;FA;;;SY)\n").unwrap());
        assert!(matches!(text, Some(Descriptor::Text(text)) if text == "D:(A;;FA;;;SY)"));
    }

    #[test]
    fn a_descriptor_that_cannot_be_read_is_none_that_windows_takes() {
        for body in [&b"26 MSWINDOWS.rawsd=AQ:EgA\n"[..], b"25 MSWINDOWS.rawsd=AQAE*\n"] {
            let found = descriptor(&Records::parse(body).unwrap());
            assert!(matches!(&found, Some(Descriptor::SelfRelative(raw)) if raw.is_empty()), "{found:?}");
        }
        assert!(descriptor(&Records::parse(b"20 MSWINDOWS.rawsd=\n").unwrap()).is_none());
    }

    #[test]
    fn a_layer_brings_no_marks_of_overlayfs() {
        for name in ["user.note", "security.capability", "system.posix_acl_access"] {
            assert!(is_carried(name), "{name}");
        }
        for name in ["trusted.overlay.redirect", "user.overlay.opaque", "trusted.x", "security.ima", "user"] {
            assert!(!is_carried(name), "{name}");
        }
    }
}
