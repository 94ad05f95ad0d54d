use serde_json::{Value, json};

use super::*;
use crate::archive::Archive;
use crate::blobs::Blobs;
use crate::document::{Configuration, Manifest};
use crate::platform::{Host, Isolation};
use crate::reference::Reference;

struct World {
    dir: tempfile::TempDir,
    os: Option<&'static str>,
    versions: Vec<String>,
    args: BTreeMap<String, String>,
    target: Option<&'static str>,
}

/// What an archive that was built has.
struct Seen {
    digest: String,
    archive: Archive,
    warnings: Vec<String>,
    _dir: tempfile::TempDir,
}

impl World {
    fn new(files: &[(&str, &str)]) -> World {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        World { dir, os: None, versions: Vec::new(), args: BTreeMap::new(), target: None }
    }

    fn build(&self, text: &str) -> Result<Seen, BuildError> {
        self.build_at(None, text)
    }

    /// The same, with the Dockerfile at a path of its own.
    fn build_at(&self, path: Option<&Path>, text: &str) -> Result<Seen, BuildError> {
        let dockerfile = Dockerfile::parse(text)?;
        let work = tempfile::tempdir().unwrap();
        let request = Request {
            dockerfile: &dockerfile,
            path,
            context: self.dir.path(),
            os: self.os,
            architecture: "amd64",
            os_versions: &self.versions,
            args: &self.args,
            target: self.target,
            time: 0,
            bases: Bases { content: None, access: &Access::default() },
            work: work.path(),
            caller: Caller::silent(),
        };
        let built = build(&request)?;
        let path = work.path().join("image.tar");
        built.write_archive(&path, Some(&Reference::parse("example.com/app:1").unwrap())).unwrap();
        let archive = Archive::open(&path).unwrap();
        Ok(Seen { digest: built.digest().to_owned(), archive, warnings: built.warnings, _dir: work })
    }

    fn error(&self, text: &str) -> String {
        let Err(error) = self.build(text) else { panic!("it was built") };
        let source =
            std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
        format!("{error}{source}")
    }
}

impl Seen {
    fn manifest(&self, os: &str) -> Manifest {
        self.archive.find(&Host::new(os, "amd64"), Isolation::HostProcess).unwrap().manifest
    }

    fn json(&self, os: &str) -> Value {
        let config = self.manifest(os).config;
        serde_json::from_slice(&self.archive.document(&config).unwrap()).unwrap()
    }

    /// The files of all layers, as a host would have them.
    fn files(&self, os: &str) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let layout =
            if os == "windows" { crate::unpack::Layout::Windows } else { crate::unpack::Layout::Plain };
        for layer in &self.manifest(os).layers {
            crate::unpack::apply(self.archive.stream(layer, 0).unwrap(), dir.path(), layout).unwrap();
        }
        let mut files = Vec::new();
        list(dir.path(), "", &mut files);
        files.retain(|file| !file.starts_with("Windows/"));
        files
    }
}

fn list(dir: &Path, name: &str, files: &mut Vec<String>) {
    let mut entries: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap()).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let name = format!("{name}{}", entry.file_name().display());
        if entry.file_type().unwrap().is_dir() {
            list(&entry.path(), &format!("{name}/"), files);
        } else {
            files.push(name);
        }
    }
}

// proves: HP-17 pure
#[test]
fn an_image_for_host_process_containers() {
    let world = World::new(&[("bin/agent.exe", "x"), ("conf/a.yaml", "y"), ("Dockerfile", "")]);
    let seen = world
        .build(
            "# escape=`\nFROM hpc\nARG NAME=agent\nENV PATH=C:\\app;C:\\Windows MODE=${MODE:-fast}\nWORKDIR C:\\app\n\
             COPY bin\\$NAME.exe .\nCOPY conf C:\\app\\conf\\\nUSER NT AUTHORITY\\SYSTEM\nEXPOSE 80 8000-8001/udp\n\
             LABEL a=b\nENTRYPOINT [\"agent.exe\"]\nCMD [\"--run\"]",
        )
        .unwrap();
    assert_eq!(seen.warnings, Vec::<String>::new());
    assert_eq!(seen.files("windows"), ["app/agent.exe", "app/conf/a.yaml"]);
    let json = seen.json("windows");
    assert_eq!((json["os"].as_str(), json.get("os.version")), (Some("windows"), None));
    let runs = &json["config"];
    assert_eq!(runs["Env"], json!(["PATH=C:\\app;C:\\Windows", "MODE=fast"]));
    assert_eq!((&runs["WorkingDir"], &runs["User"]), (&json!("C:\\app"), &json!("NT AUTHORITY\\SYSTEM")));
    assert_eq!((&runs["Entrypoint"], &runs["Cmd"]), (&json!(["agent.exe"]), &json!(["--run"])));
    assert_eq!(runs["ExposedPorts"], json!({"80/tcp": {}, "8000/udp": {}, "8001/udp": {}}));
    let layers = seen.manifest("windows").layers.len();
    assert_eq!((layers, json["rootfs"]["diff_ids"].as_array().unwrap().len()), (3, 3));
}

