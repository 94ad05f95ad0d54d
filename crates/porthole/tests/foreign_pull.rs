//! `porthole up` of pods whose image is in a registry: distribution, behind a proxy that misbehaves on demand.

#[expect(dead_code, reason = "each kind of stage is used by its own tests")]
mod stage;

use std::path::PathBuf;
use std::time::Duration;

use stage::{Stage, eventually};
use testbed::image::{Image, ImageBuilder, Layer};
use testbed::registry::{Auth, Fault, Options, Registry, Wrong};

const BLOBS: &str = "/v2/*/blobs/*";
const MANIFESTS: &str = "/v2/*/manifests/*";

struct Bench {
    registry: Registry,
    stage: Stage,
}

/// What one `porthole up --once` left.
struct Ended {
    code: i32,
    said: String,
}

// === impl Bench ===

impl Bench {
    fn with(auth: Auth) -> Bench {
        let registry = Registry::start(Options { auth }).expect("a registry");
        let bench = Bench { registry, stage: Stage::twin() };
        bench.push("try/app:1", "one");
        bench
    }

    fn new() -> Bench {
        Bench::with(Auth::Open)
    }

    fn push(&self, name: &str, word: &str) -> Image {
        let windows = ImageBuilder::new("windows", "amd64").os_version("10.0.20348.1").build().expect("made");
        let index = Image::index(&[windows, self.linux(word)]);
        self.registry.push(&index, name).expect("pushed");
        index
    }

    /// An image whose variable tells it from others.
    fn linux(&self, word: &str) -> Image {
        let fixture = std::env::var_os("PORTHOLE_FIXTURE").expect("PORTHOLE_FIXTURE is set by the gate");
        let program = Layer::new().host_file("bin/fixture", fixture, 0o755).expect("a layer");
        let words = Layer::new().file("etc/word", word, 0o644);
        let image = ImageBuilder::new("linux", "amd64").layer(program).layer(words);
        image.entrypoint(["/bin/fixture"]).env("WORD", word).build().expect("made")
    }

    fn name(&self, rest: &str) -> String {
        format!("{}/{rest}", self.registry.address())
    }

    fn pod(&self, image: &str, policy: &str) -> PathBuf {
        let file = self.stage.pod("web", &[]);
        let text = std::fs::read_to_string(&file).expect("written");
        let policy =
            if policy.is_empty() { String::new() } else { format!("    imagePullPolicy: {policy}\n") };
        let text = text
            .replace("image: dir:app\n", &format!("image: {image:?}\n{policy}"))
            .replace("command: [\"./fixture\"]", "args: [env, WORD]");
        std::fs::write(&file, text).expect("written");
        file
    }

    fn up(&self, rest: &str, policy: &str) -> Ended {
        let (code, said) = self.stage.up(&self.pod(&self.name(rest), policy), &["--once"]).wait();
        Ended { code, said: said.join("\n") }
    }

    /// How often clients asked for such things, since the log was cleared.
    fn asked(&self, kind: &str) -> usize {
        let requests = self.registry.requests();
        requests.iter().filter(|request| request.path.contains(&format!("/{kind}/"))).count()
    }

    /// What is in a room of the store.
    fn stored(&self, room: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.stage.root().join("images").join(room)).into_iter();
        entries.flatten().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }
}

// === impl Ended ===

impl Ended {
    fn ran(&self, word: &str) {
        assert_eq!(self.code, 0, "{}", self.said);
        assert!(self.said.contains(&format!("| {word}")), "{}", self.said);
    }

    /// It is no, and these words say why.
    fn refused(&self, words: &[&str]) {
        self.came_to_nothing(1, words);
    }

    /// No container started, and these words say why.
    fn came_to_nothing(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{}", self.said);
        let missing: Vec<_> = words.iter().filter(|word| !self.said.contains(**word)).collect();
        assert!(missing.is_empty() && !self.said.contains("started"), "{missing:?} not in: {}", self.said);
    }
}

