//! What a suite of Ginkgo says of itself: its JSON report, a result per spec.

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

/// One spec that was chosen to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Its words from the outermost container to the leaf.
    pub name: String,
    pub outcome: Outcome,
    /// Why it failed or did not run, in one line.
    pub said: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Passed,
    Failed,
    Skipped,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Report {
    #[serde(default)]
    spec_reports: Option<Vec<Node>>,
}

/// A spec, or one of the nodes around all of them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Node {
    #[serde(default)]
    container_hierarchy_texts: Option<Vec<String>>,
    leaf_node_type: String,
    #[serde(default)]
    leaf_node_text: String,
    state: String,
    #[serde(default)]
    failure: Option<Failure>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Failure {
    #[serde(default)]
    message: String,
}

/// The specs that were chosen, in the order of their names. A suite that could not be set up is an error.
pub fn read(report: &str) -> Result<Vec<Spec>> {
    let reports: Vec<Report> = serde_json::from_str(report).context("a report of Ginkgo")?;
    let nodes: Vec<Node> = reports.into_iter().filter_map(|report| report.spec_reports).flatten().collect();
    for node in nodes.iter().filter(|node| node.leaf_node_type != "It") {
        ensure!(node.state == "passed", "{}: {}", node.leaf_node_type, node.said());
    }
    let mut specs: Vec<Spec> = nodes.iter().filter_map(Node::spec).collect();
    specs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(specs)
}

// === impl Node ===

impl Node {
    /// None for what is no spec, and for a spec that nobody chose: it is skipped without a word.
    fn spec(&self) -> Option<Spec> {
        let said = self.said();
        let outcome = match self.state.as_str() {
            "passed" => Outcome::Passed,
            "skipped" | "pending" if said.is_empty() => return None,
            "skipped" | "pending" => Outcome::Skipped,
            _ => Outcome::Failed,
        };
        let texts = self.container_hierarchy_texts.iter().flatten().chain([&self.leaf_node_text]);
        let name = texts.map(String::as_str).collect::<Vec<_>>().join(" ");
        (self.leaf_node_type == "It").then_some(Spec { name, outcome, said })
    }

    fn said(&self) -> String {
        let message = self.failure.as_ref().map_or("", |failure| failure.message.as_str());
        message.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"[{"SuitePath": "/x", "SpecReports": [
        {"ContainerHierarchyTexts": null, "LeafNodeType": "BeforeSuite", "LeafNodeText": "", "State": "passed"},
        {"ContainerHierarchyTexts": ["[k8s.io] Image", "when"], "LeafNodeType": "It", "LeafNodeText": "pulls",
         "State": "failed", "Failure": {"Message": "no\n  route", "Location": {}}},
        {"ContainerHierarchyTexts": ["[k8s.io] Container"], "LeafNodeType": "It", "LeafNodeText": "starts",
         "State": "passed"},
        {"ContainerHierarchyTexts": ["[k8s.io] AppArmor"], "LeafNodeType": "It", "LeafNodeText": "x",
         "State": "skipped", "Failure": {"Message": "disabled"}},
        {"ContainerHierarchyTexts": ["benchmark"], "LeafNodeType": "It", "LeafNodeText": "y", "State": "skipped"},
        {"ContainerHierarchyTexts": ["slow"], "LeafNodeType": "It", "LeafNodeText": "z", "State": "timedout"}
    ]}]"#;

    #[test]
    fn chosen_specs_are_read_in_the_order_of_their_names() {
        let specs = read(REPORT).expect("read");
        let shown: Vec<_> =
            specs.iter().map(|spec| (spec.name.as_str(), spec.outcome, spec.said.as_str())).collect();
        let expected = [
            ("[k8s.io] AppArmor x", Outcome::Skipped, "disabled"),
            ("[k8s.io] Container starts", Outcome::Passed, ""),
            ("[k8s.io] Image when pulls", Outcome::Failed, "no route"),
            ("slow z", Outcome::Failed, ""),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_suite_that_could_not_be_set_up_is_no_result() {
        let report = r#"[{"SpecReports": [{"LeafNodeType": "BeforeSuite", "State": "failed",
            "Failure": {"Message": "no images file"}}]}]"#;
        assert_eq!(read(report).expect_err("refused").to_string(), "BeforeSuite: no images file");
        assert!(read("{}").is_err());
    }
}
