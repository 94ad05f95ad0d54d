//! `porthole manifests policies`: the HostProcess policy as a ValidatingAdmissionPolicy, with the labels of Pod
//! Security that go with it, and the rule that no pod mounts the runtime's own sockets.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use rules::policy::{FIELDS, Field, Policy, UNCLEAR, endpoint};

use super::{Format, fill, show};
use crate::failure::{Exit, Failure, Outcome};

mod cel;

#[derive(Debug, Args)]
pub struct PoliciesArgs {
    /// Who may run HostProcess pods: a file with a HostProcessPolicy
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,
}

const KINDS: &str = include_str!("../../../../manifests/policies/kinds.yaml");
const POD: &str = include_str!("../../../../manifests/policies/pod.yaml");
const HOST_PROCESS: &str = include_str!("../../../../manifests/policies/host-process.yaml");
const ENDPOINTS: &str = include_str!("../../../../manifests/policies/endpoints.yaml");
const NAMESPACES: &str = include_str!("../../../../manifests/policies/namespaces.yaml");
const NAMESPACE: &str = include_str!("../../../../manifests/policies/namespace.yaml");

pub fn policies(args: &PoliciesArgs) -> Outcome {
    let policy = args.policy.as_ref().map(read).transpose()?;
    show(&render(policy.as_ref()), args.output)
}

fn read(path: &PathBuf) -> Result<Policy, Failure> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("read {}", path.display())).or_usage()?;
    Policy::parse(&text).with_context(|| path.display().to_string()).or_usage()
}

/// Everything, as documents of YAML.
pub fn render(policy: Option<&Policy>) -> String {
    let mut documents = Vec::new();
    match policy {
        Some(policy) => {
            documents.extend(namespaces(policy));
            documents.push(host_process(policy));
            documents.push(endpoints());
        }
        None => {
            let note = "# No policy was given: this does not say who may run HostProcess pods.\n";
            documents.push(format!("{note}{}", endpoints()));
        }
    }
    documents.join("---\n")
}

fn endpoints() -> String {
    fill(
        ENDPOINTS,
        &[
            ("KINDS", KINDS),
            ("POD", POD),
            ("LABEL", endpoint::LABEL),
            ("LABEL_LITERAL", &cel::literal(endpoint::LABEL)),
            ("CLIMBS", &cel::literal(endpoint::CLIMBS)),
            ("ENDPOINT", &cel::literal(endpoint::ENDPOINT)),
            ("ANCESTOR", &cel::literal(endpoint::ANCESTOR)),
        ],
    )
}

fn host_process(policy: &Policy) -> String {
    let name = policy.name().map_or_else(|| "the policy".to_owned(), |name| format!("policy {name:?}"));
    let labels: Vec<_> = policy.rules().iter().map(|rule| format!("{:?}", rule.label())).collect();
    let message = format!("no rule of {name} allows this HostProcess pod: {}", labels.join(", "));
    let (mut rules, mut any) = (String::new(), String::new());
    for (place, rule) in policy.rules().iter().enumerate() {
        let lists = FIELDS.into_iter().filter_map(|field| Some((field, rule.list(field)?)));
        let parts: Vec<_> = lists.map(|(field, list)| cel::judge(field, list.regex())).collect();
        let expression = parts.join("\n      && ");
        // A write to a String does not fail.
        let _ = write!(rules, "  # {}\n  - name: rule{place}\n    expression: |-\n", labels[place]);
        let _ = writeln!(rules, "      {expression}");
        let _ = writeln!(any, "      || variables.rule{place}");
    }
    let message = serde_json::Value::from(message).to_string();
    let values = [
        ("KINDS", KINDS),
        ("POD", POD),
        ("POLICY", name.as_str()),
        ("UNCLEAR", &cel::literal(UNCLEAR)),
        ("RULES", &rules),
        ("ANY", &any),
        ("MESSAGE", &message),
    ];
    fill(HOST_PROCESS, &values)
}

/// The namespaces that the policy names without a star.
fn namespaces(policy: &Policy) -> Option<String> {
    let lists = policy.rules().iter().filter_map(|rule| rule.list(Field::Namespaces));
    let mut names: Vec<_> =
        lists.flat_map(|list| list.patterns()).filter(|name| !name.contains('*')).collect();
    names.sort();
    names.dedup();
    // Quoted: a namespace may be called 007 or no.
    let quoted = names.iter().map(|name| format!("{name:?}"));
    let each: Vec<_> = quoted.map(|name| fill(NAMESPACE, &[("NAME", &name)])).collect();
    if each.is_empty() { None } else { Some(format!("{NAMESPACES}{}", each.join("---\n"))) }
}

#[cfg(test)]
mod tests;
