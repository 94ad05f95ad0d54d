//! The JSON of an image: index, manifest, configuration. Only the fields that are used; others pass by.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::platform::{self, Candidate, Host, Isolation, NoMatch};

/// What a name in a registry or an entry of an index leads to.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Either")]
pub enum Document {
    Index(Index),
    Manifest(Manifest),
}

/// Told apart by what is in it: the media type is often left out, and a document that is both is an attack.
#[derive(Deserialize)]
struct Either {
    manifests: Option<Vec<Descriptor>>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Index {
    pub manifests: Vec<Descriptor>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Descriptor {
    pub digest: String,
    #[serde(default)]
    pub size: Option<u64>,
    #[serde(default)]
    pub platform: Option<Platform>,
    #[serde(rename = "mediaType", default)]
    pub media_type: Option<String>,
    /// Where a layer that its registry may not hand out is had instead.
    #[serde(default)]
    pub urls: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Platform {
    pub os: String,
    pub architecture: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    #[serde(rename = "os.version", default, skip_serializing_if = "Option::is_none")]
    pub os_version: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Manifest {
    pub config: Descriptor,
    pub layers: Vec<Descriptor>,
}

/// The configuration blob: the platform beside what to run.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Configuration {
    #[serde(flatten)]
    pub platform: Platform,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    #[serde(default)]
    pub config: Runs,
    #[serde(default)]
    pub rootfs: RootFs,
}

/// The layers by the digests of their decompressed bytes, the bottom one first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct RootFs {
    #[serde(default)]
    pub diff_ids: Vec<String>,
}

/// What else an image says about itself. Read from the same bytes as [`Configuration`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Remarks {
    #[serde(default)]
    config: Option<Labels>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
struct Labels {
    #[serde(rename = "Labels", default)]
    labels: Option<BTreeMap<String, String>>,
}

/// What a container of this image runs if the pod does not say otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Runs {
    #[serde(deserialize_with = "null_is_empty")]
    pub entrypoint: Vec<String>,
    #[serde(deserialize_with = "null_is_empty")]
    pub cmd: Vec<String>,
    #[serde(deserialize_with = "null_is_empty")]
    pub env: Vec<String>,
    pub working_dir: String,
    pub user: String,
}

/// Builders write `null` where they mean an empty list.
fn null_is_empty<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

// === impl Remarks ===

impl Remarks {
    pub fn labels(self) -> BTreeMap<String, String> {
        self.config.and_then(|config| config.labels).unwrap_or_default()
    }
}

// === impl Document ===

impl TryFrom<Either> for Document {
    type Error = &'static str;

    fn try_from(either: Either) -> Result<Document, &'static str> {
        match (either.manifests, either.config, either.layers) {
            (Some(manifests), None, None) => Ok(Document::Index(Index { manifests })),
            (None, Some(config), Some(layers)) => Ok(Document::Manifest(Manifest { config, layers })),
            (Some(_), ..) => Err("it is an index and a manifest at once"),
            _ => Err("it is neither an index nor a manifest of version 2"),
        }
    }
}

// === impl Index ===

impl Index {
    /// The entry for this host.
    pub fn pick(&self, host: &Host, isolation: Isolation) -> Result<&Descriptor, NoMatch> {
        platform::pick(&self.candidates(), host, isolation).map(|index| &self.manifests[index])
    }

    pub fn candidates(&self) -> Vec<Candidate> {
        let candidate = |m: &Descriptor| Candidate { digest: m.digest.clone(), platform: m.platform.clone() };
        self.manifests.iter().map(candidate).collect()
    }
}

// === impl Platform ===

impl Platform {
    pub fn new(os: &str, architecture: &str) -> Platform {
        let (os, architecture) = (os.to_owned(), architecture.to_owned());
        Platform { os, architecture, variant: None, os_version: None }
    }
}

impl std::fmt::Display for Platform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        self.variant.as_ref().map_or(Ok(()), |variant| write!(f, "/{variant}"))?;
        self.os_version.as_ref().map_or(Ok(()), |version| write!(f, " {version}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_as_builders_write_it() {
        let text = r#"{"architecture":"amd64","os":"windows","os.version":"10.0.20348.1",
            "config":{"Entrypoint":["a.exe"],"Cmd":null,"Env":["A=1"],"WorkingDir":"C:\\w","Labels":{}},"rootfs":{}}"#;
        let parsed: Configuration = serde_json::from_str(text).unwrap();
        assert_eq!(parsed.platform.to_string(), "windows/amd64 10.0.20348.1");
        assert_eq!(parsed.config.entrypoint, ["a.exe"]);
        assert_eq!((parsed.config.cmd.len(), parsed.config.working_dir.as_str()), (0, "C:\\w"));
        let bare: Configuration = serde_json::from_str(r#"{"architecture":"a","os":"linux"}"#).unwrap();
        assert_eq!(bare.config, Runs::default());
    }

    #[test]
    fn a_document_is_what_is_in_it() {
        let parsed = |text| serde_json::from_str::<Document>(text).map_err(|e| e.to_string());
        assert!(matches!(parsed(r#"{"manifests":[]}"#), Ok(Document::Index(_))));
        let manifest = r#"{"config":{"digest":"d","size":7},"layers":[]}"#;
        assert!(matches!(parsed(manifest), Ok(Document::Manifest(m)) if m.config.size == Some(7)));
        let both = r#"{"manifests":[],"config":{"digest":"d"},"layers":[]}"#;
        assert!(parsed(both).unwrap_err().contains("at once"));
        assert!(parsed(r#"{"manifests":[],"layers":[]}"#).unwrap_err().contains("at once"));
        assert!(parsed(r#"{"schemaVersion":1,"fsLayers":[]}"#).unwrap_err().contains("neither"));
    }

    #[test]
    fn an_index_gives_the_entry_of_the_platform() {
        let index: Index = serde_json::from_str(
            r#"{"manifests":[{"digest":"d1","platform":{"os":"windows","architecture":"amd64","os.version":"10"}},
                {"digest":"d2","platform":{"os":"linux","architecture":"amd64"}},
                {"digest":"d3","platform":{"os":"linux","architecture":"arm64"}}]}"#,
        )
        .unwrap();
        let pick = |index: &Index, os, architecture| {
            let host = Host::new(os, architecture);
            index.pick(&host, Isolation::HostProcess).map(|m| m.digest.clone()).map_err(|e| e.to_string())
        };
        assert_eq!(pick(&index, "linux", "amd64").unwrap(), "d2");
        assert_eq!(pick(&index, "linux", "arm64").unwrap(), "d3");
        let error = pick(&index, "plan9", "amd64").unwrap_err();
        assert!(error.ends_with("it offers windows/amd64 10, linux/amd64, linux/arm64"), "{error}");
        let plain: Index = serde_json::from_str(r#"{"manifests":[{"digest":"d"}]}"#).unwrap();
        assert_eq!(pick(&plain, "any", "any").unwrap(), "d");
    }
}
