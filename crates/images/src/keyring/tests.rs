use super::*;

const SECRET: &str = "hunter2";
const CONFIG_JSON: &str = "kubernetes.io/dockerconfigjson";

fn docker(text: &str) -> Result<Keyring, KeyringError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config.json");
    std::fs::write(&path, text).unwrap();
    Keyring::default().with_docker_config(&path)
}

fn found(keyring: &Keyring, registry: &str, repository: &str) -> Vec<String> {
    let text = |candidate: &Candidate| match candidate {
        Candidate::Known(Credential::Password { user, password }) => format!("{user}:{password}"),
        Candidate::Known(Credential::Identity(token)) => format!("identity {token}"),
        Candidate::Known(Credential::Token(token)) => format!("token {token}"),
        Candidate::Helper(_) => "a program".to_owned(),
    };
    keyring.candidates(registry, repository).iter().map(text).collect()
}

#[test]
fn a_configuration_as_docker_writes_it() {
    // jane:hunter2, with and without padding, and as Docker once padded it.
    let keyring = docker(
        r#"{"auths":{
            "https://index.docker.io/v1/":{"auth":"amFuZTpodW50ZXIy"},
            "padded.example.com":{"auth":"amFuZTpodW50ZXIyAAA=\n"},
            "plain.example.com":{"username":"joe","password":"p:w"},
            "id.example.com":{"auth":"amFuZTo=","identitytoken":"i"},
            "token.example.com":{"registrytoken":"t"},
            "helped.example.com":{},
            "null.example.com":{"auth":null,"email":"x@example.com"}},
          "HttpHeaders":{"User-Agent":"x"},"psFormat":"table"}"#,
    )
    .unwrap();
    for (registry, wanted) in [
        ("docker.io", &["jane:hunter2"][..]),
        ("padded.example.com", &["jane:hunter2"]),
        ("plain.example.com", &["joe:p:w"]),
        ("id.example.com", &["identity i"]),
        ("token.example.com", &["token t"]),
        ("helped.example.com", &[]),
        ("null.example.com", &[]),
        ("unknown.example.com", &[]),
    ] {
        assert_eq!(found(&keyring, registry, "team/app"), wanted, "{registry}");
    }
}

#[test]
fn pull_secrets_come_in_their_order_and_the_special_ones_first() {
    let one = br#"{"auths":{"*.example.com":{"username":"any","password":"1"},
        "a.example.com/team":{"username":"team","password":"2"}}}"#;
    let two = br#"{"a.example.com":{"username":"host","password":"3"},"*.example.com":{"username":"also","password":"4"}}"#;
    let secrets = [("s1", CONFIG_JSON, &one[..]), ("s2", "kubernetes.io/dockercfg", &two[..])];
    let keyring =
        Keyring::default().with_pull_secrets(secrets).unwrap().with_password("a.example.com", "node", "5");
    assert_eq!(
        found(&keyring, "a.example.com", "team/app"),
        ["team:2", "host:3", "any:1", "also:4", "node:5"]
    );
    assert_eq!(found(&keyring, "a.example.com", "other"), ["host:3", "any:1", "also:4", "node:5"]);
    assert_eq!(found(&keyring, "b.example.com", "team/app"), ["any:1", "also:4"]);
    assert!(keyring.is_for("b.example.com", "team/app") && !keyring.is_for("b.example.org", "team/app"));
}

#[test]
fn what_is_wrong_is_named_and_no_secret_with_it() {
    for (text, why) in [
        (r#"{"auths":{"a.com":{"auth":"hunter2"}}}"#, "entry \"a.com\" of"),
        (r#"{"auths":{"a.com":{"auth":"aHVudGVyMg=="}}}"#, "base64 of USER:PASSWORD"),
        (r#"{"auths":{"a.com":{"username":"hunter2"}}}"#, "no password"),
        (r#"{"auths":{"/x":{"username":"a","password":"hunter2"}}}"#, "no address of a registry"),
        (r#"{"auths":{"a.com":"hunter2"}}"#, "line 1, column 27"),
        (r#"{"auths":["hunter2"]}"#, "line 1, column"),
        ("hunter2", "line 1, column"),
    ] {
        let error = docker(text).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(shown.contains(why) && !shown.contains(SECRET), "{text}: {shown}");
    }
    let bad = Keyring::default().with_pull_secrets([("s", "Opaque", &b"{}"[..])]).unwrap_err();
    assert!(bad.to_string().contains("\"Opaque\" holds no credentials: wanted kubernetes.io"), "{bad}");
}

#[test]
fn a_keyring_does_not_show_its_secrets() {
    let keyring = docker(
        r#"{"auths":{"a.com":{"username":"jane","password":"hunter2"},"b.com":{"identitytoken":"hunter2"}}}"#,
    );
    let keyring = keyring.unwrap().with_password("c.com", "jane", SECRET);
    assert!(!format!("{keyring:?} {:?}", keyring.candidates("c.com", "x")).contains(SECRET));
}

#[tokio::test]
async fn a_pull_secret_runs_no_program() {
    let text = br#"{"auths":{"a.com":{"username":"u","password":"p"}},"credsStore":"porthole-none",
        "credHelpers":{"a.com":"porthole-none"}}"#;
    let keyring = Keyring::default().with_pull_secrets([("s", CONFIG_JSON, &text[..])]).unwrap();
    assert_eq!(found(&keyring, "a.com", "x"), ["u:p"]);
    // Docker's own configuration does, when it is the program's turn; and it is not there.
    let keyring = docker(std::str::from_utf8(text).unwrap()).unwrap();
    assert_eq!(found(&keyring, "a.com", "x"), ["a program", "u:p"]);
    let program = &keyring.candidates("a.com", "x")[0];
    assert!(program.failure().is_none(), "it was asked before its turn");
    assert_eq!((program.credential().await, program.is_known()), (None, false));
    let error = program.failure().unwrap();
    assert!(matches!(*error, KeyringError::HelperStart { .. }), "{error}");
}
