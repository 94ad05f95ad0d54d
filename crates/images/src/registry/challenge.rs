//! What a registry wants to see before it answers, and the question to the one who gives tokens.

use reqwest::Url;
use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};
use serde::Deserialize;

use crate::hosts::is_local;

/// A `WWW-Authenticate` that can be answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Challenge {
    Basic,
    Bearer { realm: Url, service: Option<String>, scope: Option<String> },
}

/// What the one who gives tokens answers.
#[derive(Deserialize)]
pub(super) struct Given {
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    access_token: Option<String>,
}

// === impl Challenge ===

impl Challenge {
    /// Tokens before passwords: a registry that offers both means the password for others.
    pub(super) fn of(headers: &HeaderMap) -> Result<Challenge, String> {
        let values = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let found: Vec<_> = values.map(challenges).collect::<Result<Vec<_>, _>>()?.concat();
        let bearer = found.iter().find(|each| matches!(each, Challenge::Bearer { .. }));
        bearer
            .or_else(|| found.first())
            .cloned()
            .ok_or_else(|| "it wants a login but not how (401)".to_owned())
    }
}

fn challenges(value: &str) -> Result<Vec<Challenge>, String> {
    let parsed =
        http_auth::parse_challenges(value).map_err(|_| format!("its challenge {value:?} is none"))?;
    parsed.iter().filter_map(|each| challenge(each).transpose()).collect()
}

fn challenge(each: &http_auth::ChallengeRef<'_>) -> Result<Option<Challenge>, String> {
    let parameter = |name: &str| {
        let found = each.params.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_unescaped())
    };
    if each.scheme.eq_ignore_ascii_case("Basic") {
        return Ok(Some(Challenge::Basic));
    }
    if !each.scheme.eq_ignore_ascii_case("Bearer") {
        return Ok(None);
    }
    let realm = parameter("realm").ok_or("it wants a token but does not say from where")?;
    let realm = Url::parse(&realm).map_err(|e| format!("tokens are to be had at {realm:?}: {e}"))?;
    Ok(Some(Challenge::Bearer { realm, service: parameter("service"), scope: parameter("scope") }))
}

/// Passwords go over TLS, to this host, or where the registry itself is spoken to without.
pub(super) fn may_carry_secrets(to: &Url, plain_registry: bool) -> bool {
    match to.scheme() {
        "https" => true,
        "http" => plain_registry || to.host_str().is_some_and(is_local),
        _ => false,
    }
}

/// The scopes to ask for: ours, and what the registry named beside.
pub(super) fn scopes(ours: &[String], theirs: Option<&str>) -> Vec<String> {
    let mut all = ours.to_vec();
    for scope in theirs.unwrap_or_default().split(' ').filter(|scope| !scope.is_empty()) {
        if !all.iter().any(|has| covers(has, scope)) {
            all.push(scope.to_owned());
        }
    }
    all
}

/// Whether `repository:NAME:pull,push` includes another of that kind.
fn covers(has: &str, scope: &str) -> bool {
    let (Some((name, granted)), Some((wanted, actions))) = (has.rsplit_once(':'), scope.rsplit_once(':'))
    else {
        return has == scope;
    };
    name == wanted && actions.split(',').all(|action| granted.split(',').any(|has| has == action))
}

// === impl Given ===

impl Given {
    pub(super) fn token(self) -> Option<String> {
        self.token.or(self.access_token).filter(|token| !token.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&str]) -> Result<Challenge, String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(WWW_AUTHENTICATE, value.parse().unwrap());
        }
        Challenge::of(&headers)
    }

    #[test]
    fn challenges_as_registries_send_them() {
        let docker = r#"Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:library/busybox:pull""#;
        let Challenge::Bearer { realm, service, scope } = read(&[docker]).unwrap() else { panic!() };
        assert_eq!(realm.as_str(), "https://auth.docker.io/token");
        assert_eq!(service.as_deref(), Some("registry.docker.io"));
        assert_eq!(scope.as_deref(), Some("repository:library/busybox:pull"));
        assert_eq!(read(&["basic realm=x"]), Ok(Challenge::Basic));
        let both = [r#"Basic realm="x""#, r#"BEARER realm="https://r/t""#];
        assert!(matches!(read(&both), Ok(Challenge::Bearer { service: None, scope: None, .. })));
        let one_line = r#"Negotiate, Basic realm="x", Bearer realm="https://r/t",service="s""#;
        assert!(matches!(read(&[one_line]), Ok(Challenge::Bearer { .. })));
    }

    #[test]
    fn a_challenge_that_cannot_be_answered_says_why() {
        for (value, why) in [
            ("Bearer service=x", "does not say from where"),
            ("Bearer realm=\"nowhere\"", "\"nowhere\": relative URL"),
            ("Negotiate", "not how"),
            ("Basic \"", "is none"),
        ] {
            let said = read(&[value]).unwrap_err();
            assert!(said.contains(why), "{value}: {said}");
        }
        assert!(read(&[]).unwrap_err().contains("not how"));
    }

    #[test]
    fn the_registrys_scope_is_added_where_ours_does_not_cover_it() {
        let ours = ["repository:a/b:pull,push".to_owned()];
        assert_eq!(scopes(&ours, Some("repository:a/b:pull")), ours);
        assert_eq!(scopes(&ours, None), ours);
        let more = scopes(&ours, Some("repository:a/c:pull registry:catalog:*"));
        assert_eq!(more[1..], ["repository:a/c:pull", "registry:catalog:*"]);
    }

    #[test]
    fn passwords_do_not_go_over_the_wire_in_the_clear() {
        let may = |url, plain| may_carry_secrets(&Url::parse(url).unwrap(), plain);
        assert!(
            may("https://a/t", false) && may("http://127.0.0.1:1/t", false) && may("http://[::1]/t", false)
        );
        assert!(may("http://a/t", true));
        assert!(!may("http://a/t", false) && !may("file:///etc/passwd", true));
    }

    #[test]
    fn a_token_has_two_names() {
        let token = |text| serde_json::from_str::<Given>(text).unwrap().token();
        assert_eq!(token(r#"{"token":"a","access_token":"b"}"#).as_deref(), Some("a"));
        assert_eq!(token(r#"{"access_token":"b","expires_in":60}"#).as_deref(), Some("b"));
        assert_eq!(token(r#"{"token":""}"#), None);
    }
}
