//! Upstream's own pods for Pod Security, as they come with the Go module that our API server is built from.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use k8s_openapi::api::core::v1::Pod;
use rules::pod_security::{Finding, Level, Version, judge, message, table};
use testbed::tools::{may_install, repo_root};

const MODULE: &str = "k8s.io/pod-security-admission";

/// One pod of upstream's and what it is an example of.
struct Fixture {
    path: PathBuf,
    level: Level,
    version: Version,
    passes: bool,
    /// The check that it is about, in lower case; `base` for the plainest pod.
    about: String,
    pod: Pod,
}

// === impl Fixture ===

impl Fixture {
    /// From `…/LEVEL/VERSION/pass|fail/check0.yaml`.
    fn read(path: PathBuf) -> Self {
        let mut parts = path.components().rev().map(|part| part.as_os_str().to_str().expect("text"));
        let mut next = || parts.next().expect("a part");
        let (file, verdict, version, level) = (next(), next(), next(), next());
        let about = file.trim_end_matches(".yaml").trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
        let text = fs::read_to_string(&path).expect("a readable fixture");
        Self {
            level: level.parse().expect("a level"),
            version: version.parse().expect("a version"),
            passes: verdict == "pass",
            about,
            pod: serde_saphyr::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display())),
            path,
        }
    }

    /// What is wrong with our answer.
    fn fault(&self) -> Option<String> {
        // They are pods to send: one has a volume that the API server must complete.
        let found = judge(self.level, self.version, &self.pod.clone().into());
        let wrong = if self.passes { !found.is_empty() } else { !found.iter().any(|f| self.is_about(f)) };
        wrong.then(|| format!("{}: found {:?}", self.path.display(), message(&found)))
    }

    fn is_about(&self, finding: &Finding) -> bool {
        let family = |id: &str| id.split('_').next().expect("a part").to_lowercase();
        // The one stronger check that has another name.
        let about = if self.about == "hostpathvolumes" && self.level == Level::Restricted {
            "restrictedvolumes".to_owned()
        } else {
            family(&self.about)
        };
        family(finding.id) == about
    }
}

fn fixtures() -> Vec<Fixture> {
    let mut files = Vec::new();
    collect(&module().join("test/testdata"), &mut files);
    files.into_iter().map(Fixture::read).collect()
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        match path.extension() {
            _ if path.is_dir() => collect(&path, files),
            Some(kind) if kind == "yaml" => files.push(path),
            _ => {}
        }
    }
}

/// Where Go keeps the module in the version that our control plane pins.
fn module() -> PathBuf {
    let mut go = Command::new("go");
    go.args(["mod", "download", "-json", MODULE]).env("GOWORK", "off").env("GOFLAGS", "-mod=mod");
    if !may_install() {
        go.env("GOPROXY", "off");
    }
    go.current_dir(repo_root().expect("root").join("testbed/control-plane"));
    let output = go.output().expect("go starts");
    assert!(output.status.success(), "{go:?}: {}", String::from_utf8_lossy(&output.stderr));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    answer["Dir"].as_str().unwrap_or_else(|| panic!("no directory in {answer}")).into()
}

// proves: HP-19 foreign
#[test]
fn every_pod_of_upstream_gets_upstreams_verdict() {
    let fixtures = fixtures();
    let passing = fixtures.iter().filter(|fixture| fixture.passes).count();
    println!("{} fixtures of {MODULE}: {passing} pass, {} fail", fixtures.len(), fixtures.len() - passing);
    let faults: Vec<_> = fixtures.iter().filter_map(Fixture::fault).collect();
    assert!(faults.is_empty(), "{} of {}: {faults:#?}", faults.len(), fixtures.len());

    let versions: BTreeSet<_> = fixtures.iter().map(|fixture| fixture.version).collect();
    assert!(fixtures.len() > 4000 && versions.len() > 35, "the module lost its fixtures: {versions:?}");
    let about: BTreeSet<_> = fixtures.iter().map(|fixture| fixture.about.as_str()).collect();
    let missing = table().iter().map(|check| check.id.to_lowercase()).find(|id| !about.contains(&**id));
    assert_eq!(missing, None, "a check of ours that upstream has no pod for");
}
