use serde_json::{Value, json};

use super::*;
use crate::archive::Archive;
use crate::blobs::Blobs;
use crate::document::{Configuration, Manifest};
use crate::platform::{Host, Isolation};
use crate::reference::Reference;
use crate::store::Store;

mod platforms;

struct World {
    dir: tempfile::TempDir,
    os: Option<&'static str>,
    versions: Vec<String>,
    args: BTreeMap<String, String>,
    target: Option<&'static str>,
    /// The images of this machine.
    store: Option<Store>,
    access: Access,
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
        let (versions, args, access) = (Vec::new(), BTreeMap::new(), Access::default());
        World { dir, os: None, versions, args, target: None, store: None, access }
    }

    fn build(&self, text: &str) -> Result<Seen, BuildError> {
        self.build_at(None, text)
    }

    /// The same, with the Dockerfile at a path of its own.
    fn build_at(&self, path: Option<&Path>, text: &str) -> Result<Seen, BuildError> {
        self.build_for(Caller::silent(), path, text)
    }

    fn build_for(&self, caller: Caller<'_>, path: Option<&Path>, text: &str) -> Result<Seen, BuildError> {
        let dockerfile = Dockerfile::parse(text)?;
        let work = tempfile::tempdir().unwrap();
        let request = Request {
            dockerfile: &dockerfile,
            path,
            context: self.dir.path(),
            os: self.os.map(|os| os.parse().unwrap()),
            processor: &"amd64".parse().unwrap(),
            os_versions: &self.versions,
            args: &self.args,
            target: self.target,
            time: 0,
            bases: Bases { content: self.store.as_ref().map(Store::content), access: &self.access },
            work: work.path(),
            caller,
        };
        let built = build(&request)?;
        let path = work.path().join("image.tar");
        let name = Reference::parse("example.com/app:1").unwrap();
        built.write_archive(&path, Some(&name), Caller::silent()).unwrap();
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

impl Seen {
    /// What is in each layer.
    fn layers(&self, os: &str) -> Vec<Vec<crate::unpack::Listed>> {
        let layers = self.manifest(os).layers;
        let list = |layer| crate::unpack::list(self.archive.stream(layer, 0).unwrap(), None).unwrap();
        layers.iter().map(list).collect()
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

fn asked_for(text: &str, target: Option<&str>) -> Result<Vec<String>, BuildError> {
    let dockerfile = Dockerfile::parse(text)?;
    let args = BTreeMap::from([("REGISTRY".to_owned(), "r.test".to_owned())]);
    let found = references(&dockerfile, &args, target, None, &"amd64".parse().unwrap())?;
    Ok(found.iter().map(ToString::to_string).collect())
}

#[test]
fn registries_are_asked_for_what_the_wanted_stage_needs() {
    let stages = "FROM a.test/a:1 AS a\nFROM b.test/b:1 AS b\nCOPY --from=a /x /\nFROM c.test/c:1";
    for (text, target, wanted) in [
        ("FROM r.test/a:1", None, &["r.test/a:1"][..]),
        ("ARG REGISTRY=x.test\nARG TAG=2\nFROM $REGISTRY/a:$TAG", None, &["r.test/a:2"]),
        ("FROM r.test/a:1\nCOPY --from=s.test/b:1 /x /\nCOPY y /", None, &["r.test/a:1", "s.test/b:1"]),
        ("FROM scratch\nCOPY --from=busybox:1.37 /x /", None, &["docker.io/library/busybox:1.37"]),
        ("FROM r.test/a:1 AS one\nFROM one\nCOPY --from=0 /x /", None, &["r.test/a:1"]),
        (stages, None, &["c.test/c:1"]),
        (stages, Some("b"), &["b.test/b:1", "a.test/a:1"]),
        // Files, and what is made here.
        ("FROM dir:base\nCOPY --from=oci-archive:x.tar /x /", None, &[]),
        ("FROM hpc", None, &[]),
        ("FROM mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image:v1", None, &[]),
    ] {
        assert_eq!(asked_for(text, target).unwrap(), wanted, "{text}");
    }
    let error = asked_for(stages, Some("none")).unwrap_err();
    assert!(error.is_wrong_use(), "{error}");
    let error = asked_for("FROM scratch\nCOPY --from=7 a b", None).unwrap_err();
    assert_eq!(error.to_string(), "line 2: there is no stage \"7\" before it");
}

/// As `/etc/localtime` and `/lib` of distributions are links, which must not be looked for on the host.
#[test]
fn what_a_stage_gives_is_found_through_its_own_links() {
    let world = World::new(&[("usr/zone/UTC", "x"), ("usr/lib/a.so", "y"), ("etc/passwd", "z")]);
    for (dir, name, to) in
        [("etc", "localtime", "/usr/zone/UTC"), ("", "lib", "/usr/lib"), ("etc", "unit", r"a\x2db")]
    {
        let dir = os::tree::Dir::open(&world.dir.path().join(dir)).unwrap();
        dir.symlink(name.as_ref(), to.as_ref(), name == "lib").unwrap();
    }
    let text = "FROM scratch AS files\nCOPY . /\nFROM scratch\nCOPY --from=files /etc/localtime /tz\n\
                COPY --from=files /lib/*.so /l/\nCOPY --from=files /etc /e";
    let seen = world.build(text).unwrap();
    assert_eq!(seen.files("linux"), ["e/localtime", "e/passwd", "e/unit", "l/a.so", "tz"]);
    let links = seen.layers("linux").concat().into_iter().filter_map(|listed| match listed {
        crate::unpack::Listed::Symlink(path, to) => Some((path, to)),
        _ => None,
    });
    let separator = std::path::MAIN_SEPARATOR.to_string();
    let wanted =
        [("e/localtime", "/usr/zone/UTC".to_owned()), ("e/unit", r"a\x2db".replace(&separator, "/"))];
    assert_eq!(links.collect::<Vec<_>>(), wanted.map(|(path, to)| (path.to_owned(), to)));
}

/// Layers of Windows may write links with backslashes, which are letters to a Linux that builds.
#[test]
fn one_dockerfile_gives_one_digest_however_links_of_a_windows_stage_are_written() {
    let text = "FROM hpc AS files\nCOPY . /\nFROM hpc\nCOPY --from=files /app/app.exe /\n\
                COPY --from=files /bin /b";
    let build = |links: [(&str, &str, &str); 3]| {
        let world = World::new(&[("releases/v2/app.exe", "x"), ("lib/a.dll", "y"), ("bin/tool", "z")]);
        for (dir, name, to) in links {
            let dir = os::tree::Dir::open(&world.dir.path().join(dir)).unwrap();
            dir.symlink(name.as_ref(), to.as_ref(), name != "a.dll").unwrap();
        }
        world.build(text).unwrap()
    };
    let slashes = [("", "app", "releases/v2"), ("bin", "a.dll", "../lib/a.dll"), ("bin", "lib", "../lib")];
    let backslashes =
        [("", "app", r"releases\v2"), ("bin", "a.dll", r"..\lib\a.dll"), ("bin", "lib", r"..\lib")];
    let seen = build(backslashes);
    assert_eq!(seen.files("windows"), ["app.exe", "b/a.dll", "b/lib", "b/tool"]);
    assert_eq!(seen.digest, build(slashes).digest);
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

/// What a Dockerfile puts on top of a base that has `/tmp` and `/etc`.
fn above_a_base(text: &str) -> Vec<Vec<String>> {
    use crate::unpack::Listed::{Directory, Other};
    let world = World::new(&[("a", "x"), ("d/b", "y"), ("d/tmp/c", "z")]);
    let base = crate::sample::Sample::default().image("linux", &[("tmp/", ""), ("etc/passwd", "")]);
    base.write(&world.dir.path().join("base.tar"));
    let seen = world.build(&format!("FROM oci-archive:base.tar\n{text}")).unwrap();
    let name = |listed| match listed {
        Directory(path) => format!("{path}/"),
        Other(path) => path,
        other => panic!("{other:?}"),
    };
    let json = seen.json("linux");
    let mut layers = seen.layers("linux");
    assert_eq!(json["rootfs"]["diff_ids"].as_array().map(Vec::len), Some(layers.len()));
    layers.remove(0);
    layers.into_iter().map(|layer| layer.into_iter().map(name).collect()).collect()
}

#[test]
fn a_working_directory_that_the_base_has_keeps_its_mode() {
    assert_eq!(above_a_base("WORKDIR /tmp"), Vec::<Vec<String>>::new());
    assert_eq!(above_a_base("WORKDIR /tmp\nCOPY a ."), [["tmp/a"]]);
    assert_eq!(above_a_base("COPY a /tmp/\nWORKDIR /tmp\nCOPY d/b ."), [["tmp/a"], ["tmp/b"]]);
    assert_eq!(above_a_base("WORKDIR /etc/app"), [["etc/app/"]]);
    assert_eq!(above_a_base("WORKDIR /new/dir\nCOPY a ."), [["new/dir/", "new/dir/a"]]);
}

#[test]
fn copying_into_a_directory_of_the_base_leaves_it_as_it_is() {
    assert_eq!(above_a_base("COPY d /tmp"), [["tmp/b", "tmp/tmp/", "tmp/tmp/c"]]);
    assert_eq!(above_a_base("COPY d /"), [["b", "tmp/c"]]);
    assert_eq!(above_a_base("COPY a /tmp/\nCOPY d/tmp /tmp"), [["tmp/a"], ["tmp/c"]]);
    let stages = "COPY a /tmp/\nFROM oci-archive:base.tar AS one\nWORKDIR /tmp\nFROM one\nCOPY d/b .";
    assert_eq!(above_a_base(stages), [["tmp/b"]]);
}

#[test]
fn path_of_a_windows_base_is_found_in_any_case() {
    let world = World::new(&[]);
    let env = |text: &str, os: &str| world.build(text).unwrap().json(os)["config"]["Env"].clone();
    let text =
        "# escape=`\nFROM hpc AS base\nENV Path=C:\\base\nFROM base\nENV PATH=C:\\app;$PATH\nENV X=${path}";
    assert_eq!(env(text, "windows"), json!(["PATH=C:\\app;C:\\base", "X=C:\\app;C:\\base"]));
    assert_eq!(
        env("FROM scratch\nENV Path=/base\nENV X=$path-$Path", "linux"),
        json!(["Path=/base", "X=-/base"])
    );
}

#[test]
fn without_a_path_in_the_base_the_usual_one_is_not_lost() {
    let world = World::new(&[]);
    let env = |text: &str, os: &str| world.build(text).unwrap().json(os)["config"]["Env"].clone();
    let linux = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    assert_eq!(env("FROM scratch\nENV PATH=/app:$PATH", "linux"), json!([format!("PATH=/app:{linux}")]));
    let windows = env("# escape=`\nFROM hpc\nENV Path=C:\\app;$Path", "windows");
    let text = windows[0].as_str().unwrap();
    assert!(text.starts_with("Path=C:\\app;C:\\Windows\\System32;C:\\Windows;"), "{text}");
    // Who does not speak of it gets none: a HostProcess container sees the host's.
    assert_eq!(env("FROM hpc\nENV A=1", "windows"), json!(["A=1"]));
}

#[test]
fn the_target_that_arguments_name_is_the_one_that_is_made() {
    let mut world = World::new(&[]);
    let sample = crate::sample::Sample::default().image("linux", &[("etc/passwd", "")]);
    sample.write(&world.dir.path().join("linux.tar"));
    let said = |world: &World, text: &str, os: &str| {
        let text = format!("{text}\nARG TARGETOS\nARG TARGETPLATFORM\nENV IS=$TARGETOS,$TARGETPLATFORM");
        let json = world.build(&text).unwrap().json(os);
        assert_eq!(json["os"], os);
        json["config"]["Env"][json["config"]["Env"].as_array().unwrap().len() - 1].clone()
    };
    let linux = "IS=linux,linux/amd64";
    assert_eq!(said(&world, "FROM scratch", "linux"), linux);
    assert_eq!(said(&world, "FROM oci-archive:linux.tar", "linux"), linux);
    assert_eq!(said(&world, "FROM hpc", "windows"), "IS=windows,windows/amd64");
    // Other stages are built for the one that is wanted.
    assert_eq!(said(&world, "FROM hpc AS a\nFROM scratch AS b\nFROM b", "linux"), linux);
    assert_eq!(said(&world, "FROM --platform=linux/amd64 scratch", "linux"), linux);
    world.os = Some("windows");
    assert_eq!(said(&world, "FROM scratch", "windows"), "IS=windows,windows/amd64");
}

#[test]
fn the_platform_that_builds_is_linux_on_any_machine() {
    let mut world = World::new(&[]);
    let sample = crate::sample::Sample::default().image("linux", &[("etc/passwd", "")]);
    sample.image("windows", &[("Files/other", "")]).write(&world.dir.path().join("both.tar"));
    world.os = Some("windows");
    let text = "FROM --platform=$BUILDPLATFORM oci-archive:both.tar AS files\nFROM hpc\n\
                ARG BUILDPLATFORM BUILDOS BUILDARCH BUILDVARIANT TARGETVARIANT\n\
                ENV IS=$BUILDPLATFORM,$BUILDOS,$BUILDARCH,${BUILDVARIANT-unset},${TARGETVARIANT-unset}\n\
                COPY --from=files /etc/passwd /";
    let seen = world.build(text).unwrap();
    assert_eq!(seen.json("windows")["config"]["Env"], json!(["IS=linux/amd64,linux,amd64,,"]));
    assert_eq!(seen.files("windows"), ["passwd"]);
}

#[test]
fn a_copy_of_nothing_but_what_is_excluded_is_warned_of() {
    let world = World::new(&[("a.txt", "x"), ("b", "y")]);
    let seen = world.build("FROM scratch\nCOPY --exclude=*.txt a* /c/\nCOPY --exclude=*.txt * /d/").unwrap();
    assert_eq!(seen.files("linux"), ["d/b"]);
    assert_eq!(seen.warnings, ["line 2: its patterns match nothing that is not left out"]);
}

#[test]
fn a_warning_is_said_once_however_many_images_an_index_has() {
    let mut world = World::new(&[("a", "x")]);
    world.versions = vec!["10.0.20348.1".into(), "10.0.26100.1".into()];
    let seen = world.build("FROM hpc\nCOPY --chown=1 a /\nHEALTHCHECK NONE").unwrap();
    assert_eq!(seen.warnings.len(), 2, "{:#?}", seen.warnings);
}

#[test]
fn who_gives_up_is_told_so_and_nothing_else() {
    let world = World::new(&[("a", "x")]);
    let asked = std::sync::atomic::AtomicUsize::new(0);
    for patience in 0..2 {
        asked.store(0, std::sync::atomic::Ordering::Relaxed);
        let gave_up = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= patience;
        let caller = Caller { tell: &|_| {}, gave_up: &gave_up };
        let error = world.build_for(caller, None, "FROM scratch\nCOPY a /").map(drop).unwrap_err();
        assert!(matches!(error, BuildError::GaveUp), "{error}");
    }
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
    let below = "FROM hpc AS below\nSHELL [\"pwsh\",\"-c\"]\nFROM below\nCMD a";
    assert_eq!(runs(below, "windows")["Cmd"], json!(["pwsh", "-c", "a"]));
}
