//! `porthole check` as users and programs call it: its flags, exit codes, JSON, and what no file can make it do.

mod manifests;

use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Address space, in bytes: the program, 16 MiB of text, and a small multiple of that.
const MEMORY: u64 = 512 << 20;

struct Checked {
    code: i32,
    stdout: String,
    stderr: String,
}

fn desk() -> TempDir {
    let dir = tempfile::tempdir().expect("made");
    manifests::write(dir.path());
    dir
}

/// `porthole check WORDS` in the directory, with this on standard input.
fn fed(dir: &Path, input: &[u8], words: &[&str]) -> Checked {
    let mut command = Command::new("prlimit");
    command.arg(format!("--as={MEMORY}")).arg(env!("CARGO_BIN_EXE_porthole")).arg("check").args(words);
    command.current_dir(dir).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("started");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_vec();
    // It may stop reading early: that is what some tests are about.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("ended");
    feeder.join().expect("fed");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    let code = output.status.code().expect("ended by itself");
    Checked { code, stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn check(dir: &Path, words: &[&str]) -> Checked {
    fed(dir, b"", words)
}

impl Checked {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}{}", self.stdout, self.stderr))
    }

    fn digest(&self) -> Vec<String> {
        manifests::digest(&self.json())
    }
}

#[test]
fn a_good_pod_is_allowed_with_every_field_of_the_contract() {
    let desk = desk();
    let checked = check(desk.path(), &["good.yaml", "-o", "json"]);
    let nothing = json!({"allowed": true, "violations": []});
    let expected = json!([{"source": "good.yaml", "index": 0, "kind": "Pod", "namespace": "shop", "name": "good",
        "hostProcess": false, "allowed": true, "errors": [], "warnings": [],
        "podSecurity": {"baseline": nothing, "restricted": nothing}}]);
    assert_eq!((checked.json(), checked.code, &*checked.stderr), (expected, 0, ""));
}

#[test]
fn yaml_says_what_json_says() {
    let desk = desk();
    let none = "kind: ConfigMap\napiVersion: v1\n";
    for words in [&["mixed.yaml", "good.yaml"][..], &["-"], &["--covers"]] {
        let [json, yaml] = ["json", "yaml"].map(|format| {
            let words: Vec<_> = words.iter().copied().chain(["-o", format]).collect();
            fed(desk.path(), none.as_bytes(), &words)
        });
        let read: Value = serde_saphyr::from_str(&yaml.stdout).expect("YAML");
        assert_eq!((read, yaml.code, yaml.stderr.as_str()), (json.json(), json.code, json.stderr.as_str()));
    }
}

// proves: HP-01 twin
// proves: HP-02 twin
// proves: HP-31 twin
#[test]
fn every_document_and_list_member_has_its_entry_in_order() {
    let desk = desk();
    let checked = check(desk.path(), &["-o", "json", "mixed.yaml"]);
    assert_eq!(
        checked.digest(),
        [
            "mixed.yaml:0 Pod wrong refused",
            "mixed.yaml:2.0 Deployment web allowed",
            "mixed.yaml:2.1 Service web allowed",
            "mixed.yaml:3 Pod typed refused",
            "mixed.yaml:4   refused",
            "mixed.yaml:5 Pod last- allowed",
        ]
    );
    assert_eq!(checked.code, 1);
    let entries = checked.json();
    assert_eq!(
        entries[0]["errors"],
        json!([{"reason": "FieldValueInvalid", "field": "spec.hostNetwork", "value": false,
        "message": "must be true for a HostProcess pod"}])
    );
    let warnings: Vec<_> =
        entries[0]["warnings"].as_array().unwrap().iter().map(|w| w.as_str().unwrap()).collect();
    assert_eq!(warnings[0], "unknown field \"spec.hostNetwrok\"");
    assert!(warnings[1].starts_with("spec.hostPID: has no effect"), "{warnings:?}");
    let id = &entries[1]["podSecurity"]["baseline"]["violations"][0];
    assert_eq!(
        *id,
        json!({"id": "privileged", "reason": "privileged",
        "detail": "container \"main\" must not set securityContext.privileged=true"})
    );
    assert!(entries[2]["warnings"][0].as_str().unwrap().contains("passed over"));
    assert_eq!(entries[3]["errors"][0]["reason"], "BadRequest");
    assert_eq!(entries[3]["errors"][0]["field"], "spec.containers[0].env[0].value");
    assert_eq!(entries[3]["errors"][0]["value"], true);
    assert_eq!(entries[4]["errors"][0]["reason"], "BadRequest");
    assert!(entries[4]["errors"][0]["message"].as_str().unwrap().starts_with("line 37: "), "{}", entries[4]);
}

