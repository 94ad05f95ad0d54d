//! A control plane comes up fast and complete, several live side by side, and nothing of any stays.

mod owner;

use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use testbed::control_plane::{ControlPlane, Options};
use testbed::guard::traces;
use testbed::machine::{self, Machine};
use testbed::process::wait_for;
use testbed::tools::go_tool;

use owner::Owner;

const SOON: Duration = Duration::from_secs(30);

/// Two cores start one cluster at a time well; the promise of 30 s is about one.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn build_tools() {
    for tool in ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubeadm", "kubectl"]
    {
        go_tool(tool).expect("built");
    }
}

fn start() -> ControlPlane {
    ControlPlane::start(Options::default()).expect("a control plane")
}

/// What kubectl with these words says.
fn says(plane: &ControlPlane, words: &str) -> String {
    let output = plane.kubectl(words.split(' ')).expect("kubectl starts");
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn starts_within_30_seconds_with_all_that_a_join_needs() {
    let _alone = alone();
    build_tools();
    let begun = Instant::now();
    let plane = start();
    let took = begun.elapsed();
    println!("control plane up in {:.1} s", took.as_secs_f64());
    assert!(took < Duration::from_secs(30), "{took:?}");

    for namespace in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        assert!(says(&plane, "get ns -oname").contains(namespace));
    }
    let mut admin = plane.kubectl_command().expect("kubectl");
    let admin = admin.env("KUBECONFIG", plane.admin_kubeconfig());
    let can = admin.args(["auth", "can-i", "*", "*"]).output().expect("kubectl starts");
    assert_eq!(String::from_utf8_lossy(&can.stdout).trim(), "yes");

    let (token_id, secret) = plane.bootstrap_token().split_once('.').expect("two parts");
    let info = says(&plane, "get configmap -n kube-public cluster-info -ojson");
    let info: serde_json::Value = serde_json::from_str(&info).expect("JSON");
    let signature = &info["data"][format!("jws-kubeconfig-{token_id}")];
    assert_eq!(signature.as_str().expect("signed for the token").matches('.').count(), 2);
    assert!(info["data"]["kubeconfig"].as_str().expect("text").contains(&plane.address().to_string()));
    let token = says(
        &plane,
        &format!("get secret -n kube-system bootstrap-token-{token_id} -ojsonpath={{.data.token-secret}}"),
    );
    assert!(!token.is_empty() && secret.len() == 16);
    assert!(
        says(&plane, "get configmap -n kube-system kubelet-config -oyaml").contains("KubeletConfiguration")
    );
    assert!(
        says(&plane, "get configmap -n kube-system kubeadm-config -oyaml").contains("ClusterConfiguration")
    );
    let mut kubeadm = Command::new(go_tool("kubeadm").expect("built"));
    let kubeadm = kubeadm.args(["token", "create", "--print-join-command", "--kubeconfig"]);
    let line = kubeadm.arg(plane.kubeconfig()).output().expect("kubeadm starts").stdout;
    let line = String::from_utf8(line).expect("text");
    assert!(line.contains(&format!("--discovery-token-ca-cert-hash {}", plane.ca_hash())), "{line}");
    assert!(line.starts_with(&format!("kubeadm join {} ", plane.address())), "{line}");
    let privileged = "run hp --image=x --privileged --dry-run=server -oname";
    assert_eq!(says(&plane, privileged).trim(), "pod/hp", "privileged pods are let in");
    plane.stop().expect("clean");
}

#[test]
fn two_at_once_are_two_clusters_and_leave_nothing() {
    let _alone = alone();
    build_tools();
    let (one, two) = thread::scope(|scope| {
        let one = scope.spawn(start);
        let two = start();
        (one.join().expect("a control plane"), two)
    });
    assert_ne!(one.address().ip(), two.address().ip());
    says(&one, "create namespace only-here");
    assert!(says(&one, "get ns -oname").contains("only-here"));
    assert!(!says(&two, "get ns -oname").contains("only-here"));
    for plane in [one, two] {
        let (id, dir) = plane.guard();
        let (id, dir) = (id.to_owned(), dir.to_owned());
        let seen = traces(&id, &dir);
        for kind in ["process", "mount", "link", "directory"] {
            assert!(seen.iter().any(|line| line.starts_with(kind)), "no {kind} in {seen:#?}");
        }
        drop(plane);
        assert_eq!(traces(&id, &dir), Vec::<String>::new());
    }
}