#[test]
fn a_pod_runs_by_reference_and_the_second_time_nothing_moves() {
    let bench = Bench::new();
    let first = bench.up("try/app:1", "");
    first.ran("one");
    let name = bench.name("try/app:1");
    assert!(first.said.contains(&format!("porthole: pulling {name}")), "{}", first.said);
    assert!(first.said.contains(&format!("porthole: pulled {name}, ")), "{}", first.said);
    // A configuration and two layers, each once.
    assert_eq!(bench.asked("blobs"), 3, "{:?}", bench.registry.requests());
    bench.registry.clear_requests();
    let second = bench.up("try/app:1", "IfNotPresent");
    second.ran("one");
    assert!(!second.said.contains("pull"), "{}", second.said);
    assert_eq!(bench.registry.requests(), []);
    bench.stage.assert_nothing_left();
}

#[test]
fn what_is_here_runs_without_a_registry_unless_it_must_be_asked() {
    let bench = Bench::new();
    bench.up("try/app:1", "").ran("one");
    bench.registry.refuse();
    for policy in ["", "IfNotPresent", "Never"] {
        bench.up("try/app:1", policy).ran("one");
    }
    let name = bench.name("try/app:1");
    bench.up("try/app:1", "Always").refused(&[&name, "could not be asked", "Connection refused"]);
    bench.registry.accept().expect("listens again");
    bench.up("try/app:1", "Always").ran("one");
}

#[test]
fn a_pod_that_runs_is_taken_up_again_while_its_registry_is_away() {
    let bench = Bench::new();
    let file = bench.pod(&bench.name("try/app:1"), "Always");
    let text =
        std::fs::read_to_string(&file).expect("written").replace("args: [env, WORD]", "args: [stubborn]");
    std::fs::write(&file, text.replace("PeriodSeconds: 20", "PeriodSeconds: 0")).expect("written");
    let up = bench.stage.up(&file, &[]);
    up.wait_for("started");
    up.kill();
    bench.registry.refuse();
    let up = bench.stage.up(&file, &[]);
    up.wait_for("taken up again");
    up.interrupt();
    assert_eq!(up.wait().0, 0);
    bench.stage.assert_nothing_left();
}

#[test]
fn never_refuses_what_is_not_here() {
    let bench = Bench::new();
    bench.up("try/app:1", "Never").refused(&["imagePullPolicy is Never", &bench.name("try/app:1")]);
    bench
        .up("try/app:1", "Sometimes")
        .refused(&["wanted Always, IfNotPresent or Never, found \"Sometimes\""]);
    assert_eq!(bench.registry.requests(), []);
}

#[test]
fn latest_is_asked_for_each_time_and_moves_only_what_is_new() {
    let bench = Bench::new();
    bench.push("try/app:latest", "one");
    bench.up("try/app", "").ran("one");
    bench.registry.clear_requests();
    bench.up("try/app", "").ran("one");
    assert_eq!((bench.asked("manifests"), bench.asked("blobs")), (2, 0), "{:?}", bench.registry.requests());
    bench.push("try/app:latest", "two");
    bench.up("try/app", "").ran("two");
    bench.up("try/app", "Never").ran("two");
}

#[test]
fn a_digest_is_held_to() {
    let bench = Bench::new();
    let index = bench.push("try/app:1", "one");
    bench.push("try/app:1", "two");
    bench.up(&format!("try/app@{}", index.digest()), "").ran("one");
    bench.up(&format!("try/app:1@{}", index.digest()), "").ran("one");
    bench.registry.fault(Fault::new(Wrong::Flip { at: 40 }).method("GET").path(MANIFESTS));
    let two = bench.push("try/app:3", "three");
    bench.up(&format!("try/app@{}", two.digest()), "").refused(&["it is damaged", two.digest()]);
}

#[test]
fn a_damaged_blob_is_refused_and_nothing_of_it_stays() {
    let bench = Bench::new();
    bench.registry.fault(Fault::new(Wrong::Flip { at: 100 }).method("GET").path(BLOBS).after(1));
    bench.up("try/app:1", "").refused(&["it is damaged", "has the digest sha256:"]);
    for room in ["records", "layers"] {
        assert_eq!(bench.stored(room), Vec::<String>::new(), "{room}");
    }
    // The configuration once, each of two layers at most three times.
    assert!(bench.asked("blobs") <= 1 + 2 * 3, "{:?}", bench.registry.requests());
    bench.registry.clear_faults();
    bench.up("try/app:1", "").ran("one");
}

