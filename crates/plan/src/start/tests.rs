//! The golden table: what people write, and what is run for it.

use std::convert::Infallible;

use super::*;

const IMAGE: &str = "C:\\hpc";
const PATH: &str = "C:\\tools;C:\\Windows\\System32";
/// The host and, in `C:\hpc`, the image.
const DIRECTORIES: &[&str] = &[
    "C:\\hpc",
    "C:\\hpc\\",
    "C:\\hpc\\bin",
    "C:\\hpc\\debug",
    "C:\\hpc\\my app",
    "C:\\Windows",
    "C:\\Windows\\",
    "C:\\Windows\\System32",
    "c:\\Windows",
    "c:\\Windows\\",
    "\\Windows",
    "C:\\debug",
    "C:\\only-host",
    "\\only-host",
    "/only-host",
    "C:\\",
    "C:/Windows",
    "D:\\",
];
const FILES: &[&str] = &[
    "C:\\hpc\\agent.exe",
    "C:\\hpc\\plain",
    "C:\\hpc\\both.exe",
    "C:\\hpc\\bin\\uname.exe",
    "C:\\hpc\\bin\\old.com",
    "C:\\hpc\\my app\\app.exe",
    "C:\\hpc\\debug\\d.exe",
    "C:\\tools\\both.exe",
    "C:\\tools\\ctl.exe",
    "C:\\Windows\\System32\\cmd.exe",
    "C:\\Windows\\System32\\whoami.exe",
    "c:\\Windows\\System32\\cmd.exe",
    "c:\\Windows\\\\System32\\cmd.exe",
    "C:\\only-host\\h.exe",
    "\\only-host\\h.exe",
    "C:/Windows/System32/cmd.exe",
    "C:\\hpc/bin/uname.exe",
    "C:\\hpc/bin\\uname.exe",
    "C:\\hpc\\.\\agent.exe",
    "D:\\d.exe",
];

/// Words (of the pod), directory (of the pod; `image:` = of the image) → program without `C:`, directory, first word.
type Row = (&'static [&'static str], &'static str, Result<(&'static str, &'static str), &'static str>);

const V: &str = "%CONTAINER_SANDBOX_MOUNT_POINT%";