#[test]
fn the_table_points_at_lines_and_gives_hints() {
    let desk = desk();
    let checked = check(desk.path(), &["mixed.yaml"]);
    assert_eq!(checked.code, 1);
    for expected in [
        "mixed.yaml:3: document 0: Pod wrong: refused, HostProcess, Pod Security: privileged\n",
        "  mixed.yaml:6: error: spec.hostNetwork: must be true for a HostProcess pod (found false) [FieldValueInvalid]\n    hint: set hostNetwork: true",
        "  mixed.yaml:7: warning: unknown field \"spec.hostNetwrok\"\n",
        "  mixed.yaml:8: warning: spec.hostPID: has no effect",
        "mixed.yaml:20: document 2, item 0: Deployment web: allowed, Pod Security: privileged\n",
        "mixed.yaml:27: document 2, item 1: Service web: passed over\n",
        "  mixed.yaml:35: error: spec.containers[0].env[0].value: invalid type: boolean `true`, expected a string (found true) [BadRequest]\n    hint: put the value in quotes",
        "  mixed.yaml:37: error: line 37: ",
    ] {
        assert!(checked.stdout.contains(expected), "{expected}\n{}", checked.stdout);
    }
    assert!(
        checked.stdout.ends_with("2 allowed, 3 refused, 1 passed over, 4 warnings\n"),
        "{}",
        checked.stdout
    );
    assert!(!checked.stdout.contains('\x1b'), "no colours into a pipe");
}

// proves: HP-03 twin
#[test]
fn flags_stand_for_the_clusters_settings() {
    let desk = desk();
    let reasons = |words: &[&str]| {
        let checked = check(desk.path(), &[&["-o", "json", "hpc.yaml"], words].concat());
        let reasons: Vec<_> = checked.json()[0]["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(|error| error["reason"].clone())
            .collect();
        (checked.code, json!(reasons))
    };
    assert_eq!(reasons(&[]), (0, json!([])));
    assert_eq!(reasons(&["--allow-privileged=true", "--host-process=on"]), (0, json!([])));
    assert_eq!(reasons(&["--allow-privileged=false"]), (1, json!(["FieldValueForbidden"])));
    assert_eq!(reasons(&["--host-process=off"]), (1, json!(["FieldValueForbidden"])));
    assert_eq!(reasons(&["--policy", "policy.yaml"]), (0, json!([])));
}

// proves: HP-19 twin
#[test]
fn a_level_is_demanded_only_if_asked_for() {
    let desk = desk();
    let run = |words: &[&str]| {
        let checked = check(desk.path(), &[&["-o", "json"], words].concat());
        let entry = checked.json()[0].clone();
        let level = |level: &str| entry["podSecurity"][level]["allowed"].as_bool().unwrap();
        (checked.code, entry["allowed"] == true, level("baseline"), level("restricted"))
    };
    assert_eq!(run(&["hpc.yaml"]), (0, true, false, false));
    assert_eq!(run(&["hpc.yaml", "--level", "baseline"]), (1, false, false, false));
    assert_eq!(run(&["good.yaml", "--level", "restricted"]), (0, true, true, true));
    // Windows pods were relieved of Linux's fields in 1.25.
    let windows = manifests::GOOD
        .replace(", seccompProfile: {type: RuntimeDefault}", "")
        .replace("    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}\n", "")
        .replace("spec:\n", "spec:\n  os: {name: windows}\n");
    fs::write(desk.path().join("windows.yaml"), windows).unwrap();
    assert_eq!(run(&["windows.yaml", "--level=restricted"]), (0, true, true, true));
    assert_eq!(run(&["windows.yaml", "--level=restricted", "--policy-version=v1.25"]), (0, true, true, true));
    assert_eq!(
        run(&["windows.yaml", "--level=restricted", "--policy-version=v1.24"]),
        (1, false, true, false)
    );
    let table = check(desk.path(), &["hpc.yaml", "--level", "baseline"]).stdout;
    assert!(table.contains("error: violates PodSecurity \"baseline:latest\": host namespaces (hostNetwork=true), hostProcess (pod must not"), "{table}");
}

// proves: KA-11 twin
#[test]
fn a_policy_is_demanded_if_given() {
    let desk = desk();
    let other = manifests::HOST_PROCESS.replace("namespace: monitoring", "namespace: shop");
    fs::write(desk.path().join("other.yaml"), other).unwrap();
    let checked =
        check(desk.path(), &["-o", "json", "--policy", "policy.yaml", "hpc.yaml", "other.yaml", "good.yaml"]);
    assert_eq!(
        checked.digest(),
        ["hpc.yaml:0 Pod agent allowed", "other.yaml:0 Pod agent refused", "good.yaml:0 Pod good allowed"]
    );
    let error = &checked.json()[1]["errors"][0];
    assert_eq!((&error["reason"], &error["field"]), (&json!("FieldValueForbidden"), &json!("spec")));
    let table = check(desk.path(), &["--policy", "policy.yaml", "other.yaml"]).stdout;
    assert!(table.contains("hint: ask the cluster's owner"), "{table}");
    fs::write(desk.path().join("bad.yaml"), "kind: HostProcessPolicy\nrules: 3\n").unwrap();
    for policy in ["bad.yaml", "missing.yaml", "binary.yaml"] {
        let checked = check(desk.path(), &["--policy", policy, "good.yaml"]);
        assert_eq!((checked.code, &*checked.stdout), (2, ""), "{}", checked.stderr);
        assert!(checked.stderr.contains(policy), "{}", checked.stderr);
    }
}

#[test]
fn directories_and_standard_input_are_read() {
    let desk = desk();
    let dir = desk.path().join("dir");
    fs::create_dir_all(dir.join("sub")).unwrap();
    fs::write(dir.join("b.yml"), manifests::GOOD).unwrap();
    fs::write(
        dir.join("sub/a.json"),
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}",
    )
    .unwrap();
    fs::write(dir.join("notes.txt"), "kind: [").unwrap();
    std::os::unix::fs::symlink("..", dir.join("sub/loop")).unwrap();
    std::os::unix::fs::symlink("b.yml", dir.join("c.yaml")).unwrap();
    Command::new("mkfifo").arg(dir.join("pipe.yaml")).status().unwrap();
    let checked = fed(desk.path(), manifests::GOOD.as_bytes(), &["-o", "json", "dir", "-"]);
    assert_eq!(
        checked.digest(),
        [
            "dir/b.yml:0 Pod good allowed",
            "dir/c.yaml:0 Pod good allowed",
            "dir/sub/a.json:0 Pod  allowed",
            "dir/sub/a.json:1 Pod  allowed",
            "-:0 Pod good allowed"
        ]
    );
}

