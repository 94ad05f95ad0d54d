//! `porthole webhook`: the pod rules and the HostProcess policy as a validating admission webhook (KA-11, HP-05).

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use rules::ApiOptions;
use webhook::{Certificate, SelfSigned, Settings, Webhook, WebhookError};

use crate::check::args::Switch;
use crate::cli::print;
use crate::failure::{Exit, Failure, Outcome, code};
use crate::up::say;

pub const EXAMPLES: &str = "Examples:
  porthole webhook --policy policy.yaml --tls-cert tls.crt --tls-key tls.key
  porthole webhook --policy policy.yaml --self-signed --service porthole-webhook --namespace porthole-system \\
    --webhook-configuration porthole-webhook
  porthole manifests webhook | kubectl apply -f -

POST /validate judges; GET /healthz, /readyz and /metrics are on the same TLS port.
Policy and certificate are read again when they change; what is new and wrong is told, and the old stays in use.
Exit code 2 if the policy or the certificate cannot be used, 3 if the port or the cluster cannot.";

#[derive(Debug, Args)]
pub struct WebhookArgs {
    /// The HostProcessPolicy
    #[arg(long, value_name = "FILE")]
    pub policy: PathBuf,
    /// Where to listen; with port 0 the system chooses and the line printed says what
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:8443")]
    pub listen: SocketAddr,
    /// The serving certificate with its chain, PEM
    #[arg(long, value_name = "FILE", requires = "tls_key", required_unless_present = "self_signed")]
    pub tls_cert: Option<PathBuf>,
    /// Its private key, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Make a certificate, keep it in a Secret, and put its CA into the webhook's own configuration
    #[arg(
        long,
        conflicts_with_all = ["tls_cert", "tls_key"],
        requires_all = ["service", "namespace", "webhook_configuration"]
    )]
    pub self_signed: bool,
    /// The Service under which the API server finds us
    #[arg(long, value_name = "NAME", requires = "self_signed")]
    pub service: Option<String>,
    /// The namespace of Service and Secret
    #[arg(long, value_name = "NS", requires = "self_signed")]
    pub namespace: Option<String>,
    /// The ValidatingWebhookConfiguration that is to know the CA
    #[arg(long, value_name = "NAME", requires = "self_signed")]
    pub webhook_configuration: Option<String>,
    /// The Secret for the certificate [default: SERVICE-tls]
    #[arg(long, value_name = "NAME", requires = "self_signed")]
    pub secret: Option<String>,
    /// One more name or address for the certificate, for a configuration by URL
    #[arg(long, value_name = "NAME", requires = "self_signed")]
    pub san: Vec<String>,
    /// How to reach the cluster [default: KUBECONFIG, or the pod's own account]
    #[arg(long, value_name = "FILE", requires = "self_signed")]
    pub kubeconfig: Option<PathBuf>,
    #[command(flatten)]
    pub switches: Switches,
}

/// What the cluster allows at all.
#[derive(Debug, Args)]
pub struct Switches {
    /// Whether HostProcess containers are allowed at all, whatever the policy says
    #[arg(long, value_enum, default_value_t)]
    pub host_process: Switch,
    /// What the API server's flag of this name says
    #[arg(long, action = clap::ArgAction::Set, default_value_t = true, value_name = "BOOL")]
    pub allow_privileged: bool,
}

pub fn webhook(args: &WebhookArgs) -> Outcome {
    let interrupts = os::interrupt::interrupts().or_environment()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().or_environment()?;
    runtime.block_on(async {
        let webhook = Webhook::prepare(args.settings(), Arc::new(say)).await.map_err(failure)?;
        print(&format!("porthole webhook: listening on https://{}\n", webhook.address()))?;
        let (asked, stop) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            // A closed channel means that nobody can ask any more: serve on.
            if interrupts.recv().is_ok() {
                let _ = asked.send(());
            } else {
                std::mem::forget(asked);
            }
        });
        let drained = webhook.run(async { drop(stop.await) }).await;
        if !drained {
            say("some requests did not end in time");
        }
        Ok(code::OK)
    })
}

fn failure(error: WebhookError) -> Failure {
    Failure::new(if error.is_usage() { code::USAGE } else { code::ENVIRONMENT }, error)
}

// === impl WebhookArgs ===

impl WebhookArgs {
    fn settings(&self) -> Settings {
        Settings {
            listen: self.listen,
            policy: self.policy.clone(),
            certificate: self.certificate(),
            options: self.switches.options(),
        }
    }

    fn certificate(&self) -> Certificate {
        if let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) {
            return Certificate::Files { certificate: certificate.clone(), key: key.clone() };
        }
        // clap has seen to it that these are given.
        let service = self.service.clone().unwrap_or_default();
        Certificate::SelfSigned(SelfSigned {
            secret: self.secret.clone().unwrap_or_else(|| format!("{service}-tls")),
            service,
            namespace: self.namespace.clone().unwrap_or_default(),
            configuration: self.webhook_configuration.clone().unwrap_or_default(),
            names: self.san.clone(),
            kubeconfig: self.kubeconfig.clone(),
        })
    }
}

// === impl Switches ===

impl Switches {
    fn options(&self) -> ApiOptions {
        ApiOptions { allow_privileged: self.allow_privileged, host_process: self.host_process == Switch::On }
    }
}
