//! `porthole check --covers`: which fields the rules look at.

use rules::pod_security;
use serde::Serialize;

use crate::cli::Output;
use crate::facts::show;
use crate::failure::Outcome;
use crate::table::table;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Covers {
    api: &'static [rules::Cover],
    pod_security: Vec<Check>,
}

#[derive(Debug, Serialize)]
struct Check {
    id: &'static str,
    level: &'static str,
    versions: Vec<String>,
    fields: &'static [&'static str],
}

pub(super) fn covers(output: Output) -> Outcome {
    let covers = Covers {
        api: rules::covers(),
        pod_security: pod_security::table().iter().map(Check::from).collect(),
    };
    show(&covers, output, || covers.render())
}

// === impl Covers ===

impl Covers {
    fn render(&self) -> String {
        let security: Vec<_> = self.pod_security.iter().map(Check::row).collect();
        let security = table(&["CHECK", "LEVEL", "CHANGED IN", "FIELDS"], &security);
        let api: Vec<_> = self.api.iter().map(row).collect();
        let api = table(&["FIELD", "REASONS", "RULE"], &api);
        format!("{api}\n{security}")
    }
}

fn row(cover: &rules::Cover) -> Vec<String> {
    let reasons: Vec<_> = cover.reasons.iter().map(|reason| format!("{reason:?}")).collect();
    vec![cover.field.into(), reasons.join(" "), cover.rule.into()]
}

// === impl Check ===

impl Check {
    fn row(&self) -> Vec<String> {
        vec![self.id.into(), self.level.into(), self.versions.join(" "), self.fields.join(" ")]
    }
}

impl From<&pod_security::Check> for Check {
    fn from(check: &pod_security::Check) -> Self {
        let versions = check.versions().map(|version| version.to_string()).collect();
        Self { id: check.id, level: check.level.name(), versions, fields: check.fields }
    }
}
