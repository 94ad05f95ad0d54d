use super::*;

fn server(code: u16, message: &str) -> PullError {
    let message = message.to_owned();
    PullError::of("r:1", Oci::ServerError { code, url: "u".into(), message })
}

fn enveloped(code: &str) -> PullError {
    let text = format!(r#"{{"errors":[{{"code":"{code}","message":"m"}}]}}"#);
    let envelope = serde_json::from_str(&text).unwrap();
    PullError::of("r:1", Oci::RegistryError { envelope, url: "u".into() })
}

#[test]
fn only_what_may_pass_is_tried_again() {
    for (error, may_pass) in [
        (server(500, ""), true),
        (server(503, "down"), true),
        (server(429, ""), true),
        (enveloped("TOOMANYREQUESTS"), true),
        (PullError::cut("r", "d", io::Error::other("reset")), true),
        (server(400, ""), false),
        (server(403, ""), false),
        (server(404, ""), false),
        (enveloped("MANIFEST_UNKNOWN"), false),
        (enveloped("DENIED"), false),
        (PullError::of("r", Oci::UnauthorizedError { url: "u".into() }), false),
        (PullError::GaveUp, false),
    ] {
        assert_eq!(error.may_pass(), may_pass, "{error}");
    }
}

#[test]
fn another_digest_is_damage_and_not_a_cut() {
    let wrong = || DigestError::VerificationError { expected: "a".into(), actual: "b".into() };
    for error in
        [PullError::cut("r", "a", io::Error::other(wrong())), PullError::of("r", Oci::DigestError(wrong()))]
    {
        assert!(matches!(error, PullError::Content(ContentError::Damaged { .. })), "{error}");
        assert!(!error.may_pass());
    }
}

#[test]
fn a_code_in_the_body_says_what_the_status_would() {
    for code in ["MANIFEST_UNKNOWN", "NAME_UNKNOWN", "BLOB_UNKNOWN", "MANIFEST_BLOB_UNKNOWN", "NOT_FOUND"] {
        assert!(matches!(enveloped(code), PullError::NotFound { .. }), "{code}");
    }
    assert!(matches!(enveloped("UNAUTHORIZED"), PullError::Unauthorized { .. }));
    assert!(matches!(enveloped("DENIED"), PullError::Denied { .. }));
    assert!(matches!(enveloped("NAME_INVALID"), PullError::Refused { .. }));
    assert!(matches!(server(404, "no envelope"), PullError::NotFound { .. }));
    assert!(matches!(server(403, ""), PullError::Denied { .. }));
}

#[test]
fn what_others_say_stays_on_one_line() {
    let said = server(502, &format!("<html>\n\x1b[31m{}", "x".repeat(5000))).to_string();
    assert!(said.starts_with("r:1 answered 502 (<html>  [31mxxx") && said.len() < 400, "{said}");
    assert!(server(500, "").to_string().starts_with("r:1 answered 500: "));
}
