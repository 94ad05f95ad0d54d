//! Requests to a real API server, many in flight: what it answers is what our rules are compared with.
//!
//! kubectl takes a tenth of a second per object and shows the answer as prose; a differential test needs thousands
//! of answers with their causes. Requests are dry runs unless [`Call::for_real`] says otherwise.
//!
//! ```no_run
//! use serde_json::json;
//! use testbed::api::{Api, Call};
//! use testbed::control_plane::{ControlPlane, Options};
//!
//! let control_plane = ControlPlane::start(Options::default())?;
//! let api = Api::connect(&control_plane.kubeconfig())?;
//! let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": []}});
//! let answer = api.send(&Call::create(&pod)?.by("jane"))?;
//! assert_eq!(answer.code, 422);
//! for cause in answer.causes() {
//!     println!("{} {}", cause.reason, cause.field);
//! }
//! # anyhow::Ok(())
//! ```

use std::fmt::Debug;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use futures_util::{StreamExt, TryStreamExt, stream};
use http::{Method, Request, Response};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

use crate::process::wait_for;

mod call;

pub use call::Call;

/// How many requests [`Api::send_all`] keeps in flight: enough to keep two cores of API server busy.
const IN_FLIGHT: usize = 32;

/// A connection to an API server. Its calls block.
pub struct Api {
    client: Client,
    runtime: tokio::runtime::Runtime,
}

/// What the API server said to one [`Call`].
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub code: u16,
    /// The object, or the Status that refuses it.
    pub body: Value,
    /// The texts of its `Warning` headers.
    pub warnings: Vec<String>,
}

/// One of a Status's `details.causes`.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default)]
pub struct Cause {
    pub reason: String,
    pub field: String,
    pub message: String,
}

// === impl Api ===

impl Api {
    /// Connects as whom the kubeconfig names ([`ControlPlane::kubeconfig`](crate::control_plane::ControlPlane)).
    pub fn connect(kubeconfig: &Path) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let client = runtime.block_on(client(kubeconfig)).context("connect to the API server")?;
        Ok(Self { client, runtime })
    }

    pub fn send(&self, call: &Call) -> Result<Answer> {
        self.runtime.block_on(self.answer(call))
    }

    /// Sends all, some 32 at a time; the answers are in the order of the calls.
    pub fn send_all(&self, calls: &[Call]) -> Result<Vec<Answer>> {
        self.send_in_flight(calls, IN_FLIGHT)
    }

    /// Like [`send_all`](Self::send_all), with this many in flight.
    pub fn send_in_flight(&self, calls: &[Call], in_flight: usize) -> Result<Vec<Answer>> {
        let answers = stream::iter(calls).map(|call| self.answer(call)).buffered(in_flight);
        self.runtime.block_on(answers.try_collect())
    }

    /// Makes a namespace and waits until pods can be made in it: they need its ServiceAccount `default`.
    pub fn namespace(&self, name: &str, labels: &Value) -> Result<()> {
        let head = json!({"apiVersion": "v1", "kind": "Namespace"});
        let mut object = head;
        object["metadata"] = json!({"name": name, "labels": labels});
        let answer = self.send(&Call::create(&object)?.for_real())?;
        ensure!(answer.code == 201, "make namespace {name}: {}", answer.message());
        self.wait_for_account(name)
    }

    /// Waits for a namespace's ServiceAccount `default`.
    pub fn wait_for_account(&self, namespace: &str) -> Result<()> {
        let call = Call::get(format!("/api/v1/namespaces/{namespace}/serviceaccounts/default"));
        wait_for("the default service account", std::time::Duration::from_secs(60), || {
            Ok((self.send(&call)?.code == 200).then_some(()))
        })
    }

    async fn answer(&self, call: &Call) -> Result<Answer> {
        let answer = self.client.send(request(call)?).await;
        read(answer.with_context(|| format!("{} {}", call.method, call.path))?).await
    }
}

impl Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").finish_non_exhaustive()
    }
}

async fn client(kubeconfig: &Path) -> Result<Client> {
    let file = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

fn request(call: &Call) -> Result<Request<Body>> {
    let mut request = Request::builder().method(call.method.clone()).uri(call.uri());
    request = request.header("Content-Type", call.content_type);
    if let Some(user) = &call.user {
        request = request.header("Impersonate-User", user);
    }
    let body = if call.method == Method::GET { Vec::new() } else { serde_json::to_vec(&call.body)? };
    Ok(request.body(body.into())?)
}

async fn read(response: Response<Body>) -> Result<Answer> {
    let warnings = response.headers().get_all("Warning").iter();
    let warnings = warnings.filter_map(|value| warning(value.to_str().ok()?)).collect();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect_bytes().await?;
    let body = serde_json::from_slice(&bytes)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
    Ok(Answer { code, body, warnings })
}

/// The text of `299 - "text"`, in which quotes and backslashes are escaped.
fn warning(header: &str) -> Option<String> {
    let quoted = header.splitn(3, ' ').nth(2)?;
    serde_json::from_str(quoted).ok().or_else(|| Some(quoted.trim_matches('"').to_owned()))
}

// === impl Answer ===

impl Answer {
    /// Whether the API server took the object.
    pub fn ok(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// The Status's reason (`Invalid`, `Forbidden`, …), or nothing.
    pub fn reason(&self) -> &str {
        self.body["reason"].as_str().unwrap_or_default()
    }

    /// The Status's message, or nothing.
    pub fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    pub fn causes(&self) -> Vec<Cause> {
        let causes = self.body["details"]["causes"].clone();
        serde_json::from_value(causes).unwrap_or_default()
    }
}
