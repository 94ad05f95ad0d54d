//! The programs `docker-credential-NAME` that keep credentials for docker: asked for one registry, by a pipe.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::{Credential, KeyringError};

/// How long one may take; some ask their user.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(20);
const LONGEST_ANSWER: u64 = 1 << 20;
/// What helpers say, on standard output, of a registry they do not know.
const NOT_FOUND: &str = "credentials not found";
/// The name of a user who is an identity token.
const TOKEN: &str = "<token>";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    #[serde(default)]
    username: String,
    #[serde(default)]
    secret: String,
}

/// The credential that a helper has for a server, if it has one.
pub(super) fn get(
    name: &str,
    server: &str,
    gave_up: &dyn Fn() -> bool,
) -> Result<Option<Credential>, KeyringError> {
    // The name becomes part of a program's: it must not be a path to another.
    let sound = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.is_empty() || !name.chars().all(sound) {
        return Err(KeyringError::HelperName { name: name.to_owned() });
    }
    let (status, said) = run(name, server, gave_up).map_err(|source| KeyringError::HelperStart {
        name: name.to_owned(),
        server: server.to_owned(),
        source,
    })?;
    let failed = |why: String| KeyringError::Helper { name: name.to_owned(), server: server.to_owned(), why };
    if !status.success() {
        let unknown = String::from_utf8_lossy(&said).contains(NOT_FOUND);
        // Not what it said: it deals in secrets.
        return if unknown { Ok(None) } else { Err(failed(format!("it ended with {status}"))) };
    }
    let answer: Answer = serde_json::from_slice(&said)
        .map_err(|_| failed("its answer is not the JSON it should be".to_owned()))?;
    Ok(credential(answer))
}

fn credential(answer: Answer) -> Option<Credential> {
    match (answer.username.as_str(), answer.secret) {
        (_, secret) if secret.is_empty() => None,
        (TOKEN, secret) => Some(Credential::Identity(secret)),
        (user, password) => Some(Credential::Password { user: user.to_owned(), password }),
    }
}

fn run(name: &str, server: &str, gave_up: &dyn Fn() -> bool) -> io::Result<(ExitStatus, Vec<u8>)> {
    let mut child = Command::new(format!("docker-credential-{name}"))
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that ends without reading says why by its end.
        drop(stdin.write_all(server.as_bytes()));
    }
    let stdout = child.stdout.take().ok_or_else(|| io::Error::other("it has no standard output"))?;
    let said = Arc::new(Mutex::new(Vec::new()));
    let reader = thread::spawn({
        let said = said.clone();
        move || keep(stdout.take(LONGEST_ANSWER), &said)
    });
    // What it started may keep its output open when it has ended, and may still have to answer.
    let answered = || reader.is_finished() || serde_json::from_slice::<Answer>(&locked(&said)).is_ok();
    let status = wait(&mut child, answered, gave_up)?;
    if reader.is_finished() {
        reader.join().map_err(|_| io::Error::other("its answer could not be read"))??;
    }
    let said = std::mem::take(&mut *locked(&said));
    Ok((status, said))
}

fn keep(mut from: impl Read, said: &Mutex<Vec<u8>>) -> io::Result<()> {
    let mut part = [0; 4096];
    loop {
        match from.read(&mut part) {
            Ok(0) => return Ok(()),
            Ok(length) => locked(said).extend_from_slice(&part[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn locked(said: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    said.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Until it has ended and its answer is here, which it may have left to another.
fn wait(
    child: &mut Child,
    answered: impl Fn() -> bool,
    gave_up: &dyn Fn() -> bool,
) -> io::Result<ExitStatus> {
    let begun = Instant::now();
    loop {
        let ended = child.try_wait()?;
        if let Some(status) = ended.filter(|_| answered()) {
            return Ok(status);
        }
        if begun.elapsed() > PATIENCE || gave_up() {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it did not answer in time"));
        }
        thread::sleep(LOOK_AGAIN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_as_helpers_give_them() {
        let read = |text: &str| credential(serde_json::from_str(text).unwrap());
        let password = Credential::Password { user: "jane".into(), password: "s".into() };
        assert_eq!(read(r#"{"ServerURL":"x","Username":"jane","Secret":"s"}"#), Some(password));
        assert_eq!(read(r#"{"Username":"<token>","Secret":"s"}"#), Some(Credential::Identity("s".into())));
        assert_eq!(read(r#"{"ServerURL":"x","Username":"","Secret":""}"#), None);
    }

    #[test]
    fn a_name_is_no_path_and_what_is_missing_is_named() {
        for name in ["", "../x", "/bin/sh", "a b", "a\\b"] {
            assert!(matches!(get(name, "s", &|| false), Err(KeyringError::HelperName { .. })), "{name}");
        }
        let said = get("porthole-none", "example.com", &|| false).unwrap_err().to_string();
        assert!(said.contains("docker-credential-porthole-none") && said.contains("example.com"), "{said}");
    }
}
