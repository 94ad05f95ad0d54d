//! The wire: an AdmissionReview v1 comes in, one goes out.
//!
//! Types of our own, because a request's object is of any of nine kinds: kube's `AdmissionRequest<T>` would read it
//! into a generic map first and that into the kind. Here the object stays text until its kind is known, and the old
//! one until it matters.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// What was asked.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request<'a> {
    pub uid: String,
    pub kind: GroupVersionKind,
    #[serde(default)]
    pub sub_resource: String,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub namespace: String,
    pub operation: Operation,
    #[serde(default)]
    pub user_info: UserInfo,
    #[serde(borrow, default)]
    pub object: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub old_object: Option<&'a RawValue>,
    #[serde(default)]
    pub dry_run: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub struct GroupVersionKind {
    #[serde(default)]
    pub group: String,
    pub version: String,
    pub kind: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

#[derive(Debug, Default, Deserialize)]
pub struct UserInfo {
    #[serde(default)]
    pub username: String,
}

/// The answer to one request.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Allowed {
        warnings: Vec<String>,
    },
    /// The message reaches the user.
    Refused {
        message: String,
    },
}

/// A body that is no review.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    #[error("the body is not an AdmissionReview")]
    Json(#[source] serde_json::Error),
    #[error("wanted {API_VERSION} {KIND}, found {api_version:?} {kind:?}")]
    Version { api_version: String, kind: String },
    #[error("the AdmissionReview has no request")]
    NoRequest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked<'a> {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(borrow, default)]
    request: Option<Request<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answered<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: Response<'a>,
}

#[derive(Serialize)]
struct Response<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status<'a>>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
}

#[derive(Serialize)]
struct Status<'a> {
    code: u16,
    reason: &'static str,
    message: &'a str,
}

// === impl Request ===

impl<'a> Request<'a> {
    pub fn parse(body: &'a [u8]) -> Result<Self, ReviewError> {
        let asked: Asked<'a> = serde_json::from_slice(body).map_err(ReviewError::Json)?;
        if asked.api_version != API_VERSION || asked.kind != KIND {
            return Err(ReviewError::Version { api_version: asked.api_version, kind: asked.kind });
        }
        asked.request.ok_or(ReviewError::NoRequest)
    }

    pub fn dry_run(&self) -> bool {
        self.dry_run == Some(true)
    }
}

// === impl GroupVersionKind ===

impl GroupVersionKind {
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

// === impl Verdict ===

impl Verdict {
    pub fn allowed() -> Self {
        Self::Allowed { warnings: Vec::new() }
    }

    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed { .. })
    }

    /// The review that answers the request of this uid.
    pub fn answer(&self, uid: &str) -> Result<Vec<u8>, serde_json::Error> {
        let (status, warnings) = match self {
            Self::Allowed { warnings } => (None, warnings.as_slice()),
            Self::Refused { message } => (Some(Status { code: 403, reason: "Forbidden", message }), &[][..]),
        };
        let response = Response { uid, allowed: self.is_allowed(), status, warnings };
        serde_json::to_vec(&Answered { api_version: API_VERSION, kind: KIND, response })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn review(request: &str) -> String {
        format!(r#"{{"apiVersion":"{API_VERSION}","kind":"{KIND}","request":{request}}}"#)
    }

    #[test]
    fn a_request_keeps_its_object_as_text() {
        let text = review(
            r#"{"uid":"u","kind":{"group":"apps","version":"v1","kind":"Deployment"},"operation":"UPDATE",
                "namespace":"n","userInfo":{"username":"alice","groups":["g"]},"object":{"a":[1]},"oldObject":null,
                "dryRun":true,"options":{}}"#,
        );
        let request = Request::parse(text.as_bytes()).expect("parses");
        assert_eq!(request.object.map(RawValue::get), Some(r#"{"a":[1]}"#));
        assert_eq!((request.operation, request.dry_run()), (Operation::Update, true));
        assert_eq!(
            (request.kind.api_version().as_str(), request.user_info.username.as_str()),
            ("apps/v1", "alice")
        );
        assert!(request.old_object.is_none());
    }

    #[test]
    fn what_is_no_review_is_said() {
        for (body, expected) in [
            ("", "the body is not an AdmissionReview"),
            ("[1]", "the body is not an AdmissionReview"),
            (
                r#"{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"}"#,
                "found \"admission.k8s.io/v1beta1\"",
            ),
            (&review("null"), "has no request"),
            (&review(r#"{"uid":"u"}"#), "the body is not an AdmissionReview"),
        ] {
            let error = Request::parse(body.as_bytes()).expect_err(body).to_string();
            assert!(error.contains(expected), "{body}: {error}");
        }
    }

    #[test]
    fn an_answer_has_the_uid_and_the_reason() {
        let text =
            |verdict: Verdict| String::from_utf8(verdict.answer("u-1").expect("encodes")).expect("text");
        let head = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u-1","#;
        assert_eq!(text(Verdict::allowed()), format!(r#"{head}"allowed":true}}}}"#));
        assert_eq!(
            text(Verdict::Allowed { warnings: vec!["w".into()] }),
            format!(r#"{head}"allowed":true,"warnings":["w"]}}}}"#)
        );
        assert_eq!(
            text(Verdict::Refused { message: "no".into() }),
            format!(
                r#"{head}"allowed":false,"status":{{"code":403,"reason":"Forbidden","message":"no"}}}}}}"#
            )
        );
    }
}
