//! Files of pods: YAML or JSON, several documents, lists; beside them the Secrets that their images are pulled with.

use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::{Pod, Secret};
use serde_json::Value;

/// What is in a file, in its order.
#[derive(Debug, Default)]
pub struct Documents {
    pub pods: Vec<Pod>,
    pub secrets: Vec<Secret>,
}

/// A file that is not what it should be; nothing of it is used.
#[derive(Debug)]
pub enum ManifestError {
    Unreadable { path: PathBuf, source: std::io::Error },
    TooLarge { path: PathBuf, size: u64 },
    Syntax { path: PathBuf, message: String },
    Kind { path: PathBuf, document: usize, found: String },
    Pod { path: PathBuf, document: usize, message: String },
    Secret { path: PathBuf, document: usize },
    Empty { path: PathBuf },
}

/// No manifest that a person wrote is larger.
const LARGEST: u64 = 16 << 20;

/// What is in a file.
pub fn read(path: &Path) -> Result<Documents, ManifestError> {
    let unreadable = |source| ManifestError::Unreadable { path: path.to_owned(), source };
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > LARGEST {
        return Err(ManifestError::TooLarge { path: path.to_owned(), size });
    }
    parse(path, &std::fs::read(path).map_err(unreadable)?)
}

/// What is in a text. The path is for messages.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Documents, ManifestError> {
    let syntax = |message: String| ManifestError::Syntax { path: path.to_owned(), message };
    let text = std::str::from_utf8(bytes).map_err(|e| syntax(format!("not UTF-8 text: {e}")))?;
    // The lines around a mistake would be shown, and in them what a Secret holds.
    let options = serde_saphyr::options! { with_snippet: false };
    let values: Vec<Value> =
        serde_saphyr::from_multiple_with_options(text, options).map_err(|e| syntax(e.to_string()))?;
    let mut found = Documents::default();
    for (document, value) in values.into_iter().enumerate() {
        let is_list = matches!(kind(&value), "List" | "PodList" | "SecretList");
        match value {
            Value::Null => {}
            Value::Object(mut list) if is_list => {
                let Some(Value::Array(items)) = list.remove("items") else { continue };
                items.into_iter().try_for_each(|item| found.take(path, document, item))?;
            }
            value => found.take(path, document, value)?,
        }
    }
    if found.pods.is_empty() && found.secrets.is_empty() {
        return Err(ManifestError::Empty { path: path.to_owned() });
    }
    Ok(found)
}

/// A Secret, if it is one. In `data` a base64 text may have lines and an end of line, as `base64` and YAML's blocks write
/// them: Kubernetes does not mind.
pub(crate) fn secret(mut value: Value) -> Option<Secret> {
    let data = value.get_mut("data").and_then(Value::as_object_mut);
    for (_, text) in data.into_iter().flatten() {
        if let Value::String(text) = text {
            text.retain(|sign| !matches!(sign, '\r' | '\n'));
        }
    }
    serde_json::from_value(value).ok()
}

fn kind(value: &Value) -> &str {
    value.get("kind").and_then(Value::as_str).unwrap_or_default()
}

fn wrong_kind(path: &Path, document: usize, value: &Value) -> ManifestError {
    let found = match value.get("kind").and_then(Value::as_str) {
        Some(kind) => format!("kind {kind:?}"),
        None => "no kind".to_owned(),
    };
    ManifestError::Kind { path: path.to_owned(), document, found }
}

// === impl Documents ===

impl Documents {
    fn take(&mut self, path: &Path, document: usize, value: Value) -> Result<(), ManifestError> {
        let path_of = || path.to_owned();
        match kind(&value) {
            "Pod" => self.pods.push(serde_json::from_value(value).map_err(|e| ManifestError::Pod {
                path: path_of(),
                document,
                message: e.to_string(),
            })?),
            // Without a word of why, which could be a word of what is in it.
            "Secret" => self
                .secrets
                .push(secret(value).ok_or_else(|| ManifestError::Secret { path: path_of(), document })?),
            _ => return Err(wrong_kind(path, document, &value)),
        }
        Ok(())
    }
}

// === impl ManifestError ===

impl std::fmt::Display for ManifestError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ManifestError::Unreadable { path, .. } => write!(f, "read {}", path.display()),
            ManifestError::TooLarge { path, size } => {
                write!(f, "{} has {size} bytes, more than the {LARGEST} a manifest may have", path.display())
            }
            ManifestError::Syntax { path, message } => write!(f, "{}: {message}", path.display()),
            ManifestError::Kind { path, document, found } => {
                write!(
                    f,
                    "{}, document {document}: wanted kind \"Pod\", \"Secret\" or \"List\", found {found}",
                    path.display()
                )
            }
            ManifestError::Pod { path, document, message } => {
                write!(f, "{}, document {document}: not a Pod: {message}", path.display())
            }
            ManifestError::Secret { path, document } => {
                write!(f, "{}, document {document}: not a Secret as Kubernetes has them", path.display())
            }
            ManifestError::Empty { path } => write!(f, "{} has no pods in it", path.display()),
        }
    }
}

