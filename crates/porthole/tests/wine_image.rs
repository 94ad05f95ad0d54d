//! porthole.exe's images under Wine: built, pulled, unpacked, listed, and removed while a file is open.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use testbed::image::{Image, ImageBuilder, Layer};
use testbed::registry::{Options, Registry};
use testbed::webhook::Ca;
use testbed::wine::{Output, Wine, WineBuilder};

const PATIENCE: Duration = Duration::from_secs(120);
/// Where Wine, too, finds which Windows it is.
const CURRENT_VERSION: &str = r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion";
const DOCKERFILE: &str = "# escape=`\nFROM hpc\nWORKDIR C:\\app\nCOPY bin\\agent.exe .\nCOPY conf conf\\\n\
                          ENTRYPOINT [\"agent.exe\"]\n";

struct Desk {
    dir: tempfile::TempDir,
    wine: Wine,
    exe: PathBuf,
    fixture: PathBuf,
}

// === impl Desk ===

impl Desk {
    fn new() -> Desk {
        Desk::on(Wine::builder())
    }

    /// A host with this build of Windows.
    fn of_build(build: u32, revision: u32) -> Desk {
        let version = Wine::builder().registry(CURRENT_VERSION, "CurrentBuildNumber", build.to_string());
        Desk::on(version.registry(CURRENT_VERSION, "UBR", revision))
    }

    /// A host of which this authority is one of Windows' own: Wine takes over those of the system it runs on. It knows no
    /// chain engine as new as the one that further authorities of a `hosts.toml` need.
    fn trusting(authority: &Ca) -> Desk {
        let desk = Desk::new();
        let systems = desk.wine.host_path(r"Z:\etc\ssl\certs").expect("inside");
        std::fs::create_dir_all(&systems).expect("made");
        std::fs::write(systems.join("authority.crt"), authority.pem()).expect("written");
        desk
    }

    fn on(builder: WineBuilder) -> Desk {
        let exe = PathBuf::from(std::env::var_os("PORTHOLE_EXE").expect("PORTHOLE_EXE is set by the gate"));
        let dir = tempfile::tempdir().expect("a directory");
        let fixture = PathBuf::from(std::env::var_os("FIXTURE_EXE").expect("FIXTURE_EXE is set by the gate"));
        let [ours, theirs] = [&exe, &fixture].map(|exe| exe.parent().expect("a directory").to_owned());
        let wine = builder.bind(dir.path()).bind(ours).bind(theirs).start();
        Desk { wine: wine.expect("Wine"), exe, fixture, dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn run(&self, words: &[&str]) -> Output {
        let (verb, rest) = words.split_first().expect("a verb");
        let root = self.wine.windows_path(self.path("root"));
        let command = self.wine.command(&self.exe).args(["image", verb, "--root", &root]).args(rest);
        command.current_dir(self.dir.path()).output(PATIENCE).expect("ran")
    }

    fn pull_over_tls(&self, address: &str, name: &str) -> Output {
        let certs = self.path("certs.d").join(format!("{}_", address.replace(':', "_")));
        std::fs::create_dir_all(&certs).expect("made");
        std::fs::write(certs.join("hosts.toml"), format!("server = \"https://{address}\"\n"))
            .expect("written");
        let dir = self.wine.windows_path(self.path("certs.d"));
        self.run(&["pull", "--hosts-dir", &dir, name])
    }

    fn ok(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.code, 0, "image {words:?}: {}{}", output.stdout, output.stderr);
        output.stdout
    }

    fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.ok(&[words, &["-o", "json"]].concat())).expect("JSON")
    }
}

/// An authority that tells by HTTP what it called back: Wine trusts nobody of whom it cannot learn that.
fn authority_that_answers() -> Ca {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let url = format!("http://{}/revocations", listener.local_addr().expect("bound"));
    let authority = Ca::new().expect("an authority").publishing_at(url);
    let list = authority.revocations().expect("signed");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let asked =
                BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
            assert!(asked.count() > 0, "nothing was asked");
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/pkix-crl\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                list.len()
            );
            drop(stream.write_all(&[head.as_bytes(), &list].concat()));
        }
    });
    authority
}

/// For a build that no host has: HostProcess containers do not mind. Without hives.
fn windows_image(word: &str) -> Image {
    let linux = ImageBuilder::new("linux", "amd64").build().expect("made");
    Image::index(&[linux, image_for("10.0.14393.1", word)])
}

