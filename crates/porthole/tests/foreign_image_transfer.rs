//! Images that `porthole image` saves and pushes, judged by skopeo, umoci and containerd; and theirs by us.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use testbed::guard::Guard;
use testbed::process::{Daemon, wait_for};
use testbed::registry::{Options, Registry};
use testbed::tools::{debian, go_tool};

const DOCKERFILE: &str = "FROM scratch\nCOPY busybox /bin/\nWORKDIR /data\nCOPY words .\nENV WORD=saved\n\
                          ENTRYPOINT [\"/bin/busybox\"]\nCMD [\"cat\", \"words\"]\n";
const NAME: &str = "example.com/try/app:1";
const WORDS: &str = "hello from the image\n";
const PATIENCE: Duration = Duration::from_secs(60);

/// A directory with a store in it, and one image built into that.
struct Bench {
    dir: tempfile::TempDir,
}

struct Ended {
    code: i32,
    stdout: String,
    stderr: String,
}

// === impl Bench ===

impl Bench {
    fn new() -> Bench {
        debian::ensure(&["skopeo", "umoci", "busybox-static"]).expect("foreign tools");
        let bench = Bench { dir: tempfile::tempdir().expect("a directory") };
        fs::write(bench.path("words"), WORDS).expect("written");
        fs::copy("/bin/busybox", bench.path("busybox")).expect("copied");
        fs::write(bench.path("Dockerfile"), DOCKERFILE).expect("written");
        bench.porthole(&["build", "-t", NAME, "."]);
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// `porthole image …`, which must succeed; what it printed.
    fn porthole(&self, words: &[&str]) -> String {
        self.porthole_at("state", words)
    }

    fn porthole_at(&self, root: &str, words: &[&str]) -> String {
        let (verb, rest) = words.split_first().expect("a verb");
        let ended =
            self.run(env!("CARGO_BIN_EXE_porthole"), &[&["image", verb, "--root", root][..], rest].concat());
        assert_eq!(ended.code, 0, "image {words:?}: {}", ended.stderr);
        ended.stdout
    }

    fn inspect(&self, root: &str, name: &str) -> Value {
        let all: Value =
            serde_json::from_str(&self.porthole_at(root, &["inspect", "-o", "json", name])).expect("JSON");
        all["images"][0].clone()
    }

    fn run(&self, program: &str, args: &[&str]) -> Ended {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.dir.path()).stdin(Stdio::null()).env_remove("SOURCE_DATE_EPOCH");
        let output = command.output().unwrap_or_else(|e| panic!("start {program}: {e}"));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let code = output.status.code().expect("not killed");
        Ended { code, stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// What a foreign program says, which must succeed.
    fn tool(&self, line: &str) -> String {
        let mut words = line.split(' ');
        let program = words.next().expect("a program");
        let ended = self.run(program, &words.collect::<Vec<_>>());
        assert_eq!(ended.code, 0, "{line}: {}", ended.stderr);
        ended.stdout
    }

    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.tool(line)).expect("JSON")
    }

    /// Loads it into a store of its own and runs it there; the image as `inspect` shows it.
    fn load_and_run(&self, from: &str, name: &str) -> Value {
        let root = format!("state-{}", from.replace('/', "-"));
        self.porthole_at(&root, &["load", from]);
        let pod = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: loaded}}\nspec:\n  hostNetwork: true\n  \
             restartPolicy: Never\n  securityContext: {{windowsOptions: {{hostProcess: true, \
             runAsUserName: 'NT AUTHORITY\\SYSTEM'}}}}\n  containers:\n  \
             - {{name: main, image: {name:?}, imagePullPolicy: Never}}\n"
        );
        fs::write(self.path("pod.yaml"), pod).expect("written");
        let words = ["up", "--root", &root, "--once", "pod.yaml"];
        let ended = self.run(env!("CARGO_BIN_EXE_porthole"), &words);
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(ended.code == 0 && said.contains("| hello from the image"), "{said}");
        self.inspect(&root, name)
    }
}

