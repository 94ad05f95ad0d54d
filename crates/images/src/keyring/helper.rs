//! The programs `docker-credential-NAME` that keep credentials for docker: asked for one registry, by a pipe.
//!
//! One may be slow or not be there at all, so it is asked when its turn comes and not before.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::sync::OnceCell;

use super::{Credential, KeyringError};

/// A program that may know the credential for one server.
#[derive(Debug)]
pub(crate) struct Helper {
    name: String,
    server: String,
    answer: OnceCell<Result<Option<Credential>, Arc<KeyringError>>>,
}

/// A program that is waited for: it ends with whoever waits.
struct Running(Child);

/// How long one may take; some ask their user.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// How long the words of one that failed are waited for: what it started has none that count.
const LAST_WORDS: Duration = Duration::from_secs(3);
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

// === impl Helper ===

impl Helper {
    pub(super) fn new(name: &str, server: String) -> Helper {
        Helper { name: name.to_owned(), server, answer: OnceCell::new() }
    }

    /// What the program knows. It is asked once; who does not wait until it answers has not asked it.
    pub(super) async fn credential(&self) -> Option<&Credential> {
        self.answer.get_or_init(|| self.ask()).await;
        self.known()
    }

    /// The same without asking.
    pub(super) fn known(&self) -> Option<&Credential> {
        self.answer.get()?.as_ref().ok()?.as_ref()
    }

    /// Why it gave nothing when it was asked.
    pub(super) fn failure(&self) -> Option<Arc<KeyringError>> {
        self.answer.get()?.as_ref().err().cloned()
    }

    async fn ask(&self) -> Result<Option<Credential>, Arc<KeyringError>> {
        get(&self.name, &self.server).await.map_err(Arc::new)
    }
}

/// The credential that a helper has for a server, if it has one.
async fn get(name: &str, server: &str) -> Result<Option<Credential>, KeyringError> {
    // The name becomes part of a program's: it must not be a path to another.
    let sound = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.is_empty() || !name.chars().all(sound) {
        return Err(KeyringError::HelperName { name: name.to_owned() });
    }
    asked(Command::new(format!("docker-credential-{name}")), name, server).await
}

/// What this program, which errors call by the helper's name, has to say.
async fn asked(program: Command, name: &str, server: &str) -> Result<Option<Credential>, KeyringError> {
    let (status, said) = run(program, server).await.map_err(|source| KeyringError::HelperStart {
        name: name.to_owned(),
        server: server.to_owned(),
        source,
    })?;
    let failed = |why: String| KeyringError::Helper { name: name.to_owned(), server: server.to_owned(), why };
    if !status.success() {
        let unknown = says_not_found(&said);
        // Not what it said: it deals in secrets.
        return if unknown { Ok(None) } else { Err(failed(format!("it ended with {status}"))) };
    }
    let answer: Answer = serde_json::from_slice(&said)
        .map_err(|_| failed("its answer is not the JSON it should be".to_owned()))?;
    Ok(credential(answer))
}

fn says_not_found(said: &[u8]) -> bool {
    String::from_utf8_lossy(said).contains(NOT_FOUND)
}

fn credential(answer: Answer) -> Option<Credential> {
    match (answer.username.as_str(), answer.secret) {
        (_, secret) if secret.is_empty() => None,
        (TOKEN, secret) => Some(Credential::Identity(secret)),
        (user, password) => Some(Credential::Password { user: user.to_owned(), password }),
    }
}

async fn run(mut program: Command, server: &str) -> io::Result<(ExitStatus, Vec<u8>)> {
    program.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Running(program.spawn()?);
    if let Some(mut stdin) = running.0.stdin.take() {
        // One that ends without reading says why by its end.
        drop(stdin.write_all(server.as_bytes()));
    }
    let stdout = running.0.stdout.take().ok_or_else(|| io::Error::other("it has no standard output"))?;
    let said = Arc::new(Mutex::new(Vec::new()));
    let reader = thread::spawn({
        let said = said.clone();
        move || keep(stdout.take(LONGEST_ANSWER), &said)
    });
    // What it started may keep its output open when it has ended, and may still have to answer.
    let answered = |status| reader.is_finished() || is_answer(status, &locked(&said));
    let status = running.ended(answered).await?;
    if reader.is_finished() {
        reader.join().map_err(|_| io::Error::other("its answer could not be read"))??;
    }
    let said = std::mem::take(&mut *locked(&said));
    Ok((status, said))
}

/// Whether nothing more needs to be said by one that ended so.
fn is_answer(status: ExitStatus, said: &[u8]) -> bool {
    serde_json::from_slice::<Answer>(said).is_ok() || (!status.success() && says_not_found(said))
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

// === impl Running ===

impl Running {
    /// Waits until it has ended and its answer is here, which it may have left to another unless it failed.
    async fn ended(&mut self, answered: impl Fn(ExitStatus) -> bool) -> io::Result<ExitStatus> {
        let begun = Instant::now();
        let mut seen_ended = None;
        loop {
            if let Some(status) = self.0.try_wait()? {
                let since: Instant = *seen_ended.get_or_insert_with(Instant::now);
                let has_failed = !status.success() && since.elapsed() > LAST_WORDS;
                if has_failed || answered(status) {
                    return Ok(status);
                }
            }
            if begun.elapsed() > PATIENCE {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "it did not answer in time"));
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            drop(self.0.kill());
            drop(self.0.wait());
        }
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

    #[tokio::test]
    async fn a_name_is_no_path_and_what_is_missing_is_named() {
        for name in ["", "../x", "/bin/sh", "a b", "a\\b"] {
            let refused = get(name, "s").await;
            assert!(matches!(refused, Err(KeyringError::HelperName { .. })), "{name}");
        }
        let said = get("porthole-none", "example.com").await.unwrap_err().to_string();
        assert!(said.contains("docker-credential-porthole-none") && said.contains("example.com"), "{said}");
    }

    /// That cost a minute, and then the pull, also where the program had said that it knows of no such registry.
    #[cfg(unix)]
    #[tokio::test]
    async fn a_program_that_failed_is_not_waited_for_because_of_what_it_started() {
        let while_there = tempfile::tempdir().unwrap();
        let child = format!("while [ -e '{}' ]; do sleep 1; done &", while_there.path().display());
        for (words, is_unknown) in [("credentials not found in native keychain", true), ("locked", false)] {
            let mut program = Command::new("sh");
            program.args(["-c", &format!("{child} echo {words}; exit 1")]);
            let begun = Instant::now();
            let found = asked(program, "lingering", "example.com").await;
            assert!(begun.elapsed() < PATIENCE / 2, "{words}: {:?}", begun.elapsed());
            match found {
                Ok(None) => assert!(is_unknown, "{words}"),
                Err(KeyringError::Helper { why, .. }) => assert!(!is_unknown, "{words}: {why}"),
                other => panic!("{words}: {other:?}"),
            }
        }
    }
}
