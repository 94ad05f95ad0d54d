//! `porthole webhook` as a process: its bounds, its reloads, its end. The API server's part is played by threads.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testbed::guard::Guard;
use testbed::process::wait_for;
use testbed::webhook::{Ca, Caller, Load, Program, Target, peak_rss_mib, response, review, sample};

const PORTHOLE: &str = env!("CARGO_BIN_EXE_porthole");
const PATIENCE: Duration = Duration::from_secs(30);
const LARGEST_BODY: usize = 8 << 20;
const MOST_MIB: f64 = 40.0;

/// A webhook with files that a test may change.
struct World {
    program: Program,
    ca: Ca,
    target: Target,
    guard: Guard,
}

fn policy(namespace: &str) -> String {
    format!(
        "apiVersion: porthole.dev/v1alpha1\nkind: HostProcessPolicy\nrules:\n- {{namespaces: [{namespace}]}}\n"
    )
}

// === impl World ===

impl World {
    fn new(more: &[&str]) -> World {
        let guard = Guard::new("webhook").unwrap();
        let ca = Ca::new().unwrap();
        ca.issue(&["127.0.0.1"]).unwrap().write(guard.dir()).unwrap();
        fs::write(guard.dir().join("policy.yaml"), policy("trusted")).unwrap();
        let words = words(guard.dir());
        let words: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
        let program = Program::start(&guard, "webhook", Path::new(PORTHOLE), &words).unwrap();
        let target = Target { address: program.address, ca: ca.pem().to_owned() };
        World { program, ca, target, guard }
    }

    fn caller(&self) -> Caller {
        Caller::new(&self.target).unwrap()
    }

    fn ask(&self, object: &Value) -> Value {
        let body = serde_json::to_vec(&review("u-1", object, "alice")).unwrap();
        response(&self.caller().post("/validate", &body).unwrap(), "u-1").unwrap()
    }

    fn allows(&self, namespace: &str) -> bool {
        self.ask(&sample(namespace))["allowed"] == true
    }

    /// Waits until the metrics have this line.
    fn wait_for_metric(&self, line: &str) {
        wait_for(line, PATIENCE, || Ok(self.metrics().lines().any(|have| have == line).then_some(())))
            .unwrap();
    }

    fn metrics(&self) -> String {
        self.caller().get("/metrics").unwrap().text()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.guard.dir().join(name), text).unwrap();
    }
}

fn words(dir: &Path) -> Vec<String> {
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let words = ["--policy", &path("policy.yaml"), "--listen", "127.0.0.1:0"];
    let certificate = ["--tls-cert", &path("tls.crt"), "--tls-key", &path("tls.key")];
    words.into_iter().chain(certificate).map(str::to_owned).collect()
}

fn run(words: &[String]) -> Output {
    Command::new(PORTHOLE).arg("webhook").args(words).output().unwrap()
}

// proves: KA-11 twin
#[test]
fn it_answers_reviews_and_says_how_it_is() {
    let world = World::new(&[]);
    assert!(world.allows("trusted"));
    let refused = world.ask(&sample("other"));
    assert_eq!((&refused["allowed"], &refused["status"]["code"]), (&json!(false), &json!(403)));
    let message = refused["status"]["message"].as_str().unwrap();
    assert!(message.contains("namespace \"other\""), "{message}");
    let mut caller = world.caller();
    for path in ["/healthz", "/readyz"] {
        assert_eq!(caller.get(path).unwrap().status, 200, "{path}");
    }
    let metrics = world.metrics();
    for line in [
        r#"porthole_webhook_reviews_total{verdict="allowed",kind="Pod",dry_run="false"} 1"#,
        r#"porthole_webhook_reviews_total{verdict="refused",kind="Pod",dry_run="false"} 1"#,
        "porthole_webhook_policy_generation 1",
    ] {
        assert!(metrics.lines().any(|have| have == line), "{line} is not in:\n{metrics}");
    }
    let log = world.program.log();
    assert_eq!(log.matches("refused Pod other/agent for alice: ").count(), 1, "{log}");
    assert!(!log.contains("VARIABLE_"), "a pod's environment is nobody's business: {log}");
}

