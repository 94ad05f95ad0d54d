//! The golden table as containers: every row one container of one pod, which tells how it was started.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testbed::image::{ImageBuilder, Layer};

use crate::stage::Stage;

#[path = "../../../plan/golden/start.rs"]
mod table;

pub(crate) use table::*;

/// Has the fixture tell its start, whatever its words are.
const TELL: &str = "FIXTURE_TELLS_START";
/// The directory that is the rows' image.
const IMAGE: &str = "golden";

/// What a container said of its own start.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) exe: String,
    pub(crate) cwd: String,
    pub(crate) image: String,
    /// As the debugger shows them.
    pub(crate) words: Vec<String>,
    whole: bool,
}

/// What became of every row, by its number.
#[derive(Debug)]
pub(crate) struct Played {
    told: BTreeMap<usize, Told>,
    ended: BTreeMap<usize, String>,
}

/// How the table's texts are written on this stage.
pub(crate) type Written<'a> = &'a dyn Fn(&str) -> String;

/// Lays the image's files down: each is the fixture.
pub(crate) fn lay_image(stage: &Stage, world: &World) {
    let (_, fixture) = stage.host.programs();
    for file in world.image_files {
        lay(&fixture, &stage.dir().join(IMAGE).join(file.replace('\\', "/")));
    }
}

pub(crate) fn lay(fixture: &Path, path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::copy(fixture, path).unwrap();
}

/// Runs these rows as one pod.
pub(crate) fn play(
    stage: &Stage,
    world: &World,
    os: &str,
    rows: &[(usize, &Row)],
    written: Written<'_>,
) -> Played {
    let containers: Vec<Value> =
        rows.iter().map(|(number, row)| container(stage, world, os, *number, row, written)).collect();
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "golden"},
        "spec": {
            "hostNetwork": true, "restartPolicy": "Never",
            "securityContext": {"windowsOptions": {"hostProcess": true}},
            "containers": containers,
        }
    });
    let (code, said) = stage.up(&stage.file("golden.yaml", &pod.to_string()), &["--once"]).wait();
    let refused = rows.iter().any(|(_, row)| matches!(row.wanted, Wanted::Refused(_)));
    assert_eq!(code, if refused { 128 } else { 0 }, "{said:#?}");
    stage.assert_nothing_left();
    Played::read(&said)
}

fn container(
    stage: &Stage,
    world: &World,
    os: &str,
    number: usize,
    row: &Row,
    written: Written<'_>,
) -> Value {
    let words: Vec<String> = row.words.iter().map(|word| written(word)).collect();
    let mut container = json!({
        "name": name(number), "image": format!("dir:{IMAGE}"), "command": words,
        "env": [{"name": "PATH", "value": written(world.path)}, {"name": TELL, "value": "yes"}],
    });
    match row.dir {
        Dir::Pod("") => {}
        Dir::Pod(dir) => container["workingDir"] = written(dir).into(),
        Dir::Image(dir) => {
            container["image"] = format!("oci-archive:{}", archive(stage, world, os, number, dir)).into();
        }
    }
    container
}

fn name(number: usize) -> String {
    format!("row-{number}")
}

/// An image that names its working directory itself.
fn archive(stage: &Stage, world: &World, os: &str, number: usize, dir: &str) -> String {
    let (_, fixture) = stage.host.programs();
    let (top, layer) = match os {
        "windows" => ("Files/", Layer::new().directory("Hives", 0o755)),
        _ => ("", Layer::new()),
    };
    // Its directories and the program of these rows: what is packed and unpacked takes its time.
    let paths = world.image_files.iter().map(|file| format!("{top}{}", file.replace('\\', "/")));
    let layer = paths.fold(layer, |layer, path| match path.rsplit_once('/') {
        Some((dir, _)) if !path.contains("agent") => layer.directory(dir, 0o755),
        _ if path.contains("agent") => layer.host_file(&path, &fixture, 0o755).unwrap(),
        _ => layer,
    });
    let name = format!("image-{number}.tar");
    let image = ImageBuilder::new(os, "amd64").layer(layer).workdir(dir);
    image.write_oci_archive(stage.dir().join(&name)).unwrap();
    name
}

/// Where an outside file of the table's world really is.
pub(crate) fn lay_host(stage: &Stage, world: &World, place: impl Fn(&str) -> PathBuf) {
    let (_, fixture) = stage.host.programs();
    world.host_directories.iter().for_each(|dir| std::fs::create_dir_all(place(dir)).unwrap());
    world.host_files.iter().for_each(|file| lay(&fixture, &place(file)));
}

// === impl Played ===

impl Played {
    fn read(said: &[String]) -> Played {
        let mut played = Played { told: BTreeMap::new(), ended: BTreeMap::new() };
        for line in said {
            let Some((number, rest)) =
                line.split_once("default/golden/row-").and_then(|(_, rest)| number(rest))
            else {
                continue;
            };
            if let Some(told) = rest.strip_prefix(" | ") {
                played.told.entry(number).or_default().hear(told);
            } else if rest.starts_with(" ended") {
                played.ended.insert(number, rest.to_owned());
            }
        }
        played
    }

    /// What the container of this row said, all of it.
    pub(crate) fn told(&self, number: usize, row: &Row) -> &Told {
        let told = self.told.get(&number).filter(|told| told.whole);
        told.unwrap_or_else(|| {
            panic!("row {number} {row:?}: {:?} {:?}", self.ended.get(&number), self.told.get(&number))
        })
    }

    /// That the row's program, which is not ours, came to a good end.
    pub(crate) fn assert_ran(&self, number: usize, row: &Row) {
        let ended = self.ended.get(&number).map(String::as_str);
        assert_eq!(ended, Some(" ended with code 0 (Completed)"), "row {number} {row:?}");
    }

    /// That the row was refused, for the reason wanted.
    pub(crate) fn assert_refused(&self, number: usize, row: &Row, named: &str) {
        let ended = self.ended.get(&number).unwrap_or_else(|| panic!("row {number} {row:?} has no end"));
        let reasons = [
            format!(" ended with code 128 (StartError): {named:?} was not found; looked at "),
            format!(" ended with code 128 (StartError): the working directory {named:?} is neither in "),
        ];
        assert!(reasons.iter().any(|reason| ended.starts_with(reason)), "row {number} {row:?}: {ended}");
        assert!(!self.told.contains_key(&number), "row {number} ran all the same");
    }
}

fn number(text: &str) -> Option<(usize, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    Some((text[..end].parse().ok()?, &text[end..]))
}

// === impl Told ===

impl Told {
    fn hear(&mut self, line: &str) {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("exe", rest) => self.exe = rest.to_owned(),
            ("cwd", rest) => self.cwd = rest.to_owned(),
            ("image", rest) => self.image = rest.to_owned(),
            ("word", rest) => self.words.push(rest.to_owned()),
            ("told", _) => self.whole = true,
            // Not our program: it never becomes whole.
            _ => self.words.push(line.to_owned()),
        }
    }
}