/// Somebody else must remove it all: the owner has no time left to.
fn nothing_is_left_after(signal: &str) {
    let _alone = alone();
    build_tools();
    let mut owner = Owner::of("control-plane");
    let held = owner.holding();
    owner.end(signal);
    held.wait_until_gone(SOON);
}

#[test]
fn nothing_is_left_when_the_owner_is_killed() {
    nothing_is_left_after("KILL");
}

#[test]
fn nothing_is_left_when_the_owner_is_interrupted() {
    nothing_is_left_after("INT");
}

#[test]
fn nothing_is_left_when_the_owner_panics() {
    let _alone = alone();
    build_tools();
    let mut owner = Owner::of("control-plane");
    let held = owner.holding();
    owner.panic();
    assert_eq!(held.traces(), [""; 0], "it was to wait for that before it ended");
}

#[test]
fn a_program_that_fails_is_quoted() {
    let _alone = alone();
    let options = Options::default().apiserver_arg("--no-such-flag");
    let error = format!("{:#}", ControlPlane::start(options).expect_err("the flag is unknown"));
    assert!(error.contains("kube-apiserver ended with exit status: 1"), "{error}");
    assert!(error.contains("unknown flag: --no-such-flag"), "{error}");
}

#[test]
fn machines_and_the_api_server_reach_each_other_also_after_a_reboot() {
    let _alone = alone();
    let plane = start();
    let kubectl = go_tool("kubectl").expect("built");
    let kubectl = kubectl.to_str().expect("text");
    let kubeconfig = plane.kubeconfig();
    let kubeconfig = kubeconfig.to_str().expect("text");
    // A server inside whose every answer comes from the API server: the way there and back in one request.
    let serve = ["--kubeconfig", kubeconfig, "proxy", "--address=0.0.0.0", "--accept-hosts=.*"];
    let options = machine::Options::default().share(kubeconfig);
    let machine = Machine::start("attached", options).expect("a machine");
    machine.on_boot(kubectl, serve);
    let address = machine.attach(&plane).expect("attached");
    let inside = machine.command(kubectl).args(["--kubeconfig", kubeconfig, "get", "ns", "-oname"]).output();
    let inside = inside.expect("started");
    assert!(inside.status.success(), "{}", String::from_utf8_lossy(&inside.stderr));

    let hardware = || machine.command("cat").arg("/sys/class/net/eth0/address").output().expect("started");
    let before = hardware();
    machine.reboot().expect("again");
    let after = hardware();
    assert!(before.status.success() && after.status.success(), "{before:?} {after:?}");
    assert_eq!(after.stdout, before.stdout, "its neighbours still know it");
    add_node(&plane, "attached", &address.to_string());
    wait_for("an answer through the API server and the machine", SOON, || {
        let output = plane.kubectl(["get", "--raw", "/api/v1/nodes/http:attached:8001/proxy/version"])?;
        Ok(String::from_utf8_lossy(&output.stdout).contains("gitVersion").then_some(()))
    })
    .expect("it answers");
    let other = Machine::start("other", machine::Options::default()).expect("a second machine");
    assert_ne!(other.attach(&plane).expect("attached"), address);
    let get =
        format!("exec 3<>/dev/tcp/{address}/8001; printf 'GET /version HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3");
    let output = other.command("bash").args(["-c", &get]).output().expect("started");
    assert!(String::from_utf8_lossy(&output.stdout).contains("gitVersion"), "machines reach each other");
}

fn add_node(plane: &ControlPlane, name: &str, address: &str) {
    let node = format!(r#"{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{name}"}}}}"#);
    let status = format!(r#"{{"status":{{"addresses":[{{"type":"InternalIP","address":"{address}"}}]}}}}"#);
    let script = format!(
        "echo '{node}' | \"$0\" create -f - && \"$0\" patch node {name} --subresource=status -p '{status}'"
    );
    let command = plane.kubectl_command().expect("kubectl");
    let environment = command.get_envs().filter_map(|(key, value)| Some((key, value?)));
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).arg(command.get_program()).envs(environment);
    assert!(shell.status().expect("started").success());
}
