use std::path::PathBuf;

use super::*;

fn overlay(lower: Vec<PathBuf>) -> Overlay {
    Overlay { lower, upper: "/u".into(), work: "/w\\x".into(), target: "/t".into() }
}

fn bind(source: &str, target: &str) -> Bind {
    Bind { source: source.into(), target: target.into(), ..Bind::default() }
}

#[test]
fn layer_paths_with_colons_and_commas_are_escaped() {
    let mount = overlay_mount(&overlay(vec!["/a:b".into(), "/c,d".into()]), true, None).unwrap();
    let options = mount.options.into_string().unwrap();
    assert_eq!(options, r"lowerdir=/a\:b:/c\,d,upperdir=/u,workdir=/w\\x,userxattr");
}

#[test]
fn more_layers_than_a_page_holds_are_opened() {
    let dir = tempfile::tempdir().unwrap();
    let layer = dir.path().join("layer".repeat(40));
    std::fs::create_dir(&layer).unwrap();
    let mount = overlay_mount(&overlay(vec![layer.clone(); 127]), false, None).unwrap();
    assert_eq!(mount.lower.len(), 127);
    let options = mount.options.into_string().unwrap();
    let first = format!("lowerdir=/proc/self/fd/{}:", mount.lower[0].1.as_raw_fd());
    assert!(options.starts_with(&first), "{options}");
    let missing = overlay_mount(&overlay(vec![layer.join("not"); 127]), false, None).unwrap_err();
    assert!(missing.to_string().contains("layerlayer"), "{missing}");
    let error = overlay_mount(&overlay(vec![layer; 400]), false, None).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
}

/// A target, and what it is told from.
fn told(view: &View, number: usize) -> String {
    let text = |text: &CString| text.to_str().unwrap().to_owned();
    match &bind_mount(view, number, &view.binds[number]).unwrap().target {
        Target::Existing(path) => text(path),
        Target::Below { base, steps, .. } => {
            let steps: Vec<String> = steps.iter().map(|it| text(&it.path)).collect();
            format!("{} > {}", text(base), steps.join(" > "))
        }
    }
}

#[test]
fn targets_are_told_from_the_innermost_mount_around_them() {
    let targets = ["/etc/x", "/t/a/b", "/etc/x/y", "/etc/xy", "/t", "/t/a/b/c/d"];
    let binds = targets.iter().map(|target| bind("/s", target)).collect();
    let view = View { overlay: Some(overlay(vec![])), binds, ..View::default() };
    let found: Vec<String> = (0..targets.len()).map(|number| told(&view, number)).collect();
    let expected = ["/etc/x", "/t > a > a/b", "/etc/x > y", "/etc/xy", "/t", "/t/a/b > c > c/d"];
    assert_eq!(found, expected);
}

#[test]
fn only_an_earlier_mount_is_around_a_later_one() {
    let view = View { binds: vec![bind("/s", "/a/b"), bind("/s", "/a")], ..View::default() };
    assert_eq!((told(&view, 0).as_str(), told(&view, 1).as_str()), ("/a/b", "/a"));
}

#[test]
fn a_mount_that_climbs_or_floats_or_covers_everything_is_refused() {
    for (source, target, word) in
        [("a", "/t", "source"), ("/a", "t", "target"), ("/a", "/t/../x", "target"), ("/a", "/", "/")]
    {
        let view = View { binds: vec![bind(source, target)], ..View::default() };
        let error = prepare(&view, None).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn a_scratch_space_wants_an_image_and_all_of_its_directories() {
    let alone = View { scratch_bytes: Some(1), ..View::default() };
    assert!(prepare(&alone, None).unwrap_err().to_string().contains("without an image"));
    let apart = Overlay { upper: "/a/u".into(), work: "/b/w".into(), ..overlay(vec![]) };
    let apart = View { overlay: Some(apart), ..alone };
    assert!(prepare(&apart, None).unwrap_err().to_string().contains("/b/w"));
}

#[test]
fn a_scratch_space_has_what_the_overlay_needs_and_shows_what_was_prepared() {
    let dir = tempfile::tempdir().unwrap();
    let [upper, work, target] = ["upper", "deep/work", "deep/rootfs"].map(|name| dir.path().join(name));
    std::fs::create_dir_all(upper.join("implied")).unwrap();
    let overlay = Overlay { lower: vec!["/l".into()], upper, work, target };
    let view = View { overlay: Some(overlay), scratch_bytes: Some(0), ..View::default() };
    let mounts = prepare(&view, None).unwrap();
    let scratch = mounts.scratch.unwrap();
    let made: Vec<PathBuf> =
        scratch.dirs.iter().map(|made| OsStr::from_bytes(made.path.as_bytes()).into()).collect();
    let expected = ["upper", "deep", "deep/work", "deep/rootfs"].map(|name| dir.path().join(name));
    assert_eq!(made, expected);
    assert_eq!(scratch.options.to_str().unwrap(), "mode=0755,size=1");
    let overlay = mounts.overlay.unwrap();
    let options = overlay.options.to_str().unwrap();
    let first = format!("lowerdir=/proc/self/fd/{}:/l,", overlay.lower[0].1.as_raw_fd());
    assert!(options.starts_with(&first), "{options}");
}

#[test]
fn a_place_is_told_with_its_path() {
    let view = View { binds: vec![bind("/s", "/t"), bind("/s 2", "/t 2")], ..View::default() };
    assert_eq!(place(&view, 2), "/s 2, wanted at /t 2");
    assert_eq!(place(&view, 1), "mount point /t");
}

#[test]
fn binds_work_here_or_it_is_said_why_not() {
    match bind_works() {
        Ok(()) => {}
        Err(why) => assert!(!crate::elevated() && !why.is_empty(), "{why}"),
    }
}
