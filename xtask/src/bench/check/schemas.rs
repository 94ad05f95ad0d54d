//! kubeconform's schemas, from the API server's own description of itself: a file per kind, each with all it refers to.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

const REFERENCE: &str = "#/definitions/";
/// Described as strings, yet taken as numbers too.
const LENIENT: [&str; 2] =
    ["io.k8s.apimachinery.pkg.api.resource.Quantity", "io.k8s.apimachinery.pkg.util.intstr.IntOrString"];

pub(super) fn write(openapi: &Value, dir: &Path) -> Result<()> {
    fs::create_dir(dir).with_context(|| format!("create {}", dir.display()))?;
    let definitions = openapi["definitions"].as_object().context("the API server described nothing")?;
    let mut written = 0;
    for (name, definition) in definitions {
        for kind in definition["x-kubernetes-group-version-kind"].as_array().into_iter().flatten() {
            let path = dir.join(file_name(kind)?);
            fs::write(&path, schema(openapi, name).to_string())
                .with_context(|| path.display().to_string())?;
            written += 1;
        }
    }
    ensure!(written > 0, "the API server described no kinds");
    Ok(())
}

/// As kubeconform looks for it: `deployment-apps-v1.json`, `pod-v1.json`; of a group only the first label.
fn file_name(kind: &Value) -> Result<String> {
    let word = |key: &str| kind[key].as_str().context("a kind without a name");
    let group = word("group")?.split('.').next().unwrap_or_default();
    let group = if group.is_empty() { String::new() } else { format!("-{group}") };
    Ok(format!("{}{group}-{}.json", word("kind")?, word("version")?).to_lowercase())
}

fn schema(openapi: &Value, name: &str) -> Value {
    let mut reached = BTreeMap::new();
    let mut next = vec![name.to_owned()];
    while let Some(name) = next.pop() {
        if let Entry::Vacant(new) = reached.entry(name) {
            let definition = definition(openapi, new.key());
            references(&definition, &mut next);
            new.insert(definition);
        }
    }
    json!({"$ref": format!("{REFERENCE}{name}"), "definitions": reached})
}

fn definition(openapi: &Value, name: &str) -> Value {
    if LENIENT.contains(&name) {
        return json!({"oneOf": [{"type": "string"}, {"type": "number"}]});
    }
    openapi["definitions"][name].clone()
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            let name = object.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix(REFERENCE));
            found.extend(name.map(str::to_owned));
            object.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_has_what_it_refers_to_and_no_more() {
        let openapi = json!({"definitions": {
            "A": {"properties": {"b": {"$ref": "#/definitions/B"}, "q": {"$ref": format!("{REFERENCE}{}", LENIENT[0])}}},
            "B": {"properties": {"a": {"$ref": "#/definitions/A"}}},
            "C": {"type": "string"}}});
        let schema = schema(&openapi, "A");
        let names: Vec<_> = schema["definitions"].as_object().expect("an object").keys().collect();
        assert_eq!(names, ["A", "B", LENIENT[0]]);
        assert_eq!(schema["definitions"][LENIENT[0]]["oneOf"][1]["type"], "number");
    }

    #[test]
    fn files_are_named_as_kubeconform_looks_for_them() {
        let name = |group: &str| {
            file_name(&json!({"group": group, "version": "v1", "kind": "Thing"})).expect("named")
        };
        assert_eq!(name(""), "thing-v1.json");
        assert_eq!(name("apps"), "thing-apps-v1.json");
        assert_eq!(name("networking.k8s.io"), "thing-networking-v1.json");
    }
}
