//! The hostile archives that only Windows would be hurt by: names and links that it reads as something else, and
//! layers of its own layout.

use images::unpack::Layout;

use crate::hostile_archives::{ANYTHING, Archive, ENDING, LEAVES, Outcome, check, new, one};
use crate::support::{REGULAR, World};

const CHARACTER: &str = "a character that means something to Windows";
const DEVICE: &str = "a device on Windows";
const SHARE: &str = "a share or a device";

/// A name that Windows reads as something else and Linux does not.
const fn on_windows(name: &'static str, says: &'static str, layers: fn() -> Vec<Vec<u8>>) -> Archive {
    let on_windows = Some(Outcome::Refused(says));
    Archive { name, layout: Layout::Plain, layers, outcome: ANYTHING, on_windows }
}

/// A link that Windows reads in a way of its own: there it leads here, inside the image.
const fn leads(
    name: &'static str,
    look: fn(&World) -> Result<(), &'static str>,
    layers: fn() -> Vec<Vec<u8>>,
) -> Archive {
    let on_windows = Some(Outcome::Harmless(look));
    Archive { name, layout: Layout::Plain, layers, outcome: ANYTHING, on_windows }
}

/// A layer of a Windows image.
const fn of_windows(
    name: &'static str,
    look: fn(&World) -> Result<(), &'static str>,
    layers: fn() -> Vec<Vec<u8>>,
) -> Archive {
    Archive { name, layout: Layout::Windows, layers, outcome: Outcome::Harmless(look), on_windows: None }
}

/// A hard link to what Windows would look for outside; elsewhere it is a name that is not there.
const fn hard_link(name: &'static str, layout: Layout, layers: fn() -> Vec<Vec<u8>>) -> Archive {
    let on_windows = Some(Outcome::Refused(CHARACTER));
    Archive { name, layout, layers, outcome: Outcome::Refused("is not there"), on_windows }
}

/// A file whose way leads through a link with this text.
fn through(text: &str) -> Vec<Vec<u8>> {
    one(new().dir("dir").symlink("l", text).file("l/x", "evil"))
}