const HOST_PROCESS: &[Row] = &[
    // Bare names: the image's root, then the path, with or without the extension.
    (&["agent.exe"], "", Ok(("C:\\hpc\\agent.exe", "C:\\hpc"))),
    (&["agent"], "", Ok(("C:\\hpc\\agent.exe", "C:\\hpc"))),
    (&["plain"], "", Ok(("C:\\hpc\\plain", "C:\\hpc"))),
    (&["both"], "", Ok(("C:\\hpc\\both.exe", "C:\\hpc"))),
    (&["ctl"], "", Ok(("C:\\tools\\ctl.exe", "C:\\hpc"))),
    (&["cmd.exe", "/c", "ver"], "", Ok(("C:\\Windows\\System32\\cmd.exe", "C:\\hpc"))),
    (&["cmd", "/c", "ver"], "", Ok(("C:\\Windows\\System32\\cmd.exe", "C:\\hpc"))),
    (&["whoami"], "C:\\Windows", Ok(("C:\\Windows\\System32\\whoami.exe", "C:\\Windows"))),
    (&["d.exe"], "debug", Err("d.exe")),
    (&["missing"], "", Err("missing")),
    (&["cmd.exe /c ver"], "", Err("cmd.exe /c ver")),
    // Relative paths: from the working directory, then from the image.
    (&["bin\\uname.exe", "-o"], "", Ok(("C:\\hpc\\bin\\uname.exe", "C:\\hpc"))),
    (&["bin/uname.exe"], "", Ok(("C:\\hpc\\bin\\uname.exe", "C:\\hpc"))),
    (&["bin/uname"], "", Ok(("C:\\hpc\\bin\\uname.exe", "C:\\hpc"))),
    (&["bin\\old"], "", Ok(("C:\\hpc\\bin\\old.com", "C:\\hpc"))),
    (&[".\\agent.exe"], "", Ok(("C:\\hpc\\.\\agent.exe", "C:\\hpc"))),
    (&["./agent.exe"], "", Ok(("C:\\hpc\\.\\agent.exe", "C:\\hpc"))),
    (
        &["System32\\cmd.exe", "/c", "ver"],
        "c:\\Windows",
        Ok(("c:\\Windows\\System32\\cmd.exe", "c:\\Windows")),
    ),
    (&["System32/cmd.exe"], "c:\\Windows\\", Ok(("c:\\Windows\\System32\\cmd.exe", "c:\\Windows\\"))),
    (&["bin\\uname.exe"], "C:\\Windows", Ok(("C:\\hpc\\bin\\uname.exe", "C:\\Windows"))),
    (&["my app\\app.exe"], "", Ok(("C:\\hpc\\my app\\app.exe", "C:\\hpc"))),
    (&["my app/app"], "", Ok(("C:\\hpc\\my app\\app.exe", "C:\\hpc"))),
    (&["debug\\nothing.exe"], "", Err("debug\\nothing.exe")),
    // From the root without a drive: the image's, then the host's.
    (&["\\bin\\uname.exe"], "", Ok(("C:\\hpc\\bin\\uname.exe", "C:\\hpc"))),
    (&["/bin/uname.exe"], "", Ok(("C:\\hpc\\bin\\uname.exe", "C:\\hpc"))),
    (&["/bin\\uname"], "", Ok(("C:\\hpc\\bin\\uname.exe", "C:\\hpc"))),
    (&["\\only-host\\h.exe"], "", Ok(("\\only-host\\h.exe", "C:\\hpc"))),
    (&["/agent"], "", Ok(("C:\\hpc\\agent.exe", "C:\\hpc"))),
    // With a drive: the host's, as everybody sees it.
    (&["C:\\Windows\\System32\\cmd.exe"], "", Ok(("C:\\Windows\\System32\\cmd.exe", "C:\\hpc"))),
    (&["C:/Windows/System32/cmd.exe"], "", Ok(("C:/Windows/System32/cmd.exe", "C:\\hpc"))),
    (&["C:\\Windows\\System32\\whoami"], "", Ok(("C:\\Windows\\System32\\whoami.exe", "C:\\hpc"))),
    (&["C:\\hpc\\agent.exe"], "", Ok(("C:\\hpc\\agent.exe", "C:\\hpc"))),
    (&["D:\\d.exe"], "D:\\", Ok(("D:\\d.exe", "D:\\"))),
    (&["C:\\agent.exe"], "", Err("C:\\agent.exe")),
    // The variable, in every spelling and with every slash.
    (&["%CONTAINER_SANDBOX_MOUNT_POINT%\\bin\\uname.exe"], "", Ok(("C:\\hpc\\bin\\uname.exe", "C:\\hpc"))),
    (&["%CONTAINER_SANDBOX_MOUNT_POINT%/bin/uname.exe"], "", Ok(("C:\\hpc/bin/uname.exe", "C:\\hpc"))),
    (&["%CONTAINER_SANDBOX_MOUNT_POINT%/bin\\uname.exe"], "", Ok(("C:\\hpc/bin\\uname.exe", "C:\\hpc"))),
    (&["%container_sandbox_mount_point%\\bin\\uname"], "", Ok(("C:\\hpc\\bin\\uname.exe", "C:\\hpc"))),
    (&["$env:CONTAINER_SANDBOX_MOUNT_POINT\\bin\\uname.exe"], "", Ok(("C:\\hpc\\bin\\uname.exe", "C:\\hpc"))),
    (&["${env:CONTAINER_SANDBOX_MOUNT_POINT}\\agent.exe"], "", Ok(("C:\\hpc\\agent.exe", "C:\\hpc"))),
    (&["$CONTAINER_SANDBOX_MOUNT_POINT\\agent.exe"], "", Ok(("C:\\hpc\\agent.exe", "C:\\hpc"))),
    (&["${CONTAINER_SANDBOX_MOUNT_POINT}\\agent"], "", Ok(("C:\\hpc\\agent.exe", "C:\\hpc"))),
    (&["agent"], "%CONTAINER_SANDBOX_MOUNT_POINT%", Ok(("C:\\hpc\\agent.exe", "C:\\hpc"))),
    (&["d.exe"], "$env:CONTAINER_SANDBOX_MOUNT_POINT\\debug", Err("d.exe")),
    (&[".\\d"], "$env:CONTAINER_SANDBOX_MOUNT_POINT\\debug", Err(".\\d")),
    (&["debug\\d"], "%CONTAINER_SANDBOX_MOUNT_POINT%\\bin", Ok(("C:\\hpc\\debug\\d.exe", "C:\\hpc\\bin"))),
    // Working directories: the image's before the host's, never made.
    (&["agent"], "bin", Ok(("C:\\hpc\\agent.exe", "C:\\hpc\\bin"))),
    (&["agent"], "/bin", Ok(("C:\\hpc\\agent.exe", "C:\\hpc\\bin"))),
    (&["agent"], "\\debug", Ok(("C:\\hpc\\agent.exe", "C:\\hpc\\debug"))),
    (&["agent"], "C:\\debug", Ok(("C:\\hpc\\agent.exe", "C:\\debug"))),
    (&["agent"], "/only-host", Ok(("C:\\hpc\\agent.exe", "/only-host"))),
    (&["agent"], "only-host", Err("only-host")),
    (&["agent"], "C:\\nowhere", Err("C:\\nowhere")),
    (&["agent"], "my app", Ok(("C:\\hpc\\agent.exe", "C:\\hpc\\my app"))),
    (&["agent"], "C:\\", Ok(("C:\\hpc\\agent.exe", "C:\\"))),
    (&["agent"], "image:/debug", Ok(("C:\\hpc\\agent.exe", "C:\\hpc\\debug"))),
    (&["agent"], "image:C:\\hpc\\bin", Ok(("C:\\hpc\\agent.exe", "C:\\hpc\\bin"))),
    (&["agent"], "image:/gone", Err("/gone")),
];

