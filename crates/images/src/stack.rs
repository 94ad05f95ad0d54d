//! Layers seen as one directory, without mounting them.
//!
//! A container's start must know what its image holds before anything is mounted, and layers that were unpacked each
//! for itself must be checked to mean together what they mean one upon the other. What one layer says about a path
//! comes from [`os::overlay::look`]; what follows from it is concluded here.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use os::overlay::Said;

pub use above::Above;
pub(crate) use above::{Stacked, above};

mod above;

/// A path may lead through so many links, as for the kernel.
const MOST_LINKS: usize = 40;

/// The layers of an image, the top one first.
#[derive(Debug, Clone, Copy)]
pub struct Stack<'a> {
    lower: &'a [PathBuf],
}

/// What a path of the stack leads to, after all links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    Missing,
    File,
    Directory,
    /// Out of the stack: an absolute path, or one that starts with `..` and counts from the stack's root.
    Outside(PathBuf),
}

/// What the layers have under a path, following nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Found {
    Missing,
    File,
    Link(PathBuf),
    Directory(Merged),
}

/// The layers of which a directory is made up, the top one first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Merged {
    layers: Vec<usize>,
    /// Below them a link has the directory's name.
    over_link: bool,
}

// === impl Stack ===

impl<'a> Stack<'a> {
    pub fn new(lower: &'a [PathBuf]) -> Stack<'a> {
        Stack { lower }
    }

    /// Follows a path from the stack's root.
    pub fn resolve(&self, path: &Path) -> io::Result<Seen> {
        resolve(self.lower.len(), path, |layer, inside| os::overlay::look(&self.lower[layer], inside))
    }
}

/// One directory on the way of a path.
struct Stand {
    path: PathBuf,
    layers: Vec<usize>,
}

fn resolve(count: usize, path: &Path, look: impl Fn(usize, &Path) -> io::Result<Said>) -> io::Result<Seen> {
    let mut left: VecDeque<OsString> = steps(path);
    let mut way = vec![Stand { path: PathBuf::new(), layers: (0..count).collect() }];
    let mut links = 0;
    while let Some(name) = left.pop_front() {
        if name == ".." {
            way.pop();
            if way.is_empty() {
                return Ok(Seen::Outside(joined(Path::new(".."), left)));
            }
            continue;
        }
        let Some(here) = way.last() else { return Ok(Seen::Missing) };
        let next = here.path.join(name);
        match find(&here.layers, &next, &look)? {
            Found::Missing => return Ok(Seen::Missing),
            Found::File => return Ok(if left.is_empty() { Seen::File } else { Seen::Missing }),
            Found::Directory(merged) => way.push(Stand { path: next, layers: merged.layers }),
            Found::Link(text) => {
                links += 1;
                if links > MOST_LINKS {
                    return Ok(Seen::Missing);
                }
                if text.has_root() {
                    return Ok(Seen::Outside(joined(&text, left)));
                }
                steps(&text).into_iter().rev().for_each(|step| left.push_front(step));
            }
        }
    }
    Ok(Seen::Directory)
}

/// Joining nothing would add a slash, and a file with a slash is not found.
fn joined(path: &Path, left: VecDeque<OsString>) -> PathBuf {
    let mut path = path.to_owned();
    path.extend(left);
    path
}

fn steps(path: &Path) -> VecDeque<OsString> {
    let step = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().filter_map(step).collect()
}

/// What the layers of a directory have under a path right in it.
fn find(layers: &[usize], path: &Path, look: impl Fn(usize, &Path) -> io::Result<Said>) -> io::Result<Found> {
    let mut merged = Merged::default();
    for layer in layers {
        match (look(*layer, path)?, merged.layers.is_empty()) {
            (Said::Nothing, _) => {}
            (Said::Hidden, _) => break,
            (Said::File, true) => return Ok(Found::File),
            (Said::Link(text), true) => return Ok(Found::Link(text)),
            (Said::File, false) => break,
            (Said::Link(_), false) => {
                merged.over_link = true;
                break;
            }
            (Said::Directory { opaque }, _) => {
                merged.layers.push(*layer);
                if opaque {
                    break;
                }
            }
        }
    }
    Ok(if merged.layers.is_empty() { Found::Missing } else { Found::Directory(merged) })
}

#[cfg(test)]
mod tests;
