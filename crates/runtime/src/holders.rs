//! Laying down, starting and reaching the holder of a pod.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use holder::client::{Client, ClientError};
use os::channel::Endpoint;
use sha2::{Digest, Sha256};

#[derive(Debug, thiserror::Error)]
pub enum HolderError {
    #[error("lay down the holder {path}")]
    LayDown { path: PathBuf, source: io::Error },
    #[error("start the holder {path}")]
    Start { path: PathBuf, source: io::Error },
    #[error("the holder {path} ended before it was ready: {said}")]
    NotReady { path: PathBuf, said: String },
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// How long a holder may take to end its containers when they are killed, and then itself.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Writes the holder's program under a name that its content decides, unless it is there. A running holder
/// of another version keeps its own file: an upgrade never touches it.
pub fn lay_down(bin: &Path, program: &[u8]) -> Result<PathBuf, HolderError> {
    let digest: String = Sha256::digest(program)[..6].iter().map(|byte| format!("{byte:02x}")).collect();
    let path = bin.join(format!("hold-{digest}{}", std::env::consts::EXE_SUFFIX));
    let there = std::fs::metadata(&path).is_ok_and(|found| found.len() == program.len() as u64);
    if !there {
        os::file::make_private_dir(bin)
            .and_then(|()| os::file::write_program(&path, program))
            .map_err(|source| HolderError::LayDown { path: path.clone(), source })?;
    }
    Ok(path)
}

/// Starts a holder that outlives us and connects to it.
pub fn start(program: &Path, endpoint: &Endpoint, log: &Path) -> Result<Client, HolderError> {
    let failed = |source| HolderError::Start { path: program.to_owned(), source };
    let stderr = File::options().append(true).create(true).open(log).map_err(failed)?;
    let arguments = ["--endpoint".into(), endpoint.to_string().into()];
    let detached = os::process::detach(program, &arguments, stderr).map_err(failed)?;
    let mut said = String::new();
    BufReader::new(detached.ready).read_line(&mut said).map_err(failed)?;
    if said.trim() != "ready" {
        let said = std::fs::read_to_string(log).unwrap_or_default();
        let said = said.lines().last().unwrap_or("nothing in its log").to_owned();
        return Err(HolderError::NotReady { path: program.to_owned(), said });
    }
    Ok(Client::connect(endpoint)?)
}

/// Ends a holder and everything it holds. One that is gone already is no error.
pub(crate) fn end(endpoint: &Endpoint) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut client = match Client::connect(endpoint) {
            Err(e) if e.is_absent() => break,
            Err(e) if Instant::now() > deadline => return Err(io::Error::other(crate::error::chain(&e))),
            Err(_) => {
                std::thread::sleep(LOOK_AGAIN);
                continue;
            }
            Ok(client) => client,
        };
        if Instant::now() > deadline {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the holder does not end"));
        }
        if stop_all(&mut client, Duration::ZERO).is_ok() {
            wait_until_ended(&mut client);
        }
        // Refused only while something runs: the next round stops that too.
        drop(client.leave());
        drop(client);
        std::thread::sleep(LOOK_AGAIN);
    }
    os::channel::remove_leftover(endpoint)
}

/// Asks every running container of a holder to end.
fn stop_all(client: &mut Client, grace: Duration) -> Result<(), ClientError> {
    for held in client.list()? {
        if held.exit.is_none() {
            match client.stop(&held.id, grace) {
                // It ended between the two questions.
                Err(ClientError::Refused { .. }) => {}
                other => other?,
            }
        }
    }
    Ok(())
}

fn wait_until_ended(client: &mut Client) {
    let deadline = Instant::now() + PATIENCE;
    while let Ok(held) = client.list()
        && held.iter().any(|held| held.exit.is_none())
        && Instant::now() < deadline
    {
        std::thread::sleep(LOOK_AGAIN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_laid_down_once_under_its_digest() {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("bin");
        let path = lay_down(&bin, b"one").unwrap();
        assert_eq!(path.file_stem().unwrap().len(), "hold-".len() + 12);
        let written = std::fs::metadata(&path).unwrap().modified().unwrap();
        assert_eq!(lay_down(&bin, b"one").unwrap(), path);
        assert_eq!(std::fs::metadata(&path).unwrap().modified().unwrap(), written);
        assert_ne!(lay_down(&bin, b"two").unwrap(), path);
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
    }

    #[test]
    fn a_program_cut_short_is_laid_down_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = lay_down(dir.path(), b"whole").unwrap();
        std::fs::write(&path, b"wh").unwrap();
        lay_down(dir.path(), b"whole").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
    }
}
