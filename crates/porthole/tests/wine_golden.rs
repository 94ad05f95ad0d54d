//! The golden table of command lines by porthole.exe: each row is a container, and a real process under Wine tells how it
//! was started.

#[expect(dead_code, reason = "each kind of stage is used by its own tests")]
mod stage;

#[expect(dead_code, reason = "the table has rows for both kinds of host")]
mod golden;

use std::os::unix::fs::symlink;

use golden::{ISOLATED_ROWS, Row, Told, WINDOWS, WINDOWS_ROWS, Wanted, windows_spelling};
use serde_json::json;
use stage::Stage;
use testbed::wine::Wine;

/// A row that names the image by its path: only where images are bound is it at `C:\hpc` itself. Such rows run against
/// the simulated bind filter.
fn needs_binds(row: &Row) -> bool {
    let by_path = |text: &str| text.starts_with(r"C:\hpc");
    by_path(row.directory()) || row.words.iter().any(|word| by_path(word))
}

/// Wine has the programs of System32 inside itself, whatever file is there: they run, and tell nothing of their start.
fn is_wines_own(program: &str) -> bool {
    windows_spelling(program).starts_with(r"c:\windows\system32\")
}

/// The table's world on drives C and D.
fn lay_world(stage: &Stage, wine: &Wine) {
    let drive = wine.prefix().join("drive_d");
    std::fs::create_dir_all(&drive).unwrap();
    symlink("../drive_d", wine.prefix().join("dosdevices/d:")).unwrap();
    golden::lay_image(stage, &WINDOWS);
    golden::lay_host(stage, &WINDOWS, |path| match path.strip_prefix(r"D:\") {
        Some(rest) => drive.join(rest),
        None => wine.host_path(path).unwrap(),
    });
}

/// The path as the container sees it: what is in its image is in `C:\hpc`.
fn seen(path: &str, image: &str) -> String {
    let (path, image) = (windows_spelling(path), windows_spelling(image));
    match path.strip_prefix(&image) {
        Some(rest) if rest.is_empty() || rest.starts_with('\\') => format!("c:\\hpc{rest}"),
        _ => path,
    }
}

fn check(row: &Row, told: &Told, image: &str, named: &str) {
    let Wanted::Runs { program, cwd } = row.wanted else { unreachable!("it ran") };
    assert_eq!(seen(&told.exe, image), windows_spelling(program), "{row:?} {told:?}");
    assert_eq!(seen(&told.cwd, image), windows_spelling(cwd), "{row:?} {told:?}");
    let words: Vec<_> =
        row.argv().iter().map(|word| format!("{:?}", word.replace(r"C:\hpc", named))).collect();
    assert_eq!(told.words, words, "{row:?}");
}

fn rows(which: impl Fn(&Row) -> bool) -> Vec<(usize, &'static Row)> {
    WINDOWS_ROWS.iter().enumerate().filter(|(_, row)| which(row)).collect()
}

// proves: HP-15 wine
#[test]
fn what_people_write_is_what_is_run() {
    let stage = Stage::wine();
    lay_world(&stage, stage.host.wine());
    let rows = rows(|row| !needs_binds(row));
    assert!(rows.len() >= 60, "{} rows", rows.len());
    let played = golden::play(&stage, &WINDOWS, "windows", &rows, &str::to_owned);
    for (number, row) in rows {
        match row.wanted {
            Wanted::Refused(named) => played.assert_refused(number, row, named),
            Wanted::Runs { program, .. } if is_wines_own(program) => played.assert_ran(number, row),
            Wanted::Runs { .. } => {
                let told = played.told(number, row);
                assert!(told.image.starts_with("C:\\hpc\\"), "{told:?}");
                check(row, told, &told.image, &told.image);
            }
        }
    }
}

// proves: HP-15 sim
#[test]
fn a_command_may_name_the_image_by_its_path_where_images_are_bound() {
    let (stage, sim) = Stage::simulated();
    lay_world(&stage, stage.host.wine());
    let rows = rows(needs_binds);
    assert!(rows.len() >= 2, "{} rows", rows.len());
    let played = golden::play(&stage, &WINDOWS, "windows", &rows, &str::to_owned);
    let binds = sim.calls_of("BfSetupFilter");
    for (number, row) in rows {
        let told = played.told(number, row);
        assert_eq!(told.image, r"C:\hpc");
        // A program is started by the path under which everybody sees it: that of the copy which is bound.
        let copy = told.exe.rsplit_once('\\').unwrap().0;
        let bound = format!(r"root=C:\hpc target={copy} ").to_lowercase();
        assert!(binds.iter().any(|call| call.to_lowercase().contains(&bound)), "{bound}: {binds:#?}");
        check(row, told, copy, r"C:\hpc");
    }
}

/// The same for what is mounted: porthole.exe stands on Z, and the volume is made and bound on the system's drive.
// proves: HP-11 sim
#[test]
fn a_volume_of_the_host_that_names_no_drive_is_on_the_systems() {
    let (stage, sim) = Stage::simulated();
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "rooted"},
        "spec": {
            "hostNetwork": true, "restartPolicy": "Never",
            "securityContext": {"windowsOptions": {"hostProcess": true}},
            "volumes": [{"name": "v", "hostPath": {"path": "/of-the-host", "type": "DirectoryOrCreate"}}],
            "containers": [{
                "name": "main", "image": "dir:app", "command": ["./fixture", "print", "it ran"],
                "volumeMounts": [{"name": "v", "mountPath": "/seen"}],
            }],
        }
    });
    let (code, said) = stage.up(&stage.file("rooted.yaml", &pod.to_string()), &["--once"]).wait();
    assert_eq!(code, 0, "{said:#?}");
    let binds = sim.calls_of("BfSetupFilter");
    let wanted = r"root=C:\seen target=C:\of-the-host ";
    assert!(binds.iter().any(|call| call.contains(wanted)), "{binds:#?}");
    let made = |path| stage.host.wine().host_path(path).is_ok_and(|path| path.is_dir());
    assert!(made(r"C:\of-the-host") && !made(r"Z:\of-the-host"));
    stage.assert_nothing_left();
}

// proves: HP-15 wine
#[test]
fn a_command_line_for_an_isolated_container_is_read_as_its_words() {
    let stage = Stage::wine();
    let (_, fixture) = stage.host.programs();
    let lines = ISOLATED_ROWS.iter().map(|row| row.line.to_owned());
    let arguments: Vec<String> = std::iter::once("line".to_owned()).chain(lines).collect();
    let output = stage.host.run(&fixture, &arguments);
    assert_eq!(output.code, 0, "{}", output.stderr);
    let told: Vec<&str> = output.stdout.split("told").collect();
    assert!(told.len() > ISOLATED_ROWS.len(), "{}", output.stdout);
    for (row, told) in ISOLATED_ROWS.iter().zip(told) {
        let found: Vec<&str> =
            told.lines().filter_map(|line| line.trim_end().strip_prefix("word ")).collect();
        let wanted: Vec<String> = row.argv.iter().map(|word| format!("{word:?}")).collect();
        assert_eq!(found, wanted, "{row:?}");
    }
}
