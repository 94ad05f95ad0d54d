//! Images that `porthole image build` makes, judged by skopeo, umoci, hivexsh, reglookup and a registry; and theirs by us.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use testbed::image::{Image, ImageBuilder, Layer};
use testbed::registry::{Auth, Options, Registry};
use testbed::tools::debian;

const AGENT: &str = "# escape=`\nFROM hpc\nWORKDIR C:\\app\nCOPY bin\\agent.exe .\nCOPY conf conf\\\n\
                     ENV PATH=C:\\app;C:\\Windows\\System32\nENTRYPOINT [\"agent.exe\"]\nCMD [\"--run\"]\n";
const BUSYBOX: &str = "FROM scratch\nCOPY busybox /bin/\nWORKDIR /data\nCOPY words .\nENV WORD=built\n\
                       ENTRYPOINT [\"/bin/busybox\"]\nCMD [\"cat\", \"words\"]\n";

/// A directory to build in.
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
        debian::ensure(&["skopeo", "umoci", "libhivex-bin", "reglookup", "busybox-static"])
            .expect("foreign tools");
        let bench = Bench { dir: tempfile::tempdir().expect("a directory") };
        for (name, text) in
            [("bin/agent.exe", "MZ"), ("conf/a.yaml", "a: 1\n"), ("words", "hello from the image\n")]
        {
            bench.write(name, text);
        }
        fs::copy("/bin/busybox", bench.path("busybox")).expect("copied");
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("below")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// Builds this Dockerfile into `image.tar`; its digest.
    fn build(&self, dockerfile: &str, args: &[&str]) -> String {
        let ended = self.try_build(dockerfile, args);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        ended.stdout.split(' ').next().expect("a digest").to_owned()
    }

    fn try_build(&self, dockerfile: &str, args: &[&str]) -> Ended {
        self.write("Dockerfile", dockerfile);
        let fixed = ["image", "build", "-t", "example.com/try/app:1", "-o", "image.tar"];
        self.porthole(&[&fixed[..], args, &["."]].concat())
    }

    fn porthole(&self, args: &[&str]) -> Ended {
        self.run(env!("CARGO_BIN_EXE_porthole"), args)
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

    /// The archive as a layout directory.
    fn layout(&self) -> &'static str {
        fs::create_dir_all(self.path("layout")).expect("made");
        self.tool("tar xf image.tar -C layout");
        "layout:1"
    }
}

// proves: HP-17 foreign
#[test]
fn skopeo_reads_a_windows_image_and_finds_our_digest() {
    let bench = Bench::new();
    let digest = bench.build(AGENT, &[]);
    let found = bench.json("skopeo --override-os windows inspect oci-archive:image.tar");
    assert_eq!(found["Digest"], digest.as_str());
    assert_eq!((found["Os"].as_str(), found["Architecture"].as_str()), (Some("windows"), Some("amd64")));
    assert_eq!(found["Layers"].as_array().map(Vec::len), Some(3));
    let config = bench.json("skopeo --override-os windows inspect --config oci-archive:image.tar");
    assert_eq!(config["config"]["WorkingDir"], "C:\\app");
    assert_eq!(config["config"]["Entrypoint"], serde_json::json!(["agent.exe"]));
    assert_eq!(config.get("os.version"), None);
    // Every blob is read and checked on the way.
    bench.tool("skopeo --insecure-policy --override-os windows copy oci-archive:image.tar dir:copy");
}

// proves: HP-17 foreign
// proves: HP-16 foreign
#[test]
fn umoci_unpacks_a_windows_image_and_others_read_its_hives() {
    let bench = Bench::new();
    bench.build(AGENT, &[]);
    let layout = bench.layout();
    bench.tool(&format!("umoci raw unpack --image {layout} root"));
    assert_eq!(fs::read_to_string(bench.path("root/Files/app/agent.exe")).expect("there"), "MZ");
    assert!(bench.path("root/Files/app/conf/a.yaml").is_file());
    assert!(bench.path("root/Hives").is_dir());
    for hive in ["DEFAULT", "SAM", "SECURITY", "SOFTWARE", "SYSTEM"] {
        let path = format!("root/Files/Windows/System32/config/{hive}");
        let xml = bench.tool(&format!("hivexml {path}"));
        assert!(xml.contains(&format!("<node name=\"{hive}\" root=\"1\">")), "{xml}");
        bench.write("commands", "ls\nlsval\n");
        assert_eq!(bench.tool(&format!("hivexsh -f commands {path}")), "", "{hive}");
        let table = bench.tool(&format!("reglookup -s {path}"));
        assert!(table.contains("/,KEY,,1970-01-01 00:00:00,S-1-5-32-544,S-1-5-18,"), "{table}");
        assert!(table.contains("S-1-5-18:ALLOW:"), "{table}");
    }
}