#[test]
fn a_cut_is_tried_again() {
    let bench = Bench::new();
    // Layers come side by side, and only the large one has so many bytes.
    let image = bench.linux("one");
    let (large, _) = image.blobs().iter().max_by_key(|(_, bytes)| bytes.len()).expect("a layer");
    let cut = Fault::new(Wrong::Cut { after: 1000 }).method("GET").path(&format!("/v2/*/blobs/{large}"));
    bench.registry.fault(cut.times(1));
    let ended = bench.up("try/app:1", "");
    ended.ran("one");
    assert!(ended.said.contains("broke in the middle of sha256:"), "{}", ended.said);
    assert!(ended.said.contains("trying again in 0."), "{}", ended.said);
    assert_eq!(bench.asked("blobs"), 4, "{:?}", bench.registry.requests());
}

#[test]
fn server_errors_and_limits_are_tried_three_times() {
    let bench = Bench::new();
    for (path, name) in [(MANIFESTS, "try/app:1"), (BLOBS, "try/other:1")] {
        bench.push(name, name);
        bench.registry.fault(Fault::new(Wrong::server_error()).path(path).times(2));
        let ended = bench.up(name, "");
        ended.ran(name);
        assert_eq!(ended.said.matches("answered 500").count(), 2, "{}", ended.said);
        bench.registry.clear_faults();
    }
    bench.registry.clear_requests();
    bench.registry.fault(Fault::new(Wrong::server_error()).path(MANIFESTS));
    bench.up("try/app:2", "").refused(&["answered 500", &bench.name("try/app:2")]);
    assert_eq!(bench.asked("manifests"), 3);
    bench.registry.clear_faults();
    let limit = Wrong::too_many_requests(Duration::from_secs(1));
    bench.registry.fault(Fault::new(limit).path(MANIFESTS).times(1));
    bench.push("try/app:2", "two");
    bench.up("try/app:2", "").ran("two");
}

#[test]
fn what_will_not_change_is_asked_once() {
    let bench = Bench::new();
    bench.up("try/app:none", "").refused(&["does not have it (404)", "check the name and the tag"]);
    bench.registry.fault(Fault::new(Wrong::unauthorized("Basic realm=\"x\"")).path(MANIFESTS));
    bench.up("try/app:1", "").refused(&["wants a login (401)", "no credentials for it are known here"]);
    assert_eq!(bench.asked("manifests"), 2, "{:?}", bench.registry.requests());
    let (user, password, lifetime) = ("jane".into(), "secret".into(), Duration::from_secs(60));
    let closed = Bench::with(Auth::Token { user, password, lifetime });
    closed.up("try/app:1", "").refused(&["wants a login (401)", "it may be a private image"]);
}

/// Without a cluster a pod's pull secret stands in a file: its own or another one.
#[test]
fn a_private_image_is_pulled_with_the_secret_that_the_pod_names() {
    let (user, password) = ("jane".to_owned(), "se cret".to_owned());
    let bench = Bench::with(Auth::Basic { user, password });
    let file = bench.pod(&bench.name("try/app:1"), "Always");
    let text = std::fs::read_to_string(&file).expect("written");
    let text = text.replace("  containers:", "  imagePullSecrets: [{name: pull}]\n  containers:");
    std::fs::write(&file, &text).expect("written");
    let secret = |word: &str| {
        let accounts = format!(
            r#"{{"auths":{{"{}":{{"username":"jane","password":"{word}"}}}}}}"#,
            bench.registry.address()
        );
        format!(
            "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: pull}}\n\
             type: kubernetes.io/dockerconfigjson\nstringData: {{.dockerconfigjson: '{accounts}'}}\n"
        )
    };
    let up = |files: &[&PathBuf]| {
        let more: Vec<_> = files[1..].iter().map(|file| file.to_str().expect("text")).collect();
        let (code, said) = bench.stage.up(files[0], &[&["--once"], &more[..]].concat()).wait();
        Ended { code, said: said.join("\n") }
    };
    up(&[&file]).refused(&["spec.imagePullSecrets[0]: there is no Secret \"pull\"", "wants a login (401)"]);
    let wrong = bench.stage.file("wrong.yaml", &secret("another word"));
    let refused = up(&[&file, &wrong]);
    refused.refused(&["try/app:1"]);
    assert!(!refused.said.contains("another word"), "a password is shown: {}", refused.said);
    let beside = bench.stage.file("secret.yaml", &secret("se cret"));
    up(&[&file, &beside]).ran("one");
    std::fs::write(&file, text + &secret("se cret")).expect("written");
    up(&[&file]).ran("one");
    bench.stage.assert_nothing_left();
}

