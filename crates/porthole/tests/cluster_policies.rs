//! The rendered ValidatingAdmissionPolicies in a real API server: the same verdicts as the pure rules.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use proptest::strategy::{Strategy, ValueTree};
use proptest::string::string_regex;
use proptest::test_runner::TestRunner;
use rules::policy::{Asker, Decision, Policy};
use rules::{Kind, Subject};
use serde_json::{Value, json};
use testbed::api::{Answer, Api, Call};
use testbed::control_plane::{ControlPlane, Options};
use testbed::process::wait_for;

#[path = "stage/policy_cases.rs"]
mod policy_cases;

use policy_cases::{Case, Cases, Expect, cases};

const PATIENCE: Duration = Duration::from_secs(60);
const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";

struct Cluster {
    control_plane: ControlPlane,
    api: Api,
}

// proves: KA-11 cluster
#[test]
fn the_api_server_decides_as_the_policy_does() -> Result<()> {
    let cluster = Cluster::start()?;
    let cases = cases();
    cluster.furnish(&cases)?;
    for (name, text) in &cases.policies {
        let policy = Policy::parse(text)?;
        cluster.apply(text, &policy)?;
        let chosen: Vec<_> = cases.cases.iter().filter(|case| case.policy == *name).collect();
        let calls: Vec<_> = chosen.iter().map(|case| call(case)).collect::<Result<_>>()?;
        for (case, answer) in chosen.iter().zip(cluster.api.send_all(&calls)?) {
            let decision = decide(&policy, case)?;
            let allowed = !matches!(decision, Decision::Refused { .. });
            assert_eq!(allowed, case.passes(), "{}: {decision:?}", case.name);
            assert_eq!(allowed, answer.ok(), "{}: {decision:?}, but {}", case.name, answer.message());
            assert!(answer.ok() || says_why(case, &answer), "{}: {}", case.name, answer.message());
        }
    }
    for name in ["porthole-host-process", "porthole-endpoints"] {
        let warnings = cluster.type_check(name)?;
        assert!(warnings.is_null(), "{name}: {warnings:#}");
    }
    cluster.control_plane.stop()
}

// proves: KA-11 cluster
#[test]
fn updates_big_pods_and_namespaces_that_mount_the_host() -> Result<()> {
    let cluster = Cluster::start()?;
    let text = "apiVersion: porthole.dev/v1alpha1\nkind: HostProcessPolicy\nmetadata: {name: updates}\n\
        rules: [{users: [alice, admin], images: [good.example/*], hostPaths: ['C:\\d\\*']}]\n";
    cluster.apply(text, &Policy::parse(text)?)?;
    let passes = |call: Call| -> Result<()> {
        let answer = cluster.api.send(&call)?;
        ensure!(answer.ok(), "refused: {}", answer.message());
        Ok(())
    };
    let refused = |call: Call| -> Result<()> {
        let answer = cluster.api.send(&call)?;
        ensure!(
            answer.message().contains("ValidatingAdmissionPolicy"),
            "{}: {}",
            answer.code,
            answer.message()
        );
        Ok(())
    };

    passes(Call::create(&host_process("p", &["good.example/a"], &[]))?.by("alice").for_real())?;
    let mut pod = cluster.api.send(&Call::get("/api/v1/namespaces/default/pods/p"))?.body;
    // The scheduler writes to its status meanwhile: this is no change of that version.
    pod["metadata"]["resourceVersion"].take();
    pod["metadata"]["labels"] = json!({"touched": "yes"});
    passes(Call::replace(&pod)?.by("bob")).context("who changes labels runs nothing")?;
    pod["spec"]["containers"][0]["image"] = json!("good.example/b");
    refused(Call::replace(&pod)?.by("bob")).context("who changes the image does")?;
    passes(Call::replace(&pod)?.by("alice"))?;

    // The costs that the API server allows to expressions are enough for pods larger than anybody's.
    let images: Vec<_> = (0..60).map(|i| format!("good.example/{}/{i}", "long".repeat(30))).collect();
    let paths: Vec<_> = (0..100).map(|i| format!("C:\\d\\{}\\{i}", "long".repeat(40))).collect();
    let big = host_process("big", &images, &paths);
    passes(Call::create(&big)?.by("alice"))?;

    cluster.api.namespace("monitoring", &json!({rules::policy::endpoint::LABEL: "allowed"}))?;
    refused(Call::create(&mount("default", "/"))?)?;
    passes(Call::create(&mount("monitoring", "/"))?).context("its namespace may")?;
    refused(Call::create(&mount("monitoring", "/var/lib/porthole/run"))?).context("nobody may")?;
    cluster.control_plane.stop()
}

