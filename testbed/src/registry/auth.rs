//! Who may pull and push: nobody is asked, a password, or a token from an endpoint of ours.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;

use super::http::Message;

/// Where tokens are to be had, beside the registry's own paths.
pub const TOKEN_PATH: &str = "/token";
const SERVICE: &str = "testbed";
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// What a registry wants to see from its clients.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Auth {
    #[default]
    Open,
    /// The password with every request.
    Basic { user: String, password: String },
    /// The password once for a token, the token with every request. A token is good for the repositories and actions
    /// that were asked for, and for `lifetime`.
    Token { user: String, password: String, lifetime: Duration },
}

/// The tokens given out: what they are good for and until when.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    given: Mutex<HashMap<String, (Vec<String>, Instant)>>,
}

// === impl Auth ===

impl Auth {
    /// The answer to a request that is not to reach the registry: a refusal or a token.
    pub(super) fn answer(&self, request: &Message, tokens: &Tokens, address: &str) -> Option<Message> {
        match self {
            Self::Open => None,
            Self::Basic { user, password } => {
                let good = request.header("Authorization") == Some(basic(user, password).as_str());
                (!good).then(|| refusal("Basic realm=\"testbed\""))
            }
            Self::Token { user, password, lifetime } => {
                let (path, query) =
                    request.target().split_once('?').unwrap_or_else(|| (request.target(), ""));
                if path != TOKEN_PATH {
                    return tokens.check(request, address);
                }
                // Of OAuth only what identity tokens need is spoken: here the password is one. With passwords clients
                // then fall back to GET.
                if request.method() != "GET" {
                    return Some(tokens.exchange(&request.body, password, *lifetime));
                }
                let good = request.header("Authorization") == Some(basic(user, password).as_str());
                Some(if good { tokens.give(query, *lifetime) } else { refusal("Basic realm=\"testbed\"") })
            }
        }
    }
}

// === impl Tokens ===

impl Tokens {
    fn give(&self, query: &str, lifetime: Duration) -> Message {
        let scopes = query.split('&').filter_map(|pair| pair.strip_prefix("scope="));
        let scopes: Vec<_> = scopes.map(plain).collect();
        let scopes = scopes.iter().flat_map(|scope| scope.split(' ')).map(str::to_owned).collect();
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let token = format!("testbed-token-{}", given.len() + 1);
        given.insert(token.clone(), (scopes, Instant::now() + lifetime));
        let body =
            json!({"token": token, "access_token": token, "expires_in": lifetime.as_secs()}).to_string();
        Message::response(200, body).with("Content-Type", "application/json")
    }

    /// A token for an identity token, in a form.
    fn exchange(&self, form: &[u8], identity: &str, lifetime: Duration) -> Message {
        let form = String::from_utf8_lossy(form);
        let field = |name: &str| {
            let found = form.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
            found.map(plain).unwrap_or_default()
        };
        match (field("grant_type").as_str(), field("refresh_token") == identity) {
            ("refresh_token", true) => self.give(&form, lifetime),
            ("refresh_token", false) => refusal("Basic realm=\"testbed\""),
            _ => Message::response(405, ""),
        }
    }

    fn check(&self, request: &Message, address: &str) -> Option<Message> {
        let token = request.header("Authorization").and_then(|value| value.strip_prefix("Bearer "));
        let scope = wanted(request.method(), request.target());
        let given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let good = token.and_then(|token| given.get(token)).is_some_and(|(scopes, until)| {
            *until > Instant::now()
                && scope.as_ref().is_none_or(|scope| scopes.iter().any(|has| covers(has, scope)))
        });
        let scope =
            scope.map(|(name, action)| format!(",scope=\"repository:{name}:{action}\"")).unwrap_or_default();
        let realm = format!("http://{address}{TOKEN_PATH}");
        (!good).then(|| refusal(&format!("Bearer realm=\"{realm}\",service=\"{SERVICE}\"{scope}")))
    }
}