#[test]
fn an_image_for_another_system_says_what_it_is_for() {
    let bench = Bench::new();
    let build = |version| ImageBuilder::new("windows", "amd64").os_version(version).build().expect("made");
    let index = Image::index(&[build("10.0.17763.1"), build("10.0.20348.1")]);
    bench.registry.push(&index, "try/windows:1").expect("pushed");
    let offers = "no image for linux/amd64: it offers windows/amd64 10.0.17763.1, windows/amd64 10.0.20348.1";
    bench.up("try/windows:1", "").refused(&[offers]);
    bench.registry.push(&build("10.0.20348.1"), "try/one:1").expect("pushed");
    bench.up("try/one:1", "").refused(&["it offers windows/amd64 10.0.20348.1"]);
    // Without an index too.
    bench.registry.push(&bench.linux("plain"), "try/plain:1").expect("pushed");
    bench.up("try/plain:1", "").ran("plain");
}

#[test]
fn an_interrupt_ends_a_pull_and_a_kill_leaves_what_the_next_start_sweeps() {
    let bench = Bench::new();
    bench.registry.fault(Fault::new(Wrong::Slow { bytes_per_second: 2000 }).path(BLOBS).after(1));
    let file = bench.pod(&bench.name("try/app:1"), "");
    let unfinished = || bench.stored("layers").into_iter().any(|name| name.starts_with("unfinished-"));
    for interrupt in [true, false] {
        let up = bench.stage.up(&file, &["--once"]);
        up.wait_for("pulling");
        eventually("blobs come", || unfinished().then_some(()));
        if interrupt {
            up.interrupt();
            let (code, said) = up.wait();
            Ended { code, said: said.join("\n") }.came_to_nothing(130, &["interrupted"]);
            assert!(!unfinished() && bench.stored("records").is_empty(), "{:?}", bench.stored("layers"));
        } else {
            up.kill();
            assert!(unfinished(), "{:?}", bench.stored("layers"));
        }
    }
    bench.registry.clear_faults();
    bench.up("try/app:1", "").ran("one");
    assert!(!unfinished(), "{:?}", bench.stored("layers"));
    bench.stage.assert_nothing_left();
}

#[test]
fn layers_of_many_directories_are_unpacked_with_few_open_files() {
    let bench = Bench::new();
    let wide = |number| {
        (0..200).fold(Layer::new(), |layer, dir| layer.file(&format!("{number}/{dir}/file"), "x", 0o644))
    };
    let image = (0..8).fold(ImageBuilder::new("linux", "amd64"), |image, number| image.layer(wide(number)));
    bench.registry.push(&image.build().expect("made"), "try/wide:1").expect("pushed");
    // So many layers are unpacked at once; each may have a few dozen files and directories open.
    let layers = std::thread::available_parallelism().map_or(4, usize::from).clamp(4, 8);
    let most = layers * 64 + 64;
    let mut pull = std::process::Command::new("prlimit");
    pull.arg(format!("--nofile={most}:{most}")).arg(env!("CARGO_BIN_EXE_porthole"));
    pull.args(["image", "pull", &bench.name("try/wide:1"), "--root"]).arg(bench.stage.root());
    let output = pull.output().expect("prlimit starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