/// hivexsh can also write: a hive that it changed and reads again had every structure in its place.
#[test]
fn hivexsh_adds_a_key_to_a_hive_and_reglookup_finds_it() {
    let bench = Bench::new();
    bench.build(AGENT, &[]);
    let layout = bench.layout();
    bench.tool(&format!("umoci raw unpack --image {layout} root"));
    let path = "root/Files/Windows/System32/config/SYSTEM";
    bench.write("commands", "add Setup\ncd \\Setup\nsetval 1\nKind\nstring:host-process\ncommit\n");
    bench.tool(&format!("hivexsh -w -f commands {path}"));
    let table = bench.tool(&format!("reglookup {path}"));
    assert!(table.contains("/Setup/Kind,SZ,host-process"), "{table}");
}

// proves: HP-17 foreign
#[test]
fn several_os_versions_are_an_index_that_skopeo_reads() {
    let bench = Bench::new();
    let digest = bench.build(AGENT, &["--os-version", "10.0.20348.1", "--os-version", "10.0.26100.1"]);
    let raw = bench.json("skopeo inspect --raw oci-archive:image.tar");
    let versions: Vec<_> = raw["manifests"]
        .as_array()
        .expect("an index")
        .iter()
        .map(|each| &each["platform"]["os.version"])
        .collect();
    assert_eq!(versions, ["10.0.20348.1", "10.0.26100.1"]);
    assert!(digest.starts_with("sha256:"));
    let config = bench.json("skopeo --override-os windows inspect --config oci-archive:image.tar");
    assert_eq!(config["os.version"], "10.0.20348.1");
    bench.tool("skopeo --insecure-policy copy --all oci-archive:image.tar dir:copy");
    let explained =
        bench.porthole(&["image", "explain", "oci-archive:image.tar", "--host-build", "26100", "-o", "json"]);
    let explained: Value = serde_json::from_str(&explained.stdout).expect("JSON");
    let chosen: Vec<_> =
        explained["candidates"].as_array().expect("candidates").iter().map(|each| &each["chosen"]).collect();
    assert_eq!(chosen, [false, true]);
}

// proves: HP-17 foreign
#[test]
fn two_builds_in_different_places_are_the_same_to_the_byte() {
    let once = |touch: bool, dockerfile: &str| {
        let bench = Bench::new();
        if touch {
            bench.tool("touch -d 2001-02-03 words bin/agent.exe");
            bench.tool("chmod 600 words conf/a.yaml");
            bench.tool("chmod 700 busybox conf");
        }
        let digest = bench.build(dockerfile, &[]);
        (digest, fs::read(bench.path("image.tar")).expect("written"))
    };
    for dockerfile in [AGENT, BUSYBOX] {
        let (one, other) = (once(false, dockerfile), once(true, dockerfile));
        assert_eq!(one.0, other.0);
        assert!(one.1 == other.1, "archives with one digest differ");
    }
}

// proves: HP-17 foreign
#[test]
fn umoci_unpacks_a_linux_image_and_porthole_runs_it() {
    let bench = Bench::new();
    bench.build(BUSYBOX, &[]);
    let layout = bench.layout();
    bench.tool(&format!("umoci unpack --image {layout} bundle"));
    assert_eq!(
        fs::read_to_string(bench.path("bundle/rootfs/data/words")).expect("there"),
        "hello from the image\n"
    );
    assert_eq!(bench.tool("stat -c %a bundle/rootfs/bin/busybox bundle/rootfs/data/words"), "755\n644\n");
    let spec: Value =
        serde_json::from_slice(&fs::read(bench.path("bundle/config.json")).expect("there")).expect("JSON");
    assert_eq!(spec["process"]["args"], serde_json::json!(["/bin/busybox", "cat", "words"]));
    up(&bench, "oci-archive:image.tar", "IfNotPresent");
}