fn look(path: &str) -> Result<Found, Infallible> {
    Ok(match (FILES.contains(&path), DIRECTORIES.contains(&path)) {
        (true, _) => Found::File,
        (_, true) => Found::Directory,
        _ => Found::Nothing,
    })
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

// proves: HP-15 pure
// proves: HP-12 pure
#[test]
fn what_people_write_in_a_host_process_pod() {
    let room = Room { style: Style::Windows, image: IMAGE, path: PATH };
    for (typed, directory, expected) in HOST_PROCESS {
        let directory = directory.strip_prefix("image:").unwrap_or(directory);
        let started = host_process(&words(typed), directory, &room, look);
        match (&started, expected) {
            (Ok(start), Ok((program, cwd))) => {
                assert_eq!(
                    (start.program.as_str(), start.cwd.as_str()),
                    (*program, *cwd),
                    "{typed:?} in {directory:?}"
                );
                assert_eq!(start.argv.len(), typed.len());
            }
            (Err(StartError::Program { program: named, .. }), Err(name))
            | (Err(StartError::WorkingDirectory { asked: named, .. }), Err(name)) => assert_eq!(named, name),
            _ => panic!("{typed:?} in {directory:?}: {started:?}, wanted {expected:?}"),
        }
    }
}

// proves: HP-15 pure
#[test]
fn the_words_reach_the_program_with_the_variable_replaced() {
    let typed = words(&["agent", "--config", &format!("{V}\\etc\\a b.yaml"), "100%", "--k=v w"]);
    let room = Room { style: Style::Windows, image: "C:\\hpc\\", path: PATH };
    let start = host_process(&typed, "", &room, look).unwrap();
    assert_eq!(start.argv, ["agent", "--config", "C:\\hpc\\etc\\a b.yaml", "100%", "--k=v w"]);
    assert_eq!(start.cwd, "C:\\hpc\\");
}

// proves: HP-15 pure
#[test]
fn what_an_isolated_container_is_given() {
    for (entrypoint, cmd, command, args, escaped, directory, line, cwd) in [
        (&["app.exe"][..], &["-v"][..], &[][..], &[][..], false, "", "app.exe -v", "C:\\"),
        (&["app.exe"], &["-v"], &["cmd"], &["/c", "ver"], false, "", "cmd /c ver", "C:\\"),
        (&["my app.exe"], &[], &[], &["a b"], false, "", "\"my app.exe\" \"a b\"", "C:\\"),
        (&["cmd /S /C app.exe -x"], &[], &[], &[], true, "", "cmd /S /C app.exe -x", "C:\\"),
        (&["cmd /S /C app.exe"], &[], &[], &["a b"], true, "", "cmd /S /C app.exe \"a b\"", "C:\\"),
        (&["cmd /S /C app.exe"], &[], &["cmd /S"], &[], true, "", "\"cmd /S\"", "C:\\"),
        (&["app"], &[], &[], &["--k=\"v w\""], false, "C:\\w", "app \"--k=\\\"v w\\\"\"", "C:\\w"),
        (&["bin/app"], &[], &[], &[], false, "/w", "bin/app", "/w"),
        (
            &["%CONTAINER_SANDBOX_MOUNT_POINT%\\a"],
            &[],
            &[],
            &[],
            false,
            "",
            "%CONTAINER_SANDBOX_MOUNT_POINT%\\a",
            "C:\\",
        ),
    ] {
        let [entrypoint, cmd, command, args] = [entrypoint, cmd, command, args].map(words);
        let words = Words { entrypoint: &entrypoint, cmd: &cmd, command: &command, args: &args };
        assert_eq!(
            isolated(words, escaped, directory),
            Ok(Isolated { command_line: line.into(), cwd: cwd.into() })
        );
    }
    assert_eq!(isolated(Words::default(), false, ""), Err(NothingToRun));
}

#[test]
fn an_error_says_where_it_looked() {
    let (typed, room) = (words(&["bin/none"]), Room { style: Style::Unix, image: "/image", path: "/bin" });
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
