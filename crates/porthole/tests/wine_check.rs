//! porthole.exe judges as porthole does: the same files give the same JSON, whatever system reads them.

mod manifests;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use testbed::wine::Wine;

const NAMES: [&str; 5] = ["good.yaml", "hpc.yaml", "mixed.yaml", "wide.yaml", "binary.yaml"];
const PATIENCE: Duration = Duration::from_secs(60);

fn here(dir: &Path, words: &[&str]) -> (i32, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_porthole")).args(words).current_dir(dir).output().expect("ran");
    (output.status.code().expect("a code"), String::from_utf8(output.stdout).expect("text"))
}

// proves: HP-01 wine
#[test]
fn the_executable_says_the_same_of_the_same_files() {
    let exe = PathBuf::from(std::env::var_os("PORTHOLE_EXE").expect("PORTHOLE_EXE is set by the gate"));
    let desk = tempfile::tempdir().expect("made");
    let dir = desk.path();
    manifests::write(dir);
    let wine = Wine::builder().bind(dir).bind(exe.parent().expect("a directory")).start().expect("Wine");
    for flags in [
        &[][..],
        &["--level", "restricted", "--policy-version", "v1.24"],
        &["--allow-privileged=false", "--host-process=off", "--policy", "policy.yaml"],
    ] {
        let words = [&["check", "-o", "json"], flags, &NAMES].concat();
        let output = wine.command(&exe).args(&words).current_dir(dir).output(PATIENCE).expect("ran");
        let (code, stdout) = here(dir, &words);
        assert_eq!((output.code, &output.stdout), (code, &stdout), "{flags:?}: {}", output.stderr);
        assert_eq!(code, 1);
        assert_eq!(manifests::digest(&serde_json::from_str(&stdout).expect("JSON")).len(), 10);
    }
}