#[test]
fn an_image_built_into_the_store_runs_by_its_name_without_a_registry() {
    let bench = Bench::new();
    bench.write("Dockerfile", BUSYBOX);
    let built = bench.porthole(&["image", "build", "--root", "state", "-t", "example.com/try/app:1", "."]);
    assert_eq!(built.code, 0, "{}", built.stderr);
    assert!(built.stdout.contains("in this machine's store"), "{}", built.stdout);
    up(&bench, "example.com/try/app:1", "Never");
    let left: Vec<_> =
        fs::read_dir(bench.path("state/images")).expect("a store").flatten().map(|e| e.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("unfinished")), "{left:?}");
}

fn up(bench: &Bench, image: &str, policy: &str) {
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: built}}\nspec:\n  hostNetwork: true\n  restartPolicy: Never\n  \
         securityContext: {{windowsOptions: {{hostProcess: true, runAsUserName: 'NT AUTHORITY\\SYSTEM'}}}}\n  \
         containers:\n  - {{name: main, image: {image:?}, imagePullPolicy: {policy}}}\n"
    );
    bench.write("pod.yaml", &pod);
    let ended = bench.porthole(&["up", "--root", "state", "--once", "pod.yaml"]);
    assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert!(said.contains("| hello from the image"), "{said}");
}

#[test]
fn an_image_that_umoci_made_is_a_base_for_ours() {
    let bench = Bench::new();
    bench.tool("umoci init --layout theirs");
    bench.tool("umoci new --image theirs:base");
    bench.tool("umoci unpack --image theirs:base bundle");
    bench.tool("install -D busybox bundle/rootfs/bin/busybox");
    bench.tool("umoci repack --image theirs:base bundle");
    bench.tool("umoci config --image theirs:base --config.env WORD=theirs --config.entrypoint /bin/busybox");
    bench.tool("skopeo --insecure-policy copy oci:theirs:base oci-archive:base.tar");
    let digest = bench.build(
        "FROM oci-archive:base.tar\nCOPY words /data/\nENV WORD=$WORD-ours\nCMD [\"cat\",\"data/words\"]",
        &[],
    );
    let found = bench.json("skopeo inspect oci-archive:image.tar");
    assert_eq!(found["Digest"], digest.as_str());
    assert_eq!(found["Env"], serde_json::json!(["WORD=theirs-ours"]));
    up(&bench, "oci-archive:image.tar", "IfNotPresent");
}

#[test]
fn the_example_is_an_image_that_skopeo_reads() {
    let bench = Bench::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hpc-image");
    let built = bench.porthole(&["image", "build", "-o", "image.tar", &example.display().to_string()]);
    assert_eq!((built.code, built.stderr.as_str()), (0, ""));
    let config = bench.json("skopeo --override-os windows inspect --config oci-archive:image.tar");
    assert_eq!(config["config"]["Entrypoint"], serde_json::json!(["cmd.exe", "/c", "hello.cmd"]));
    fs::create_dir_all(bench.path("layout")).expect("made");
    bench.tool("skopeo --insecure-policy --override-os windows copy oci-archive:image.tar oci:layout:1");
    bench.tool("umoci raw unpack --image layout:1 root");
    assert_eq!(names(&bench.path("root/Files/hello")), ["conf", "hello.cmd"]);
}

#[test]
fn a_base_in_a_registry_is_picked_by_its_version() {
    let bench = Bench::new();
    let registry = Registry::start(Options { auth: Auth::Open }).expect("a registry");
    let base = |version: &str| {
        let files = Layer::new().directory("Hives", 0o755).file("Files/version.txt", version, 0o644);
        ImageBuilder::new("windows", "amd64")
            .os_version(version)
            .layer(files)
            .env("BASE", version)
            .build()
            .expect("made")
    };
    let index = Image::index(&[base("10.0.17763.1"), base("10.0.20348.1"), base("10.0.26100.1")]);
    registry.push(&index, "try/base:1").expect("pushed");
    let from = format!("FROM {}/try/base:1\nCOPY words /\n", registry.address());
    bench.build(&from, &["--os-version", "10.0.20348.7", "--os-version", "10.0.26100.7"]);
    let raw = bench.json("skopeo inspect --raw oci-archive:image.tar");
    assert_eq!(raw["manifests"].as_array().map(Vec::len), Some(2));
    let config = bench.json("skopeo --override-os windows inspect --config oci-archive:image.tar");
    assert_eq!(config["config"]["Env"], serde_json::json!(["BASE=10.0.20348.1"]));
    let none = bench.try_build(&from, &["--os-version", "10.0.19042.1"]);
    assert_eq!(none.code, 1);
    let words = "no image for windows/amd64 10.0.19042.1 with process isolation: it offers windows/amd64 10.0.17763.1";
    assert!(none.stderr.contains(words), "{}", none.stderr);
    let image = format!("{}/try/base:1", registry.address());
    let explained =
        bench.porthole(&["image", "explain", &image, "--host-build", "20348", "--isolation", "process"]);
    assert_eq!(explained.code, 0, "{}", explained.stderr);
    let taken: Vec<_> =
        explained.stdout.lines().map(|line| line.split(' ').next().unwrap_or_default()).collect();
    assert_eq!(taken, ["TAKEN", "no", "yes", "no"], "{}", explained.stdout);
}

