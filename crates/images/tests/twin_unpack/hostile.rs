//! Archives that want something else than to be unpacked. Each is applied flat and as a layer of its own; nothing
//! beside the image may change, memory stays bounded, and the answer is a clear refusal or a harmless file.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

#[cfg(target_os = "linux")]
use images::unpack::Target;
use images::unpack::{Layout, Limits, Names, Unpack};

use crate::hostile_archives::{ARCHIVES, Archive, Outcome};
use crate::hostile_on_windows::ON_WINDOWS;
use crate::support::World;

/// What an archive of a few kilobytes may need at most, whatever it claims.
const MOST_MEMORY: u64 = 300 << 20;

/// Everything below a directory: what it is, what is in it, when it was changed.
fn look(at: &Path, into: &mut BTreeMap<String, String>, except: &Path) {
    for entry in fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        if path == except {
            continue;
        }
        let found = fs::symlink_metadata(&path).unwrap();
        let content = if found.is_file() { fs::read_to_string(&path).unwrap() } else { String::new() };
        let text =
            format!("{:?} {:?} {:?} {content}", found.file_type(), found.permissions(), found.modified());
        into.insert(path.display().to_string(), text);
        if found.is_dir() {
            look(&path, into, except);
        }
    }
}

/// A world with things beside the image that are worth changing.
fn tempting() -> World {
    let world = World::new();
    let canary = world.beside().join("canary");
    fs::create_dir_all(canary.join("etc")).unwrap();
    fs::write(canary.join("etc/passwd"), "root:x:0").unwrap();
    fs::write(world.beside().join("outside"), "untouched").unwrap();
    world
}

fn beside(world: &World) -> BTreeMap<String, String> {
    let mut seen = BTreeMap::new();
    look(world.beside(), &mut seen, &world.root());
    seen
}

fn limits() -> Limits {
    Limits { bytes: 5 << 20, entries: 2000, names: 4 << 20, ..Limits::default() }
}

fn judge(archive: &Archive, how: &Unpack<'_>) -> Result<(), String> {
    let world = tempting();
    let before = beside(&world);
    let mut answer = Ok(());
    for layer in (archive.layers)() {
        answer = answer.and_then(|()| world.run(&layer, how).map(drop));
    }
    if beside(&world) != before {
        return Err(format!("something beside the image changed: {:?}", beside(&world)));
    }
    let windows = how.names.windows;
    let wanted = archive.on_windows.as_ref().filter(|_| windows).unwrap_or(&archive.outcome);
    match (wanted, answer) {
        // Wine has no links: what needs one is refused before it can do harm.
        (_, Err(error)) if windows && chain(&error).contains("this system makes no links") => Ok(()),
        (Outcome::Refused(text), Err(error)) => {
            let told = chain(&error);
            if told.contains(text) { Ok(()) } else { Err(format!("refused with {told:?}, wanted {text:?}")) }
        }
        (Outcome::Harmless(check), Ok(())) => check(&world).map_err(str::to_owned),
        (Outcome::Refused(text), Ok(())) => Err(format!("taken, wanted {text:?}")),
        (Outcome::Harmless(_), Err(error)) => Err(format!("refused with {:?}", chain(&error))),
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let cause = error.source().map(|cause| format!(": {}", chain(cause))).unwrap_or_default();
    format!("{error}{cause}")
}

fn archives() -> impl Iterator<Item = &'static Archive> {
    ARCHIVES.iter().chain(ON_WINDOWS)
}

fn judge_all(how: &Unpack<'_>) {
    let mut wrong = Vec::new();
    for archive in archives() {
        let how = Unpack { layout: archive.layout, limits: limits(), ..*how };
        if let Err(why) = judge(archive, &how) {
            wrong.push(format!("{}: {why}", archive.name));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), archives().count(), wrong.join("\n"));
}

/// The most memory this process ever had, where the system says it.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kilobytes| kilobytes.parse::<u64>().ok()).unwrap_or(0) << 10
}

#[test]
fn no_hostile_archive_leaves_a_flat_image() {
    judge_all(&Unpack::default());
    assert!(peak() < MOST_MEMORY, "{} bytes", peak());
}

/// Layers of their own are for overlayfs, which no other system has.
#[cfg(target_os = "linux")]
#[test]
fn no_hostile_archive_leaves_a_layer_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    match os::tree::overlay_marks(dir.path()) {
        Err(error) if error.kind() == std::io::ErrorKind::Unsupported => {
            testbed::skip!("overlayfs takes no marks at {}: {error}", dir.path().display());
        }
        marks => judge_all(&Unpack { target: Target::Overlay(marks.unwrap()), ..Unpack::default() }),
    }
}

#[test]
fn the_rules_of_windows_hold_wherever_they_are_tried() {
    judge_all(&Unpack { names: Names { windows: true, fold: true }, ..Unpack::default() });
}

#[test]
fn there_are_enough_of_them_and_each_has_its_own_name() {
    let names: std::collections::BTreeSet<_> = archives().map(|archive| archive.name).collect();
    let count = archives().count();
    assert!(names.len() >= 60 && names.len() == count, "{} of {count}", names.len());
    assert!(archives().any(|archive| archive.layout == Layout::Windows));
}
