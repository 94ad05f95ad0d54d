//! Program, words and working directory of a container, from what image and pod say.
//!
//! A HostProcess container sees the host's files with its image among them, so a path may mean either: what the image
//! has comes first, a path with a drive is the host's alone, and nothing is created to make a wrong path right. An
//! isolated container resolves its own paths; it gets one command line and a directory.

use crate::Style;
use crate::command::{NothingToRun, Words};
use crate::mount_point::substitute;
use crate::program::Places;
use crate::quote;

/// What image and pod say.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked<'a> {
    pub words: Words<'a>,
    /// The image's `WORKDIR`.
    pub image_directory: &'a str,
    /// The pod's `workingDir`.
    pub pod_directory: Option<&'a str>,
    /// The image's program is a ready piece of command line, as Docker marks it on Windows.
    pub args_escaped: bool,
}

/// Where a HostProcess container finds its image, and the PATH it will have.
#[derive(Debug, Clone, Copy)]
pub struct Room<'a> {
    pub style: Style,
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
pub enum StartError {
    #[error(transparent)]
    Nothing(#[from] NothingToRun),
    #[error("working directory {asked:?} is neither in the image nor on the host (looked at {})", .tried.join(", "))]
    WorkingDirectory { asked: String, tried: Vec<String> },
    #[error("program {program:?} not found (looked at {})", .tried.join(", "))]
    Program { program: String, tried: Vec<String> },
}

/// Where an isolated Windows container is when nobody says where.
const ISOLATED_ROOT: &str = "C:\\";

/// Resolves a HostProcess container's start. `look` says what stands at a path as the container will see it.
pub fn host_process(
    asked: &Asked<'_>,
    room: &Room<'_>,
    look: impl Fn(&str) -> Found,
) -> Result<Start, StartError> {
    let replaced = |text: &String| substitute(text, room.image, room.style);
    let argv: Vec<String> = asked.words.resolve()?.iter().map(replaced).collect();
    let cwd = working_directory(asked, room, &look)?;
    let places = Places { style: room.style, image: room.image, cwd: &cwd, path: room.path };
    let tried = places.candidates(&argv[0]);
    match tried.iter().find(|place| look(place) == Found::File) {
        Some(program) => Ok(Start { program: program.clone(), argv, cwd }),
        None => Err(StartError::Program { program: argv[0].clone(), tried }),
    }
}

/// Resolves an isolated container's start: its own system will look for the program.
pub fn isolated(asked: &Asked<'_>) -> Result<Isolated, NothingToRun> {
    let words = asked.words.resolve()?;
    let from_image = asked.words.command.is_empty();
    let command_line = match words.split_first() {
        Some((first, rest)) if asked.args_escaped && from_image => {
            [vec![first.clone()], rest.iter().map(|word| quote::word(word)).collect()].concat().join(" ")
        }
        _ => quote::command_line(&words),
    };
    let cwd = match asked.directory() {
        "" => ISOLATED_ROOT,
        directory => directory,
    };
    Ok(Isolated { command_line, cwd: cwd.to_owned() })
}

/// The pod's, else the image's, else the image itself.
fn working_directory(
    asked: &Asked<'_>,
    room: &Room<'_>,
    look: impl Fn(&str) -> Found,
) -> Result<String, StartError> {
    let directory = substitute(asked.directory(), room.image, room.style);
    let tried = room.style.places_of_a_directory(&directory, room.image);
    match tried.iter().find(|place| look(place) == Found::Directory) {
        Some(found) => Ok(found.clone()),
        None => Err(StartError::WorkingDirectory { asked: directory, tried }),
    }
}

// === impl Asked ===

impl Asked<'_> {
    /// An empty one of the pod is none: a kubelet sends it so.
    fn directory(&self) -> &str {
        self.pod_directory.filter(|directory| !directory.is_empty()).unwrap_or(self.image_directory)
    }
}

#[cfg(test)]
mod tests;
