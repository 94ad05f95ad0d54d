//! The self-made certificate's place in the cluster: a Secret that all replicas share, and the CA in the webhook's own
//! configuration.
//!
//! Whoever comes first fills the Secret; whoever comes second takes what is there. The configuration is told the CA
//! before the certificate is served, so that the API server never meets one it cannot check.

use std::path::PathBuf;
use std::time::SystemTime;

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ObjectMeta, Patch, PatchParams, PostParams};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::{Client, Error};
use serde_json::json;

use crate::identity::{Identity, IdentityError};
use crate::tls::{Pair, PairError};

/// Under which name we are reached, and where that is written down.
#[derive(Debug, Clone)]
pub struct SelfSigned {
    pub service: String,
    pub namespace: String,
    /// The ValidatingWebhookConfiguration.
    pub configuration: String,
    pub secret: String,
    /// Names and addresses beside the service's own.
    pub names: Vec<String>,
    /// None: the environment's, or the pod's own account.
    pub kubeconfig: Option<PathBuf>,
}

/// Why the cluster and we did not come together.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    #[error("read {}", path.display())]
    Kubeconfig { path: PathBuf, source: Box<kube::config::KubeconfigError> },
    #[error("find the cluster")]
    NoCluster(#[source] Box<kube::config::InferConfigError>),
    #[error("{verb} {object}")]
    Call { verb: &'static str, object: String, source: Box<Error> },
    #[error("others kept changing {object}")]
    Contended { object: String },
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Pair(#[from] PairError),
}

#[derive(Debug)]
pub(crate) struct Cluster {
    secrets: Api<Secret>,
    configurations: Api<ValidatingWebhookConfiguration>,
    own: SelfSigned,
}

/// Two replicas start at once; five tries are more than enough.
const TRIES: usize = 5;
const CONFLICT: u16 = 409;
const NOT_FOUND: u16 = 404;

// === impl Cluster ===

impl Cluster {
    pub(crate) async fn find(own: SelfSigned) -> Result<Self, ClusterError> {
        // Without one of the process, kube's own choice of a provider would be a panic.
        drop(rustls::crypto::ring::default_provider().install_default());
        let config = match &own.kubeconfig {
            Some(path) => custom(path.clone()).await?,
            None => Config::infer().await.map_err(|e| ClusterError::NoCluster(Box::new(e)))?,
        };
        let call =
            |e| ClusterError::Call { verb: "connect to", object: "the cluster".into(), source: Box::new(e) };
        let client = Client::try_from(config).map_err(call)?;
        Ok(Self {
            secrets: Api::namespaced(client.clone(), &own.namespace),
            configurations: Api::all(client),
            own,
        })
    }

    /// The pair to serve now. The Secret has it, and the configuration has its CA.
    pub(crate) async fn sync(&self) -> Result<Pair, ClusterError> {
        let identity = self.identity().await?;
        self.announce(&identity).await?;
        Ok(identity.pair()?)
    }

    async fn identity(&self) -> Result<Identity, ClusterError> {
        let names = self.own.all_names();
        for _ in 0..TRIES {
            let secret = self.secrets.get_opt(&self.own.secret).await.map_err(|e| self.secret("get", e))?;
            let found = secret.as_ref().and_then(|secret| Identity::read(secret.data.as_ref()?));
            let now = SystemTime::now();
            let wanted =
                found.as_ref().map_or_else(|| Identity::make(&names, now), |old| old.renewed(&names, now))?;
            if found.as_ref() == Some(&wanted) || self.keep(secret, &wanted).await? {
                return Ok(wanted);
            }
        }
        Err(ClusterError::Contended { object: self.secret_name() })
    }

    /// Writes the Secret unless somebody else did meanwhile: false.
    async fn keep(&self, old: Option<Secret>, identity: &Identity) -> Result<bool, ClusterError> {
        let data = Some(identity.data());
        let params = PostParams::default();
        let (verb, written) = match old {
            Some(old) => {
                let secret = Secret { data, ..old };
                ("update", self.secrets.replace(&self.own.secret, &params, &secret).await)
            }
            None => {
                let metadata = ObjectMeta { name: Some(self.own.secret.clone()), ..ObjectMeta::default() };
                let secret = Secret { metadata, data, ..Secret::default() };
                ("create", self.secrets.create(&params, &secret).await)
            }
        };
        match written {
            Ok(_) => Ok(true),
            Err(error) if is(&error, CONFLICT) || is(&error, NOT_FOUND) => Ok(false),
            Err(error) => Err(self.secret(verb, error)),
        }
    }

    /// Puts the CA where the API server looks for it, if it is not there.
    async fn announce(&self, identity: &Identity) -> Result<(), ClusterError> {
        let name = &self.own.configuration;
        let object = || format!("ValidatingWebhookConfiguration {name}");
        let call = |verb, e| ClusterError::Call { verb, object: object(), source: Box::new(e) };
        for _ in 0..TRIES {
            let found = self.configurations.get(name).await.map_err(|e| call("get", e))?;
            let Some(patch) = patch(&found, &identity.ca) else { return Ok(()) };
            let patched =
                self.configurations.patch(name, &PatchParams::default(), &Patch::Strategic(patch)).await;
            match patched {
                Ok(_) => return Ok(()),
                Err(error) if is(&error, CONFLICT) => {}
                Err(error) => return Err(call("patch", error)),
            }
        }
        Err(ClusterError::Contended { object: object() })
    }

    fn secret_name(&self) -> String {
        format!("Secret {}/{}", self.own.namespace, self.own.secret)
    }

    fn secret(&self, verb: &'static str, error: Error) -> ClusterError {
        ClusterError::Call { verb, object: self.secret_name(), source: Box::new(error) }
    }
}

async fn custom(path: PathBuf) -> Result<Config, ClusterError> {
    let wrong = |source| ClusterError::Kubeconfig { path: path.clone(), source: Box::new(source) };
    let kubeconfig = Kubeconfig::read_from(&path).map_err(wrong)?;
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(wrong)
}

fn is(error: &Error, code: u16) -> bool {
    matches!(error, Error::Api(status) if status.code == code)
}

/// Sets the CA of every webhook that has another; nothing else, and only on the version that was seen.
fn patch(found: &ValidatingWebhookConfiguration, ca: &str) -> Option<serde_json::Value> {
    let ca = ByteString(ca.as_bytes().to_vec());
    let webhooks = found.webhooks.iter().flatten();
    let webhooks: Vec<_> = webhooks
        .filter(|webhook| webhook.client_config.ca_bundle.as_ref() != Some(&ca))
        .map(|webhook| json!({"name": webhook.name, "clientConfig": {"caBundle": ca}}))
        .collect();
    let version = &found.metadata.resource_version;
    (!webhooks.is_empty()).then(|| json!({"metadata": {"resourceVersion": version}, "webhooks": webhooks}))
}

// === impl SelfSigned ===

impl SelfSigned {
    fn all_names(&self) -> Vec<String> {
        let (service, namespace) = (&self.service, &self.namespace);
        let own = [
            format!("{service}.{namespace}.svc"),
            format!("{service}.{namespace}.svc.cluster.local"),
            format!("{service}.{namespace}"),
        ];
        own.into_iter().chain(self.names.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_patched() {
        let found: ValidatingWebhookConfiguration = serde_json::from_value(json!({
            "metadata": {"name": "w", "resourceVersion": "7"},
            "webhooks": [
                {"name": "a.b.c", "admissionReviewVersions": ["v1"], "sideEffects": "None", "clientConfig": {"caBundle": "Q0E="}},
                {"name": "d.e.f", "admissionReviewVersions": ["v1"], "sideEffects": "None", "clientConfig": {}},
            ],
        }))
        .expect("a configuration");
        let expected = json!({
            "metadata": {"resourceVersion": "7"},
            "webhooks": [{"name": "d.e.f", "clientConfig": {"caBundle": "Q0E="}}],
        });
        assert_eq!(patch(&found, "CA"), Some(expected));
        assert_eq!(
            patch(&found, "other").map(|patch| patch["webhooks"].as_array().map(Vec::len)),
            Some(Some(2))
        );
    }
}
