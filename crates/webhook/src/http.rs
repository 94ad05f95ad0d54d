//! The routes. Everything is on the one TLS port: the kubelet's HTTPS probes do not ask whose certificate it is.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request as HttpRequest, State as Shared};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use crate::follow::chain;
use crate::judge;
use crate::review::{Request, Verdict};
use crate::state::State;

/// The API server takes objects of 3 MiB at most and sends an old and a new one.
pub(crate) const LARGEST_BODY: usize = 8 << 20;
/// The configuration gives us five seconds in all.
const READ_LIMIT: Duration = Duration::from_secs(4);
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A request that gets no review for an answer. To the API server that is a failed call, and so a refusal.
#[derive(Debug)]
struct Bad {
    code: StatusCode,
    why: String,
}

pub(crate) fn routes(state: Arc<State>) -> Router {
    Router::new()
        .route("/validate", post(validate))
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(state)
}

async fn ready(Shared(state): Shared<Arc<State>>) -> Response {
    match state.unready() {
        None => "ok\n".into_response(),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

async fn metrics(Shared(state): Shared<Arc<State>>) -> Response {
    match state.metrics.text() {
        Ok(text) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn validate(Shared(state): Shared<Arc<State>>, request: HttpRequest) -> Response {
    let answer = match tokio::time::timeout(READ_LIMIT, read(&state, request.into_body())).await {
        Ok(Ok((body, _held))) => guarded(&state, &body),
        Ok(Err(bad)) => Err(bad),
        Err(_) => Err(Bad::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")),
    };
    match answer {
        Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
        Err(bad) => {
            state.metrics.bad_request(bad.code.as_u16());
            state.say(&format!("answered {}: {}", bad.code, bad.why));
            (bad.code, bad.why + "\n").into_response()
        }
    }
}

/// The body, and its share of the memory for bodies while it is used.
async fn read(state: &State, body: Body) -> Result<(Bytes, tokio::sync::SemaphorePermit<'_>), Bad> {
    use axum::body::HttpBody;
    let too_large =
        || Bad::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the body is larger than {LARGEST_BODY} bytes"));
    let size = body.size_hint();
    let most = LARGEST_BODY as u64;
    if size.lower() > most {
        return Err(too_large());
    }
    let kib = size.upper().unwrap_or(most).min(most) / 1024 + 1;
    let kib = u32::try_from(kib).unwrap_or(u32::MAX);
    let held = state.bodies.acquire_many(kib).await;
    let held = held.map_err(|e| Bad::new(StatusCode::SERVICE_UNAVAILABLE, e.to_string()))?;
    match axum::body::to_bytes(body, LARGEST_BODY).await {
        Ok(bytes) => Ok((bytes, held)),
        Err(error) if is_length_limit(&error) => Err(too_large()),
        Err(error) => Err(Bad::new(StatusCode::BAD_REQUEST, chain(&error))),
    }
}

fn is_length_limit(error: &axum::Error) -> bool {
    std::error::Error::source(error).is_some_and(|cause| cause.is::<http_body_util::LengthLimitError>())
}

/// A defect in the rules must not let anything pass. (The release build ends with the panic; that refuses, too.)
fn guarded(state: &State, body: &[u8]) -> Result<Vec<u8>, Bad> {
    let internal = |why: &str| Bad::new(StatusCode::INTERNAL_SERVER_ERROR, why);
    catch_unwind(AssertUnwindSafe(|| review(state, body))).unwrap_or_else(|_| Err(internal("internal error")))
}

fn review(state: &State, body: &[u8]) -> Result<Vec<u8>, Bad> {
    let begun = Instant::now();
    let request = Request::parse(body).map_err(|e| Bad::new(StatusCode::BAD_REQUEST, chain(&e)))?;
    let verdict = state.judge().judge(&request);
    let verdict = verdict.map_err(|e| Bad::new(StatusCode::BAD_REQUEST, chain(&e)))?;
    let word = if verdict.is_allowed() { "allowed" } else { "refused" };
    let kind = judge::kind(&request).map_or("other", rules::Kind::name);
    if let Verdict::Refused { message } = &verdict {
        state.say(&refusal(&request, message));
    }
    let answer = verdict.answer(&request.uid);
    let answer = answer.map_err(|e| Bad::new(StatusCode::INTERNAL_SERVER_ERROR, e.to_string()))?;
    state.metrics.review(word, kind, request.dry_run(), begun.elapsed());
    Ok(answer)
}

fn refusal(request: &Request<'_>, message: &str) -> String {
    let dry_run = if request.dry_run() { " (dry run)" } else { "" };
    let (namespace, user) = (&request.namespace, &request.user_info.username);
    let name = if request.name.is_empty() { "(unnamed)" } else { &request.name };
    format!("refused {} {namespace}/{name} for {user}{dry_run}: {message}", request.kind.kind)
}

// === impl Bad ===

impl Bad {
    fn new(code: StatusCode, why: impl Into<String>) -> Self {
        Self { code, why: why.into() }
    }
}