#[test]
fn an_unreadable_file_does_not_silence_the_others() {
    let desk = desk();
    let checked = check(desk.path(), &["-o", "json", "good.yaml", "missing.yaml", "mixed.yaml"]);
    assert_eq!((checked.code, checked.json().as_array().unwrap().len()), (2, 7));
    assert!(checked.stderr.starts_with("porthole: read missing.yaml: "), "{}", checked.stderr);
    let nothing = check(desk.path(), &["-o", "json", "missing.yaml"]);
    assert_eq!((nothing.code, nothing.json()), (2, json!([])));
    fs::create_dir(desk.path().join("empty")).unwrap();
    assert_eq!(check(desk.path(), &["empty"]).code, 2);
    let table = check(desk.path(), &["missing.yaml"]);
    assert!(table.stdout.ends_with("; 1 file could not be read\n"), "{}", table.stdout);
}

#[test]
fn other_encodings_are_read_or_refused_in_words() {
    let desk = desk();
    let checked = check(desk.path(), &["-o", "json", "wide.yaml", "binary.yaml"]);
    assert_eq!(checked.digest(), ["wide.yaml:0 Pod good allowed", "binary.yaml:0   refused"]);
    let error = &checked.json()[1]["errors"][0];
    assert_eq!(error["message"], "not UTF-8 text: byte 0xc3 on line 2");
    assert_eq!(checked.code, 1);
    let nul = fed(desk.path(), b"a: 1\0", &["-o", "json", "-"]);
    assert_eq!(nul.json()[0]["errors"][0]["message"], "a NUL byte on line 1: this is no text");
}

#[test]
fn wrong_use_is_code_2() {
    let desk = desk();
    for words in [
        &[][..],
        &["--level", "privileged", "good.yaml"],
        &["--policy-version", "1.25", "good.yaml"],
        &["--host-process", "maybe", "good.yaml"],
        &["-o", "xml", "good.yaml"],
        &["--covers", "good.yaml"],
    ] {
        assert_eq!(check(desk.path(), words).code, 2, "{words:?}");
    }
}

#[test]
fn covers_are_told() {
    let desk = desk();
    let table = check(desk.path(), &["--covers"]);
    assert_eq!(table.code, 0);
    for word in ["spec.hostNetwork", "windowsHostProcess", "hostProbesAndHostLifecycle", "restricted"] {
        assert!(table.stdout.contains(word), "{word}: {}", table.stdout);
    }
    let covers = check(desk.path(), &["--covers", "-o", "json"]).json();
    assert!(
        covers["api"].as_array().unwrap().iter().any(|row| row["field"] == "spec.hostNetwork"),
        "{covers}"
    );
    let checks = covers["podSecurity"].as_array().unwrap();
    assert!(
        checks.iter().any(|row| row["id"] == "windowsHostProcess" && row["level"] == "baseline"),
        "{covers}"
    );
}

