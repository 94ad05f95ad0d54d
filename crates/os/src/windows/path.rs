//! How the disk spells a path.

use std::ffi::OsString;
use std::io;
use std::os::windows::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf, Prefix};

use windows_sys::Win32::Storage::FileSystem::GetLongPathNameW;

use super::text::wide;

/// No path has more units.
const LONGEST: usize = 1 << 15;

/// Where the path leads, in the letters of the disk. Some volumes cannot say where a path leads: there it stays as it
/// was written.
pub(crate) fn real(path: &Path) -> io::Result<PathBuf> {
    let found = match std::fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
        found => found.ok().and_then(|found| plain(&found, path)),
    };
    spelled(found.as_deref().unwrap_or(path))
}

/// Without the prefix that people do not know and many programs do not take. A share behind the letter of a drive keeps
/// the letter: `cmd` cannot be started in a directory without one.
fn plain(found: &Path, asked: &Path) -> Option<PathBuf> {
    let mut parts = found.components();
    let Some(Component::Prefix(prefix)) = parts.next() else { return None };
    let mut text = match prefix.kind() {
        Prefix::VerbatimDisk(letter) => OsString::from(format!("{}:", char::from(letter))),
        Prefix::VerbatimUNC(server, share) if !on_a_drive(asked) => {
            OsString::from_iter([r"\\".as_ref(), server, r"\".as_ref(), share])
        }
        _ => return None,
    };
    text.push(parts.as_path());
    Some(text.into())
}

fn on_a_drive(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().get(1) == Some(&b':')
}

/// With every name, and the drive's letter, as it is on the disk. What cannot be looked at stays as it is.
fn spelled(path: &Path) -> io::Result<PathBuf> {
    let mut name = wide(path)?;
    let mut room = vec![0; LONGEST];
    // SAFETY: the name ends with a null, and the room is as long as we say.
    let length = unsafe { GetLongPathNameW(name.as_ptr(), room.as_mut_ptr(), 1 << 15) };
    let length = usize::try_from(length).unwrap_or_default();
    if (1..LONGEST).contains(&length) {
        room.truncate(length);
        name = room;
    } else {
        name.pop();
    }
    if let [letter, colon, ..] = name.as_mut_slice()
        && *colon == u16::from(b':')
        && let Ok(ascii) = u8::try_from(*letter)
    {
        *letter = ascii.to_ascii_uppercase().into();
    }
    Ok(OsString::from_wide(&name).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_prefix_is_shown_and_no_letter_of_a_drive_is_lost() {
        for (found, asked, expected) in [
            (r"\\?\C:\state\x", r"C:\state\x", Some(r"C:\state\x")),
            (r"\\?\C:\", r"C:\", Some(r"C:\")),
            (r"\\?\UNC\server\share\x", r"\\server\share\x", Some(r"\\server\share\x")),
            (r"\\?\UNC\server\share\x", r"S:\x", None),
            (r"\\?\Volume{0}\x", r"V:\x", None),
        ] {
            assert_eq!(
                plain(Path::new(found), Path::new(asked)).as_deref(),
                expected.map(Path::new),
                "{found}"
            );
        }
    }
}
