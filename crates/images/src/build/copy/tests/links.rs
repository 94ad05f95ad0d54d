//! Where links lead that a source names, and those in a directory that is copied.

use std::error::Error;

use super::*;

/// What stands under a path, and what it says: a file says where it was made.
fn said(tree: &Tree) -> Vec<(String, String)> {
    let text = |node: &Node| match node {
        Node::Directory { .. } => None,
        Node::File { from: From::Path(path), .. } => Some(std::fs::read_to_string(path).unwrap()),
        Node::File { .. } => panic!("{node:?}"),
        Node::Link { target, directory } => Some(format!("{target} {directory}")),
    };
    tree.iter().filter_map(|(path, node)| Some((path.to_owned(), text(node)?))).collect()
}

fn chain(error: &dyn Error) -> String {
    let below = error.source().map(|source| format!(": {}", chain(source)));
    format!("{error}{}", below.unwrap_or_default())
}

// === impl World ===

impl World {
    fn linked(files: &[&str], links: &[(&str, &str)]) -> World {
        let world = World::new(files, "");
        for (path, to) in links {
            let path = world.dir.path().join(path);
            let dir = path.parent().unwrap();
            std::fs::create_dir_all(dir).unwrap();
            let directory = dir.join(to).is_dir();
            let dir = os::tree::Dir::open(dir).unwrap();
            dir.symlink(path.file_name().unwrap(), to.as_ref(), directory).unwrap();
        }
        world
    }

    fn image(&self, source: &str, target: &str) -> Result<Vec<(String, String)>, String> {
        self.copied(Root::Image { dir: self.dir.path(), windows: false }, source, target)
    }

    fn windows_image(&self, source: &str, target: &str) -> Result<Vec<(String, String)>, String> {
        self.copied(Root::Image { dir: self.dir.path(), windows: true }, source, target)
    }

    fn host(&self, source: &str) -> Result<Vec<(String, String)>, String> {
        self.copied(Root::Host(self.dir.path()), source, "/c/")
    }

    fn copied(&self, root: Root<'_>, source: &str, target: &str) -> Result<Vec<(String, String)>, String> {
        let tree = self.tree(root, &[source], target, &[]);
        tree.map(|tree| said(&tree)).map_err(|error| chain(&error))
    }
}

#[test]
fn a_source_in_an_image_is_found_through_links_as_the_image_has_them() {
    let world = World::linked(
        &["usr/share/zoneinfo/Etc/UTC", "usr/lib/a.conf", "usr/lib/sub/b.conf", "etc/passwd"],
        &[
            ("etc/localtime", "/usr/share/zoneinfo/Etc/UTC"),
            ("lib", "/usr/lib"),
            ("lib64", "usr/lib"),
            ("zones", "/usr/lib/../share/zoneinfo"),
            ("chain", "one"),
            ("one", "/two"),
            ("two", "usr/../lib/a.conf"),
            ("up", "../../../../../../../../etc/passwd"),
            ("etc/self/root", "/"),
        ],
    );
    let (utc, conf, deep) = ("usr/share/zoneinfo/Etc/UTC", "usr/lib/a.conf", "usr/lib/sub/b.conf");
    for (source, target, wanted) in [
        ("/etc/localtime", "/tz", vec![("tz", utc)]),
        ("etc/localtime", "/c/", vec![("c/localtime", utc)]),
        ("/etc/local*", "/c/", vec![("c/localtime", utc)]),
        ("lib/a.conf", "/c", vec![("c", conf)]),
        ("lib64/a.conf", "/c", vec![("c", conf)]),
        ("lib/*.conf", "/c/", vec![("c/a.conf", conf)]),
        ("lib*/sub/*", "/c/", vec![("c/b.conf", deep)]),
        ("lib", "/c", vec![("c/a.conf", conf), ("c/sub/b.conf", deep)]),
        ("zones/*/UTC", "/c", vec![("c", utc)]),
        ("chain", "/c", vec![("c", conf)]),
        ("up", "/c/", vec![("c/up", "etc/passwd")]),
        ("etc/self/root/etc/self/root/lib/sub", "/c", vec![("c/b.conf", deep)]),
    ] {
        let wanted: Vec<_> = wanted.into_iter().map(|(path, text)| (path.into(), text.into())).collect();
        assert_eq!(world.image(source, target), Ok(wanted), "{source} to {target}");
    }
}

