//! Program, words and working directory of a container, from what image and pod say.
//!
//! A HostProcess container sees the host's files with its image among them, so a path may mean either: what the image
//! has comes first, a path with a drive is the host's alone, one without is on the system's drive, and nothing is created to make a wrong path right. An
//! isolated container resolves its own paths; it gets one command line and a directory.

use crate::command::{NothingToRun, Words};
use crate::drive::Root;
use crate::mount_point::substitute;
use crate::program::Places;
use crate::quote;

/// Where a HostProcess container finds its image, and the PATH it will have.
#[derive(Debug, Clone, Copy)]
pub struct Room<'a> {
    pub root: Root<'a>,
    pub image: &'a str,
    pub path: &'a str,
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    File,
    Directory,
    Nothing,
}

/// How a HostProcess container is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The file that is run, whatever the first word says.
    pub program: String,
    pub argv: Vec<String>,
    pub cwd: String,
}

/// How an isolated container is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Isolated {
    pub command_line: String,
    pub cwd: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError<E> {
    #[error("the working directory {asked:?} is neither in the image nor on the host; looked at {}", .tried.join(", "))]
    WorkingDirectory { asked: String, tried: Vec<String> },
    #[error("{program:?} was not found; looked at {}", .tried.join(", "))]
    Program { program: String, tried: Vec<String> },
    #[error(transparent)]
    Look(E),
}

/// Where an isolated Windows container is when nobody says where.
const ISOLATED_ROOT: &str = "C:\\";

/// Resolves a HostProcess container's start from its words, of which there is at least one, and the working directory
/// of pod or image, which may be empty. `look` says what stands at a path as the container will see it.
pub fn host_process<E>(
    words: &[String],
    directory: &str,
    room: &Room<'_>,
    look: impl Fn(&str) -> Result<Found, E>,
) -> Result<Start, StartError<E>> {
    let first = |tried: &[String], wanted: Found| {
        for place in tried {
            if look(place).map_err(StartError::Look)? == wanted {
                return Ok(Some(place.clone()));
            }
        }
        Ok(None)
    };
    let asked = substitute(directory, room.image, room.root.style);
    let tried = room.root.places_of_a_directory(&asked, room.image);
    let Some(cwd) = first(&tried, Found::Directory)? else {
        return Err(StartError::WorkingDirectory { asked, tried });
    };
    let argv: Vec<String> = words.iter().map(|word| substitute(word, room.image, room.root.style)).collect();
    let places = Places { root: room.root, image: room.image, cwd: &cwd, path: room.path };
    let tried = places.candidates(&argv[0]);
    match first(&tried, Found::File)? {
        Some(program) => Ok(Start { program, argv, cwd }),
        None => Err(StartError::Program { program: argv[0].clone(), tried }),
    }
}

/// Resolves an isolated container's start: its own system will look for the program. `escaped`: the image's program is
/// a ready piece of command line, as Docker marks it on Windows.
pub fn isolated(words: Words<'_>, escaped: bool, directory: &str) -> Result<Isolated, NothingToRun> {
    let of_the_image = words.command.is_empty();
    let words = words.resolve()?;
    let command_line = match words.split_first() {
        Some((first, [])) if escaped && of_the_image => first.clone(),
        Some((first, rest)) if escaped && of_the_image => format!("{first} {}", quote::command_line(rest)),
        _ => quote::command_line(&words),
    };
    let cwd = if directory.is_empty() { ISOLATED_ROOT } else { directory };
    Ok(Isolated { command_line, cwd: cwd.to_owned() })
}

#[cfg(test)]
mod tests;
