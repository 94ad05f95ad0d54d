//! docs/upstream-tests.md against upstream's own sources: no test that it names is invented, and where it says that
//! it has gone through all of a file, it has.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::tools::repo_root;

const PAGE: &str = "docs/upstream-tests.md";
const STAGING: &str = "staging/src/k8s.io/";

/// A part of the page about one place of upstream's tree, or about several files that its text names.
struct Section {
    title: String,
    text: String,
}

/// Where upstream's modules are, in the versions that the control plane is built from.
struct Upstream {
    modules: Vec<(String, PathBuf)>,
}

// === impl Section ===

impl Section {
    fn read() -> Vec<Section> {
        let page = fs::read_to_string(repo_root().expect("root").join(PAGE)).expect("the page");
        let parts = page.split("\n### ").skip(1);
        let section = |part: &str| {
            let part = part.split("\n## ").next().unwrap_or_default();
            let (title, text) = part.split_once('\n').expect("a title and a text");
            Section { title: title.into(), text: text.into() }
        };
        parts.map(section).filter(|section| section.title.contains(['(', ':'])).collect()
    }

    fn is_complete(&self) -> bool {
        self.title.ends_with("(all)")
    }

    /// The places that it is about.
    fn places(&self) -> Vec<&str> {
        let place = self.title.split([' ', ':']).next().unwrap_or_default();
        if place.contains('/') {
            return vec![place];
        }
        quoted(&self.text).filter(|word| word.contains('/') && word.ends_with(".go")).collect()
    }

    /// The tests in the first cells of its tables.
    fn named(&self) -> impl Iterator<Item = &str> {
        let rows = self.text.lines().filter(|line| line.starts_with("| `"));
        rows.filter_map(|row| row.split(" | ").next()).flat_map(quoted)
    }
}

fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

// === impl Upstream ===

impl Upstream {
    fn find() -> Upstream {
        let names = ["k8s.io/kubernetes", "k8s.io/pod-security-admission", "k8s.io/kubectl"];
        let mut go = Command::new("go");
        go.args(["mod", "download", "-json"]).args(names).env("GOWORK", "off");
        let output = go.current_dir(repo_root().expect("root").join("testbed/control-plane")).output();
        let output = output.expect("go");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let modules = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<serde_json::Value>();
        let text = |module: &serde_json::Value, key: &str| module[key].as_str().expect("a text").to_owned();
        let module = |module: Result<serde_json::Value, _>| {
            let module = module.expect("JSON");
            (text(&module, "Path"), text(&module, "Dir").into())
        };
        Upstream { modules: modules.map(module).collect() }
    }

    /// A place of upstream's tree; staged modules are published on their own.
    fn path(&self, place: &str) -> PathBuf {
        let staged = place.strip_prefix(STAGING).and_then(|rest| rest.split_once('/'));
        let (name, rest) = staged.unwrap_or(("kubernetes", place));
        let module = self.modules.iter().find(|(path, _)| *path == format!("k8s.io/{name}"));
        let (_, dir) = module.unwrap_or_else(|| panic!("{place}: module {name}"));
        dir.join(rest)
    }

    /// What stands there, be it a file or a directory.
    fn text(&self, place: &str) -> String {
        let files = files(&self.path(place));
        assert!(!files.is_empty(), "nothing at {place}");
        files.iter().map(|file| fs::read_to_string(file).expect("text")).collect()
    }
}

/// A file, or the Go sources in a directory.
fn files(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let sources = paths.filter(|path| path.is_dir() || path.extension().is_some_and(|end| end == "go"));
    sources.flat_map(|path| files(&path)).collect()
}

/// The names of the tests in a source: Go's, Ginkgo's and those of the shell suite.
fn tests(source: &str) -> BTreeSet<&str> {
    let go = source.lines().filter_map(|line| line.strip_prefix("func Test").map(|_| &line["func ".len()..]));
    let go = go.filter_map(|line| line.split('(').next());
    let ginkgo = source.split("It(\"").skip(1).filter_map(|rest| rest.split('"').next());
    let shell =
        source.lines().filter(|line| line.starts_with("run_")).filter_map(|line| line.strip_suffix("() {"));
    go.chain(ginkgo).chain(shell).collect()
}

// proves: HP-36 foreign
#[test]
fn every_upstream_test_named_exists() {
    let upstream = Upstream::find();
    for section in Section::read() {
        let sources: Vec<_> = section.places().iter().map(|place| upstream.text(place)).collect();
        assert!(section.named().next().is_some(), "{} names no test", section.title);
        for name in section.named() {
            let known = sources.iter().any(|source| source.contains(name));
            assert!(known, "{}: upstream has no {name:?}", section.title);
        }
    }
}

// proves: HP-36 foreign
#[test]
fn nothing_is_left_out_where_the_page_says_all() {
    let upstream = Upstream::find();
    let sections = Section::read();
    let named: BTreeSet<&str> = sections.iter().flat_map(|section| section.named()).collect();
    let complete: Vec<_> = sections.iter().filter(|section| section.is_complete()).collect();
    assert!(complete.len() > 25, "{} sections", complete.len());
    for section in complete {
        for place in section.places() {
            let source = upstream.text(place);
            let missing: Vec<_> = tests(&source).into_iter().filter(|test| !named.contains(test)).collect();
            assert!(missing.is_empty(), "{place} has tests that {PAGE} leaves out: {missing:#?}");
        }
    }
}

/// Where upstream's tests are: beside the code, or in suites of their own.
const CODE: [&str; 4] = ["pkg", "plugin", "test/integration", "test/e2e_node"];
const SUITES: [&str; 3] = ["test/e2e/common", "test/e2e/node", "test/e2e/windows"];

// proves: HP-36 foreign
#[test]
fn every_file_of_tests_that_says_host_process_is_on_the_page() {
    let upstream = Upstream::find();
    let code = CODE.iter().flat_map(|place| files(&upstream.path(place)));
    let beside = code.filter(|file| file.to_string_lossy().ends_with("_test.go"));
    let suites = SUITES.iter().flat_map(|place| files(&upstream.path(place)));
    let says =
        |file: &PathBuf| String::from_utf8_lossy(&fs::read(file).expect("read")).contains("HostProcess");
    let found: BTreeSet<PathBuf> = beside.chain(suites).filter(says).collect();
    assert!(found.len() >= 8, "{found:?}");
    let page = fs::read_to_string(repo_root().expect("root").join(PAGE)).expect("the page");
    let is_missing = |file: &&PathBuf| !page.contains(&*file.file_name().expect("a name").to_string_lossy());
    let missing: Vec<_> = found.iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "not on {PAGE}: {missing:#?}");
}

#[test]
fn tests_are_found_in_go_ginkgo_and_shell() {
    let source =
        "func TestOne(t *testing.T) {\n\tf.It(\"does this\", func() {\nrun_that() {\nfunc testNot() {}\n";
    assert_eq!(tests(source), BTreeSet::from(["TestOne", "does this", "run_that"]));
}
