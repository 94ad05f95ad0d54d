//! The registry as clients that are not ours see it: skopeo and curl.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testbed::image::{Image, ImageBuilder, Layer, MANIFEST, digest};
use testbed::registry::{Auth, Fault, Options, Registry, TOKEN_PATH, Wrong};
use testbed::tools::debian;

const BLOBS: &str = "/v2/*/blobs/*";

struct Bench {
    registry: Registry,
    dir: TempDir,
    image: Image,
}

/// What curl got.
struct Got {
    exit: Option<i32>,
    status: u16,
    headers: String,
    body: Vec<u8>,
}

// === impl Bench ===

impl Bench {
    fn with(auth: Auth) -> Self {
        debian::ensure(&["skopeo", "curl"]).expect("clients");
        let registry = Registry::start(Options { auth }).expect("a registry");
        Self { registry, dir: tempfile::tempdir().expect("a directory"), image: sample() }
    }

    /// With the image in it.
    fn new() -> Self {
        let bench = Self::with(Auth::Open);
        bench.registry.push(&bench.image, "try/sample:1").expect("pushed");
        bench
    }

    fn remote(&self) -> String {
        format!("docker://{}/try/sample", self.registry.address())
    }

    fn local(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn skopeo(&self, args: &[&str]) -> Output {
        let mut skopeo = Command::new("skopeo");
        // Passwords and short names must not come from this user's files.
        skopeo.env("HOME", self.dir.path()).env("REGISTRY_AUTH_FILE", self.local("auth.json"));
        skopeo
            .args(["--insecure-policy", "--command-timeout", "60s"])
            .args(args)
            .output()
            .expect("skopeo starts")
    }

    fn pull(&self, to: &str) -> Output {
        let (from, to) = (format!("{}:1", self.remote()), format!("dir:{}", self.local(to).display()));
        self.skopeo(&["copy", "--src-tls-verify=false", "--retry-times", "0", &from, &to])
    }

    fn curl(&self, path: &str, more: &[&str]) -> Got {
        let (headers, body) = (self.local("headers"), self.local("body"));
        let _ = std::fs::remove_file(&body);
        let mut curl = Command::new("curl");
        curl.args(["-sS", "-w", "%{http_code}", "--max-time", "60", "-D"]).arg(&headers).arg("-o").arg(&body);
        let url = format!("http://{}{path}", self.registry.address());
        let output = curl.args(more).arg(url).output().expect("curl starts");
        Got {
            exit: output.status.code(),
            status: String::from_utf8_lossy(&output.stdout).parse().unwrap_or_default(),
            headers: std::fs::read_to_string(headers).unwrap_or_default().to_lowercase(),
            body: std::fs::read(body).unwrap_or_default(),
        }
    }

    /// The larger of the image's blobs.
    fn blob(&self) -> (String, Vec<u8>) {
        let largest = self.image.blobs().iter().max_by_key(|(_, bytes)| bytes.len()).expect("has blobs");
        (largest.0.clone(), largest.1.to_vec())
    }

    fn blob_path(&self) -> String {
        format!("/v2/try/sample/blobs/{}", self.blob().0)
    }
}

fn sample() -> Image {
    // Does not compress well, so that the layer stays large enough to be cut and slowed down.
    let noise: Vec<u8> =
        (0..20_000u32).flat_map(|n| digest(&n.to_le_bytes()).as_bytes()[7..9].to_vec()).collect();
    let layer = Layer::new().file("noise", noise, 0o644);
    ImageBuilder::new("linux", "amd64").layer(layer).cmd(["/noise"]).build().expect("made")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

fn succeeds(output: &Output) {
    assert!(output.status.success(), "{}", said(output));
}

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(dir).expect("read").flatten();
    entries
        .map(|entry| {
            (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).expect("read"))
        })
        .collect()
}

