//! The rules on the golden table: what people write, and what is run for it.

use std::convert::Infallible;

use super::*;
use crate::Style;

#[path = "../../golden/start.rs"]
mod golden;

use golden::{Row, Wanted, World};

/// What stands at a path of the table's world, whichever way the path is spelled.
fn look(world: &World, style: Style, path: &str) -> Found {
    let spelling = match style {
        Style::Unix => golden::unix_spelling,
        Style::Windows => golden::windows_spelling,
    };
    let files = world.image_files.iter().map(|file| style.join(world.image, file));
    let files: Vec<String> = files
        .chain(world.host_files.iter().map(|file| (*file).to_owned()))
        .map(|file| spelling(&file))
        .collect();
    let path = spelling(path);
    let below = |file: &String| file.strip_prefix(&path).is_some_and(|rest| rest.starts_with(['/', '\\']));
    if files.contains(&path) {
        Found::File
    } else if files.iter().any(below) || world.host_directories.iter().any(|dir| spelling(dir) == path) {
        Found::Directory
    } else {
        Found::Nothing
    }
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

/// The roots of the table's world.
const fn root(style: Style) -> Root<'static> {
    match style {
        Style::Unix => Root { style, drive: "" },
        Style::Windows => Root { style, drive: "C:" },
    }
}

fn check(row: &Row, world: &World, style: Style) {
    let room = Room { root: root(style), image: world.image, path: world.path };
    let started = host_process(&words(row.words), row.directory(), &room, |path| {
        Ok::<_, Infallible>(look(world, style, path))
    });
    match (&started, row.wanted) {
        (Ok(start), Wanted::Runs { program, cwd }) => {
            assert_eq!((start.program.as_str(), start.cwd.as_str()), (program, cwd), "{row:?}");
            assert_eq!(start.argv, row.argv(), "{row:?}");
        }
        (Err(StartError::Program { program: named, .. }), Wanted::Refused(name))
        | (Err(StartError::WorkingDirectory { asked: named, .. }), Wanted::Refused(name)) => {
            assert_eq!(named, name);
        }
        _ => panic!("{row:?}: {started:?}"),
    }
}

// proves: HP-15 pure
// proves: HP-12 pure
#[test]
fn what_people_write_in_a_host_process_pod() {
    golden::WINDOWS_ROWS.iter().for_each(|row| check(row, &golden::WINDOWS, Style::Windows));
    golden::UNIX_ROWS.iter().for_each(|row| check(row, &golden::UNIX, Style::Unix));
    assert!(golden::WINDOWS_ROWS.len() >= 60, "{} rows", golden::WINDOWS_ROWS.len());
}

// proves: HP-15 pure
#[test]
fn the_words_reach_the_program_with_the_variable_replaced() {
    let typed = words(&["agent", "%CONTAINER_SANDBOX_MOUNT_POINT%\\etc\\a b.yaml", "100%"]);
    let room = Room { root: root(Style::Windows), image: "C:\\hpc\\", path: golden::WINDOWS.path };
    let look = |path: &str| Ok::<_, Infallible>(look(&golden::WINDOWS, Style::Windows, path));
    let start = host_process(&typed, "", &room, look).unwrap();
    assert_eq!(start.argv, ["agent", "C:\\hpc\\etc\\a b.yaml", "100%"]);
    assert_eq!(start.cwd, "C:\\hpc\\");
}

// proves: HP-15 pure
#[test]
fn what_an_isolated_container_is_given() {
    for row in golden::ISOLATED_ROWS {
        let [entrypoint, cmd, command, args] = [row.entrypoint, row.cmd, row.command, row.args].map(words);
        let words = Words { entrypoint: &entrypoint, cmd: &cmd, command: &command, args: &args };
        let wanted = Isolated { command_line: row.line.into(), cwd: row.cwd.into() };
        assert_eq!(isolated(words, row.escaped, row.dir), Ok(wanted), "{row:?}");
        assert!(!row.argv.is_empty());
    }
    assert_eq!(isolated(Words::default(), false, ""), Err(NothingToRun));
}

#[test]
fn an_error_says_where_it_looked() {
    let (typed, room) =
        (words(&["bin/none"]), Room { root: root(Style::Unix), image: "/image", path: "/bin" });
    let everywhere = |found| move |_: &str| Ok::<_, Infallible>(found);
    let said = host_process(&typed, "", &room, everywhere(Found::Directory)).unwrap_err().to_string();
    assert_eq!(said, "\"bin/none\" was not found; looked at /image/bin/none");
    let said = host_process(&typed, "/w", &room, everywhere(Found::Nothing)).unwrap_err().to_string();
    assert_eq!(
        said,
        "the working directory \"/w\" is neither in the image nor on the host; looked at /image/w, /w"
    );
    let broken = host_process(&typed, "", &room, |_| Err("the disk is gone"));
    assert_eq!(broken, Err(StartError::Look("the disk is gone")));
}
