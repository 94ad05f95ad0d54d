//! Pull secrets: a pod names them, and without a cluster they stand in the files that `up` was given.

use std::collections::BTreeMap;

use images::{Access, Source};
use k8s_openapi::api::core::v1::{Pod, Secret};
use runtime::admit::Admitted;

use super::Manifest;
use crate::cli::Root;
use crate::failure::{Exit, Failure};
use crate::image::access::{self, PullSecret};

/// The Secrets of all files.
pub(super) struct Secrets<'f>(Vec<&'f Secret>);

/// What a pod's names lead to.
struct Named {
    secrets: Vec<PullSecret>,
    /// As a node does: the image may be had without them.
    warnings: Vec<String>,
}

/// Names that more than one Secret has: which of them a pod means would hang on the order of the files.
pub(super) fn named_twice(files: &[Manifest]) -> Vec<String> {
    let mut first = BTreeMap::new();
    let all = files.iter().flat_map(|file| file.documents.secrets.iter().map(move |it| (it, &file.path)));
    let mut twice = Vec::new();
    for (secret, path) in all {
        let Some(name) = secret.metadata.name.as_deref() else { continue };
        let named = format!("{}: the Secret {}/{name} is there", path.display(), namespace(secret));
        match first.insert((namespace(secret), name), path) {
            None => {}
            Some(before) if before == path => twice.push(format!("{named} twice")),
            Some(before) => twice.push(format!("{named}, and in {} too", before.display())),
        }
    }
    twice
}

fn namespace(secret: &Secret) -> &str {
    secret.metadata.namespace.as_deref().unwrap_or("default")
}

// === impl Secrets ===

impl<'f> Secrets<'f> {
    pub(super) fn of(secrets: impl IntoIterator<Item = &'f Secret>) -> Secrets<'f> {
        Secrets(secrets.into_iter().collect())
    }

    /// Who pulls the images of this pod; nobody where none is pulled: accounts that cannot be read are no reason not
    /// to run what is here.
    pub(super) fn access(&self, asked: &Pod, pod: &Admitted, root: &Root) -> Result<Access, Failure> {
        let pulled = |source: &Source| matches!(source, Source::Reference(_));
        if !pod.containers.iter().any(|asked| pulled(&asked.source)) {
            return Ok(Access::default());
        }
        let named = self.named(asked, &pod.namespace).or_usage()?;
        for warning in &named.warnings {
            super::say(&format!("warning: {}: {warning}", pod.full_name()));
        }
        access::of_pod(root, &named.secrets)
    }

    fn named(&self, pod: &Pod, namespace: &str) -> anyhow::Result<Named> {
        let mut named = Named { secrets: Vec::new(), warnings: Vec::new() };
        let asked = pod.spec.iter().flat_map(|spec| spec.image_pull_secrets.iter().flatten());
        for (at, asked) in asked.enumerate() {
            match self.find(&asked.name, namespace) {
                Some(secret) => {
                    let name = format!("the Secret {namespace}/{}", asked.name);
                    named.secrets.push(PullSecret::of(secret.clone(), name)?);
                }
                None => named.warnings.push(format!(
                    "spec.imagePullSecrets[{at}]: there is no Secret {:?} of the namespace {namespace:?} in the \
                     files, images are pulled without it",
                    asked.name
                )),
            }
        }
        Ok(named)
    }

    fn find(&self, name: &str, namespace: &str) -> Option<&'f Secret> {
        let is_it = |secret: &&&Secret| {
            secret.metadata.name.as_deref() == Some(name) && self::namespace(secret) == namespace
        };
        self.0.iter().find(is_it).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::manifest::{self, Documents};

    const SECRETS: &str = "
{kind: Secret, apiVersion: v1, metadata: {name: one}, type: kubernetes.io/dockercfg, stringData: {.dockercfg: '{}'}}
---
{kind: Secret, apiVersion: v1, metadata: {name: one, namespace: far}, type: Opaque, data: {a: c2VjcmV0}}
";

    fn files(names: &str) -> Documents {
        let pod =
            format!("{{kind: Pod, apiVersion: v1, spec: {{containers: [], imagePullSecrets: {names}}}}}");
        manifest::parse(Path::new("f"), format!("{pod}\n---{SECRETS}").as_bytes()).unwrap()
    }

    fn named(names: &str, namespace: &str) -> anyhow::Result<Named> {
        let files = files(names);
        Secrets::of(&files.secrets).named(&files.pods[0], namespace)
    }

    #[test]
    fn a_secret_is_found_by_its_name_in_the_namespace_of_the_pod() {
        let found = named("[{name: one}]", "default").unwrap();
        assert_eq!((found.secrets.len(), found.warnings.len()), (1, 0));
        let missing = named("[{name: one}, {name: two}]", "default").unwrap();
        let expected = "spec.imagePullSecrets[1]: there is no Secret \"two\" of the namespace \"default\" in the files, \
                        images are pulled without it";
        assert_eq!((missing.secrets.len(), missing.warnings.as_slice()), (1, &[expected.to_owned()][..]));
        assert_eq!(named("[{name: one}]", "near").unwrap().secrets.len(), 0);
    }

    #[test]
    fn two_secrets_of_one_name_are_refused_by_their_files() {
        let manifest = |path: &str, text: &str| Manifest {
            path: path.into(),
            documents: manifest::parse(Path::new(path), text.as_bytes()).unwrap(),
        };
        let again =
            "{kind: Secret, apiVersion: v1, metadata: {name: one, namespace: default}, data: {a: b3RoZXI=}}";
        let (first, other) = (manifest("/first", SECRETS), manifest("/other", again));
        let both = manifest("/both", &format!("{again}\n---\n{again}"));
        assert_eq!(
            named_twice(&[first, other]),
            ["/other: the Secret default/one is there, and in /first too"]
        );
        assert_eq!(named_twice(&[both]), ["/both: the Secret default/one is there twice"]);
        assert_eq!(named_twice(&[manifest("/first", SECRETS)]), [""; 0]);
    }

    #[test]
    fn a_secret_of_another_type_is_named_and_not_shown() {
        let error = named("[{name: one}]", "far").map(drop).unwrap_err().to_string();
        assert!(
            error.starts_with("the Secret far/one has the type \"Opaque\": wanted a Secret of type"),
            "{error}"
        );
        assert!(!error.contains("c2VjcmV0"), "{error}");
    }
}
