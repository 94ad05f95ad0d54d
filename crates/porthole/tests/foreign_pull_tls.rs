//! A registry that is not on this host is spoken to over TLS, and only with a certificate that this host trusts.
//!
//! The registry of the testbed speaks plain HTTP on loopback. Here socat puts TLS in front of it, and a hosts file
//! that only porthole sees gives it a name: by its name nobody can tell that it is near.

#[expect(dead_code, reason = "each kind of stage is used by its own tests")]
mod stage;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use stage::Stage;
use testbed::image::{ImageBuilder, Layer};
use testbed::registry::{Options, Registry};
use testbed::tools::debian;

const NAME: &str = "registry.test";

/// TLS in front of the registry.
struct Front {
    socat: Child,
    port: u16,
    certificate: PathBuf,
}

// === impl Front ===

impl Front {
    fn start(registry: &Registry, dir: &Path) -> Front {
        let [key, certificate, both] = ["key.pem", "certificate.pem", "both.pem"].map(|name| dir.join(name));
        make_certificate(&key, &certificate);
        let read = |path: &Path| std::fs::read_to_string(path).expect("made");
        std::fs::write(&both, read(&key) + &read(&certificate)).expect("written");
        let listen = format!("OPENSSL-LISTEN:0,bind=127.0.0.1,fork,verify=0,cert={}", both.display());
        let mut socat = Command::new("socat");
        socat.args(["-d", "-d", &listen, &format!("TCP:{}", registry.address())]).stderr(Stdio::piped());
        let mut socat = socat.spawn().expect("socat starts");
        let mut lines = BufReader::new(socat.stderr.take().expect("piped")).lines().map_while(Result::ok);
        let line = lines.find(|line| line.contains("listening on")).expect("socat listens");
        let port = line.rsplit(':').next().and_then(|port| port.trim().parse().ok()).expect("a port");
        // It goes on to write: a full pipe would stop it.
        std::thread::spawn(move || lines.for_each(drop));
        Front { socat, port, certificate }
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        drop(self.socat.kill());
        drop(self.socat.wait());
    }
}

fn make_certificate(key: &Path, certificate: &Path) {
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]);
    openssl.args(["-days", "2", "-subj", "/CN=test", "-addext", &format!("subjectAltName=DNS:{NAME}")]);
    openssl.args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"]).arg(key);
    let output = openssl.arg("-out").arg(certificate).output().expect("openssl starts");
    assert!(output.status.success(), "{}", said(&output));
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// `porthole up --once` of this image where the name leads to loopback.
fn up(stage: &Stage, image: &str, trusted: Option<&Path>) -> Output {
    let hosts = stage.file("hosts", &format!("127.0.0.1 localhost {NAME}\n"));
    let pod = stage.pod("web", &[]);
    let text = std::fs::read_to_string(&pod).expect("written");
    let text = text.replace("dir:app", image).replace("command: [\"./fixture\"]", "args: [env, WORD]");
    std::fs::write(&pod, text).expect("written");
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--", "sh", "-c", "mount --bind \"$0\" /etc/hosts && exec \"$@\""]).arg(hosts);
    unshare.arg(env!("CARGO_BIN_EXE_porthole")).args(["up", "--once", "--root"]).arg(stage.root()).arg(pod);
    if let Some(certificate) = trusted {
        unshare.env("SSL_CERT_FILE", certificate);
    }
    unshare.stdin(Stdio::null()).output().expect("unshare starts")
}

#[test]
fn a_registry_with_a_name_is_spoken_to_over_tls() {
    debian::ensure(&["openssl", "socat"]).expect("TLS programs");
    let stage = Stage::twin();
    let registry = Registry::start(Options::default()).expect("a registry");
    let fixture = std::env::var_os("PORTHOLE_FIXTURE").expect("PORTHOLE_FIXTURE is set by the gate");
    let layer = Layer::new().host_file("bin/fixture", fixture, 0o755).expect("a layer");
    let image = ImageBuilder::new("linux", "amd64").layer(layer).entrypoint(["/bin/fixture"]);
    registry.push(&image.env("WORD", "sealed").build().expect("made"), "try/app:1").expect("pushed");
    let front = Front::start(&registry, stage.dir());

    let name = format!("{NAME}:{}/try/app:1", front.port);
    let stranger = up(&stage, &name, None);
    assert_eq!(stranger.status.code(), Some(1), "{}", said(&stranger));
    assert!(said(&stranger).contains("invalid peer certificate"), "{}", said(&stranger));
    assert_eq!(registry.requests(), []);

    let trusted = up(&stage, &name, Some(&front.certificate));
    assert_eq!(trusted.status.code(), Some(0), "{}", said(&trusted));
    assert!(said(&trusted).contains("| sealed"), "{}", said(&trusted));
    stage.assert_nothing_left();
}