#[test]
fn a_dry_run_is_judged_and_counted_apart() {
    let world = World::new(&[]);
    let mut dry = review("u-2", &sample("other"), "alice");
    dry["request"]["dryRun"] = true.into();
    let answer = world.caller().post("/validate", &serde_json::to_vec(&dry).unwrap()).unwrap();
    assert_eq!(response(&answer, "u-2").unwrap()["allowed"], false);
    world.wait_for_metric(r#"porthole_webhook_reviews_total{verdict="refused",kind="Pod",dry_run="true"} 1"#);
}

#[test]
fn what_is_no_review_gets_no_verdict() {
    let world = World::new(&[]);
    let mut caller = world.caller();
    let mut post = |body: &[u8]| {
        caller.disconnect();
        let answer = caller.post("/validate", body).unwrap();
        (answer.status, answer.text())
    };
    let wrong_object =
        review("u", &json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": 3}}), "a");
    for (body, expected) in [
        (b"".to_vec(), "not an AdmissionReview"),
        (b"{\"request\":".to_vec(), "not an AdmissionReview"),
        (b"\xff\xfe".to_vec(), "not an AdmissionReview"),
        ("[".repeat(100_000).into_bytes(), "not an AdmissionReview"),
        (serde_json::to_vec(&wrong_object).unwrap(), "the object is not a Pod"),
    ] {
        let (status, text) = post(&body);
        assert!(status == 400 && text.contains(expected), "{status} {text}");
    }
    assert_eq!(post(&vec![b' '; LARGEST_BODY]).0, 400, "as large as may be");
    let declared =
        format!("POST /validate HTTP/1.1\r\nhost: w\r\ncontent-length: {}\r\n\r\n", LARGEST_BODY + 1);
    assert_eq!(world.caller().send(&declared, &[]).unwrap().status, 413);
    assert_eq!(world.caller().get("/validate").unwrap().status, 405);
    assert_eq!(world.caller().get("/").unwrap().status, 404);
    let peak = peak_rss_mib(world.program.pid()).unwrap();
    assert!(peak <= 2.0 * MOST_MIB, "{peak} MiB");
}

#[test]
fn a_body_without_a_length_has_a_greatest_size_too() {
    let world = World::new(&[]);
    let head = "POST /validate HTTP/1.1\r\nhost: w\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = [format!("{:x}\r\n", LARGEST_BODY + 1).into_bytes(), vec![b' '; LARGEST_BODY + 1]].concat();
    assert_eq!(world.caller().send(head, &chunk).unwrap().status, 413);
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    let world = World::new(&[]);
    let begun = Instant::now();
    let half = "POST /validate HTTP/1.1\r\nhost: w\r\ncontent-length: 100\r\n\r\nhalf";
    assert_eq!(world.caller().send(half, &[]).unwrap().status, 408);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

// proves: HP-05 twin
#[test]
fn switched_off_it_refuses_host_process_pods_and_says_so() {
    let world = World::new(&["--host-process=off"]);
    let refused = world.ask(&sample("trusted"));
    let message = refused["status"]["message"].as_str().unwrap();
    assert!(message.contains("HostProcess containers are off"), "{message}");
    let plain =
        json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "a", "image": "b"}]}});
    assert_eq!(world.ask(&plain)["allowed"], true);
}