// proves: HP-17 pure
#[test]
fn two_builds_in_different_places_have_one_digest() {
    let files = [("b", "2"), ("a/x", "1")];
    let text = "FROM scratch\nCOPY . /data/\nCMD [\"/data/b\"]";
    let one = World::new(&files).build(text).unwrap().digest;
    let backwards: Vec<_> = files.iter().rev().copied().collect();
    assert_eq!(World::new(&backwards).build(text).unwrap().digest, one);
    assert_ne!(World::new(&[("b", "3"), ("a/x", "1")]).build(text).unwrap().digest, one);
}

// proves: HP-17 pure
#[test]
fn several_os_versions_become_an_index() {
    let mut world = World::new(&[("a.exe", "x")]);
    world.versions = vec!["10.0.20348.1".into(), "10.0.26100.1".into()];
    let seen = world.build("FROM hpc\nCOPY a.exe /").unwrap();
    for (build, version) in [("10.0.20348.9", "10.0.20348.1"), ("10.0.26100.9", "10.0.26100.1")] {
        let host = Host::new("windows", "amd64").with_version(build);
        let manifest = seen.archive.find(&host, Isolation::Process).unwrap().manifest;
        let configuration: Configuration =
            serde_json::from_slice(&seen.archive.document(&manifest.config).unwrap()).unwrap();
        assert_eq!(configuration.platform.os_version.as_deref(), Some(version));
    }
    world.versions = vec!["ten".into()];
    assert_eq!(
        world.error("FROM hpc"),
        "--os-version \"ten\" is no Windows version: wanted 10.0.BUILD[.REVISION]"
    );
    world.versions = vec!["10.0.1".into()];
    world.os = Some("linux");
    assert_eq!(world.error("FROM scratch"), "--os-version is for windows, and the image is for linux");
}

#[test]
fn stages_give_files_to_later_ones() {
    let world = World::new(&[("src/app", "x"), ("src/notes", "y")]);
    let text = "FROM scratch AS files\nCOPY src /out/\nFROM never AS unused\nRUN make\n\
                FROM files AS more\nENV A=1\nFROM scratch\nCOPY --from=files /out/app /bin/\nCOPY --from=0 out/notes /n";
    let seen = world.build(text).unwrap();
    assert_eq!(seen.files("linux"), ["bin/app", "n"]);
    let mut other = World::new(&[("src/app", "x")]);
    other.target = Some("more");
    let seen = other.build(text).unwrap();
    assert_eq!(
        (seen.files("linux"), &seen.json("linux")["config"]["Env"]),
        (vec!["out/app".into()], &json!(["A=1"]))
    );
    other.target = Some("none");
    assert_eq!(other.error(text), "there is no stage \"none\": it has files, unused, more");
    other.target = None;
    let text = "FROM scratch\nCOPY --from=7 a b";
    assert!(other.error(text).starts_with("line 2: there is no stage \"7\" before it"));
}

#[test]
fn a_base_from_an_archive_keeps_what_it_had() {
    let world = World::new(&[("a", "x"), ("b", "y")]);
    let base = world
        .build("FROM scratch\nENV A=1 B=2\nWORKDIR /w\nCOPY a a\nENTRYPOINT [\"a\"]\nCMD [\"c\"]")
        .unwrap();
    std::fs::copy(base._dir.path().join("image.tar"), world.dir.path().join("base.tar")).unwrap();
    let seen = world.build("FROM oci-archive:base.tar\nENV B=3 C=$A\nCOPY b .\nENTRYPOINT [\"d\"]").unwrap();
    assert_eq!(seen.files("linux"), ["w/a", "w/b"]);
    let runs = seen.json("linux")["config"].clone();
    assert_eq!(runs["Env"], json!(["A=1", "B=3", "C=1"]));
    // A new entry point does not get the words that were for the old one.
    assert_eq!((&runs["Entrypoint"], runs.get("Cmd")), (&json!(["d"]), None));
    let mut windows = World::new(&[]);
    std::fs::copy(base._dir.path().join("image.tar"), windows.dir.path().join("base.tar")).unwrap();
    windows.os = Some("windows");
    let error = windows.error("FROM oci-archive:base.tar");
    assert!(error.ends_with("no image for windows/amd64: it offers linux/amd64"), "{error}");
}

