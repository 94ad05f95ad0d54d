//! The hostile archives: a name, how it is made, and what must come of it.

use images::unpack::Layout;
use tar::EntryType;

use crate::support::{Layer, REGULAR, World, gzip};

pub(crate) struct Archive {
    pub(crate) name: &'static str,
    pub(crate) layout: Layout,
    /// Applied one after the other until one is refused.
    pub(crate) layers: fn() -> Vec<Vec<u8>>,
    pub(crate) outcome: Outcome,
    /// Where names mean something else.
    pub(crate) on_windows: Option<Outcome>,
}

pub(crate) enum Outcome {
    /// An error that says this.
    Refused(&'static str),
    /// Taken, and the image passes this look.
    Harmless(fn(&World) -> Result<(), &'static str>),
}

pub(crate) const LEAVES: Outcome = Outcome::Refused("would leave the image");
pub(crate) const ANYTHING: Outcome = Outcome::Harmless(|_| Ok(()));

const fn refused(name: &'static str, says: &'static str, layers: fn() -> Vec<Vec<u8>>) -> Archive {
    Archive { name, layout: Layout::Plain, layers, outcome: Outcome::Refused(says), on_windows: None }
}

const fn leaves(name: &'static str, layers: fn() -> Vec<Vec<u8>>) -> Archive {
    Archive { name, layout: Layout::Plain, layers, outcome: LEAVES, on_windows: None }
}

const fn harmless(
    name: &'static str,
    look: fn(&World) -> Result<(), &'static str>,
    layers: fn() -> Vec<Vec<u8>>,
) -> Archive {
    Archive { name, layout: Layout::Plain, layers, outcome: Outcome::Harmless(look), on_windows: None }
}

/// A whiteout of no name: Windows stumbles over its ending first.
const fn hides(name: &'static str, layers: fn() -> Vec<Vec<u8>>) -> Archive {
    let on_windows = Some(Outcome::Refused(ENDING));
    Archive { name, layout: Layout::Plain, layers, outcome: LEAVES, on_windows }
}

pub(crate) fn one(layer: Layer) -> Vec<Vec<u8>> {
    vec![layer.done()]
}

pub(crate) fn new() -> Layer {
    Layer::new()
}

fn number(header: &mut tar::Header, major: u32, minor: u32) {
    header.set_device_major(major).unwrap();
    header.set_device_minor(minor).unwrap();
}

pub(crate) fn check(holds: bool, otherwise: &'static str) -> Result<(), &'static str> {
    if holds { Ok(()) } else { Err(otherwise) }
}

pub(crate) const ENDING: &str = "ends with a dot or a space";

pub(crate) const ARCHIVES: &[Archive] = &[
    // Names that climb.
    leaves("dot-dot-file", || one(new().file("../outside", "evil"))),
    leaves("dot-dot-in-the-middle", || one(new().file("a/../../outside", "evil"))),
    leaves("dot-dot-at-the-end", || one(new().file("a/..", "evil"))),
    leaves("dot-dot-alone", || one(new().dir(".."))),
    leaves("dot-dot-directory", || one(new().dir("../canary/"))),
    leaves("dot-dot-after-root", || one(new().file("/../outside", "evil"))),
    leaves("dot-dot-behind-dots", || one(new().file("./.././outside", "evil"))),
    leaves("dot-dot-symlink", || one(new().symlink("../link", "/etc"))),
    leaves("dot-dot-hard-link-name", || one(new().file("f", "").hard_link("../h", "f"))),
    leaves("dot-dot-device", || {
        one(new().with(b"../null", EntryType::Char, b"", |header| number(header, 1, 3)))
    }),
    leaves("dot-dot-fifo", || one(new().raw("../fifo", EntryType::Fifo, "", b""))),
    leaves("dot-dot-in-pax-path", || one(new().records(&[("path", b"../outside")]).file("good", "evil"))),
    leaves("dot-dot-in-gnu-long-name", || {
        one(new().raw("@", EntryType::GNULongName, "", b"a/../../outside\0").file("good", "evil"))
    }),
    leaves("dot-dot-in-sparse-name", || {
        let records: [(&str, &[u8]); 3] =
            [("GNU.sparse.name", b"../outside"), ("GNU.sparse.size", b"1"), ("GNU.sparse.map", b"0,1")];
        one(new().records(&records).file("good", "e"))
    }),
    harmless(
        "absolute-name",
        |w| check(w.read("canary/etc/passwd") == "in", "not inside"),
        || one(new().file("/canary/etc/passwd", "in")),
    ),
    harmless(
        "many-slashes",
        |w| check(w.read("a/b") == "in", "not inside"),
        || one(new().file("//a///b", "in")),
    ),
    harmless(
        "dots-are-nothing",
        |w| check(w.read("a/b") == "in", "not inside"),
        || one(new().file("././a/./b", "in")),
    ),
    // The root itself.
    leaves("root-as-file", || one(new().file(".", "evil"))),
    leaves("root-as-symlink", || one(new().symlink("./", "../canary").file("etc/passwd", "evil"))),
    leaves("root-as-hard-link", || one(new().file("f", "").hard_link("/", "f"))),
    leaves("empty-name", || one(new().file("", "evil"))),
    harmless(
        "root-described",
        |w| check(w.read("f") == "x", "no file"),
        || one(new().dir("./").file("f", "x")),
    ),
    // Links.
    harmless(
        "file-through-link-up",
        |w| check(w.has("outside"), "not inside"),
        || one(new().symlink("l", "..").file("l/outside", "evil")),
    ),
    harmless(
        "file-through-absolute-link",
        |w| check(w.has("tmp/x"), "not inside"),
        || one(new().symlink("l", "/tmp").file("l/x", "evil")),
    ),
    harmless(
        "file-through-link-to-canary",
        |w| check(w.has("canary/etc/passwd"), "not inside"),
        || one(new().symlink("l", "../canary/etc").file("l/passwd", "evil")),
    ),
    harmless(
        "file-through-two-links",
        |w| check(w.has("outside"), "not inside"),
        || {
            one(new()
                .dir("d")
                .symlink("d/up", "..")
                .symlink("upper", "d/up/..")
                .file("upper/outside", "evil"))
        },
    ),
    harmless(
        "file-through-link-with-many-dot-dots",
        |w| check(w.has("x"), "not inside"),
        || one(new().symlink("l", "../../../../../../../../..").file("l/x", "evil")),
    ),
    harmless(
        "file-in-place-of-link",
        |w| check(w.read("l") == "mine", "written through"),
        || one(new().symlink("l", "../outside").file("l", "mine")),
    ),
    harmless(
        "directory-in-place-of-link",
        |w| check(w.has("l/etc"), "written through"),
        || one(new().symlink("l", "../canary").dir("l").dir("l/etc")),
    ),
    harmless(
        "link-of-an-earlier-layer",
        |w| check(w.has("canary/x") || w.has("l/x"), "nothing there"),
        || vec![new().symlink("l", "../canary").done(), new().file("l/x", "evil").done()],
    ),
    harmless(
        "link-that-replaces-a-used-directory",
        |w| check(w.has("outside") || w.has("d/outside"), "not inside"),
        || one(new().file("d/a", "").raw("d", EntryType::Symlink, "..", b"").file("d/outside", "evil")),
    ),
    harmless(
        "files-whose-directory-becomes-a-link",
        |w| check(!w.has("d/passwd-0"), "still there"),
        || {
            let files = (0..40).fold(new(), |l, n| l.file(&format!("d/passwd-{n}"), "evil"));
            one(files.file("d/passwd", "evil").symlink("d", "../canary/etc"))
        },
    ),
    harmless(
        "one-name-a-hundred-times",
        |w| check(w.read("f") == "99" && w.read("g/99") == "99", "an earlier one won"),
        || {
            one((0..100)
                .fold(new(), |l, n| l.file("f", &n.to_string()).file(&format!("g/{n}"), &n.to_string())))
        },
    ),
    harmless(
        "directory-link-directory",
        |w| check(w.has("d/b") && !w.has("d/a"), "wrong"),
        || one(new().file("d/a", "").symlink("d", "../canary").dir("d").file("d/b", "x")),
    ),
    refused("circle-of-links", "more than 40 links", || {
        one(new().symlink("a", "b").symlink("b", "a").file("a/x", ""))
    }),
    refused("link-to-itself", "more than 40 links", || one(new().symlink("a", "a").file("a/x", ""))),
    refused("forty-one-links", "more than 40 links", || {
        let chain =
            (1..42).fold(new().dir("end"), |l, n| l.symlink(&format!("l{n}"), &format!("l{}", n + 1)));
        one(chain.symlink("l42", "end").file("l1/x", ""))
    }),
    refused("links-that-double", "more than 40 links", || {
        let chain = (1..12).fold(new().symlink("l0", "."), |l, n| {
            l.symlink(&format!("l{n}"), &format!("l{}/l{}", n - 1, n - 1))
        });
        one(chain.file("l11/x", ""))
    }),
    refused("empty-link", "text is none", || one(new().symlink("l", ""))),
    // Hard links.
    leaves("hard-link-to-the-outside", || one(new().hard_link("h", "../outside").file("h", "evil"))),
    leaves("hard-link-behind-root", || one(new().hard_link("h", "/../outside"))),
    refused("hard-link-through-link", "is not there", || {
        one(new().symlink("up", "..").hard_link("h", "up/outside"))
    }),
    harmless(
        "hard-link-to-link-is-the-link",
        |w| check(w.read("h") == "mine", "written through"),
        || one(new().symlink("l", "../outside").hard_link("h", "l").file("h", "mine")),
    ),
    refused("hard-link-to-nothing", "is not there", || one(new().hard_link("h", "nothing"))),
    refused("hard-link-to-empty-name", "is not there", || one(new().hard_link("h", ""))),
    harmless(
        "hard-link-to-itself",
        |w| check(w.read("f") == "x", "lost"),
        || one(new().file("f", "x").hard_link("f", "f")),
    ),
    refused("hard-link-to-a-directory", "write ", || one(new().dir("d").hard_link("h", "d"))),
    refused("hard-link-replaces-its-own-source", "is not there", || {
        one(new().file("d/f", "x").hard_link("d", "d/f"))
    }),
    leaves("hard-link-in-pax-linkpath", || {
        one(new().records(&[("linkpath", b"../outside")]).hard_link("h", "good"))
    }),
    leaves("hard-link-in-gnu-long-link", || {
        one(new().raw("@", EntryType::GNULongLink, "", b"../outside\0").hard_link("h", "good"))
    }),
    harmless(
        "hard-link-that-claims-a-body",
        |w| check(w.has("h") && w.read("after") == "a", "read on in the wrong place"),
        || {
            let link = |header: &mut tar::Header| {
                header.as_old_mut().linkname[..1].copy_from_slice(b"f");
                header.set_size(512);
            };
            one(new().file("f", "x").with(b"h", EntryType::Link, b"", link).file("after", "a"))
        },
    ),
    // Whiteouts.
    hides("whiteout-of-dot-dot", || one(new().file(".wh...", ""))),
    hides("whiteout-of-dot", || one(new().file(".wh..", ""))),
    hides("whiteout-of-nothing", || one(new().file(".wh.", ""))),
    leaves("whiteout-behind-dot-dot", || one(new().file("../.wh.outside", ""))),
    harmless(
        "whiteout-through-link",
        |_| Ok(()),
        || one(new().symlink("up", "..").file("up/.wh.outside", "")),
    ),
    harmless(
        "opaque-through-link",
        |_| Ok(()),
        || one(new().symlink("up", "../canary").file("up/.wh..wh..opq", "")),
    ),
    harmless(
        "opaque-root-through-link",
        |_| Ok(()),
        || one(new().symlink("up", "/").file("up/.wh..wh..opq", "").file("x", "")),
    ),
    harmless(
        "whiteout-of-a-link",
        |_| Ok(()),
        || vec![new().symlink("l", "../outside").done(), new().file(".wh.l", "").done()],
    ),
    harmless("whiteout-as-directory", |_| Ok(()), || one(new().dir(".wh.x/").file(".wh.x/y", ""))),
    harmless(
        "notes-of-aufs",
        |w| check(!w.has(".wh..wh.plnk"), "kept"),
        || one(new().file(".wh..wh.plnk", "")),
    ),
    // Devices.
    harmless(
        "device-zero-zero",
        |w| check(!w.has("hidden"), "a mark was smuggled in"),
        || {
            let zero = |header: &mut tar::Header| {
                header.set_device_major(0).unwrap();
                header.set_device_minor(0).unwrap();
            };
            one(new().with(b"hidden", EntryType::Char, b"", zero))
        },
    ),
    refused("device-without-number", "not a number", || one(new().raw("d", EntryType::Block, "", b""))),
    refused("unknown-kind", "an entry of type 'Z'", || one(new().raw("x", EntryType::new(b'Z'), "", b""))),
    // Attributes.
    harmless(
        "marks-of-overlayfs-in-pax",
        |w| check(w.has("d/f"), "hidden"),
        || {
            let records: [(&str, &[u8]); 3] = [
                ("SCHILY.xattr.trusted.overlay.redirect", b"/../../canary"),
                ("SCHILY.xattr.user.overlay.metacopy", b""),
                ("SCHILY.xattr.trusted.overlay.whiteout", b"y"),
            ];
            one(new().records(&records).dir("d").file("d/f", ""))
        },
    ),
    harmless(
        "attribute-with-a-null-in-its-name",
        |w| check(w.has("f"), "lost"),
        || one(new().records(&[("SCHILY.xattr.user.a\0b", b"x")]).file("f", "")),
    ),
    harmless(
        "attribute-too-large",
        |w| check(w.has("f"), "lost"),
        || one(new().records(&[("SCHILY.xattr.user.large", &[b'x'; 100_000])]).file("f", "")),
    ),
    harmless(
        "owner-beyond-all-numbers",
        |w| check(w.has("f"), "lost"),
        || {
            one(new()
                .records(&[("uid", b"99999999999999999999"), ("gid", b"4294967295"), ("mtime", b"1e400")])
                .file("f", ""))
        },
    ),
    harmless(
        "security-descriptor-of-lies",
        |w| check(w.has("f"), "lost"),
        || {
            one(new()
                .records(&[
                    ("MSWINDOWS.rawsd", b"AQAEgP////////////////////8="),
                    ("MSWINDOWS.fileattr", b"4294967295"),
                ])
                .file("f", ""))
        },
    ),
    // Headers and sizes.
    refused("checksum-of-nobody", "checksum is wrong", || one(new().bytes(&[b'x'; 512]))),
    refused("single-zero-block", "single block of zeros", || one(new().bytes(&[0; 512]).file("f", ""))),
    refused("size-larger-than-the-layer", "in the middle of a file", || {
        one(new().with(b"f", REGULAR, b"x", |header| header.set_size(1_000_000)))
    }),
    refused("size-beyond-the-limit", "is larger than", || {
        one(new().with(b"f", REGULAR, b"x", |header| header.set_size(1 << 62)))
    }),
    refused("size-of-all-ones", "is larger than", || {
        one(new().with(b"f", REGULAR, b"x", |header| header.as_old_mut().size = [0xff; 12]))
    }),
    refused("size-that-is-no-number", "size is not a number", || {
        one(new().with(b"f", REGULAR, b"x", |header| header.as_old_mut().size = *b"-00000000001"))
    }),
    refused("pax-size-that-lies", "in the middle of a file", || {
        one(new().records(&[("size", b"50000")]).file("f", "x"))
    }),
    refused("pax-size-that-is-no-number", "PAX size is not a number", || {
        one(new().records(&[("size", b"-1")]).file("f", "x"))
    }),
    refused("pax-record-without-end", "PAX record is not whole", || {
        one(new().raw("pax", EntryType::XHeader, "", b"99 path=x\n").file("f", "x"))
    }),
    refused("pax-header-of-a-gigabyte", "is longer than", || {
        one(new().with(b"pax", EntryType::XHeader, b"", |header| header.set_size(1 << 30)).file("f", ""))
    }),
    refused("long-name-of-a-gigabyte", "is longer than", || {
        one(new().with(b"@", EntryType::GNULongName, b"", |header| header.set_size(1 << 30)).file("f", ""))
    }),
    refused("name-of-many-kilobytes", "is longer than", || {
        one(new().raw("@", EntryType::GNULongName, "", "a/".repeat(10_000).as_bytes()).file("f", ""))
    }),
    refused("link-text-of-many-kilobytes", "is longer than", || {
        one(new().raw("@", EntryType::GNULongLink, "", "a/".repeat(10_000).as_bytes()).symlink("l", "x"))
    }),
    refused("a-thousand-directories-deep", "deeper than", || {
        one(new().raw("@", EntryType::GNULongName, "", "a/".repeat(1000).as_bytes()).file("f", ""))
    }),
    refused("deeper-and-deeper-by-links", "deeper than", || {
        let deep = "a/".repeat(200);
        let layer = new().raw("@", EntryType::GNULongName, "", deep.as_bytes()).dir("x");
        let layer = layer.raw("@", EntryType::GNULongLink, "", deep.as_bytes()).symlink("l", "x");
        one(layer.raw("@", EntryType::GNULongName, "", format!("l/{deep}").as_bytes()).dir("x"))
    }),
    refused("name-part-of-300-bytes", "write ", || {
        one(new().raw("@", EntryType::GNULongName, "", "n".repeat(300).as_bytes()).file("f", ""))
    }),
    refused("null-in-a-pax-name", "null character", || {
        one(new().records(&[("path", b"a\0b")]).file("f", ""))
    }),
    refused("sparse-map-beyond-the-file", "sparse map", || {
        one(new().records(&[("GNU.sparse.size", b"10"), ("GNU.sparse.map", b"9,2")]).file("f", "xx"))
    }),
    refused("sparse-file-of-an-exabyte", "is larger than", || {
        one(new()
            .records(&[("GNU.sparse.size", b"1000000000000000000"), ("GNU.sparse.map", b"0,1")])
            .file("f", "x"))
    }),
    refused("sparse-map-of-a-billion-runs", "sparse map", || {
        let records: [(&str, &[u8]); 2] = [("GNU.sparse.major", b"1"), ("GNU.sparse.realsize", b"100")];
        one(new().records(&records).file("f", "1000000000\n0\n1\n"))
    }),
    refused("names-that-need-much-memory", "names of the layer need more than", || {
        let deep = |number| format!("{}f", format!("{number:015}/").repeat(200));
        one((0..100).fold(new(), |layer, number| {
            layer.raw("@", EntryType::GNULongName, "", deep(number).as_bytes()).file("f", "")
        }))
    }),
    refused("attributes-that-need-much-memory", "names of the layer need more than", || {
        let value = [b'x'; 60_000];
        one((0..100).fold(new(), |layer, number| {
            layer.records(&[("SCHILY.xattr.user.large", &value)]).dir(&format!("d{number}"))
        }))
    }),
    harmless(
        "file-with-a-slash-behind-it",
        |w| check(w.root().join("f").is_file() && !w.has("hidden"), "its bytes were read as headers"),
        || one(new().raw("f/", REGULAR, "", &new().file("hidden", "").done())),
    ),
    harmless(
        "directory-of-the-oldest-kind",
        |w| check(w.root().join("d").is_dir() && w.has("after"), "read on in the wrong place"),
        || {
            one(new()
                .with(b"d/", REGULAR, b"", |header| header.as_old_mut().linkflag = [0])
                .file("after", ""))
        },
    ),
    refused("only-headers-for-ever", "more than 2000 entries", || {
        one((0..2001).fold(new(), |layer, _| layer.raw("g", EntryType::XGlobalHeader, "", b"")))
    }),
    // Bombs and broken streams.
    refused("gzip-bomb-in-a-file", "is larger than", || {
        vec![
            new().with(b"f", REGULAR, b"", |header| header.set_size(4 << 20)).bytes(&vec![0; 6 << 20]).gzip(),
        ]
    }),
    refused("gzip-bomb-after-the-end", "is larger than", || {
        vec![new().file("f", "").bytes(&vec![0; 6 << 20]).gzip()]
    }),
    refused("zstd-bomb", "is larger than", || {
        vec![zstd::encode_all(vec![0; 6 << 20].as_slice(), 1).unwrap()]
    }),
    refused("zstd-with-a-huge-window", "cannot be read", || {
        // A frame header that asks for a window of two gigabytes, and a block.
        vec![[&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3][..], &[1, 0, 0], &[0; 64]].concat()]
    }),
    refused("gzip-that-is-cut", "cannot be read", || {
        let whole = new().file("f", &"text that does not repeat 0123456789".repeat(3)).gzip();
        vec![whole[..whole.len() - 12].to_vec()]
    }),
    refused("gzip-with-a-wrong-checksum", "cannot be read", || {
        let mut whole = new().file("f", "x").gzip();
        let at = whole.len() - 8;
        whole[at] ^= 1;
        vec![whole]
    }),
    refused("gzip-with-garbage-behind", "cannot be read", || {
        vec![[new().file("f", "x").gzip(), b"garbage!!!".to_vec()].concat()]
    }),
    refused("gzip-in-gzip", "not one of a tar file", || {
        vec![gzip(&[new().file("f", "x").gzip(), vec![7; 512]].concat())]
    }),
    refused("xz", "compressed with xz", || vec![b"\xfd7zXZ\0 and more".to_vec()]),
    refused("text", "checksum is wrong", || vec![b"<html>404</html>".repeat(40)]),
];