pub(crate) const ON_WINDOWS: &[Archive] = &[
    // Names that mean something to Windows.
    on_windows("drive-letter", CHARACTER, || one(new().file("C:/Windows/x", ""))),
    on_windows("drive-relative", CHARACTER, || one(new().file("C:x", ""))),
    on_windows("backslashes", CHARACTER, || one(new().file(r"..\..\outside", "evil"))),
    on_windows("network-share", CHARACTER, || one(new().file(r"\\server\share\x", ""))),
    on_windows("device-namespace", CHARACTER, || one(new().file(r"\\.\PhysicalDrive0", ""))),
    on_windows("verbatim-path", CHARACTER, || one(new().file(r"\\?\C:\x", ""))),
    on_windows("alternate-stream", CHARACTER, || one(new().file("f", "").file("f:hidden", "evil"))),
    on_windows("stream-of-a-directory", CHARACTER, || one(new().file("d::$INDEX_ALLOCATION/x", ""))),
    on_windows("reserved-name", DEVICE, || one(new().file("NUL", ""))),
    on_windows("reserved-name-with-extension", DEVICE, || one(new().file("d/com1.txt", ""))),
    on_windows("reserved-directory", DEVICE, || one(new().file("aux/x", ""))),
    on_windows("reserved-superscript", DEVICE, || one(new().file("COM\u{b9}", ""))),
    on_windows("reserved-console", DEVICE, || one(new().file("conout$", ""))),
    on_windows("trailing-dot", ENDING, || one(new().file("file.", ""))),
    on_windows("trailing-space", ENDING, || one(new().file("file ", ""))),
    on_windows("dots-that-windows-drops", ENDING, || one(new().file("... /x", ""))),
    on_windows("wildcard", CHARACTER, || one(new().file("a*b?", ""))),
    on_windows("control-character", CHARACTER, || one(new().file("a\u{1}b", ""))),
    on_windows("whiteout-of-a-device", DEVICE, || one(new().file(".wh.NUL", ""))),
    on_windows("whiteout-with-backslash", CHARACTER, || one(new().file(r".wh...\outside", ""))),
    on_windows("name-that-is-not-utf-8", "not UTF-8", || one(new().with(b"a\xff\xfe", REGULAR, b"", |_| {}))),
    on_windows("two-files-that-differ-in-case", "differ only in case", || {
        one(new().file("Readme", "1").file("README", "2"))
    }),
    on_windows("two-directories-that-differ-in-case", "differ only in case", || {
        one(new().file("bin/a", "").file("Bin/b", ""))
    }),
    // Links whose text means something to Windows, and entries that pass through them.
    on_windows("link-to-a-drive-behind-a-dot", CHARACTER, || through("./C:")),
    on_windows("link-to-a-drive-in-the-middle", CHARACTER, || through("dir/../C:/outside")),
    on_windows("link-to-a-directory-of-a-drive", CHARACTER, || through(r"dir\..\Z:outside")),
    on_windows("link-to-a-drive-on-a-verbatim-drive", CHARACTER, || through(r"\\?\C:\D:")),
    on_windows("link-to-a-stream", CHARACTER, || through("dir:stream")),
    on_windows("link-to-a-stream-that-is-the-directory", CHARACTER, || through("dir::$INDEX_ALLOCATION")),
    on_windows("link-to-a-device", DEVICE, || through("NUL")),
    on_windows("link-to-a-device-on-a-drive", DEVICE, || through(r"C:\dir\com1.txt\deeper")),
    on_windows("link-to-dots-that-windows-drops", ENDING, || through("dir/.. /.. /outside")),
    on_windows("link-to-a-name-that-windows-shortens", ENDING, || through("dir.")),
    on_windows("link-to-a-share", SHARE, || through(r"\\server\share\outside")),
    on_windows("link-to-a-share-with-slashes", SHARE, || through("//server/share/outside")),
    on_windows("link-to-a-verbatim-share", SHARE, || through(r"\\?\UNC\server\share")),
    on_windows("link-to-a-disk", SHARE, || through(r"\\.\PhysicalDrive0")),
    on_windows("link-to-a-volume", SHARE, || through(r"\\?\GLOBALROOT\Device\HarddiskVolume1")),
    on_windows("whiteout-through-a-link-to-a-drive", CHARACTER, || {
        one(new().symlink("l", "./C:").file("l/.wh.outside", ""))
    }),
    hard_link("hard-link-through-a-link-to-a-drive", Layout::Plain, || {
        one(new().symlink("l", "./C:").hard_link("h", "l/outside"))
    }),
    on_windows("link-of-an-earlier-layer-to-a-drive", CHARACTER, || {
        vec![new().symlink("l", "./C:").done(), new().file("l/x", "evil").done()]
    }),
    leads(
        "file-through-link-to-a-windows-directory",
        |w| check(w.has("Windows/x"), "not inside"),
        || through(r"C:\Windows"),
    ),
    leads(
        "file-through-link-relative-to-a-drive",
        |w| check(w.has("Windows/x"), "not inside"),
        || through("C:Windows"),
    ),
    leads(
        "file-through-link-with-backslashes",
        |w| check(w.has("outside/x"), "not inside"),
        || through(r"..\..\outside"),
    ),
    leads(
        "file-through-link-that-climbs-behind-a-backslash",
        |w| check(w.has("canary/x"), "not inside"),
        || through(r"dir\..\..\canary"),
    ),
    leads(
        "file-through-verbatim-link-with-slashes",
        |w| check(w.has("canary/etc/x"), "not inside"),
        || through(r"\\?\C:\dir/../../../canary/etc"),
    ),
    leads(
        "links-that-only-the-container-follows",
        |w| check(w.has("drive") && w.has("device") && w.has("share") && w.has("stream"), "lost"),
        || {
            let links = new().symlink("drive", r"C:\ProgramData").symlink("device", "NUL");
            one(links.symlink("share", r"\\server\share").symlink("stream", "dir/x:y"))
        },
    ),
    // Layers of Windows images.
    of_windows(
        "files-beside-files",
        |w| check(w.has("a") && !w.has("x") && !w.has("b"), "wrong place"),
        || {
            one(new()
                .file("Files/a", "")
                .file("Hives/System_Delta", "")
                .file("UtilityVM/Files/b", "")
                .file("x", ""))
        },
    ),
    Archive {
        name: "files-and-up",
        layout: Layout::Windows,
        layers: || one(new().file("Files/../../outside", "evil")),
        outcome: LEAVES,
        on_windows: None,
    },
    hard_link("hard-link-to-a-drive", Layout::Windows, || {
        one(new().file("Files/f", "").hard_link("Files/h", "Files/C:outside"))
    }),
    hard_link("hard-link-to-a-stream", Layout::Windows, || {
        one(new().file("Files/f", "").hard_link("Files/h", "Files/f:stream"))
    }),
    of_windows(
        "hidden-stream",
        |w| check(w.read("f") == "x" && !w.has("f:s"), "a stream was kept"),
        || one(new().file("Files/f", "x").file("Files/f:s", "evil")),
    ),
    of_windows(
        "files-itself-as-a-link",
        |w| check(!w.has("outside"), "followed"),
        || one(new().symlink("Hives", "..").file("Hives/outside", "evil")),
    ),
];
