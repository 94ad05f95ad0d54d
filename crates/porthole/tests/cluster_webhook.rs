//! `porthole webhook` asked by a real API server, with the configuration that `porthole manifests webhook` renders.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde_json::{Value, json};
use testbed::api::{Answer, Api, Call};
use testbed::control_plane::{ControlPlane, Options};
use testbed::guard::Guard;
use testbed::process::wait_for;
use testbed::webhook::{Ca, Caller, Program, Target};

#[path = "stage/policy_cases.rs"]
mod policy_cases;

use policy_cases::{Case, Expect, cases};

const PORTHOLE: &str = env!("CARGO_BIN_EXE_porthole");
const PATIENCE: Duration = Duration::from_secs(60);
const CONFIGURATION: &str = "ValidatingWebhookConfiguration";
const NAMESPACE: &str = "porthole-system";
const SECRET: &str = "/api/v1/namespaces/porthole-system/secrets/porthole-webhook-tls";
const OWN: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/porthole-webhook";

/// A control plane in which some may ask for everything: only the webhook refuses them.
struct Cluster {
    control_plane: ControlPlane,
    api: Api,
    guard: Guard,
    ca: Ca,
}

// proves: KA-11 cluster
// proves: HP-05 cluster
#[test]
fn who_may_run_host_process_pods_and_what_goes_on_without_the_webhook() -> Result<()> {
    let cluster = Cluster::start(&everybody())?;
    cluster.write_policy(
        "rules: [{name: agents, namespaces: [default], users: [alice], images: [good.example]}, \
        {name: daemons, namespaces: [daemons], images: [good.example]}]",
    )?;
    let webhook = cluster.start_webhook("webhook", "0", &[])?;
    let port = webhook.address.port().to_string();
    let mut configuration = rendered(CONFIGURATION)?;
    configuration["webhooks"][0]["clientConfig"] = cluster.client_config(&port);
    cluster.make(&configuration)?;
    cluster.wait_until_refused("the configuration's effect", "denied the request")?;

    cluster.judges_pods_templates_and_ephemeral_containers()?;
    cluster.follows_its_policy()?;

    webhook.signal("KILL")?;
    webhook.reap();
    let away = cluster.send(Call::create(&pod("default", "good.example/a"))?.by("alice"))?;
    ensure!(away.code == 500 && away.message().contains("failed calling webhook"), "{}", away.message());
    cluster.goes_on_with_ordinary_pods().context("without the webhook")?;

    let webhook = cluster.start_webhook("webhook", &port, &[])?;
    cluster.wait_until_taken("the webhook's return", &pod("default", "good.example/a"), "alice")?;
    webhook.signal("TERM")?;
    ensure!(webhook.reap() == Some(0));

    let _off = cluster.start_webhook("webhook", &port, &["--host-process=off"])?;
    cluster.wait_until_refused("the switch's effect", "HostProcess containers are off")?;
    cluster.leaves_running_pods_alone().context("switched off")?;
    cluster.goes_on_with_ordinary_pods().context("switched off")?;
    cluster.control_plane.stop()
}