fn image_for(version: &str, word: &str) -> Image {
    let files = Layer::new().directory("Hives", 0o755).file("Files/app/word.txt", word, 0o644);
    let image = ImageBuilder::new("windows", "amd64").os_version(version).layer(files);
    image.entrypoint(["app.exe"]).build().expect("made")
}

// proves: HP-16 wine
// proves: HP-17 wine
#[test]
fn the_executable_builds_the_digest_that_linux_builds() {
    let desk = Desk::new();
    for (name, text) in [("Dockerfile", DOCKERFILE), ("bin/agent.exe", "MZ"), ("conf/a.yaml", "a: 1\n")] {
        let path = desk.path(name);
        std::fs::create_dir_all(path.parent().expect("below")).expect("made");
        std::fs::write(path, text).expect("written");
    }
    let words = ["image", "build", "-t", "example.com/agent:1", "-o", "linux.tar", "."];
    let here = Command::new(env!("CARGO_BIN_EXE_porthole"))
        .args(words)
        .current_dir(desk.dir.path())
        .env_remove("SOURCE_DATE_EPOCH")
        .output()
        .expect("ran");
    assert!(here.status.success(), "{}", String::from_utf8_lossy(&here.stderr));
    let digest = |text: &str| text.split(' ').next().expect("a digest").to_owned();
    let ours = digest(&String::from_utf8_lossy(&here.stdout));
    assert!(ours.starts_with("sha256:"), "{ours}");
    assert_eq!(digest(&desk.ok(&["build", "-t", "example.com/agent:1", "-o", "windows.tar", "."])), ours);
    let bytes = |name: &str| std::fs::read(desk.path(name)).expect("written");
    assert!(bytes("linux.tar") == bytes("windows.tar"), "archives with one digest differ");
    // Into its store and out again.
    desk.ok(&["build", "-t", "example.com/agent:1", "."]);
    let names =
        |dir: PathBuf| std::fs::read_dir(dir).expect("there").flatten().map(|entry| entry.file_name());
    let mut left = names(desk.path("")).chain(names(desk.path("root/images")));
    assert_eq!(left.find(|name| name.to_string_lossy().starts_with("unfinished-")), None);
    assert_eq!(desk.json(&["inspect", "example.com/agent:1"])["images"][0]["digest"], ours.as_str());
    desk.ok(&["save", "-o", "saved.tar", "example.com/agent:1"]);
    desk.ok(&["rm", "example.com/agent:1"]);
    desk.ok(&["load", "saved.tar"]);
    assert_eq!(desk.json(&["inspect", "example.com/agent:1"])["images"][0]["digest"], ours.as_str());
}

/// Every file below a directory, as the host shows it.
fn files_below(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => files_below(&entry.path()),
            _ => vec![entry.path()],
        })
        .collect()
}

// proves: HP-16 wine
#[test]
fn the_executable_pulls_lists_and_removes_while_a_file_is_open() {
    let registry = Registry::start(Options::default()).expect("a registry");
    registry.push(&windows_image("hello"), "try/app:1").expect("pushed");
    let desk = Desk::new();
    let name = format!("{}/try/app:1", registry.address());
    let pulled = desk.json(&["pull", &name])["images"][0].clone();
    assert_eq!(pulled["platform"], "windows/amd64 10.0.14393.1");
    assert_eq!(desk.json(&["ls"])["images"][0]["names"], json!([name]));
    assert_eq!(desk.json(&["inspect", &name])["images"][0]["entrypoint"], json!(["app.exe"]));
    let words = |room: &str| {
        let mut files = files_below(&desk.path("root/images").join(room));
        files.retain(|path| path.ends_with("app/word.txt"));
        files
    };
    let file = words("flat").pop().expect("it is unpacked");
    assert_eq!(std::fs::read_to_string(&file).expect("there"), "hello");
    // A Windows program that has the file open and lets others delete it, as all of ours do.
    let mut running = desk
        .wine
        .command(&desk.fixture)
        .args(["lock", &desk.wine.windows_path(&file)])
        .spawn()
        .expect("started");
    let mut said = String::new();
    BufReader::new(running.stdout.take().expect("a pipe")).read_line(&mut said).expect("text");
    assert_eq!(said.trim(), "locked");
    desk.ok(&["rm", &name]);
    assert_eq!(desk.json(&["ls"])["images"], json!([]));
    assert_eq!(words("flat"), Vec::<PathBuf>::new());
    // It can come back while the old one is still open.
    desk.ok(&["pull", &name]);
    assert_eq!(words("flat").len(), 1);
    running.kill().expect("killed");
    // What was open goes from the disk with whichever verb comes next.
    desk.ok(&["fsck"]);
    assert_eq!((words("flat").len(), words("trash")), (1, Vec::new()));
}