#[test]
fn what_dockerignore_names_is_not_there_and_the_dockerfiles_own_one_wins() {
    let world = World::new(&[
        ("app", "x"),
        ("secret.key", "y"),
        ("notes.md", "z"),
        (".dockerignore", "*.key\n.*"),
        ("build/Own.dockerignore", "*.md\n.*\nbuild"),
    ]);
    let text = "FROM scratch\nCOPY . /";
    let files = |dockerfile: &str| {
        world.build_at(Some(&world.dir.path().join(dockerfile)), text).unwrap().files("linux")
    };
    assert_eq!(world.build(text).unwrap().files("linux"), ["app", "build/Own.dockerignore", "notes.md"]);
    assert_eq!(files("build/Dockerfile"), ["app", "build/Own.dockerignore", "notes.md"]);
    assert_eq!(files("build/Own"), ["app", "secret.key"]);
    let error = world.error("FROM scratch\nCOPY secret.key /");
    assert!(error.ends_with(": .dockerignore leaves it out"), "{error}");
}

#[test]
fn add_puts_what_a_pattern_matches_into_a_directory() {
    let world = World::new(&[("a.txt", "1"), ("b.txt", "2"), ("c.md", "3"), ("sub/d.txt", "4")]);
    let seen = world.build("FROM scratch\nADD *.txt /d/\nADD c.md sub /e/").unwrap();
    assert_eq!(seen.files("linux"), ["d/a.txt", "d/b.txt", "e/c.md", "e/d.txt"]);
}

#[test]
fn labels_are_in_the_configuration_and_the_last_of_a_name_wins() {
    let world = World::new(&[]);
    let text = "FROM hpc\nARG V=7\nLABEL version=$V \"two words\"=\"x y\"\nLABEL a=1 empty=\nLABEL a=2";
    let labels = &world.build(text).unwrap().json("windows")["config"]["Labels"];
    assert_eq!(labels, &json!({"version": "7", "two words": "x y", "a": "2", "empty": ""}));
}

#[test]
fn refusals_say_what_to_do() {
    let world = World::new(&[("a", "x"), ("b.tar", "\u{1f}x"), ("x/a", "1")]);
    let run = world.error("FROM hpc\nRUN echo");
    assert!(
        run.starts_with(
            "line 2: RUN needs a running Windows, and nothing is run while building: do it before"
        ),
        "{run}"
    );
    let add = world.error("FROM scratch\nADD https://example.com/x /");
    assert_eq!(
        add,
        "line 2: ADD https://example.com/x would fetch it, which is not done here: \
         fetch it before and COPY it, so that its content is known"
    );
    assert!(world.error("FROM scratch\nCOPY c /").starts_with("line 2: \"c\" is not in "));
    assert!(world.error("FROM hpc\nCOPY a C:/con").contains("which Windows does not take as a name"));
    assert!(world.error("FROM hpc\nEXPOSE http").contains("EXPOSE wants PORT"));
    assert!(world.error("FROM Upper").contains("line 1: image \"Upper\""));
    assert!(world.error("FROM scratch\nCOPY --chmod=rwx a /").contains("--chmod wants an octal number"));
}

#[test]
fn what_is_done_otherwise_is_warned_of() {
    let world = World::new(&[("a", "x")]);
    let published = "FROM mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image:v1.0.0";
    let text = format!("{published}\nCOPY --chown=1:1 a C:\\app\\x\nHEALTHCHECK CMD x\nCOPY *.none /");
    let warnings = world.build(&text).unwrap().warnings;
    let starts = [
        "line 1: mcr.",
        "line 2: \\ is the escape",
        "line 2: --chown",
        "line 3: OCI images have no health",
        "line 4: its patterns",
    ];
    assert_eq!(warnings.len(), starts.len(), "{warnings:#?}");
    for (warning, start) in warnings.iter().zip(starts) {
        assert!(warning.starts_with(start), "{warning}");
    }
}

#[test]
fn the_shell_form_gets_the_shell_of_the_system() {
    let world = World::new(&[]);
    let runs = |text: &str, os: &str| world.build(text).unwrap().json(os)["config"].clone();
    assert_eq!(runs("FROM hpc\nCMD a  b", "windows")["Cmd"], json!(["cmd", "/S", "/C", "a  b"]));
    assert_eq!(runs("FROM scratch\nENTRYPOINT a", "linux")["Entrypoint"], json!(["/bin/sh", "-c", "a"]));
    assert_eq!(
        runs("FROM hpc\nSHELL [\"pwsh\",\"-c\"]\nCMD a", "windows")["Cmd"],
        json!(["pwsh", "-c", "a"])
    );
}
