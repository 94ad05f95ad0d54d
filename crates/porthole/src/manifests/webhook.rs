//! `porthole manifests webhook`: the admission webhook, two replicas of it, and the configuration that asks them.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;
use rules::policy::Policy;

use super::{Format, fill, show};
use crate::failure::{Exit, Outcome};

#[derive(Debug, Args)]
pub struct WebhookArgs {
    /// The image with porthole in it, on the PATH [default: porthole:VERSION]
    #[arg(long, value_name = "REF")]
    pub image: Option<String>,
    /// The webhook's own namespace, in which it does not judge
    #[arg(long, value_name = "NS", default_value = "porthole-system")]
    pub namespace: String,
    /// Who may run HostProcess pods: a file with a HostProcessPolicy [default: the cluster's own namespaces]
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
}

const ACCOUNT: &str = include_str!("../../../../manifests/webhook/account.yaml");
const SERVER: &str = include_str!("../../../../manifests/webhook/server.yaml");
const CONFIGURATION: &str = include_str!("../../../../manifests/webhook/configuration.yaml");
const POLICY: &str = include_str!("../../../../manifests/webhook/policy.yaml");

pub fn webhook(args: &WebhookArgs) -> Outcome {
    let policy = args.policy.as_deref().map(read).transpose().or_usage()?;
    let image = args.image.clone().unwrap_or_else(|| format!("porthole:{}", env!("CARGO_PKG_VERSION")));
    check_namespace(&args.namespace).or_usage()?;
    show(&render(&args.namespace, &image, policy.as_deref().unwrap_or(POLICY)), args.output)
}

/// The policy's text as it is, comments and all, once it is known to be one.
fn read(path: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    Policy::parse(&text).with_context(|| path.display().to_string())?;
    Ok(text)
}

fn check_namespace(name: &str) -> anyhow::Result<()> {
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let whole = !name.is_empty() && name.len() <= 63 && name.chars().all(good);
    let ends = !name.starts_with('-') && !name.ends_with('-');
    ensure!(whole && ends, "wanted a namespace of lower-case letters, digits and \"-\", found {name:?}");
    Ok(())
}

/// Everything, as documents of YAML.
pub fn render(namespace: &str, image: &str, policy: &str) -> String {
    // Quoted: a namespace may be called 007 or no. In an argument it stands in a text anyway.
    let quoted = format!("{namespace:?}");
    let image = serde_json::Value::from(image).to_string();
    let policy: Vec<_> = policy.lines().map(|line| format!("    {line}")).collect();
    let server = SERVER.replace("=@NAMESPACE@", &format!("={namespace}"));
    let documents = [ACCOUNT, &server, CONFIGURATION].join("---\n");
    fill(&documents, &[("NAMESPACE", &quoted), ("IMAGE", &image), ("POLICY", &policy.join("\n"))])
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn documents(namespace: &str, policy: &str) -> Vec<Value> {
        serde_saphyr::from_multiple(&render(namespace, "registry.test/p@sha256:0", policy)).expect("YAML")
    }

    fn of_kind(documents: &[Value], kind: &str) -> Value {
        documents.iter().find(|document| document["kind"] == kind).expect(kind).clone()
    }

    #[test]
    fn what_is_asked_for_is_filled_in() {
        let policy = "  # indented\napiVersion: a\n\nkind: \"@IMAGE@\"\n";
        let documents = documents("007", policy);
        assert_eq!(of_kind(&documents, "ConfigMap")["data"]["policy.yaml"], policy);
        let pod = &of_kind(&documents, "Deployment")["spec"]["template"]["spec"];
        assert_eq!(pod["containers"][0]["image"], "registry.test/p@sha256:0");
        let args = pod["containers"][0]["args"].as_array().expect("arguments");
        assert!(args.contains(&"--namespace=007".into()), "{args:?}");
        for document in documents.iter().filter(|document| !document["metadata"]["namespace"].is_null()) {
            assert_eq!(document["metadata"]["namespace"], "007", "{document}");
        }
        assert!(!render("a", "b", "c").contains('@'));
    }

    #[test]
    fn it_can_lock_out_neither_itself_nor_others() {
        let documents = documents("ns", POLICY);
        let configuration = of_kind(&documents, "ValidatingWebhookConfiguration");
        let [webhook] = configuration["webhooks"].as_array().expect("webhooks").as_slice() else {
            panic!("one")
        };
        assert_eq!((&webhook["timeoutSeconds"], &webhook["failurePolicy"]), (&5.into(), &"Fail".into()));
        let exempt = &webhook["namespaceSelector"]["matchExpressions"][0];
        assert_eq!((&exempt["operator"], &exempt["values"][0]), (&"NotIn".into(), &"ns".into()));
        assert_eq!(of_kind(&documents, "Deployment")["spec"]["replicas"], 2);
        assert_eq!(of_kind(&documents, "PodDisruptionBudget")["spec"]["minAvailable"], 1);
        for role in ["Role", "ClusterRole"] {
            let rules = of_kind(&documents, role)["rules"].clone();
            assert!(
                rules.as_array().expect("rules").iter().all(|rule| rule["resourceNames"][0].is_string()),
                "{rules}"
            );
        }
    }

    #[test]
    fn every_kind_that_is_judged_is_asked_about() {
        let rules =
            of_kind(&documents("ns", POLICY), "ValidatingWebhookConfiguration")["webhooks"][0]["rules"]
                .clone();
        let asked = |group: &str, resource: &str| {
            rules.as_array().expect("rules").iter().any(|rule| {
                rule["apiGroups"][0] == group
                    && rule["resources"].as_array().expect("resources").iter().any(|r| r == resource)
            })
        };
        for kind in rules::Kind::all() {
            let group = kind.api_version().split_once('/').map_or("", |(group, _)| group);
            assert!(asked(group, &format!("{}s", kind.name().to_lowercase())), "{kind:?}");
        }
        assert!(asked("", "pods/ephemeralcontainers"));
    }

    #[test]
    fn what_it_runs_with_is_a_policy() {
        assert_eq!(Policy::parse(POLICY).expect("a policy").rules().len(), 1);
    }

    #[test]
    fn a_namespace_is_a_label() {
        assert!(check_namespace("porthole-system").is_ok());
        for name in ["", "-a", "a-", "A", "a.b", "a b", &"a".repeat(64)] {
            assert!(check_namespace(name).is_err(), "{name:?}");
        }
    }
}