// proves: KA-11 cluster
#[test]
fn the_webhook_decides_as_the_policy_does() -> Result<()> {
    let cluster = Cluster::start(&everybody())?;
    let cases = cases();
    let namespaces: BTreeSet<_> = cases.cases.iter().map(|case| case.namespace.as_str()).collect();
    for namespace in namespaces {
        if namespace != "default" {
            cluster.api.namespace(namespace, &json!({}))?;
        }
        for account in ["csi-node", "builder"] {
            let metadata = json!({"name": account, "namespace": namespace});
            cluster.make(&json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}))?;
        }
    }
    cases.cases.iter().filter_map(Case::pod_before).try_for_each(|pod| cluster.make(&pod))?;

    cluster.write_policy("rules: [{name: none, namespaces: []}]")?;
    let webhook = cluster.start_webhook("webhook", "0", &[])?;
    // Some cases are about ordinary pods, which the rendered configuration does not ask about.
    let mut configuration = rendered(CONFIGURATION)?;
    configuration["webhooks"][0]["clientConfig"] = cluster.client_config(&webhook.address.port().to_string());
    configuration["webhooks"][0]["matchConditions"].take();
    cluster.make(&configuration)?;
    cluster.wait_until_refused("the configuration's effect", "denied the request")?;

    for (place, (name, text)) in cases.policies.iter().enumerate() {
        fs::write(cluster.path("policy.yaml"), text)?;
        cluster.wait_for_metric(&webhook, &format!("porthole_webhook_policy_generation {}", place + 2))?;
        let chosen: Vec<_> = cases.cases.iter().filter(|case| case.policy == *name).collect();
        let calls: Vec<_> = chosen.iter().map(|case| call(case)).collect::<Result<_>>()?;
        for (case, answer) in chosen.iter().zip(cluster.api.send_all(&calls)?) {
            assert_eq!(answer.ok(), case.passes(), "{}: {}", case.name, answer.message());
            if let Expect::Refused(words) = &case.expect {
                refused(&answer, words).with_context(|| case.name.clone())?;
            }
        }
    }
    cluster.control_plane.stop()
}

// proves: KA-11 cluster
#[test]
fn two_replicas_share_a_certificate_that_they_made_with_their_few_rights() -> Result<()> {
    let people = ["alice", "admin"].map(|name| subject("User", name));
    let cluster = Cluster::start(&json!(people))?;
    cluster.apply_manifest()?;
    let kubeconfig = cluster.account_kubeconfig()?;
    let mut configuration = rendered(CONFIGURATION)?;
    configuration["metadata"]["resourceVersion"] = cluster.get(OWN)?["metadata"]["resourceVersion"].clone();
    // A port on which nobody listens yet.
    configuration["webhooks"][0]["clientConfig"] = json!({"url": cluster.url("1")});
    cluster.replace(&configuration)?;
    cluster.write_policy("rules: [{name: agents, namespaces: [default], users: [alice]}]")?;

    let [one, two] = ["one", "two"].map(|name| cluster.start_self_signed(name, &kubeconfig));
    let (one, two) = (one?, two?);
    let ca = cluster.shared_ca()?;
    for replica in [&one, &two] {
        let target = Target { address: replica.address, ca: ca.clone() };
        ensure!(Caller::new(&target)?.get("/readyz")?.status == 200, "{}", replica.log());
        cluster.patch_url(&cluster.url(&replica.address.port().to_string()))?;
        let what = format!("the API server's trust in {}", replica.address);
        cluster.wait_until_taken(&what, &pod("default", "good.example/a"), "alice")?;
        cluster.wait_until_refused(&what, "denied the request")?;
    }

    // Its own namespace is not asked about: there Pod Security refuses.
    let own = cluster.send(Call::create(&pod(NAMESPACE, "good.example/a"))?.by("alice"))?;
    ensure!(own.code == 403 && own.message().contains("violates PodSecurity"), "{}", own.message());
    taken(&cluster.send(Call::create(&ordinary(NAMESPACE))?.by("alice"))?)?;

    // Somebody applies the manifest of old, without the CA.
    let mut lost = cluster.get(OWN)?;
    lost["webhooks"][0]["clientConfig"]["caBundle"] = json!(BASE64.encode(cluster.ca.pem()));
    cluster.replace(&lost)?;
    wait_for("the CA's return", PATIENCE, || {
        let bundle = cluster.get(OWN)?["webhooks"][0]["clientConfig"]["caBundle"].clone();
        Ok((bundle == json!(BASE64.encode(&ca))).then_some(()))
    })?;
    ensure!(cluster.shared_ca()? == ca, "and it is the same");
    cluster.control_plane.stop()
}

fn everybody() -> Value {
    json!([subject("Group", "system:authenticated")])
}

fn subject(kind: &str, name: &str) -> Value {
    json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name})
}

fn rendered(kind: &str) -> Result<Value> {
    let list: Value = serde_json::from_slice(&manifest(&["-o", "json"])?)?;
    let items = list["items"].as_array().context("items")?;
    items.iter().find(|item| item["kind"] == kind).cloned().with_context(|| format!("no {kind}"))
}