#[test]
fn skopeo_copies_an_image_in_and_out_by_digest() {
    let bench = Bench::with(Auth::Open);
    let archive = bench.local("sample.tar");
    bench.image.write_oci_archive(&archive).expect("written");
    let from = format!("oci-archive:{}", archive.display());
    succeeds(&bench.skopeo(&["copy", "--dest-tls-verify=false", &from, &format!("{}:1", bench.remote())]));
    let by_digest = format!("{}@{}", bench.remote(), bench.image.digest());
    let to = format!("dir:{}", bench.local("out").display());
    succeeds(&bench.skopeo(&["copy", "--src-tls-verify=false", &by_digest, &to]));
    let files = files(&bench.local("out"));
    for (digest, bytes) in bench.image.blobs() {
        assert!(files.get(&digest[7..]) == Some(&bytes.to_vec()), "{digest} is not as it was");
    }
    assert_eq!(digest(&files["manifest.json"]), bench.image.digest());
}

#[test]
fn the_log_shows_that_each_blob_moved_once() {
    let bench = Bench::new();
    assert_eq!(bench.registry.requests(), [], "our own push is not a client's");
    succeeds(&bench.pull("out"));
    let requests = bench.registry.requests();
    for (digest, bytes) in bench.image.blobs() {
        let path = format!("/v2/try/sample/blobs/{digest}");
        let moved: Vec<_> = requests.iter().filter(|request| request.path == path).collect();
        assert_eq!(moved.len(), 1, "{requests:?}");
        assert_eq!((moved[0].method.as_str(), moved[0].status), ("GET", 200));
        assert_eq!(moved[0].bytes, bytes.len() as u64);
    }
    bench.registry.clear_requests();
    assert_eq!(bench.registry.requests(), []);
}

#[test]
fn a_range_is_answered_and_logged() {
    let bench = Bench::new();
    let got = bench.curl(&bench.blob_path(), &["-r", "10-29"]);
    assert_eq!((got.status, &got.body[..]), (206, &bench.blob().1[10..30]));
    let requests = bench.registry.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(
        (requests[0].range.as_deref(), requests[0].status, requests[0].bytes),
        (Some("bytes=10-29"), 206, 20)
    );
}

#[test]
fn a_cut_blob_is_short() {
    let bench = Bench::new();
    bench.registry.fault(Fault::new(Wrong::Cut { after: 1000 }).method("GET").path(BLOBS).times(1));
    let got = bench.curl(&bench.blob_path(), &[]);
    // 18: the transfer ended before the promised length.
    assert_eq!((got.exit, &got.body[..]), (Some(18), &bench.blob().1[..1000]));
    assert_eq!(bench.registry.requests()[0].bytes, 1000);
    let again = bench.curl(&bench.blob_path(), &[]);
    assert_eq!(
        (again.exit, again.body.len()),
        (Some(0), bench.blob().1.len()),
        "the rule was for one request"
    );
}

#[test]
fn a_flipped_byte_is_noticed_by_its_digest() {
    let bench = Bench::new();
    bench.registry.fault(Fault::new(Wrong::Flip { at: 500 }).method("GET").path(BLOBS));
    let (wanted, bytes) = bench.blob();
    let got = bench.curl(&bench.blob_path(), &[]);
    let differing: Vec<_> = (0..bytes.len()).filter(|at| got.body[*at] != bytes[*at]).collect();
    assert_eq!((got.body.len(), differing), (bytes.len(), vec![500]));
    assert_ne!(digest(&got.body), wanted);
    let output = bench.pull("out");
    assert!(!output.status.success() && said(&output).to_lowercase().contains("digest"), "{}", said(&output));
    bench.registry.clear_faults();
    succeeds(&bench.pull("again"));
}

#[test]
fn a_slow_blob_takes_its_time() {
    let bench = Bench::new();
    let bytes = bench.blob().1;
    let pace = u32::try_from(bytes.len() / 2).expect("small");
    bench.registry.fault(Fault::new(Wrong::Slow { bytes_per_second: pace }).path(BLOBS));
    let begun = Instant::now();
    let got = bench.curl(&bench.blob_path(), &[]);
    assert!(got.body == bytes, "the content is right");
    let took = begun.elapsed();
    assert!(took > Duration::from_millis(1500), "two seconds' worth of bytes came within {took:?}");
}