/// What the verbs find out of an index of three builds on a host that has this one: what `explain` says of each with
/// process isolation, and what `pull` takes.
fn found_on(build: u32, revision: u32, name: &str) -> (Value, Vec<Value>, Value) {
    let desk = Desk::of_build(build, revision);
    let explained = desk.json(&["explain", "--isolation", "process", name]);
    let candidates = explained["candidates"].as_array().expect("a list").iter();
    let verdict = |each: &Value| json!([each["platform"]["os.version"], each["fits"], each["chosen"]]);
    let verdicts = candidates.map(verdict).collect();
    let pulled = desk.json(&["pull", name])["images"][0]["platform"].clone();
    let words = files_below(&desk.path("root/images/flat"));
    let word = words.iter().find(|path| path.ends_with("app/word.txt")).expect("it is unpacked");
    assert_eq!(json!(format!("windows/amd64 {}", std::fs::read_to_string(word).expect("there"))), pulled);
    (explained["host"]["osVersion"].clone(), verdicts, pulled)
}

// proves: RT-09 wine
#[test]
fn the_executable_takes_what_is_for_the_build_of_its_own_host() {
    let registry = Registry::start(Options::default()).expect("a registry");
    let versions = ["10.0.17763.1", "10.0.20348.1", "10.0.26100.1"];
    let index = Image::index(&versions.map(|version| image_for(version, version)));
    registry.push(&index, "try/app:1").expect("pushed");
    let name = format!("{}/try/app:1", registry.address());
    let verdicts = |fitting: [bool; 3], chosen: &str| -> Vec<_> {
        let each = versions.iter().zip(fitting);
        each.map(|(version, fits)| json!([version, fits, *version == chosen])).collect()
    };
    // Neither the first nor the last, and the one beside it.
    assert_eq!(
        found_on(20348, 2031, &name),
        (
            json!("10.0.20348.2031"),
            verdicts([false, true, false], versions[1]),
            json!("windows/amd64 10.0.20348.1")
        )
    );
    assert_eq!(
        found_on(26100, 4046, &name),
        (
            json!("10.0.26100.4046"),
            verdicts([false, true, true], versions[2]),
            json!("windows/amd64 10.0.26100.1")
        )
    );
}

#[test]
fn over_tls_the_executable_pulls_from_whom_it_trusts_and_keeps_nothing_of_others() {
    let registry = Registry::start(Options::default()).expect("a registry");
    registry.push(&windows_image("sealed"), "try/app:1").expect("pushed");
    let authority = authority_that_answers();
    let front = registry.with_tls(&authority).expect("TLS");
    // Wine compares certificates with names, not with addresses.
    let address = format!("localhost:{}", front.address().port());
    let desk = Desk::trusting(&Ca::new().expect("another"));
    let name = format!("{address}/try/app:1");
    let refused = desk.pull_over_tls(&address, &name);
    assert_eq!(refused.code, 1, "{}{}", refused.stdout, refused.stderr);
    let said = refused.stderr.lines().last().unwrap_or_default();
    let sentence = format!("the certificate of {address} is not one that this host trusts");
    assert!(said.starts_with("porthole: ") && said.contains(&sentence), "{}", refused.stderr);
    assert_eq!(registry.requests(), [], "it was asked for the image all the same");
    assert_eq!(desk.json(&["ls"])["images"], json!([]));
    for room in ["blobs", "ingest", "layers", "flat", "records"] {
        assert_eq!(files_below(&desk.path("root/images").join(room)), Vec::<PathBuf>::new(), "{room}");
    }

    let desk = Desk::trusting(&authority);
    let pulled = desk.pull_over_tls(&address, &name);
    assert_eq!(pulled.code, 0, "{}{}", pulled.stdout, pulled.stderr);
    assert_eq!(desk.json(&["ls"])["images"][0]["names"], json!([name]));
    let words = files_below(&desk.path("root/images/flat"));
    let word = words.iter().find(|path| path.ends_with("app/word.txt")).expect("it is unpacked");
    assert_eq!(std::fs::read_to_string(word).expect("there"), "sealed");
}