fn manifest(words: &[&str]) -> Result<Vec<u8>> {
    let output = Command::new(PORTHOLE).args(["manifests", "webhook"]).args(words).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(output.stdout)
}

fn pod(namespace: &str, image: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", "namespace": namespace}, "spec": spec(image)})
}

fn spec(image: &str) -> Value {
    json!({
        "hostNetwork": true,
        "securityContext": {"windowsOptions": {"hostProcess": true}},
        "containers": [{"name": "main", "image": image}],
    })
}

fn ordinary(namespace: &str) -> Value {
    let spec = json!({"containers": [{"name": "main", "image": "x", "securityContext": {
        "allowPrivilegeEscalation": false, "runAsNonRoot": true, "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"}}}]});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": namespace}, "spec": spec})
}

fn deployment(namespace: &str, spec: &Value) -> Value {
    let labels = json!({"app": "a"});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "agents", "namespace": namespace},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}}})
}

fn call(case: &Case) -> Result<Call> {
    let object = case.object();
    let call = if case.pod_before().is_some() { Call::ephemeral(&object)? } else { Call::create(&object)? };
    Ok(call.by(&case.user))
}

fn taken(answer: &Answer) -> Result<()> {
    ensure!(answer.ok(), "{} {}", answer.code, answer.message());
    Ok(())
}

fn refused(answer: &Answer, words: &str) -> Result<()> {
    let denied = answer.code == 403 && answer.message().contains("denied the request");
    ensure!(
        denied && answer.message().contains(words),
        "wanted {words:?}: {} {}",
        answer.code,
        answer.message()
    );
    Ok(())
}

// === impl Cluster ===