#[test]
fn links_of_an_image_that_lead_nowhere_are_told_apart() {
    let world = World::linked(
        &["a"],
        &[("one", "two/../two"), ("two", "/one"), ("gone", "/none"), ("etc/me", "me"), ("file", "a")],
    );
    for (source, wanted) in [
        ("one", "one: links lead round in a circle"),
        ("one/x", "one: links lead round in a circle"),
        ("one/*", "one: links lead round in a circle"),
        ("etc/*", "etc/me: links lead round in a circle"),
        ("gone", "none: "),
        ("gone/x", "line 3: \"gone/x\" is not in "),
        ("file/x", "line 3: \"file/x\" is not in "),
    ] {
        let error = world.image(source, "/c/").unwrap_err();
        assert!(error.contains(wanted), "{source}: {error}");
        assert!(!error.contains(".dockerignore"), "{source}: {error}");
    }
}

/// A link of an image says a path of the host that builds.
#[test]
fn nothing_of_the_host_is_found_through_links_of_an_image() {
    let host = World::new(&["secret", "dir/secret"], "");
    let path = |name: &str| host.dir.path().join(name).to_str().unwrap().to_owned();
    let (file, dir) = (path("secret"), path("dir"));
    let up = format!("..{}", "/..".repeat(40)) + &dir;
    let links =
        [("file", file.as_str()), ("dir", dir.as_str()), ("up", up.as_str()), ("d/dir", dir.as_str())];
    let world = World::linked(&[], &links);
    for source in ["file", "dir", "up", "dir/secret", "up/secret", "d/dir/secret"] {
        let found = world.image(source, "/c/");
        assert!(found.is_err(), "{source}: {found:?}");
    }
    assert_eq!(world.image("dir/*", "/c/"), Ok(vec![]));
    // As a link it stays, but is no directory for the image.
    assert_eq!(world.image("d", "/c"), Ok(vec![("c/dir".into(), format!("{dir} false"))]));
    for source in ["file", "dir", "up", "dir/secret", "dir/*"] {
        let error = world.host(source).unwrap_err();
        assert!(error.contains("leads out of the directory that is built from"), "{source}: {error}");
    }
}

#[test]
fn in_a_directory_that_is_copied_links_stay_links() {
    let links = [("d/abs", "/usr/lib"), ("d/gone", "/none"), ("d/me", "me"), ("d/rel", "../usr/lib/a.conf")];
    let world = World::linked(&["usr/lib/a.conf"], &links);
    let wanted = ["/usr/lib true", "/none false", "me false", "../usr/lib/a.conf false"];
    let found = world.image("d", "/c").unwrap();
    let texts: Vec<_> = found.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, wanted);
}

#[test]
fn a_backslash_in_a_link_is_a_separator_only_where_the_host_or_the_image_has_it_for_one() {
    for (text, backslashes, wanted) in [
        (r"foo\x2dbar.service", false, r"foo\x2dbar.service"),
        (r"..\lib\a.dll", true, "../lib/a.dll"),
        ("../lib/a.dll", true, "../lib/a.dll"),
    ] {
        assert_eq!(slashed(text.to_owned(), backslashes), wanted, "{text}");
    }
    let world = World::linked(&["d/file"], &[("d/link", r"foo\x2dbar.service")]);
    let wanted = slashed(r"foo\x2dbar.service false".to_owned(), os::path::WINDOWS);
    for found in [world.image("d/", "/c"), world.host("d")] {
        assert_eq!(found.unwrap()[1].1, wanted);
    }
}

/// Its layers may write links as Windows does, and this host keeps their texts as they are.
#[test]
fn links_of_a_windows_image_lead_where_they_would_on_windows_whatever_system_builds() {
    let world = World::linked(
        &["releases/v2/app.exe", "lib/a.dll", "d/file"],
        &[
            ("app", r"releases\v2"),
            ("drive", r"C:\lib\a.dll"),
            ("root", r"\releases"),
            ("d/dll", r"..\lib\a.dll"),
            ("d/dir", r"..\releases\v2"),
            ("d/gone", r"..\none"),
        ],
    );
    let (exe, dll) = ("releases/v2/app.exe", "lib/a.dll");
    let (to_dll, to_dir) = ("../lib/a.dll false", "../releases/v2 true");
    for (source, target, wanted) in [
        ("app/app.exe", "/c", vec![("c", exe)]),
        ("app", "/c", vec![("c/app.exe", exe)]),
        ("a*/*.exe", "/c/", vec![("c/app.exe", exe)]),
        ("drive", "/c", vec![("c", dll)]),
        ("root/v2/app.exe", "/c", vec![("c", exe)]),
        ("d/dll", "/c", vec![("c", dll)]),
        (
            "d",
            "/c",
            vec![("c/dir", to_dir), ("c/dll", to_dll), ("c/file", "d/file"), ("c/gone", "../none false")],
        ),
    ] {
        let wanted: Vec<_> = wanted.into_iter().map(|(path, text)| (path.into(), text.into())).collect();
        assert_eq!(world.windows_image(source, target), Ok(wanted), "{source} to {target}");
    }
}
