use std::collections::BTreeMap;

use super::*;

/// A layer of words: `dir/`, `dir/*` (opaque), `gone!`, `link@text`, `file`.
pub(super) struct Fake(BTreeMap<PathBuf, Said>);

pub(super) fn layer(words: &str) -> Fake {
    let said = |word: &str| {
        if let Some(name) = word.strip_suffix("/*") {
            (PathBuf::from(name), Said::Directory { opaque: true })
        } else if let Some(name) = word.strip_suffix('/') {
            (PathBuf::from(name), Said::Directory { opaque: false })
        } else if let Some(name) = word.strip_suffix('!') {
            (PathBuf::from(name), Said::Hidden)
        } else if let Some((name, text)) = word.split_once('@') {
            (PathBuf::from(name), Said::Link(text.into()))
        } else {
            (PathBuf::from(word), Said::File)
        }
    };
    Fake(words.split_whitespace().map(said).collect())
}

impl Fake {
    pub(super) fn look(&self, path: &Path) -> Said {
        self.0.get(path).cloned().unwrap_or(Said::Nothing)
    }
}

fn seen(layers: &[Fake], path: &str) -> Seen {
    resolve(layers.len(), Path::new(path), |at, path| Ok(layers[at].look(path))).unwrap()
}

#[test]
fn the_top_layer_that_speaks_decides() {
    let layers = [
        layer("bin/ bin/top gone! over file bin/changed"),
        layer("bin/ bin/app gone over/ over/x file/ file/x bin/changed/"),
        layer("bin/ bin/old bin/app! etc/ etc/passwd"),
    ];
    for (path, expected) in [
        ("bin/top", Seen::File),
        ("bin/app", Seen::File),
        ("bin/old", Seen::File),
        ("etc/passwd", Seen::File),
        ("bin", Seen::Directory),
        ("", Seen::Directory),
        ("gone", Seen::Missing),
        ("over/x", Seen::Missing),
        ("file/x", Seen::Missing),
        ("bin/changed", Seen::File),
        ("nothing/x", Seen::Missing),
    ] {
        assert_eq!(seen(&layers, path), expected, "{path}");
    }
}

#[test]
fn what_is_hidden_is_hidden_with_all_that_is_in_it() {
    let layers = [layer("a/* a/new b! c/"), layer("a/ a/old b/ b/x c! d/"), layer("c/ c/x d/ d/x")];
    for (path, expected) in [
        ("a/new", Seen::File),
        ("a/old", Seen::Missing),
        ("b/x", Seen::Missing),
        ("c", Seen::Directory),
        ("c/x", Seen::Missing),
        ("d/x", Seen::File),
    ] {
        assert_eq!(seen(&layers, path), expected, "{path}");
    }
}

#[test]
fn links_are_followed_through_all_layers() {
    let layers = [
        layer("bin@usr/bin usr/ usr/link@../etc/file out@/etc/passwd up@../../x loop@loop"),
        layer("usr/ usr/bin/ usr/bin/app etc/ etc/file usr/bin/sh@app usr/deep@../../.."),
    ];
    for (path, expected) in [
        ("bin/app", Seen::File),
        ("bin/sh", Seen::File),
        ("bin", Seen::Directory),
        ("usr/link", Seen::File),
        ("usr/bin/../bin/./app", Seen::File),
        ("loop", Seen::Missing),
        ("out", Seen::Outside("/etc/passwd".into())),
        ("up", Seen::Outside("../../x".into())),
        ("usr/deep/z", Seen::Outside("../../z".into())),
        ("../y", Seen::Outside("../y".into())),
    ] {
        assert_eq!(seen(&layers, path), expected, "{path}");
    }
}

#[test]
fn real_directories_are_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    let layers = ["top", "bottom"].map(|name| dir.path().join(name));
    layers.iter().for_each(|layer| std::fs::create_dir_all(layer.join("bin")).unwrap());
    std::fs::write(layers[1].join("bin/app"), "").unwrap();
    let stack = Stack::new(&layers);
    assert_eq!(stack.resolve(Path::new("bin/app")).unwrap(), Seen::File);
    assert_eq!(stack.resolve(Path::new("bin/none")).unwrap(), Seen::Missing);
    assert_eq!(stack.resolve(Path::new("bin")).unwrap(), Seen::Directory);
}