impl Cluster {
    fn start(masters: &Value) -> Result<Self> {
        let control_plane = ControlPlane::start(Options::default())?;
        let api = Api::connect(&control_plane.kubeconfig())?;
        let cluster = Self { control_plane, api, guard: Guard::new("webhook")?, ca: Ca::new()? };
        cluster.make(&json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "everybody"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": masters}))?;
        cluster.api.wait_for_account("default")?;
        let pair = cluster.ca.issue(&[&cluster.control_plane.host_address().to_string()])?;
        pair.write(cluster.guard.dir())?;
        Ok(cluster)
    }

    fn judges_pods_templates_and_ephemeral_containers(&self) -> Result<()> {
        self.api.namespace("daemons", &json!({}))?;
        let mut running = pod("default", "good.example/a");
        running["metadata"]["name"] = json!("agent");
        taken(&self.send(Call::create(&running)?.by("alice").for_real())?)?;
        refused(&self.send(Call::create(&pod("default", "good.example/a"))?.by("bob"))?, "user \"bob\"")?;
        refused(
            &self.send(Call::create(&pod("default", "evil.example/a"))?.by("alice"))?,
            "\"evil.example/a\"",
        )?;

        let good = deployment("daemons", &spec("good.example/a"));
        taken(&self.send(Call::create(&good)?.by("bob"))?)?;
        let evil = deployment("daemons", &spec("evil.example/a"));
        refused(&self.send(Call::create(&evil)?.by("alice"))?, "image \"evil.example/a\"")?;

        let mut debugged = running;
        debugged["spec"]["ephemeralContainers"] = json!([{"name": "debug", "image": "good.example/shell"}]);
        taken(&self.send(Call::ephemeral(&debugged)?.by("alice"))?)?;
        refused(&self.send(Call::ephemeral(&debugged)?.by("bob"))?, "user \"bob\"")?;
        debugged["spec"]["ephemeralContainers"][0]["image"] = json!("evil.example/shell");
        refused(&self.send(Call::ephemeral(&debugged)?.by("alice"))?, "container \"debug\"")?;

        let mut odd = pod("default", "good.example/a");
        odd["spec"]["containers"][0]["securityContext"] = json!({"privileged": true});
        let answer = self.send(Call::create(&odd)?.by("alice"))?;
        taken(&answer)?;
        ensure!(answer.warnings.iter().any(|text| text.contains("privileged")), "{:?}", answer.warnings);
        self.goes_on_with_ordinary_pods()
    }

    /// Another policy, while requests go on; then a bad one, which changes nothing.
    fn follows_its_policy(&self) -> Result<()> {
        self.write_policy("rules: [{name: agents, namespaces: [default], users: [bob]}]")?;
        self.wait_until_taken("the new policy", &pod("default", "any.example/a"), "bob")?;
        refused(&self.send(Call::create(&pod("default", "good.example/a"))?.by("alice"))?, "user \"alice\"")?;
        self.leaves_running_pods_alone().context("with a policy that forbids them")?;
        self.write_policy("rules: 7")?;
        wait_for("the bad policy to be told", PATIENCE, || {
            let log = fs::read_to_string(self.path("webhook.log"))?;
            Ok(log.contains("kept the old policy").then_some(()))
        })?;
        taken(&self.send(Call::create(&pod("default", "any.example/a"))?.by("bob"))?)?;
        self.write_policy("rules: [{name: agents, namespaces: [default], users: [alice]}]")
    }

    /// The pod that alice made can be labelled and deleted by anybody, and its image changed by nobody else.
    fn leaves_running_pods_alone(&self) -> Result<()> {
        let mut running = self.get("/api/v1/namespaces/default/pods/agent")?;
        running["metadata"]["resourceVersion"].take();
        running["metadata"]["labels"] = json!({"touched": "yes"});
        running["metadata"]["finalizers"] = json!(["example.com/f"]);
        taken(&self.send(Call::replace(&running)?.by("bob"))?)?;
        running["spec"]["containers"][0]["image"] = json!("third.example/a");
        let changed = self.send(Call::replace(&running)?.by("alice"))?;
        ensure!(changed.code == 403, "{} {}", changed.code, changed.message());
        Ok(())
    }

    fn goes_on_with_ordinary_pods(&self) -> Result<()> {
        taken(&self.send(Call::create(&ordinary("default"))?.by("bob"))?)?;
        let spec = ordinary("default")["spec"].clone();
        taken(&self.send(Call::create(&deployment("default", &spec))?.by("bob"))?)
    }

    /// As a user would, after a dry run of everything.
    fn apply_manifest(&self) -> Result<()> {
        let text = manifest(&[])?;
        let namespace = rendered("Namespace")?;
        self.make(&namespace)?;
        self.api.wait_for_account(NAMESPACE)?;
        for words in [&["apply", "--dry-run=server", "-f", "-"][..], &["apply", "-f", "-"]] {
            let mut kubectl = self.control_plane.kubectl_command()?;
            let kubectl = kubectl.args(words).stdin(Stdio::piped());
            let mut kubectl = kubectl.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
            kubectl.stdin.take().context("stdin")?.write_all(&text)?;
            let output = kubectl.wait_with_output()?;
            let said = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "kubectl {words:?}: {said}");
            ensure!(!said.contains("would violate PodSecurity"), "{said}");
        }
        Ok(())
    }

    /// The kubeconfig of the rendered ServiceAccount: the rights that the webhook has in a cluster, and no more.
    fn account_kubeconfig(&self) -> Result<PathBuf> {
        let words = ["create", "token", "porthole-webhook", "--namespace", NAMESPACE];
        let output = self.control_plane.kubectl(words)?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let words = ["config", "view", "--raw", "--minify", "-o", "json"];
        let mut config: Value = serde_json::from_slice(&self.control_plane.kubectl(words)?.stdout)?;
        config["users"][0]["user"] = json!({"token": String::from_utf8(output.stdout)?.trim()});
        fs::write(self.path("account.json"), config.to_string())?;
        Ok(self.path("account.json"))
    }

    fn start_webhook(&self, name: &str, port: &str, more: &[&str]) -> Result<Program> {
        let (policy, listen) = self.common(port)?;
        let [cert, key] = ["tls.crt", "tls.key"].map(|file| self.path(file).display().to_string());
        let words = ["--policy", &policy, "--listen", &listen, "--tls-cert", &cert, "--tls-key", &key];
        Program::start(&self.guard, name, Path::new(PORTHOLE), &[&words[..], more].concat())
    }