#[test]
fn names_cannot_speak_to_the_terminal() {
    let desk = desk();
    let text = "apiVersion: v1\nkind: \"P\\eod\"\nmetadata: {name: \"a\\e[31mb\"}\n";
    let checked = fed(desk.path(), text.as_bytes(), &["-"]);
    assert!(!checked.stdout.contains('\x1b'), "{:?}", checked.stdout);
    assert!(checked.stdout.contains("a\\u{1b}[31mb"), "{:?}", checked.stdout);
}

/// Files that are made to hurt; each must end in words, within the memory that `fed` gives.
fn bombs() -> Vec<(&'static str, String)> {
    let aliases = (1..40).fold("a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned(), |mut text, i| {
        let before = format!("*a{}", i - 1);
        writeln!(text, "a{i}: &a{i} [{}]", [before.as_str(); 9].join(",")).unwrap();
        text
    });
    let pod = "apiVersion: v1\nkind: Pod\n";
    let fifteen = 15 << 20;
    vec![
        ("aliases", format!("{pod}{aliases}spec: {{containers: [{{command: *a39}}]}}\n")),
        (
            "used aliases",
            format!(
                "{pod}b: &b [{}]\nc: &c {{args: *b}}\nspec: {{containers: [{}]}}\n",
                "x,".repeat(10_000),
                "*c,".repeat(10_000)
            ),
        ),
        ("1,000 deep YAML", format!("{pod}spec: {}", "{a: ".repeat(1000))),
        ("1,000 deep JSON", format!("{}1{}", "{\"a\":".repeat(1000), "}".repeat(1000))),
        ("deep block", (0..1000).map(|i| format!("{}a:\n", " ".repeat(i))).collect()),
        ("many values", format!("{{\"a\":[{}0]}}", "0,".repeat(fifteen / 2))),
        ("many keys", (0..50_000).map(|i| format!("k{i}: 1\n")).chain(["k7: 2\n".to_owned()]).collect()),
        (
            "many duplicates",
            format!("kind: List\napiVersion: v1\nitems:\n{}", "- {a: 1, a: 2}\n".repeat(10_000)),
        ),
        ("many broken documents", "---\n[\n".repeat(10_000)),
        ("a long word", format!("{pod}spec: {}\n", "x".repeat(1 << 20))),
        ("a long key", format!("{{\"{}\": 1", "x".repeat(fifteen))),
        ("open quotes", format!("{pod}a: \"{}", "x\n".repeat(1 << 16))),
    ]
}

#[test]
fn bombs_end_in_words_and_in_little_memory() {
    let desk = desk();
    for (name, text) in bombs() {
        let started = std::time::Instant::now();
        let checked = fed(desk.path(), text.as_bytes(), &["-o", "json", "-"]);
        assert_eq!(checked.code, 1, "{name}: {} {}", checked.code, checked.stderr);
        let entries = checked.json();
        let refused = entries.as_array().unwrap().iter().find(|entry| entry["allowed"] == false);
        let message = refused.and_then(|entry| entry["errors"][0]["message"].as_str()).unwrap_or_default();
        assert!(!message.is_empty(), "{name}: {}", &checked.stdout[..checked.stdout.len().min(1000)]);
        println!("{name}: {:?}: {}", started.elapsed(), message.chars().take(100).collect::<String>());
    }
}

#[test]
fn a_document_of_100_megabytes_is_not_read() {
    let desk = desk();
    let path: PathBuf = desk.path().join("big.yaml");
    let mut file = fs::File::create(&path).unwrap();
    file.write_all(manifests::GOOD.as_bytes()).unwrap();
    for _ in 0..100 {
        file.write_all(&[b'#'; 1 << 20]).unwrap();
    }
    let checked = check(desk.path(), &["-o", "json", "big.yaml", "good.yaml"]);
    assert_eq!((checked.code, checked.digest()), (2, vec!["good.yaml:0 Pod good allowed".to_owned()]));
    assert!(checked.stderr.contains("big.yaml: more than the 16777216 bytes"), "{}", checked.stderr);
    let piped = fed(desk.path(), &fs::read(path).unwrap(), &["-o", "json", "-"]);
    assert_eq!((piped.code, piped.json()), (2, json!([])));
    assert!(piped.stderr.contains("-: more than"), "{}", piped.stderr);
}
