//! The golden table of HP-15: what people write, and what is run for it.
//!
//! Data, and how two spellings of a path compare. `plan` tests its rules with it; the tests of `porthole` lay the world
//! down as real files and run every row as a container, on the twin and under Wine.

/// One way to write a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// `command` and `args` of the pod.
    pub(crate) words: &'static [&'static str],
    pub(crate) dir: Dir,
    pub(crate) wanted: Wanted,
    /// What the program finds as its words; none: exactly what was typed.
    pub(crate) argv: Option<&'static [&'static str]>,
}

/// Who names the working directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dir {
    Pod(&'static str),
    Image(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Runs {
        program: &'static str,
        cwd: &'static str,
    },
    /// The error names this.
    Refused(&'static str),
}

/// What the rows find: files, and directories that have none. Those of the image are relative to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct World {
    pub(crate) image: &'static str,
    pub(crate) path: &'static str,
    pub(crate) image_files: &'static [&'static str],
    pub(crate) host_files: &'static [&'static str],
    pub(crate) host_directories: &'static [&'static str],
}

/// One isolated container: its system gets a command line and a directory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IsolatedRow {
    pub(crate) entrypoint: &'static [&'static str],
    pub(crate) cmd: &'static [&'static str],
    pub(crate) command: &'static [&'static str],
    pub(crate) args: &'static [&'static str],
    /// The image's entrypoint is a ready piece of command line.
    pub(crate) escaped: bool,
    pub(crate) dir: &'static str,
    pub(crate) line: &'static str,
    pub(crate) cwd: &'static str,
    /// What a program finds that is started with the line.
    pub(crate) argv: &'static [&'static str],
}