#[test]
fn what_cannot_be_used_is_said_before_anything_is_served() {
    let guard = Guard::new("webhook").unwrap();
    let ca = Ca::new().unwrap();
    ca.issue(&["127.0.0.1"]).unwrap().write(guard.dir()).unwrap();
    let words = words(guard.dir());
    let ends = |code: i32, expected: &str| {
        let output = run(&words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(code) && said.contains(expected), "{:?}: {said}", output.status);
        assert!(output.stdout.is_empty());
    };
    ends(2, "policy.yaml");
    fs::write(guard.dir().join("policy.yaml"), policy("trusted").replace("namespaces", "namespace")).unwrap();
    ends(2, "unknown field");
    fs::write(guard.dir().join("policy.yaml"), policy("trusted")).unwrap();
    fs::write(guard.dir().join("tls.key"), ca.issue(&["127.0.0.1"]).unwrap().key).unwrap();
    ends(2, "do not go together");
    fs::remove_file(guard.dir().join("tls.crt")).unwrap();
    ends(2, "tls.crt");
    assert_eq!(run(&words[..4]).status.code(), Some(2), "neither files nor --self-signed");
}

#[test]
fn a_port_in_use_is_the_environments_fault() {
    let world = World::new(&[]);
    let mut words = words(world.guard.dir());
    words[3] = world.target.address.to_string();
    let output = run(&words);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(3) && said.contains("listen on 127.0.0.1:"),
        "{:?}: {said}",
        output.status
    );
}

#[test]
fn a_new_policy_is_taken_and_a_bad_one_is_not() {
    let world = World::new(&[]);
    assert!(!world.allows("other"));
    world.write("policy.yaml", &policy("other"));
    world.wait_for_metric("porthole_webhook_policy_generation 2");
    assert!(world.allows("other") && !world.allows("trusted"));
    world.write("policy.yaml", "rules: [");
    world.wait_for_metric(r#"porthole_webhook_reloads_total{what="policy",result="failed"} 1"#);
    assert!(world.allows("other"), "the last good one stays");
    assert_eq!(world.program.log().matches("kept the old policy: ").count(), 1, "{}", world.program.log());
}

#[test]
fn a_bad_certificate_is_not_taken() {
    let world = World::new(&[]);
    let before = world.caller().certificate().unwrap();
    world.write("tls.key", "no key");
    world.wait_for_metric(r#"porthole_webhook_reloads_total{what="certificate",result="failed"} 1"#);
    assert_eq!(world.caller().certificate().unwrap(), before);
    assert!(world.program.log().contains("kept the old certificate: "), "{}", world.program.log());
}

#[test]
fn asked_to_end_it_answers_what_is_under_way() {
    let world = World::new(&[]);
    let body = serde_json::to_vec(&review("late", &sample("trusted"), "alice")).unwrap();
    let mut slow = world.caller();
    let head = format!("POST /validate HTTP/1.1\r\nhost: w\r\ncontent-length: {}\r\n\r\n", body.len());
    slow.begin(head.as_bytes()).unwrap();
    slow.begin(&body[..100]).unwrap();
    world.wait_for_metric("porthole_webhook_connections 2");
    world.program.signal("TERM").unwrap();
    wait_for("no new connections", PATIENCE, || Ok(world.caller().certificate().is_err().then_some(())))
        .unwrap();
    let answer = slow.send("", &body[100..]).unwrap();
    assert_eq!(response(&answer, "late").unwrap()["allowed"], true);
    assert_eq!(world.program.reap(), Some(0));
}

#[test]
fn no_review_is_lost_while_certificates_change() {
    let world = World::new(&[]);
    let load = Load {
        target: world.target.clone(),
        objects: vec![(sample("trusted"), true), (sample("other"), false)],
        user: "alice".into(),
        reviews: 2_000,
        in_flight: 8,
        swaps: 20,
        certificates: world.guard.dir().to_owned(),
    };
    let outcome = load.run(&world.ca).unwrap();
    assert!(outcome.lost.is_empty(), "{} lost: {:?}", outcome.lost.len(), outcome.lost.first());
    assert!(outcome.latencies.len() >= 2_000 && outcome.swapped == 20);
    let peak = peak_rss_mib(world.program.pid()).unwrap();
    println!("{} reviews, peak {peak:.1} MiB", outcome.latencies.len());
    assert!(peak <= MOST_MIB, "{peak} MiB");
}