fn refusal(challenge: &str) -> Message {
    let body =
        json!({"errors": [{"code": "UNAUTHORIZED", "message": "authentication required"}]}).to_string();
    Message::response(401, body).with("Content-Type", "application/json").with("WWW-Authenticate", challenge)
}

/// Repository and actions; None for the version check at `/v2/`.
fn wanted(method: &str, target: &str) -> Option<(String, &'static str)> {
    let rest = target.strip_prefix("/v2/")?;
    let end = ["/blobs/", "/manifests/", "/tags/", "/referrers/"]
        .iter()
        .filter_map(|part| rest.find(part))
        .min()?;
    let actions = if matches!(method, "GET" | "HEAD") { "pull" } else { "pull,push" };
    Some((rest[..end].to_owned(), actions))
}

/// Whether a token's `repository:NAME:ACTIONS` is enough.
fn covers(has: &str, (name, actions): &(String, &'static str)) -> bool {
    let mut parts = has.splitn(3, ':');
    let fits = parts.next() == Some("repository") && parts.next() == Some(name);
    let granted: Vec<_> = parts.next().unwrap_or_default().split(',').collect();
    fits && actions.split(',').all(|action| granted.contains(&action))
}

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", base64(format!("{user}:{password}").as_bytes()))
}

fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let word =
            three.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for at in 0..4 {
            let letter = char::from(ALPHABET[(word >> (18 - 6 * at) & 63) as usize]);
            text.push(if at <= three.len() { letter } else { '=' });
        }
    }
    text
}

/// Undoes the escapes of a query.
fn plain(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let escaped = hex.filter(|_| *first == b'%').and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes.push(escaped.unwrap_or(if *first == b'+' { b' ' } else { *first }));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_pads_as_it_should() {
        assert_eq!(
            ["", "f", "fo", "foo", "foob"].map(|text| base64(text.as_bytes())),
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]
        );
    }

    #[test]
    fn a_query_is_read_without_its_escapes() {
        assert_eq!(plain("repository%3Aa%2Fb%3Apull+x%"), "repository:a/b:pull x%");
    }

    #[test]
    fn a_token_is_good_for_what_was_asked() {
        let push = wanted("PUT", "/v2/a/b/manifests/1").expect("scoped");
        let pull = wanted("GET", "/v2/a/b/blobs/sha256:1").expect("scoped");
        assert_eq!(push, ("a/b".to_owned(), "pull,push"));
        assert!(covers("repository:a/b:pull,push", &push) && covers("repository:a/b:push,pull", &pull));
        assert!(!covers("repository:a/b:pull", &push) && !covers("repository:a:pull", &pull));
        assert_eq!(wanted("GET", "/v2/"), None);
    }

    #[test]
    fn an_old_token_is_refused() {
        let tokens = Tokens::default();
        let auth = |lifetime| Auth::Token { user: "u".into(), password: "p".into(), lifetime };
        let ask =
            Message::request("GET", "/token?scope=repository:a:pull").with("Authorization", &basic("u", "p"));
        let pull = |token: &str| {
            Message::request("GET", "/v2/a/tags/list").with("Authorization", &format!("Bearer {token}"))
        };
        let hour = auth(Duration::from_secs(3600));
        assert_eq!(hour.answer(&ask, &tokens, "x").expect("answered").status(), 200);
        assert_eq!(hour.answer(&pull("testbed-token-1"), &tokens, "x"), None);
        assert_eq!(auth(Duration::ZERO).answer(&ask, &tokens, "x").expect("answered").status(), 200);
        let refused = hour.answer(&pull("testbed-token-2"), &tokens, "x").expect("refused");
        assert_eq!(
            refused.header("www-authenticate"),
            Some("Bearer realm=\"http://x/token\",service=\"testbed\",scope=\"repository:a:pull\"")
        );
    }
}