#[test]
fn a_directory_of_the_base_keeps_its_mode_wherever_it_is_named() {
    let bench = Bench::new();
    let layer = Layer::new().directory("tmp", 0o1777).directory("srv", 0o700).symlink("var/tmp", "/tmp");
    let base = ImageBuilder::new("linux", "amd64").layer(layer).build().expect("made");
    base.write_oci_archive(bench.path("base.tar")).expect("written");
    bench.build(
        "FROM oci-archive:base.tar\nWORKDIR /var/tmp\nWORKDIR /tmp\nCOPY words .\nCOPY conf /srv\nWORKDIR /new\n",
        &[],
    );
    let layout = bench.layout();
    bench.tool(&format!("umoci unpack --image {layout} bundle"));
    let modes = "stat -c %n=%a bundle/rootfs/tmp bundle/rootfs/srv bundle/rootfs/new bundle/rootfs/tmp/words";
    let wanted =
        "bundle/rootfs/tmp=1777\nbundle/rootfs/srv=700\nbundle/rootfs/new=755\nbundle/rootfs/tmp/words=644\n";
    assert_eq!(bench.tool(modes), wanted);
    assert_eq!(bench.tool("readlink bundle/rootfs/var/tmp"), "/tmp\n");
    assert!(bench.path("bundle/rootfs/srv/a.yaml").is_file());
}

#[test]
fn links_stay_links_and_lead_no_copy_out_of_the_context() {
    let bench = Bench::new();
    fs::create_dir(bench.path("links")).expect("made");
    bench.tool("ln -s /etc/passwd links/outside");
    bench.tool("ln -s ../words links/words");
    bench.tool("ln -s words inside");
    bench.build("FROM scratch\nCOPY links /links/\nCOPY inside /copied\n", &[]);
    let layout = bench.layout();
    bench.tool(&format!("umoci unpack --image {layout} bundle"));
    assert_eq!(
        bench.tool("readlink bundle/rootfs/links/outside bundle/rootfs/links/words"),
        "/etc/passwd\n../words\n"
    );
    assert_eq!(bench.tool("cat bundle/rootfs/copied"), "hello from the image\n");
    let out = bench.try_build("FROM scratch\nCOPY links/outside /x\n", &[]);
    assert_eq!(out.code, 1, "{}", out.stdout);
    assert!(out.stderr.contains("links/outside leads out of the directory"), "{}", out.stderr);
    bench.tool("tar cf packed.tar words");
    let add = bench.try_build("FROM scratch\nADD packed.tar /x/\n", &[]);
    assert!(add.stderr.contains("line 2: ADD packed.tar would unpack it"), "{}", add.stderr);
    bench.build("FROM scratch\nCOPY packed.tar /x/\n", &[]);
}

#[test]
fn refusals_leave_nothing_behind() {
    let bench = Bench::new();
    let before = names(bench.dir.path());
    let run = bench.try_build("FROM hpc\nCOPY words /\nRUN whoami\n", &[]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("line 3: RUN needs a running Windows"), "{}", run.stderr);
    let parse = bench.try_build("FROM hpc\nCOPY <<EOF /x\nEOF\n", &[]);
    assert_eq!(parse.code, 2, "{}", parse.stderr);
    assert!(parse.stderr.contains("here-document"), "{}", parse.stderr);
    let mut after = names(bench.dir.path());
    after.retain(|name| name != "Dockerfile");
    assert_eq!(after, before);
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .expect("there")
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
