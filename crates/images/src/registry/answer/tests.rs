use super::*;

fn said(code: u16, body: &str) -> PullError {
    PullError::of("r:1", code, body.as_bytes(), None)
}

fn enveloped(code: u16, reason: &str) -> PullError {
    said(code, &format!(r#"{{"errors":[{{"code":"{reason}","message":"m"}}]}}"#))
}

#[test]
fn only_what_may_pass_is_tried_again() {
    let cut = PullError::Cut { registry: "r".into(), digest: "d".into(), source: "reset".into() };
    for (error, may_pass) in [
        (said(500, ""), true),
        (said(503, "down"), true),
        (said(429, ""), true),
        (enveloped(400, "TOOMANYREQUESTS"), true),
        (said(408, ""), true),
        (cut, true),
        (said(400, ""), false),
        (said(401, ""), false),
        (said(403, ""), false),
        (said(404, ""), false),
        (enveloped(400, "DENIED"), false),
        (PullError::GaveUp, false),
    ] {
        assert_eq!(error.may_pass(), may_pass, "{error}");
    }
}

#[test]
fn a_status_is_what_it_says_with_or_without_a_body() {
    assert!(matches!(enveloped(404, "MANIFEST_UNKNOWN"), PullError::NotFound { .. }));
    assert!(matches!(said(404, "no envelope"), PullError::NotFound { .. }));
    assert!(matches!(enveloped(401, "UNAUTHORIZED"), PullError::Unauthorized { .. }));
    assert!(matches!(enveloped(403, "DENIED"), PullError::Denied { message, .. } if message == "403 m"));
    assert!(matches!(said(403, ""), PullError::Denied { message, .. } if message == "403"));
    assert!(matches!(enveloped(400, "NAME_INVALID"), PullError::Refused { message, .. } if message == "m"));
}

#[test]
fn what_others_say_stays_on_one_line() {
    let text = said(502, &format!("<html>\n\x1b[31m{}", "x".repeat(5000))).to_string();
    assert!(text.starts_with("r:1 answered 502 (<html>  [31mxxx") && text.len() < 400, "{text}");
    assert!(said(500, "").to_string().starts_with("r:1 answered 500: "));
}

#[test]
fn the_time_a_registry_asks_for_is_told() {
    let wait = Some(Duration::from_secs(90));
    let text = PullError::of("r", 429, b"", wait).to_string();
    assert!(text.contains("(429) and asks to wait 90 s"), "{text}");
    assert!(PullError::of("r", 503, b"", wait).to_string().contains("503 and asks to wait 90 s"));
}