// proves: HP-17 foreign
#[test]
fn skopeo_reads_what_is_saved_in_each_format() {
    let bench = Bench::new();
    let ours = bench.inspect("state", NAME);
    for (format, file, theirs) in [
        ("oci-archive", "oci.tar", "oci-archive:oci.tar"),
        ("oci-dir", "oci", "oci:oci:1"),
        ("docker-archive", "docker.tar", "docker-archive:docker.tar"),
    ] {
        bench.porthole(&["save", "--format", format, "-o", file, NAME]);
        let found = bench.json(&format!("skopeo inspect {theirs}"));
        assert_eq!(found["Env"], serde_json::json!(["WORD=saved"]), "{format}");
        if format != "docker-archive" {
            assert_eq!(found["Digest"], ours["digest"], "{format}");
        }
        let config = bench.tool(&format!("skopeo inspect --raw --config {theirs}"));
        assert_eq!(format!("sha256:{}", sha256(config.as_bytes())), ours["id"], "{format}");
        // Every blob is read and checked on the way.
        bench.tool(&format!("skopeo --insecure-policy copy {theirs} dir:copy-{format}"));
    }
    let tags = bench.json("skopeo list-tags docker-archive:docker.tar");
    assert_eq!(tags["Tags"], serde_json::json!([NAME]));
}

fn sha256(bytes: &[u8]) -> String {
    testbed::image::digest(bytes).replace("sha256:", "")
}

// proves: HP-17 foreign
#[test]
fn umoci_unpacks_what_is_saved() {
    let bench = Bench::new();
    bench.porthole(&["save", "--format", "oci-dir", "-o", "layout", NAME]);
    bench.tool("umoci unpack --image layout:1 bundle");
    assert_eq!(fs::read_to_string(bench.path("bundle/rootfs/data/words")).expect("there"), WORDS);
}

// proves: HP-17 foreign
#[test]
fn what_skopeo_writes_in_each_format_is_loaded_and_runs() {
    let bench = Bench::new();
    let id = bench.inspect("state", NAME)["id"].clone();
    bench.porthole(&["save", "-o", "ours.tar", NAME]);
    for (theirs, file) in [
        (format!("oci-archive:theirs.tar:{NAME}"), "theirs.tar"),
        (format!("docker-archive:docker.tar:{NAME}"), "docker.tar"),
        (format!("oci:layout:{NAME}"), "layout"),
    ] {
        bench.tool(&format!("skopeo --insecure-policy copy oci-archive:ours.tar {theirs}"));
        let found = bench.load_and_run(file, NAME);
        assert_eq!(found["names"], serde_json::json!([NAME]), "{theirs}");
        if !theirs.starts_with("docker") {
            assert_eq!(found["id"], id, "{theirs}");
        }
    }
    for packed in ["gzip -k docker.tar", "zstd -q theirs.tar"] {
        if packed.starts_with("zstd") {
            debian::ensure(&["zstd"]).expect("zstd");
        }
        bench.tool(packed);
    }
    bench.load_and_run("docker.tar.gz", NAME);
    bench.load_and_run("theirs.tar.zst", NAME);
}

// proves: HP-17 foreign
#[test]
fn several_images_of_one_archive_are_found_by_skopeo() {
    let bench = Bench::new();
    let other = "example.com/try/other:2";
    fs::write(bench.path("words"), "other words\n").expect("written");
    bench.porthole(&["build", "-t", other, "."]);
    bench.porthole(&["save", "--format", "docker-archive", "-o", "two.tar", NAME, other]);
    for (name, word) in [(NAME, "copy-1"), (other, "copy-2")] {
        bench.tool(&format!("skopeo --insecure-policy copy docker-archive:two.tar:{name} dir:{word}"));
    }
    bench.porthole_at("both", &["load", "two.tar"]);
    for name in [NAME, other] {
        assert_eq!(bench.inspect("both", name)["id"], bench.inspect("state", name)["id"]);
    }
}

