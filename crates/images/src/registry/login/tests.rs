use super::*;
use crate::keyring::Keyring;

fn password(user: &str) -> Credential {
    Credential::Password { user: user.into(), password: "secret".into() }
}

fn login(credentials: Vec<Credential>) -> Login {
    with_candidates(credentials.into_iter().map(Candidate::Known).collect())
}

fn with_candidates(candidates: Vec<Candidate>) -> Login {
    Login::new("r", candidates, vec!["repository:a:pull".into()], false)
}

fn client() -> Client {
    drop(rustls::crypto::ring::default_provider().install_default());
    Client::builder().build().unwrap()
}

async fn renewed(login: &Login, pass: &Pass) -> Result<Pass, PullError> {
    login.renew(pass, &Challenge::Basic, &client()).await?;
    Ok(login.pass().await)
}

#[tokio::test]
async fn credentials_that_never_worked_make_way_and_those_that_did_are_kept() {
    let login = login(vec![password("a"), password("b")]);
    let none = login.pass().await;
    assert!(none.header.is_none());
    let first = renewed(&login, &none).await.unwrap();
    let second = renewed(&login, &first).await.unwrap();
    assert_ne!(first.header, second.header);
    // Two threads were refused with the first: the second of them only takes what the other got.
    assert_eq!(renewed(&login, &first).await.unwrap().header, second.header);
    login.worked(&second).await;
    let again = renewed(&login, &second).await.unwrap();
    assert_eq!(again.header, second.header);
    let error = renewed(&login, &again).await.unwrap_err();
    assert!(matches!(error, PullError::Unauthorized { tried: 2, .. }), "{error}");
}

#[tokio::test]
async fn a_credential_that_is_not_let_in_is_passed_over_once() {
    let login = login(vec![password("a"), password("b")]);
    assert!(!login.pass_over(&login.pass().await).await, "nobody asked for a login");
    let first = renewed(&login, &login.pass().await).await.unwrap();
    assert!(login.pass_over(&first).await && login.pass_over(&first).await);
    let second = renewed(&login, &login.pass().await).await.unwrap();
    assert_ne!(first.header, second.header);
    assert!(!login.pass_over(&second).await, "there is no third");
}

/// Two accounts, and between them a program that is not installed.
fn around_a_program_that_is_gone() -> Vec<Candidate> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.json");
    std::fs::write(&path, r#"{"credsStore":"porthole-none"}"#).unwrap();
    let keyring = Keyring::default().with_password("r", "a", "secret").with_docker_config(&path).unwrap();
    keyring.with_password("r", "b", "secret").candidates("r", "a")
}

#[tokio::test]
async fn a_program_that_is_gone_makes_way_and_is_told_of_last() {
    let login = with_candidates(around_a_program_that_is_gone());
    let first = renewed(&login, &login.pass().await).await.unwrap();
    assert_eq!(first.header, Some(basic("a", "secret")));
    assert!(login.failure().is_none(), "it was asked before its turn");
    let second = renewed(&login, &first).await.unwrap();
    assert_eq!(second.header, Some(basic("b", "secret")));
    let error = renewed(&login, &second).await.unwrap_err();
    assert!(matches!(error, PullError::Keyring(_)), "{error}");
    let again = renewed(&login, &second).await.unwrap_err();
    assert!(matches!(again, PullError::Keyring(_)), "{again}");
}

#[tokio::test]
async fn one_that_was_not_let_in_stays_if_no_other_is_taken() {
    let mut candidates = around_a_program_that_is_gone();
    candidates.pop();
    let login = with_candidates(candidates);
    let first = renewed(&login, &login.pass().await).await.unwrap();
    assert!(login.pass_over(&first).await);
    let none = login.pass().await;
    assert!(none.header.is_none());
    let error = renewed(&login, &none).await.unwrap_err();
    assert!(matches!(error, PullError::Keyring(_)), "{error}");
    let stayed = login.pass().await;
    assert_eq!(stayed.header, first.header);
    assert!(!login.pass_over(&stayed).await, "the others were tried already");
}

#[tokio::test]
async fn without_credentials_a_password_cannot_be_given() {
    let login = login(Vec::new());
    let error = renewed(&login, &login.pass().await).await.unwrap_err();
    assert!(matches!(error, PullError::Unauthorized { tried: 0, .. }), "{error}");
}

#[tokio::test]
async fn no_password_goes_to_a_realm_without_tls() {
    let realm = Url::parse("http://auth.example.com/token").unwrap();
    let challenge = Challenge::Bearer { realm, service: None, scope: None };
    let login = login(vec![password("a")]);
    let error = login.renew(&login.pass().await, &challenge, &client()).await.unwrap_err();
    assert!(error.to_string().contains("without TLS"), "{error}");
}

#[test]
fn questions_for_tokens() {
    let realm = Url::parse("https://auth.example.com/token?a=b").unwrap();
    let scopes = ["repository:a/b:pull".to_owned(), "repository:c:pull".to_owned()];
    let ask = |credential: Option<Credential>| {
        question(&client(), &realm, Some("s"), &scopes, credential.as_ref()).build().unwrap()
    };
    let plain = ask(None);
    let scopes_text = "scope=repository%3Aa%2Fb%3Apull&scope=repository%3Ac%3Apull";
    assert_eq!(plain.url().query(), Some(format!("a=b&service=s&{scopes_text}").as_str()));
    assert_eq!((plain.method().as_str(), plain.headers().get(AUTHORIZATION)), ("GET", None));
    let named = ask(Some(password("jane")));
    assert_eq!(named.headers()[AUTHORIZATION], "Basic amFuZTpzZWNyZXQ=");
    let identity = ask(Some(Credential::Identity("x&y".into())));
    let body = identity.body().and_then(reqwest::Body::as_bytes).unwrap();
    let body = String::from_utf8_lossy(body);
    assert_eq!((identity.method().as_str(), identity.url().query()), ("POST", Some("a=b")));
    assert!(body.starts_with("grant_type=refresh_token&service=s&client_id=porthole&scope=repository%3Aa"));
    assert!(body.ends_with("refresh_token=x%26y"), "{body}");
}

#[test]
fn secrets_are_not_shown() {
    let shown = format!("{:?} {:?}", login(vec![password("jane")]), basic("jane", "secret"));
    assert!(!shown.contains("secret") && !shown.contains("amFu"), "{shown}");
}