impl std::error::Error for ManifestError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ManifestError::Unreadable { source, .. } => Some(source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Result<Vec<String>, String> {
        let found = parse(Path::new("f.yaml"), text.as_bytes()).map_err(|e| e.to_string())?;
        Ok(found.pods.into_iter().map(|pod| pod.metadata.name.unwrap_or_default()).collect())
    }

    fn named(name: &str) -> String {
        format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\n")
    }

    #[test]
    fn documents_lists_and_json() {
        assert_eq!(names(&[named("a"), named("b")].join("---\n")).unwrap(), ["a", "b"]);
        assert_eq!(names(&format!("---\n---\n{}---\n", named("a"))).unwrap(), ["a"]);
        let list = r#"{"kind":"List","apiVersion":"v1","items":[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"j"}}]}"#;
        assert_eq!(names(list).unwrap(), ["j"]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, expected) in [
            (
                "kind: Deployment\napiVersion: apps/v1\n",
                "f.yaml, document 0: wanted kind \"Pod\", \"Secret\" or \"List\", found kind \"Deployment\"",
            ),
            ("a: b\n", "found no kind"),
            ("just text\n", "found no kind"),
            ("", "f.yaml has no pods in it"),
            ("kind: List\nitems: []\n", "has no pods in it"),
            ("kind: List\nitems: [{kind: Node}]\n", "found kind \"Node\""),
            ("kind: Pod\napiVersion: v2\n", "not a Pod"),
            ("kind: Pod\napiVersion: v1\nspec: {containers: 3}\n", "document 0: not a Pod: invalid type"),
            ("kind: [\n", "f.yaml: "),
        ] {
            let error = names(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let error = parse(Path::new("f"), b"\xff\xfe").unwrap_err().to_string();
        assert!(error.contains("not UTF-8"), "{error}");
        assert!(read(Path::new("/not/there")).unwrap_err().to_string().contains("/not/there"));
    }

    #[test]
    fn secrets_stand_beside_pods_or_alone_and_are_not_shown() {
        let secret = "{kind: Secret, apiVersion: v1, metadata: {name: pull}, data: {a: c2VjcmV0}}";
        let both = format!("{}---\n{secret}\n", named("a"));
        let alone = format!("{{kind: List, apiVersion: v1, items: [{secret}]}}");
        for (text, pods) in [(both.as_str(), 1), (&alone, 0), (secret, 0)] {
            let found = parse(Path::new("f.yaml"), text.as_bytes()).unwrap();
            assert_eq!((found.pods.len(), found.secrets.len()), (pods, 1), "{text}");
        }
        let error = names("{kind: Secret, apiVersion: v1, data: {a: 'se cret'}}").unwrap_err();
        assert_eq!(error, "f.yaml, document 0: not a Secret as Kubernetes has them");
    }

    #[test]
    fn base64_in_lines_is_the_secret_that_kubernetes_reads() {
        let text =
            "kind: Secret\napiVersion: v1\ndata:\n  a: |\n    c2Vj\n    cmV0\n  b: \"c2Vj\\r\\ncmV0\"\n";
        let found = parse(Path::new("f.yaml"), text.as_bytes()).unwrap();
        let data = found.secrets[0].data.as_ref().unwrap();
        assert_eq!((&*data["a"].0, &*data["b"].0), (&b"secret"[..], &b"secret"[..]));
    }

    #[test]
    fn a_mistake_beside_a_secret_is_told_by_its_place_and_without_the_lines_around_it() {
        let head = "kind: Secret\napiVersion: v1\nmetadata: {name: pull}\nstringData:\n  password: hunter2\n";
        for mistake in [
            "  more: \"hunter2\n",
            "  password: hunter2\n",
            "  - hunter2\n",
            " hunter2: [\n",
            "  a: *hunter2\n",
            "\thunter2: 'x\n",
        ] {
            let error = names(&format!("{head}{mistake}")).unwrap_err();
            assert!(error.contains(" at line "), "{mistake:?}: {error}");
            assert!(!error.contains("password: ") && !error.contains('\n'), "{mistake:?}: {error}");
        }
    }

    #[test]
    fn bombs_do_not_go_off() {
        let aliases: String = (1..40).fold("a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, i| {
            let before = format!("*a{}", i - 1);
            format!("{text}a{i}: &a{i} [{}]\n", [before.as_str(); 9].join(","))
        });
        assert!(names(&aliases).is_err());
        assert!(names(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn a_file_has_a_greatest_size() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("big.yaml");
        std::fs::File::create(&path).unwrap().set_len(LARGEST + 1).unwrap();
        assert!(matches!(read(&path), Err(ManifestError::TooLarge { size, .. }) if size == LARGEST + 1));
    }
}