#[test]
fn wrong_statuses_carry_their_headers() {
    let bench = Bench::new();
    let cases = [
        (Wrong::unauthorized("Basic realm=\"x\""), 401, "www-authenticate: basic realm=\"x\""),
        (Wrong::too_many_requests(Duration::from_secs(7)), 429, "retry-after: 7"),
        (Wrong::server_error(), 500, "content-length: 0"),
    ];
    for (wrong, status, header) in cases {
        bench.registry.fault(Fault::new(wrong).path("/v2/*/manifests/*").times(1));
        let got = bench.curl("/v2/try/sample/manifests/1", &[]);
        assert_eq!(got.status, status);
        assert!(got.headers.lines().any(|line| line == header), "{}", got.headers);
        assert_eq!(bench.registry.requests().last().map(|request| request.status), Some(status));
    }
    let accept = format!("Accept: {MANIFEST}");
    let status = bench.curl("/v2/try/sample/manifests/1", &["-H", &accept]).status;
    assert_eq!(status, 200, "all rules are used up");
}

#[test]
fn skopeo_gives_up_on_a_server_error() {
    let bench = Bench::new();
    bench.registry.fault(Fault::new(Wrong::server_error()).path(BLOBS));
    let output = bench.pull("out");
    assert!(!output.status.success() && said(&output).contains("500"), "{}", said(&output));
}

#[test]
fn connections_are_closed_and_refused() {
    let bench = Bench::new();
    bench.registry.fault(Fault::new(Wrong::Close).path(BLOBS).times(1));
    // 52: not a byte came; 7: nobody listens.
    assert_eq!(bench.curl(&bench.blob_path(), &[]).exit, Some(52));
    assert_eq!(bench.registry.requests()[0].status, 0);
    bench.registry.refuse();
    assert_eq!(bench.curl("/v2/", &[]).exit, Some(7));
    bench.registry.accept().expect("listens again");
    assert_eq!(bench.curl("/v2/", &[]).status, 200);
}

#[test]
fn a_password_is_asked_for() {
    let bench = Bench::with(Auth::Basic { user: "jane".into(), password: "pä:ss".into() });
    bench.registry.push(&bench.image, "try/sample:1").expect("pushed");
    assert_eq!(bench.curl("/v2/", &[]).status, 401);
    assert_eq!(bench.curl("/v2/", &["-u", "jane:wrong"]).status, 401);
    assert_eq!(bench.curl("/v2/", &["-u", "jane:pä:ss"]).status, 200);
    let from = format!("{}:1", bench.remote());
    let inspect =
        |creds: &[&str]| bench.skopeo(&[&["inspect", "--tls-verify=false"], creds, &[&from]].concat());
    succeeds(&inspect(&["--creds", "jane:pä:ss"]));
    assert!(!inspect(&["--no-creds"]).status.success());
}

#[test]
fn skopeo_pushes_and_pulls_with_tokens() {
    let lifetime = Duration::from_secs(300);
    let bench = Bench::with(Auth::Token { user: "jane".into(), password: "secret".into(), lifetime });
    let archive = bench.local("sample.tar");
    bench.image.write_oci_archive(&archive).expect("written");
    let (from, to) = (format!("oci-archive:{}", archive.display()), format!("{}:1", bench.remote()));
    let push = ["copy", "--dest-tls-verify=false", "--dest-creds", "jane:secret", &from, &to];
    succeeds(&bench.skopeo(&push));
    let out = format!("dir:{}", bench.local("out").display());
    succeeds(&bench.skopeo(&["copy", "--src-tls-verify=false", "--src-creds", "jane:secret", &to, &out]));
    let requests = bench.registry.requests();
    assert!(requests.iter().any(|request| request.path.starts_with(TOKEN_PATH) && request.status == 200));
    let wrong = bench.skopeo(&["copy", "--src-tls-verify=false", "--src-creds", "jane:wrong", &to, &out]);
    assert!(!wrong.status.success(), "a wrong password was good enough");
    let got = bench.curl("/v2/try/sample/manifests/1", &["-H", "Authorization: Bearer made-up"]);
    assert_eq!(got.status, 401);
    assert!(got.headers.contains("scope=\"repository:try/sample:pull\""), "{}", got.headers);
}

#[test]
fn nothing_answers_after_drop() {
    let Bench { registry, dir, .. } = Bench::new();
    let address = registry.address();
    std::net::TcpStream::connect(address).expect("answers");
    drop(registry);
    std::net::TcpStream::connect(address).expect_err("gone");
    drop(dir);
}