pub(crate) const WINDOWS: World = World {
    image: r"C:\hpc",
    path: r"C:\tools;C:\Windows\System32",
    image_files: &[
        "agent.exe",
        "plain",
        "both.exe",
        r"bin\uname.exe",
        r"bin\old.com",
        r"my app\app.exe",
        r"debug\d.exe",
    ],
    host_files: &[
        r"C:\tools\both.exe",
        r"C:\tools\ctl.exe",
        r"C:\Windows\System32\cmd.exe",
        r"C:\Windows\System32\whoami.exe",
        r"C:\only-host\h.exe",
        r"D:\d.exe",
    ],
    host_directories: &[r"C:\", r"C:\debug", r"D:\"],
};

pub(crate) const WINDOWS_ROWS: &[Row] = &[
    // Bare names: the image's root, then the path, with or without the extension.
    runs(&["agent.exe"], "", r"C:\hpc\agent.exe", r"C:\hpc"),
    runs(&["agent"], "", r"C:\hpc\agent.exe", r"C:\hpc"),
    runs(&["plain"], "", r"C:\hpc\plain", r"C:\hpc"),
    runs(&["both"], "", r"C:\hpc\both.exe", r"C:\hpc"),
    runs(&["ctl"], "", r"C:\tools\ctl.exe", r"C:\hpc"),
    runs(&["cmd.exe", "/c", "ver"], "", r"C:\Windows\System32\cmd.exe", r"C:\hpc"),
    runs(&["cmd", "/c", "ver"], "", r"C:\Windows\System32\cmd.exe", r"C:\hpc"),
    runs(&["whoami"], r"C:\Windows", r"C:\Windows\System32\whoami.exe", r"C:\Windows"),
    refused(&["d.exe"], "debug", "d.exe"),
    refused(&["missing"], "", "missing"),
    refused(&["cmd.exe /c ver"], "", "cmd.exe /c ver"),
    // Relative paths: from the working directory, then from the image.
    runs(&[r"bin\uname.exe", "-o"], "", r"C:\hpc\bin\uname.exe", r"C:\hpc"),
    runs(&["bin/uname.exe"], "", r"C:\hpc\bin\uname.exe", r"C:\hpc"),
    runs(&["bin/uname"], "", r"C:\hpc\bin\uname.exe", r"C:\hpc"),
    runs(&[r"bin\old"], "", r"C:\hpc\bin\old.com", r"C:\hpc"),
    runs(&[r".\agent.exe"], "", r"C:\hpc\.\agent.exe", r"C:\hpc"),
    runs(&["./agent.exe"], "", r"C:\hpc\.\agent.exe", r"C:\hpc"),
    runs(&[r"System32\cmd.exe", "/c", "ver"], r"c:\Windows", r"c:\Windows\System32\cmd.exe", r"c:\Windows"),
    runs(&["System32/cmd.exe"], r"c:\Windows\", r"c:\Windows\System32\cmd.exe", r"c:\Windows\"),
    runs(&[r"bin\uname.exe"], r"C:\Windows", r"C:\hpc\bin\uname.exe", r"C:\Windows"),
    runs(&[r"my app\app.exe"], "", r"C:\hpc\my app\app.exe", r"C:\hpc"),
    runs(&["my app/app", "x y"], "", r"C:\hpc\my app\app.exe", r"C:\hpc"),
    refused(&[r"debug\nothing.exe"], "", r"debug\nothing.exe"),
    // From the root without a drive: the image's, then the host's on the drive of its system.
    runs(&[r"\bin\uname.exe"], "", r"C:\hpc\bin\uname.exe", r"C:\hpc"),
    runs(&["/bin/uname.exe"], "", r"C:\hpc\bin\uname.exe", r"C:\hpc"),
    runs(&[r"/bin\uname"], "", r"C:\hpc\bin\uname.exe", r"C:\hpc"),
    runs(&[r"\only-host\h.exe"], "", r"C:\only-host\h.exe", r"C:\hpc"),
    runs(&["/only-host/h"], "", r"C:\only-host\h.exe", r"C:\hpc"),
    runs(&["/agent"], "", r"C:\hpc\agent.exe", r"C:\hpc"),
    // With a drive: the host's, as everybody sees it.
    runs(&[r"C:\Windows\System32\cmd.exe"], "", r"C:\Windows\System32\cmd.exe", r"C:\hpc"),
    runs(&["C:/Windows/System32/cmd.exe"], "", "C:/Windows/System32/cmd.exe", r"C:\hpc"),
    runs(&[r"C:\Windows\System32\whoami"], "", r"C:\Windows\System32\whoami.exe", r"C:\hpc"),
    runs(&[r"C:\hpc\agent.exe"], "", r"C:\hpc\agent.exe", r"C:\hpc"),
    runs(&[r"D:\d.exe"], r"D:\", r"D:\d.exe", r"D:\"),
    refused(&[r"C:\agent.exe"], "", r"C:\agent.exe"),
    // The variable, in every spelling and with every slash.
    runs(&[r"%CONTAINER_SANDBOX_MOUNT_POINT%\bin\uname.exe"], "", r"C:\hpc\bin\uname.exe", r"C:\hpc")
        .finds(&[r"C:\hpc\bin\uname.exe"]),
    runs(&["%CONTAINER_SANDBOX_MOUNT_POINT%/bin/uname.exe"], "", r"C:\hpc/bin/uname.exe", r"C:\hpc")
        .finds(&[r"C:\hpc/bin/uname.exe"]),
    runs(&[r"%CONTAINER_SANDBOX_MOUNT_POINT%/bin\uname.exe"], "", r"C:\hpc/bin\uname.exe", r"C:\hpc")
        .finds(&[r"C:\hpc/bin\uname.exe"]),
    runs(&[r"%container_sandbox_mount_point%\bin\uname"], "", r"C:\hpc\bin\uname.exe", r"C:\hpc")
        .finds(&[r"C:\hpc\bin\uname"]),
    runs(&[r"$env:CONTAINER_SANDBOX_MOUNT_POINT\bin\uname.exe"], "", r"C:\hpc\bin\uname.exe", r"C:\hpc")
        .finds(&[r"C:\hpc\bin\uname.exe"]),
    runs(&[r"${env:CONTAINER_SANDBOX_MOUNT_POINT}\agent.exe"], "", r"C:\hpc\agent.exe", r"C:\hpc")
        .finds(&[r"C:\hpc\agent.exe"]),
    runs(&[r"$CONTAINER_SANDBOX_MOUNT_POINT\agent.exe"], "", r"C:\hpc\agent.exe", r"C:\hpc")
        .finds(&[r"C:\hpc\agent.exe"]),
    runs(&[r"${CONTAINER_SANDBOX_MOUNT_POINT}\agent"], "", r"C:\hpc\agent.exe", r"C:\hpc")
        .finds(&[r"C:\hpc\agent"]),
    runs(&["agent"], "%CONTAINER_SANDBOX_MOUNT_POINT%", r"C:\hpc\agent.exe", r"C:\hpc"),
    refused(&["d.exe"], r"$env:CONTAINER_SANDBOX_MOUNT_POINT\debug", "d.exe"),
    runs(&[r".\d"], r"$env:CONTAINER_SANDBOX_MOUNT_POINT\debug", r"C:\hpc\debug\.\d.exe", r"C:\hpc\debug"),
    runs(&[r"debug\d"], r"%CONTAINER_SANDBOX_MOUNT_POINT%\bin", r"C:\hpc\debug\d.exe", r"C:\hpc\bin"),
    // Working directories: the image's before the host's, never made.
    runs(&["agent"], "bin", r"C:\hpc\agent.exe", r"C:\hpc\bin"),
    runs(&["agent"], "/bin", r"C:\hpc\agent.exe", r"C:\hpc\bin"),
    runs(&["agent"], r"\debug", r"C:\hpc\agent.exe", r"C:\hpc\debug"),
    runs(&["agent"], r"C:\debug", r"C:\hpc\agent.exe", r"C:\debug"),
    runs(&["agent"], "/only-host", r"C:\hpc\agent.exe", r"C:\only-host"),
    runs(&[r".\h"], r"\only-host", r"C:\only-host\.\h.exe", r"C:\only-host"),
    refused(&["agent"], "only-host", "only-host"),
    refused(&["agent"], r"C:\nowhere", r"C:\nowhere"),
    runs(&["agent"], "my app", r"C:\hpc\agent.exe", r"C:\hpc\my app"),
    runs(&["agent"], r"C:\", r"C:\hpc\agent.exe", r"C:\"),
    of_the_image(runs(&["agent"], "/debug", r"C:\hpc\agent.exe", r"C:\hpc\debug")),
    of_the_image(runs(&["agent"], r"C:\hpc\bin", r"C:\hpc\agent.exe", r"C:\hpc\bin")),
    of_the_image(refused(&["agent"], "/gone", "/gone")),
    // Words reach the program as they were typed: no shell reads them.
    runs(
        &["agent", "--config", r"%CONTAINER_SANDBOX_MOUNT_POINT%\etc\a b.yaml", "100%"],
        "",
        r"C:\hpc\agent.exe",
        r"C:\hpc",
    )
    .finds(&["agent", "--config", r"C:\hpc\etc\a b.yaml", "100%"]),
    runs(&["agent", "a b", "", "c\td", " "], "", r"C:\hpc\agent.exe", r"C:\hpc"),
    runs(&["agent", "--k=\"v w\"", "--k=v w"], "", r"C:\hpc\agent.exe", r"C:\hpc"),
    runs(&["agent", "'one two'", "say \"hi\"", "\""], "", r"C:\hpc\agent.exe", r"C:\hpc"),
    runs(&["agent", r"C:\a dir\", r"\\server\share\", r"\"], "", r"C:\hpc\agent.exe", r"C:\hpc"),
    runs(&["agent", r#"a\"b"#, r#"a\\"b c"#, r"a\\b"], "", r"C:\hpc\agent.exe", r"C:\hpc"),
    runs(&["agent", "&", "|", "<x>", "^", "(y)", "%PATH%", "a&&b"], "", r"C:\hpc\agent.exe", r"C:\hpc"),
    runs(&["agent", "one\ntwo", "-command", "if (1) {\n  2\n}"], "", r"C:\hpc\agent.exe", r"C:\hpc"),
    runs(&["agent", "grüß dich", "猫"], "", r"C:\hpc\agent.exe", r"C:\hpc"),
];

/// The twin's world: `/image` and `/host` stand for directories of the test's own.
pub(crate) const UNIX: World = World {
    image: "/image",
    path: "/host/tools:/host/more",
    image_files: &["agent", "both", "bin/uname", "my app/app", "debug/d"],
    host_files: &["/host/tools/both", "/host/tools/ctl", "/host/more/ctl", "/host/more/late", "/host/only/h"],
    host_directories: &["/", "/host/empty"],
};

pub(crate) const UNIX_ROWS: &[Row] = &[
    runs(&["agent"], "", "/image/agent", "/image"),
    runs(&["both"], "", "/image/both", "/image"),
    runs(&["ctl"], "", "/host/tools/ctl", "/image"),
    runs(&["late"], "/host/only", "/host/more/late", "/host/only"),
    refused(&["agent.exe"], "", "agent.exe"),
    refused(&["d"], "debug", "d"),
    refused(&["agent -v"], "", "agent -v"),
    refused(&["AGENT"], "", "AGENT"),
    runs(&["bin/uname", "-o"], "", "/image/bin/uname", "/image"),
    runs(&["./agent"], "", "/image/./agent", "/image"),
    runs(&["./h"], "/host/only", "/host/only/./h", "/host/only"),
    runs(&["bin/uname"], "/host/only", "/image/bin/uname", "/host/only"),
    runs(&["my app/app", "x y"], "", "/image/my app/app", "/image"),
    refused(&["debug/nothing"], "", "debug/nothing"),
    runs(&["/bin/uname"], "", "/image/bin/uname", "/image"),
    runs(&["/host/only/h"], "", "/host/only/h", "/image"),
    runs(&["$CONTAINER_SANDBOX_MOUNT_POINT/bin/uname"], "", "/image/bin/uname", "/image")
        .finds(&["/image/bin/uname"]),
    runs(&["${CONTAINER_SANDBOX_MOUNT_POINT}/agent"], "", "/image/agent", "/image").finds(&["/image/agent"]),
    runs(&["%CONTAINER_SANDBOX_MOUNT_POINT%/agent"], "", "/image/agent", "/image").finds(&["/image/agent"]),
    runs(&["./d"], "$CONTAINER_SANDBOX_MOUNT_POINT/debug", "/image/debug/./d", "/image/debug"),
    runs(&["agent"], "bin", "/image/agent", "/image/bin"),
    runs(&["agent"], "/bin", "/image/agent", "/image/bin"),
    runs(&["agent"], "/host/empty", "/image/agent", "/host/empty"),
    runs(&["agent"], "/", "/image/agent", "/image/"),
    refused(&["agent"], "host/empty", "host/empty"),
    refused(&["agent"], "/nowhere", "/nowhere"),
    of_the_image(runs(&["agent"], "/debug", "/image/agent", "/image/debug")),
    of_the_image(refused(&["agent"], "/gone", "/gone")),
    runs(&["agent", "--k=\"v w\"", "'a b'", "", "100%", "a\\"], "", "/image/agent", "/image"),
    runs(&["agent", "&", "|", "$(x", "`y`", "*", "one\ntwo", "grüß"], "", "/image/agent", "/image"),
];

pub(crate) const ISOLATED_ROWS: &[IsolatedRow] = &[
    isolated(&["app.exe"], &["-v"], "app.exe -v", &["app.exe", "-v"]),
    IsolatedRow {
        command: &["cmd"],
        args: &["/c", "ver"],
        ..isolated(&["app.exe"], &["-v"], "cmd /c ver", &["cmd", "/c", "ver"])
    },
    IsolatedRow {
        args: &["a b"],
        ..isolated(&["my app.exe"], &[], "\"my app.exe\" \"a b\"", &["my app.exe", "a b"])
    },
    IsolatedRow {
        escaped: true,
        ..isolated(
            &["cmd /S /C app.exe -x"],
            &[],
            "cmd /S /C app.exe -x",
            &["cmd", "/S", "/C", "app.exe", "-x"],
        )
    },
    IsolatedRow {
        escaped: true,
        args: &["a b"],
        ..isolated(
            &["cmd /S /C app.exe"],
            &[],
            "cmd /S /C app.exe \"a b\"",
            &["cmd", "/S", "/C", "app.exe", "a b"],
        )
    },
    IsolatedRow {
        escaped: true,
        command: &["cmd /S"],
        ..isolated(&["cmd /S /C app.exe"], &[], "\"cmd /S\"", &["cmd /S"])
    },
    IsolatedRow {
        args: &["--k=\"v w\""],
        dir: r"C:\w",
        cwd: r"C:\w",
        ..isolated(&["app"], &[], "app \"--k=\\\"v w\\\"\"", &["app", "--k=\"v w\""])
    },
    IsolatedRow { dir: "/w", cwd: "/w", ..isolated(&["bin/app"], &[], "bin/app", &["bin/app"]) },
    isolated(
        &[r"%CONTAINER_SANDBOX_MOUNT_POINT%\a"],
        &[],
        r"%CONTAINER_SANDBOX_MOUNT_POINT%\a",
        &[r"%CONTAINER_SANDBOX_MOUNT_POINT%\a"],
    ),
    IsolatedRow {
        args: &[r"C:\a dir\", "", "&"],
        ..isolated(&["app"], &[], r#"app "C:\a dir\\" "" &"#, &["app", r"C:\a dir\", "", "&"])
    },
];

const fn runs(
    words: &'static [&'static str],
    dir: &'static str,
    program: &'static str,
    cwd: &'static str,
) -> Row {
    Row { words, dir: Dir::Pod(dir), wanted: Wanted::Runs { program, cwd }, argv: None }
}

const fn refused(words: &'static [&'static str], dir: &'static str, named: &'static str) -> Row {
    Row { words, dir: Dir::Pod(dir), wanted: Wanted::Refused(named), argv: None }
}

/// The same, with the directory as the image's own.
const fn of_the_image(row: Row) -> Row {
    let (Dir::Pod(dir) | Dir::Image(dir)) = row.dir;
    Row { dir: Dir::Image(dir), ..row }
}

const fn isolated(
    entrypoint: &'static [&'static str],
    cmd: &'static [&'static str],
    line: &'static str,
    argv: &'static [&'static str],
) -> IsolatedRow {
    let (command, args): (&[&str], &[&str]) = (&[], &[]);
    IsolatedRow { entrypoint, cmd, command, args, escaped: false, dir: "", line, cwd: r"C:\", argv }
}

/// One spelling for all that mean the same file on Windows.
pub(crate) fn windows_spelling(path: &str) -> String {
    let path = path.replace('/', "\\").to_lowercase();
    let path = if path.starts_with('\\') { format!("c:{path}") } else { path };
    parts(&path, '\\').join("\\")
}

/// The same on Unix, where letter case counts.
pub(crate) fn unix_spelling(path: &str) -> String {
    format!("/{}", parts(path, '/').join("/"))
}

fn parts(path: &str, sign: char) -> Vec<&str> {
    path.split(sign).filter(|part| !part.is_empty() && *part != ".").collect()
}

// === impl Row ===

impl Row {
    const fn finds(self, argv: &'static [&'static str]) -> Row {
        Row { argv: Some(argv), ..self }
    }

    pub(crate) fn directory(&self) -> &'static str {
        let (Dir::Pod(dir) | Dir::Image(dir)) = self.dir;
        dir
    }

    /// The words that the program finds.
    pub(crate) fn argv(&self) -> &'static [&'static str] {
        self.argv.unwrap_or(self.words)
    }
}