// proves: HP-17 foreign
#[test]
fn skopeo_pulls_what_is_pushed() {
    let bench = Bench::new();
    let registry = Registry::start(Options::default()).expect("a registry");
    bench.porthole(&["save", "-o", "ours.tar", NAME]);
    let name = format!("{}/try/pushed:1", registry.address());
    bench.porthole(&["load", "-t", &name, "ours.tar"]);
    bench.porthole(&["push", &name]);
    let found = bench.json(&format!("skopeo inspect --tls-verify=false docker://{name}"));
    assert_eq!(found["Digest"], bench.inspect("state", NAME)["digest"]);
    bench.tool(&format!("skopeo --insecure-policy copy --src-tls-verify=false docker://{name} oci:pulled:1"));
    bench.tool("umoci unpack --image pulled:1 bundle");
    assert_eq!(fs::read_to_string(bench.path("bundle/rootfs/data/words")).expect("there"), WORDS);
}

/// A containerd of our own, apart from any that the host has.
struct Containerd<'a> {
    guard: &'a Guard,
    _daemon: Daemon,
    ctr: PathBuf,
}

// === impl Containerd ===

impl<'a> Containerd<'a> {
    fn start(guard: &'a Guard) -> Containerd<'a> {
        debian::ensure(&["runc"]).expect("runc");
        let (containerd, shim) = (tool("containerd"), tool("containerd-shim-runc-v2"));
        let dir = guard.dir();
        // Without CRI, which wants a network.
        let text = format!(
            "version = 3\nroot = '{0}/root'\nstate = '{0}/state'\n\
             disabled_plugins = ['io.containerd.grpc.v1.cri', 'io.containerd.cri.v1.images', 'io.containerd.cri.v1.runtime']\n\
             [grpc]\naddress = '{0}/c.sock'\n",
            dir.display()
        );
        fs::write(dir.join("config.toml"), text).expect("written");
        let own = std::env::var_os("PATH").unwrap_or_default();
        let first = shim.parent().expect("a directory").to_path_buf();
        let path = std::env::join_paths(std::iter::once(first).chain(std::env::split_paths(&own)));
        let mut command = Command::new(containerd);
        command.arg("--config").arg(dir.join("config.toml")).env("PATH", path.expect("a path"));
        let mut daemon = Daemon::spawn(guard, "containerd", &mut command, dir).expect("started");
        wait_for("containerd's socket", PATIENCE, || {
            daemon.check()?;
            Ok(dir.join("c.sock").exists().then_some(()))
        })
        .expect("listens");
        Containerd { guard, _daemon: daemon, ctr: tool("ctr") }
    }

    fn ctr(&self, words: &[&str]) -> String {
        let mut command = Command::new(&self.ctr);
        command.arg("--address").arg(self.guard.dir().join("c.sock")).args(words).stdin(Stdio::null());
        let output = self.guard.mark(&mut command).output().expect("ctr");
        assert!(output.status.success(), "ctr {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

fn tool(name: &str) -> PathBuf {
    go_tool(name).unwrap_or_else(|e| panic!("{name}: {e:#}"))
}

// proves: HP-17 foreign
#[test]
fn containerd_imports_and_runs_what_is_saved() {
    let bench = Bench::new();
    let guard = Guard::new("ctr").expect("a guard");
    let containerd = Containerd::start(&guard);
    for (number, format) in ["oci-archive", "docker-archive"].into_iter().enumerate() {
        let file = bench.path(&format!("{format}.tar")).display().to_string();
        bench.porthole(&["save", "--format", format, "-o", &file, NAME]);
        containerd.ctr(&["images", "import", &file]);
        let listed = containerd.ctr(&["images", "ls", "-q"]);
        assert!(listed.lines().any(|name| name == NAME), "{format}: {listed}");
        let container = format!("c{number}");
        let words = ["run", "--rm", "--net-host", "--snapshotter", "native", NAME, &container];
        assert_eq!(containerd.ctr(&words), WORDS, "{format}");
        containerd.ctr(&["images", "rm", "--sync", NAME]);
    }
    // And back: what containerd exports is loaded.
    let file = bench.path("oci-archive.tar").display().to_string();
    containerd.ctr(&["images", "import", &file]);
    let exported = bench.path("exported.tar").display().to_string();
    containerd.ctr(&["images", "export", &exported, NAME]);
    let found = bench.load_and_run("exported.tar", NAME);
    assert_eq!(found["id"], bench.inspect("state", NAME)["id"]);
    assert!(Path::new(&exported).is_file());
}
