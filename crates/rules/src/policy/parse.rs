//! From a document to a policy.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

use super::{FIELDS, Field, List, Policy, PolicyError, Rule, list};

pub(super) const API_VERSION: &str = "porthole.dev/v1alpha1";
pub(super) const KIND: &str = "HostProcessPolicy";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Document {
    api_version: Spanned<String>,
    kind: Spanned<String>,
    #[serde(default)]
    metadata: Metadata,
    #[serde(deserialize_with = "present")]
    rules: Vec<Spanned<RuleDocument>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Metadata {
    #[serde(default)]
    name: Option<String>,
    #[serde(default, rename = "labels")]
    _labels: BTreeMap<String, String>,
    #[serde(default, rename = "annotations")]
    _annotations: BTreeMap<String, String>,
}

type Patterns = Option<Vec<Spanned<String>>>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RuleDocument {
    #[serde(default)]
    name: Option<String>,
    #[serde(default, deserialize_with = "some")]
    namespaces: Patterns,
    #[serde(default, deserialize_with = "some")]
    service_accounts: Patterns,
    #[serde(default, deserialize_with = "some")]
    users: Patterns,
    #[serde(default, deserialize_with = "some")]
    images: Patterns,
    #[serde(default, deserialize_with = "some")]
    run_as_user_names: Patterns,
    #[serde(default, deserialize_with = "some")]
    host_paths: Patterns,
}

pub(super) fn parse(text: &str) -> Result<Policy, PolicyError> {
    let options = serde_saphyr::options! { with_snippet: false };
    let document: Document = serde_saphyr::from_str_with_options(text, options)
        .map_err(|e| PolicyError::Unreadable(e.to_string()))?;
    if document.api_version.value != API_VERSION {
        let (line, found) = placed(document.api_version);
        return Err(PolicyError::Version { line, found });
    }
    if document.kind.value != KIND {
        let (line, found) = placed(document.kind);
        return Err(PolicyError::Kind { line, found });
    }
    if document.rules.is_empty() {
        return Err(PolicyError::NoRules);
    }
    let rules = document.rules.into_iter().enumerate();
    let rules = rules.map(|(place, rule)| (rule.referenced.line(), place, rule.value));
    let rules = rules.map(|(line, place, document)| Ok((line, rule(line, place, document)?)));
    let rules: Vec<(u64, Rule)> = rules.collect::<Result<_, _>>()?;
    refuse_same_names(&rules)?;
    Ok(Policy {
        name: document.metadata.name.filter(|name| !name.is_empty()),
        rules: rules.into_iter().map(|(_, rule)| rule).collect(),
    })
}

fn rule(line: u64, place: usize, document: RuleDocument) -> Result<Rule, PolicyError> {
    let label = document.name.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("rules[{place}]"));
    // In the order of `FIELDS`.
    let all = [
        document.namespaces,
        document.service_accounts,
        document.users,
        document.images,
        document.run_as_user_names,
        document.host_paths,
    ];
    if all.iter().all(Option::is_none) {
        return Err(PolicyError::NoField { line, rule: label });
    }
    let mut lists = [const { None }; FIELDS.len()];
    for (field, patterns) in FIELDS.into_iter().zip(all) {
        if let Some(patterns) = patterns {
            lists[field as usize] = Some(compile(&label, field, patterns)?);
        }
    }
    Ok(Rule { label, lists })
}

fn compile(rule: &str, field: Field, patterns: Vec<Spanned<String>>) -> Result<List, PolicyError> {
    let (rule, name) = (rule.to_owned(), field.name());
    for pattern in &patterns {
        if let Err(wanted) = list::regex(field, &pattern.value) {
            let (line, found) = placed(pattern.clone());
            return Err(PolicyError::Pattern { line, rule, field: name, found, wanted });
        }
    }
    let patterns = patterns.into_iter().map(|pattern| pattern.value).collect();
    List::new(field, patterns).ok_or(PolicyError::TooLong { rule, field: name })
}

fn refuse_same_names(rules: &[(u64, Rule)]) -> Result<(), PolicyError> {
    for (place, (line, rule)) in rules.iter().enumerate() {
        if rules[..place].iter().any(|(_, earlier)| earlier.label == rule.label) {
            return Err(PolicyError::SameName { line: *line, rule: rule.label.clone() });
        }
    }
    Ok(())
}

fn placed(text: Spanned<String>) -> (u64, String) {
    (text.referenced.line(), text.value)
}

/// A list that is there must be a list: `images:` with nothing behind it is neither "any" nor "none".
fn some<'de, D: Deserializer<'de>>(from: D) -> Result<Patterns, D::Error> {
    present(from).map(Some)
}

fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    let list = Option::<Vec<T>>::deserialize(from)?;
    list.ok_or_else(|| serde::de::Error::custom("wanted a list, found nothing"))
}
