//! The bind filter: shows a file or directory at another path, to the processes of one silo only.
//!
//! Its library comes without a header or an import library and is missing on some systems, so it is loaded when it is
//! wanted. What it answers is an HRESULT of the filter manager, which says little to whoever reads it in an event.

use std::ffi::OsString;
use std::io;
use std::os::windows::io::{AsRawHandle, BorrowedHandle};
use std::path::Path;
use std::ptr::null;

use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::core::{HRESULT, PCWSTR};

use super::library::Library;
use super::text::wide;
use crate::view::Bind;

pub(crate) const LIBRARY: &str = "bindfltapi.dll";

const READ_ONLY: u32 = 0x1;
/// The mapping belongs to the silo and ends with it.
const CURRENT_SILO: u32 = 0x4;

/// Job, flags, virtual root, target, exceptions and their number.
type SetupFilter = unsafe extern "system" fn(HANDLE, u32, PCWSTR, PCWSTR, *const PCWSTR, u32) -> HRESULT;

#[derive(Debug)]
pub(crate) struct BindFilter {
    setup: SetupFilter,
    _library: Library,
}

// === impl BindFilter ===

impl BindFilter {
    pub(crate) fn open() -> io::Result<Self> {
        let missing = |error: io::Error| io::Error::new(error.kind(), format!("{LIBRARY}: {error}"));
        let library = Library::open(LIBRARY).map_err(missing)?;
        let setup = library.function("BfSetupFilter").ok_or_else(|| {
            io::Error::new(io::ErrorKind::Unsupported, format!("{LIBRARY} lacks BfSetupFilter"))
        })?;
        // SAFETY: the export has exactly this signature, and the library stays open as long as the pointer.
        let setup = unsafe { std::mem::transmute::<*const std::ffi::c_void, SetupFilter>(setup) };
        Ok(Self { setup, _library: library })
    }

    /// From now on the processes of the silo find `bind.source` at `bind.target`.
    pub(crate) fn bind(&self, silo: BorrowedHandle<'_>, bind: &Bind) -> io::Result<()> {
        let (seen_at, source) = (wide(&bind.target)?, wide(volume_or_path(&bind.source))?);
        // SAFETY: the job is open, both texts end with a null, and there are no exceptions.
        let result = unsafe {
            (self.setup)(silo.as_raw_handle(), flags(bind), seen_at.as_ptr(), source.as_ptr(), null(), 0)
        };
        if result < 0 { Err(refused(result.cast_unsigned(), bind)) } else { Ok(()) }
    }
}

fn flags(bind: &Bind) -> u32 {
    CURRENT_SILO | if bind.readonly { READ_ONLY } else { 0 }
}

/// A volume's root is named by its trailing backslash; without it the name is that of a device.
fn volume_or_path(source: &Path) -> OsString {
    let mut text = source.as_os_str().to_owned();
    let plain = text.to_string_lossy();
    let volume = plain.to_ascii_lowercase().starts_with(r"\\?\volume{") && plain.ends_with('}');
    let drive = plain.len() == 2 && plain.ends_with(':');
    if volume || drive {
        text.push("\\");
    }
    text
}

fn refused(result: u32, bind: &Bind) -> io::Error {
    let (kind, cause) = meaning(result);
    let (source, target) = (bind.source.display(), bind.target.display());
    io::Error::new(kind, format!("cannot show {source} at {target}: {cause} ({result:#010x})"))
}

/// `Unsupported` is for what another way of mounting can do.
fn meaning(result: u32) -> (io::ErrorKind, &'static str) {
    match result {
        0x801F_0013 => (io::ErrorKind::Unsupported, "the bind filter driver (bindflt) does not run"),
        _ if result >> 16 == 0x801F => {
            (io::ErrorKind::Unsupported, "the volume takes no filter; it can only be mounted in symlink mode")
        }
        0x8007_0057 => (
            io::ErrorKind::InvalidInput,
            "the target is mapped already, or one of the two is no absolute path of a drive or volume",
        ),
        0x8007_0005 => (
            io::ErrorKind::PermissionDenied,
            "access is denied; the runtime must run as LocalSystem and not inside a container",
        ),
        0x8007_0002 | 0x8007_0003 => {
            (io::ErrorKind::NotFound, "the source, or the directory that the target is in, does not exist")
        }
        _ => (io::ErrorKind::Other, "the bind filter refused it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind(source: &str, readonly: bool) -> Bind {
        Bind { source: source.into(), target: r"C:\etc\x".into(), readonly, ..Bind::default() }
    }

    #[test]
    fn only_a_read_only_mount_is_read_only() {
        assert_eq!(flags(&bind("C:\\a", false)), 0x4);
        assert_eq!(flags(&bind("C:\\a", true)), 0x5);
    }

    #[test]
    fn a_volume_is_named_with_its_backslash() {
        for (given, named) in [
            (r"\\?\Volume{1b2c}", r"\\?\Volume{1b2c}\"),
            (r"\\?\Volume{1b2c}\", r"\\?\Volume{1b2c}\"),
            (r"\\?\Volume{1b2c}\Files", r"\\?\Volume{1b2c}\Files"),
            (r"D:", r"D:\"),
            (r"D:\data", r"D:\data"),
        ] {
            assert_eq!(volume_or_path(Path::new(given)), named, "{given}");
        }
    }

    #[test]
    fn a_refusal_names_both_paths_the_cause_and_the_code() {
        let error = refused(0x801F_000F, &bind("F:\\fuse", false));
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        assert_eq!(
            error.to_string(),
            r"cannot show F:\fuse at C:\etc\x: the volume takes no filter; it can only be mounted in symlink mode (0x801f000f)"
        );
        assert!(refused(0x8007_0057, &bind("C:\\a", false)).to_string().contains("mapped already"));
        assert_eq!(refused(0x8007_0005, &bind("C:\\a", false)).kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(refused(0x8007_0002, &bind("C:\\a", false)).kind(), io::ErrorKind::NotFound);
        assert!(refused(0x8000_4005, &bind("C:\\a", false)).to_string().ends_with("(0x80004005)"));
    }
}
