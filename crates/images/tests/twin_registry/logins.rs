//! Registries that want to know who asks.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use images::keyring::Keyring;
use images::registry::answer::PullError;
use images::{Access, Caller, Reference, Remote};
use testbed::registry::{Auth, Fault, Registry, TOKEN_PATH, Wrong};

use crate::bench::{Bench, MANIFESTS, layer};

const PASSWORD: &str = "hunter2";

pub(crate) fn basic() -> Auth {
    Auth::Basic { user: "jane".into(), password: PASSWORD.into() }
}

pub(crate) fn token(lifetime: Duration) -> Auth {
    Auth::Token { user: "jane".into(), password: PASSWORD.into(), lifetime }
}

pub(crate) fn jane(registry: &Registry) -> Keyring {
    Keyring::default().with_password(&registry.address().to_string(), "jane", PASSWORD)
}

pub(crate) fn access(keyring: Keyring) -> Access {
    Access { keyring, ..Access::default() }
}

// proves: RT-09 twin
#[test]
fn a_password_opens_registries_of_both_kinds_and_is_asked_for_first() {
    for auth in [basic(), token(Duration::from_secs(60))] {
        let bench = Bench::with(auth.clone());
        bench
            .pull(&Access::default())
            .refused(&["wants a login (401)", "no credentials for it are known here"]);
        bench.registry.clear_requests();
        let pulled = bench.pull(&access(jane(&bench.registry)));
        bench.assert_whole(&pulled, 0);
        let requests = bench.registry.requests();
        assert_eq!((requests[0].status, requests[0].header("Authorization")), (401, None), "{auth:?}");
        let tokens = requests.iter().filter(|request| request.path.starts_with(TOKEN_PATH)).count();
        assert_eq!(tokens, usize::from(auth != basic()), "one token is enough for a pull");
        let wrong = Keyring::default().with_password(&bench.registry.address().to_string(), "jane", "wrong");
        bench.pull(&access(wrong)).refused(&["wants a login (401)", "were refused"]);
    }
}

#[test]
fn a_token_that_runs_out_in_the_middle_is_renewed() {
    let bench = Bench::with(token(Duration::from_secs(3)));
    let path = format!("*/blobs/{}", layer(&bench.image).0);
    bench.registry.fault(Fault::new(Wrong::Cut { after: 70_000 }).path(&path).times(1));
    let limit = Wrong::too_many_requests(Duration::from_secs(4));
    bench.registry.fault(Fault::new(limit).path(&path).times(1));
    let pulled = bench.pull(&access(jane(&bench.registry)));
    // Beside the blobs only what the refusal of the old token says.
    bench.assert_whole(&pulled, 200);
    let of_layer = |request: &&testbed::registry::Request| request.path.ends_with(layer(&bench.image).0);
    let statuses: Vec<_> =
        bench.registry.requests().iter().filter(of_layer).map(|request| request.status).collect();
    assert_eq!(statuses, [200, 429, 401, 206], "cut, told to wait, refused, and with a new token to its end");
}