    fn start_self_signed(&self, name: &str, kubeconfig: &Path) -> Result<Program> {
        let (policy, listen) = self.common("0")?;
        let (kubeconfig, host) =
            (kubeconfig.display().to_string(), self.control_plane.host_address().to_string());
        let own = ["--self-signed", "--service=porthole-webhook", "--webhook-configuration=porthole-webhook"];
        let words = ["--policy", &policy, "--listen", &listen, "--namespace", NAMESPACE, "--san", &host];
        let words = [&words[..], &own[..], &["--kubeconfig", &kubeconfig]].concat();
        Program::start(&self.guard, name, Path::new(PORTHOLE), &words)
    }

    fn common(&self, port: &str) -> Result<(String, String)> {
        let listen = format!("{}:{port}", self.control_plane.host_address());
        Ok((self.path("policy.yaml").display().to_string(), listen))
    }

    /// The CA of the Secret, which the configuration must have, too.
    fn shared_ca(&self) -> Result<String> {
        let secret = self.get(SECRET)?;
        let ca = secret["data"]["ca.crt"].as_str().context("the Secret has no ca.crt")?;
        let bundle = &self.get(OWN)?["webhooks"][0]["clientConfig"]["caBundle"];
        ensure!(bundle == ca, "the configuration has another CA");
        Ok(String::from_utf8(BASE64.decode(ca)?)?)
    }

    fn patch_url(&self, url: &str) -> Result<()> {
        let mut configuration = self.get(OWN)?;
        configuration["webhooks"][0]["clientConfig"]["url"] = json!(url);
        self.replace(&configuration)
    }

    fn client_config(&self, port: &str) -> Value {
        json!({"url": self.url(port), "caBundle": BASE64.encode(self.ca.pem())})
    }

    fn url(&self, port: &str) -> String {
        format!("https://{}:{port}/validate", self.control_plane.host_address())
    }

    fn write_policy(&self, rules: &str) -> Result<()> {
        let text = format!("apiVersion: porthole.dev/v1alpha1\nkind: HostProcessPolicy\n{rules}\n");
        Ok(fs::write(self.path("policy.yaml"), text)?)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.guard.dir().join(name)
    }

    fn wait_for_metric(&self, webhook: &Program, line: &str) -> Result<()> {
        let mut caller = Caller::new(&Target { address: webhook.address, ca: self.ca.pem().to_owned() })?;
        wait_for(line, PATIENCE, || {
            Ok(caller.get("/metrics")?.text().lines().any(|have| have == line).then_some(()))
        })
    }

    /// Waits until a pod that nobody allows is refused with these words.
    fn wait_until_refused(&self, what: &str, words: &str) -> Result<()> {
        let call = Call::create(&pod("default", "evil.example/probe"))?.by("admin");
        let mut last = String::new();
        let waited = wait_for(what, PATIENCE, || {
            self.api.send(&call)?.message().clone_into(&mut last);
            Ok(last.contains(words).then_some(()))
        });
        waited.with_context(|| format!("wanted {words:?}, the last answer was {last:?}"))
    }

    fn wait_until_taken(&self, what: &str, pod: &Value, user: &str) -> Result<()> {
        let call = Call::create(pod)?.by(user);
        let mut last = String::new();
        let waited = wait_for(what, PATIENCE, || {
            let answer = self.api.send(&call)?;
            answer.message().clone_into(&mut last);
            Ok(answer.ok().then_some(()))
        });
        waited.with_context(|| format!("the last answer was {last:?}"))
    }

    fn send(&self, call: Call) -> Result<Answer> {
        self.api.send(&call)
    }

    fn get(&self, path: &str) -> Result<Value> {
        let answer = self.api.send(&Call::get(path))?;
        taken(&answer).with_context(|| path.to_owned())?;
        Ok(answer.body)
    }

    fn make(&self, object: &Value) -> Result<()> {
        taken(&self.api.send(&Call::create(object)?.for_real())?).with_context(|| object.to_string())
    }

    fn replace(&self, object: &Value) -> Result<()> {
        taken(&self.api.send(&Call::replace(object)?.for_real())?).with_context(|| object.to_string())
    }
}