/// Names are put together from the pieces that the expressions look for, so that they are often almost right.
const PATHS: &str = concat!(
    r"(//|\\\\|[cC]:|d:|c:/|/)?([/\\]{1,2}|\.{1,3}|[ ?:$]|/var|/lib|/porthole|/run|x|~1|pipe|NamedPipe",
    r"|UNC/h/c\$|globalroot|device|ProtectedPrefix|\\ProgramData|\\Porthole-?|/CSI|kubelet/){1,7}"
);
const IMAGES: &str = concat!(
    r"((index\.)?docker\.io|localhost|reg\.io|TEAM|dir|nginx)?(:5000|:t)?(/(library|csi|nginx|team|x)){0,3}",
    r"(-x)?(:v1)?(@sha256:b{64})?"
);
const GENERATED: &str = r"
apiVersion: porthole.dev/v1alpha1
kind: HostProcessPolicy
metadata: {name: generated}
rules:
- images:
  - nginx
  - team/*
  - docker.io/x
  - reg.io/csi
  - localhost:5000/
  - sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
  hostPaths: ['/var/lib/*', 'C:\csi', '*x', '\\.\pipe\x*', '\\h\*']
";

// proves: KA-11 cluster
#[test]
fn the_api_server_decides_as_the_policy_does_on_any_name() -> Result<()> {
    let cluster = Cluster::start()?;
    let policy = Policy::parse(GENERATED)?;
    cluster.apply(GENERATED, &policy)?;
    let pods = generated()?;
    let calls: Vec<_> = pods.iter().map(Call::create).collect::<Result<_>>()?;
    let (mut allowed, mut refused) = (0, 0);
    for (pod, answer) in pods.iter().zip(cluster.api.send_all(&calls)?) {
        if answer.code == 422 {
            continue; // No pod for the API server, whatever a policy says.
        }
        let asker = Asker { namespace: "default", user: Some("admin") };
        let decision = policy.decide(&Subject::decode(Kind::Pod, pod)?, &asker);
        let same = answer.ok() != matches!(decision, Decision::Refused { .. });
        assert!(same, "{}: {decision:?}, but {} {}", pod["spec"], answer.code, answer.message());
        *(if answer.ok() { &mut allowed } else { &mut refused }) += 1;
    }
    println!("{allowed} allowed, {refused} refused");
    assert!(allowed > 300 && refused > 300, "{allowed} allowed, {refused} refused");
    cluster.control_plane.stop()
}

fn generated() -> Result<Vec<Value>> {
    let (paths, images) = (string_regex(PATHS)?, string_regex(IMAGES)?);
    let mut runner = TestRunner::deterministic();
    let mut pods = Vec::new();
    for place in 0..2_000 {
        let image = images.new_tree(&mut runner).expect("a text").current();
        let path = paths.new_tree(&mut runner).expect("a text").current();
        let mut pod = match place % 3 {
            0 => host_process("g", &[image.as_str()], &[]),
            1 => host_process("g", &["nginx"], &[path.as_str()]),
            _ => mount("default", &path),
        };
        pod["metadata"]["name"] = json!(format!("g{place}"));
        pods.push(pod);
    }
    Ok(pods)
}

fn host_process<S: AsRef<str>>(name: &str, images: &[S], paths: &[S]) -> Value {
    let containers = images.iter().enumerate();
    let containers = containers.map(|(i, image)| json!({"name": format!("c{i}"), "image": image.as_ref()}));
    let volumes = paths.iter().enumerate();
    let volumes =
        volumes.map(|(i, path)| json!({"name": format!("v{i}"), "hostPath": {"path": path.as_ref()}}));
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": {
        "hostNetwork": true,
        "securityContext": {"windowsOptions": {"hostProcess": true}},
        "containers": containers.collect::<Value>(),
        "volumes": volumes.collect::<Value>(),
    }})
}

fn mount(namespace: &str, path: &str) -> Value {
    let spec = json!({"containers": [{"name": "c", "image": "x"}], "volumes": [{"name": "v", "hostPath": {"path": path}}]});
    let metadata = json!({"name": "m", "namespace": namespace});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
}

fn call(case: &Case) -> Result<Call> {
    let object = case.object();
    let call = if case.pod_before().is_some() { Call::ephemeral(&object)? } else { Call::create(&object)? };
    Ok(call.by(&case.user))
}

fn decide(policy: &Policy, case: &Case) -> Result<Decision> {
    let object = case.object();
    let kind = Kind::of(object["apiVersion"].as_str().unwrap_or_default(), &case.kind).context("a kind")?;
    let asker = Asker { namespace: &case.namespace, user: Some(&case.user) };
    Ok(policy.decide(&Subject::decode(kind, &object)?, &asker))
}

/// The endpoints' words are the same; of the rules only the policy is named.
fn says_why(case: &Case, answer: &Answer) -> bool {
    let Expect::Refused(wanted) = &case.expect else { return false };
    let message = answer.message();
    let by = |name: &str| message.contains(&format!("ValidatingAdmissionPolicy '{name}'"));
    let endpoint =
        by("porthole-endpoints") && ["own", "climbs", "below"].iter().any(|word| wanted.contains(word));
    answer.code == 403 && (endpoint || by("porthole-host-process") && message.contains("no rule of policy"))
}

// === impl Cluster ===

impl Cluster {
    /// Everybody may ask for everything: only the policies refuse.
    fn start() -> Result<Self> {
        let control_plane = ControlPlane::start(Options::default())?;
        let api = Api::connect(&control_plane.kubeconfig())?;
        let rights = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "everybody"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}]});
        let answer = api.send(&Call::create(&rights)?.for_real())?;
        ensure!(answer.ok(), "{}", answer.message());
        api.wait_for_account("default")?;
        Ok(Self { control_plane, api })
    }

    /// What the cases need before a policy is there: namespaces, accounts, pods to debug.
    fn furnish(&self, cases: &Cases) -> Result<()> {
        let namespaces: BTreeSet<_> = cases.cases.iter().map(|case| case.namespace.as_str()).collect();
        for namespace in namespaces {
            if namespace != "default" {
                self.api.namespace(namespace, &json!({}))?;
            }
            for account in ["csi-node", "builder"] {
                let metadata = json!({"name": account, "namespace": namespace});
                self.make(&json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}))?;
            }
        }
        cases.cases.iter().filter_map(Case::pod_before).try_for_each(|pod| self.make(&pod))
    }

    fn make(&self, object: &Value) -> Result<()> {
        let answer = self.api.send(&Call::create(object)?.for_real())?;
        ensure!(answer.ok(), "{object}: {}", answer.message());
        Ok(())
    }

    /// As a user would; then waits until the API server goes by this policy.
    fn apply(&self, text: &str, policy: &Policy) -> Result<()> {
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(text.as_bytes())?;
        let mut porthole = Command::new(env!("CARGO_BIN_EXE_porthole"));
        let porthole = porthole.args(["manifests", "policies", "--policy"]).arg(file.path()).output()?;
        ensure!(porthole.status.success(), "{}", String::from_utf8_lossy(&porthole.stderr));
        let mut kubectl = self.control_plane.kubectl_command()?;
        let mut kubectl = kubectl.args(["apply", "-f", "-"]).stdin(Stdio::piped()).spawn()?;
        kubectl.stdin.take().context("stdin")?.write_all(&porthole.stdout)?;
        ensure!(kubectl.wait()?.success(), "kubectl refuses {}", String::from_utf8_lossy(&porthole.stdout));

        let named = format!("no rule of policy {:?}", policy.name().context("a name")?);
        self.refused("the policy", host_process("probe", &["evil.example/x"], &[]), &named)?;
        self.refused("the endpoints", mount("default", r"\\.\pipe\porthole-x"), "runtime's own")
    }

    /// Waits until nobody's pod is refused with these words.
    fn refused(&self, what: &str, pod: Value, words: &str) -> Result<()> {
        let call = Call::create(&pod)?.by("nobody");
        let mut last = String::new();
        let waited = wait_for(what, PATIENCE, || {
            self.api.send(&call)?.message().clone_into(&mut last);
            Ok(last.contains(words).then_some(()))
        });
        waited.with_context(|| format!("wanted {words:?}, the last answer was {last:?}"))
    }

    /// What the API server's own type checker has to say of the expressions.
    fn type_check(&self, name: &str) -> Result<Value> {
        let call = Call::get(format!("{POLICIES}/{name}"));
        wait_for("the type check", PATIENCE, || {
            let body = self.api.send(&call)?.body;
            let checked = body["status"]["observedGeneration"] == body["metadata"]["generation"];
            Ok(checked.then(|| body["status"]["typeChecking"]["expressionWarnings"].clone()))
        })
    }
}