// proves: RT-09 twin
#[test]
fn pull_secrets_are_tried_in_their_order() {
    let bench = Bench::with(token(Duration::from_secs(60)));
    let address = bench.registry.address();
    let secret = |user: &str, password: &str, path: &str| {
        format!(r#"{{"auths":{{"{address}{path}":{{"username":"{user}","password":"{password}"}}}}}}"#)
    };
    let (wrong, right) = (secret("joe", "no", "/try"), secret("jane", PASSWORD, ""));
    let elsewhere = secret("jane", PASSWORD, "/other");
    let kind = "kubernetes.io/dockerconfigjson";
    let ring = |texts: &[&String]| {
        let secrets = texts.iter().map(|text| ("s", kind, text.as_bytes()));
        Keyring::default().with_pull_secrets(secrets).expect("read")
    };
    let pulled = bench.pull(&access(ring(&[&right, &wrong])));
    bench.assert_whole(&pulled, 0);
    let tokens = bench.registry.requests().into_iter().filter(|request| request.path.starts_with(TOKEN_PATH));
    // The one with the longer path goes first, and is the wrong one.
    assert_eq!(tokens.map(|request| request.status).collect::<Vec<_>>(), [401, 200]);
    bench.pull(&access(ring(&[&elsewhere]))).refused(&["no credentials for it are known here"]);
    bench.pull(&access(ring(&[&wrong]))).refused(&["were refused"]);
}

#[test]
fn dockers_configuration_opens_a_registry_as_docker_would() {
    let bench = Bench::with(basic());
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("config.json");
    // jane:hunter2
    let text =
        format!(r#"{{"auths":{{"http://{}/v2/":{{"auth":"amFuZTpodW50ZXIy"}}}}}}"#, bench.registry.address());
    std::fs::write(&path, text).expect("written");
    let keyring = Keyring::default().with_docker_config(&path).expect("read");
    bench.assert_whole(&bench.pull(&access(keyring)), 0);
}

#[test]
fn an_identity_token_is_exchanged_for_one_of_the_registry() {
    let bench = Bench::with(token(Duration::from_secs(60)));
    let config = |identity: &str| {
        let text =
            format!(r#"{{"auths":{{"{}":{{"identitytoken":"{identity}"}}}}}}"#, bench.registry.address());
        let secrets = [("s", "kubernetes.io/dockerconfigjson", text.as_bytes())];
        access(Keyring::default().with_pull_secrets(secrets).expect("read"))
    };
    bench.assert_whole(&bench.pull(&config(PASSWORD)), 0);
    let asked = bench.registry.requests().into_iter().find(|request| request.path.starts_with(TOKEN_PATH));
    let asked = asked.expect("asked for a token");
    assert_eq!((asked.method.as_str(), asked.header("Authorization")), ("POST", None));
    bench.pull(&config("hunter2-of-yesterday")).refused(&["were refused"]);
}

/// Docker's configuration of a desktop on which the program is not installed any more.
pub(crate) fn with_a_program_that_is_gone() -> Keyring {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("config.json");
    std::fs::write(&path, r#"{"credsStore":"porthole-none"}"#).expect("written");
    Keyring::default().with_docker_config(&path).expect("read")
}

/// It was asked before the first request, and no pull came further than that.
#[test]
fn a_program_that_is_gone_is_in_the_way_of_nobody_who_does_not_need_it() {
    let gone = with_a_program_that_is_gone;
    for auth in [basic(), token(Duration::from_secs(60))] {
        let bench = Bench::with(auth);
        let address = bench.registry.address().to_string();
        bench.assert_whole(&bench.pull(&access(jane(&bench.registry).and(gone()))), 0);
        let secret = format!(r#"{{"auths":{{"{address}":{{"username":"jane","password":"{PASSWORD}"}}}}}}"#);
        let secrets = [("s", "kubernetes.io/dockerconfigjson", secret.as_bytes())];
        let secret = Keyring::default().with_pull_secrets(secrets).expect("read");
        bench.assert_whole_again(&access(secret.and(gone())));
        let wrong = Keyring::default().with_password(&address, "jane", "wrong");
        for keyring in [gone(), wrong.and(gone())] {
            bench.pull(&access(keyring)).refused(&["docker-credential-porthole-none", "No such file"]);
        }
        // One behind it is tried all the same.
        bench.assert_whole_again(&access(gone().and(jane(&bench.registry))));
    }
    let open = Bench::new();
    open.assert_whole(&open.pull(&access(gone())), 0);
}

/// As Docker's own registry does for public images.
#[test]
fn tokens_that_anybody_gets_need_no_program() {
    let bench = Bench::new();
    let realm =
        format!("Bearer realm=\"http://{}{TOKEN_PATH}\",service=\"testbed\"", bench.registry.address());
    let given = r#"{"token":"anybodys"}"#.to_owned();
    let login = || Fault::new(Wrong::unauthorized(&realm)).path(MANIFESTS).times(1);
    bench.registry.fault(Fault::new(Wrong::Says(given)).path(TOKEN_PATH));
    bench.registry.fault(login());
    let gone = access(with_a_program_that_is_gone());
    bench.assert_whole(&bench.pull(&gone), 0);
    // A private image, which such a token does not open.
    bench.registry.fault(login());
    bench.registry.fault(Fault::new(Wrong::Status { code: 403, headers: Vec::new() }).path(MANIFESTS));
    bench.pull(&gone).refused(&["docker-credential-porthole-none", "No such file"]);
}

/// Runs this test again where the helper is on the path: a test must not change its own process's.
// proves: RT-09 twin
#[test]
fn a_credential_helper_is_asked_by_its_pipe() {
    const MARK: &str = "PORTHOLE_TEST_HELPER";
    if let Ok(dir) = std::env::var(MARK) {
        return with_helpers(Path::new(&dir));
    }
    let dir = tempfile::tempdir().expect("a directory");
    let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap_or_default());
    let mut again = Command::new(std::env::current_exe().expect("this test"));
    again.args(["--exact", "logins::a_credential_helper_is_asked_by_its_pipe", "--nocapture"]);
    let output = again.env("PATH", path).env(MARK, dir.path()).output().expect("starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn with_helpers(dir: &Path) {
    let bench = Bench::with(basic());
    let address = bench.registry.address();
    let script = |name: &str, text: &str| {
        let path = dir.join(format!("docker-credential-{name}"));
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
    };
    let answer = format!(r#"echo '{{"ServerURL":"x","Username":"jane","Secret":"{PASSWORD}"}}'"#);
    script("right", &format!("[ \"$1\" = get ] && [ \"$(cat)\" = {address} ] && {answer}"));
    script("empty", "echo 'credentials not found in native keychain'; exit 1");
    script("broken", &format!("echo {PASSWORD}; echo {PASSWORD} >&2; exit 3"));
    script("silent", &format!("echo {PASSWORD}"));
    let config = |text: &str| {
        let path = dir.join("config.json");
        std::fs::write(&path, text).expect("written");
        access(Keyring::default().with_docker_config(&path).expect("read"))
    };
    let named = |name: &str| format!(r#"{{"credsStore":"empty","credHelpers":{{"{address}":"{name}"}}}}"#);
    bench.assert_whole(&bench.pull(&config(&named("right"))), 0);
    bench.assert_whole_again(&config(
        r#"{"credsStore":"right","credHelpers":{"other.example.com":"broken"}}"#,
    ));
    bench.pull(&config(r#"{"credsStore":"empty"}"#)).refused(&["no credentials for it are known here"]);
    bench.pull(&config(&named("broken"))).refused(&[
        "docker-credential-broken",
        "exit status: 3",
        &address.to_string(),
    ]);
    bench.pull(&config(&named("silent"))).refused(&["docker-credential-silent", "not the JSON it should be"]);
    bench.pull(&config(&named("gone"))).refused(&["docker-credential-gone", "No such file"]);

    // Nobody waits for one that is not needed.
    let asked = dir.join("asked");
    script("asked", &format!("touch {}; exit 1", asked.display()));
    let with_asked = || config(r#"{"credsStore":"asked"}"#);
    bench.assert_whole_again(&access(jane(&bench.registry).and(with_asked().keyring)));
    let open = Bench::new();
    open.assert_whole(&open.pull(&with_asked()), 0);
    assert!(!asked.exists(), "it was asked before its turn");

    // It answers and leaves its output to a child that goes on: the answer is here all the same.
    let begun = Instant::now();
    let child = dir.join("child");
    let leaves = format!("sleep 60 & echo $! > {0}.new; mv {0}.new {0}", child.display());
    let end = || {
        let pid = std::fs::read_to_string(&child).expect("its child");
        Command::new("kill").arg(pid.trim()).status().expect("ended");
        std::fs::remove_file(&child).expect("removed");
    };
    script("generous", &format!("{answer}; {leaves}"));
    bench.assert_whole_again(&config(&named("generous")));
    end();
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());

    // It leaves its answer too, and none comes: who gives up waits for neither.
    script("lingering", &leaves);
    given_up(&bench.name(), &config(&named("lingering")), &child);
    end();

    // One that still runs when its asker gives up ends with that.
    script("stuck", &format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 60", child.display()));
    given_up(&bench.name(), &config(&named("stuck")), &child);
    let pid = std::fs::read_to_string(&child).expect("its own number");
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "it goes on");
}

/// Asks, and gives up when this file is there.
fn given_up(name: &str, access: &Access, file: &Path) {
    let caller = Caller { tell: &|_| {}, gave_up: &|| file.exists() };
    let begun = Instant::now();
    let reference = Reference::parse(name).expect("a name");
    let opened = Remote::open(&reference, access, caller).and_then(|remote| remote.root().map(drop));
    let took = begun.elapsed();
    assert!(matches!(opened, Err(PullError::GaveUp)), "{opened:?}");
    assert!(took < Duration::from_secs(30), "{took:?}");
}
