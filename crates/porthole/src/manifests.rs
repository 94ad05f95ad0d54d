//! `porthole manifests NAME`: what a cluster needs beside the nodes, rendered and ready to apply.

use clap::{Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::cli::print;
use crate::failure::{Exit, Outcome};

pub mod policies;
pub mod webhook;

#[derive(Debug, Subcommand)]
pub enum Manifests {
    /// Keep HostProcess pods to those who may run them, and the runtime's own sockets out of every pod
    #[command(
        after_help = "Examples:\n  porthole manifests policies --policy policy.yaml | kubectl apply -f -\n\n\
        Without a policy, only the runtime's own sockets are kept out. docs/policy.md tells what a policy can say."
    )]
    Policies(policies::PoliciesArgs),
    /// Run the admission webhook in the cluster: two replicas, and the configuration that asks them
    #[command(
        after_help = "Examples:\n  porthole manifests webhook --policy policy.yaml --image registry.example/porthole:1 | kubectl apply -f -\n\n\
        Without a policy, HostProcess pods are kept to the cluster's own namespaces. docs/webhook.md tells the rest."
    )]
    Webhook(webhook::WebhookArgs),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    #[default]
    Yaml,
    Json,
}

pub fn manifests(which: &Manifests) -> Outcome {
    match which {
        Manifests::Policies(args) => policies::policies(args),
        Manifests::Webhook(args) => webhook::webhook(args),
    }
}

/// Prints documents of YAML as they are, with their comments, or as one List.
pub fn show(documents: &str, format: Format) -> Outcome {
    match format {
        Format::Yaml => print(documents),
        Format::Json => print(&format!("{:#}\n", list(documents).or_environment()?)),
    }
}

fn list(documents: &str) -> anyhow::Result<Value> {
    let items: Vec<Value> = serde_saphyr::from_multiple(documents)?;
    Ok(json!({"apiVersion": "v1", "kind": "List", "items": items}))
}

/// Fills in a template: `@NAME@` → text. A line that is nothing but a name takes several lines, or none.
pub fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for line in template.lines() {
        match values.iter().find(|(name, _)| line == format!("@{name}@")) {
            Some((_, block)) => block.lines().for_each(|line| text.extend([line, "\n"])),
            None => text.extend([in_line(line, values).as_str(), "\n"]),
        }
    }
    text
}

/// Each name once, from the left: what was filled in is not looked at again.
fn in_line(line: &str, values: &[(&str, &str)]) -> String {
    let found = values.iter().filter_map(|(name, value)| {
        let name = format!("@{name}@");
        line.find(&name).map(|place| (place, name.len(), value))
    });
    match found.min_by_key(|(place, ..)| *place) {
        Some((place, length, value)) => {
            format!("{}{value}{}", &line[..place], in_line(&line[place + length..], values))
        }
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_filled_in_once() {
        let template = "a: @A@ @B@\n@B@\n  b: @C@\n";
        let filled = fill(template, &[("A", "@B@"), ("B", "x: 1\ny: 2")]);
        assert_eq!(filled, "a: @B@ x: 1\ny: 2\nx: 1\ny: 2\n  b: @C@\n");
        assert_eq!(fill("a\n@B@\nc\n", &[("B", "")]), "a\nc\n");
    }

    #[test]
    fn json_is_one_list() {
        let list = list("# words\na: 1\n---\nb: [2]\n").expect("read");
        assert_eq!(list, json!({"apiVersion": "v1", "kind": "List", "items": [{"a": 1}, {"b": [2]}]}));
    }
}
