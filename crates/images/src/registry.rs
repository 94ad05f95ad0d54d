//! Images in a registry, read without an account.
//!
//! The rest of the program is threads, so a pull brings its own small runtime along and ends it. Blobs go to
//! files and are checked on the way; a blob that came is whole and right, or there is an error.

pub mod answer;

use std::cell::Cell;
use std::fs::File;
use std::future::Future;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use futures_util::TryStreamExt;
use futures_util::future::{self, Either};
use oci_client::RegistryOperation;
use oci_client::client::{Client, ClientConfig, ClientProtocol};
use oci_client::secrets::RegistryAuth;
use tokio::runtime::{Builder, Runtime};

use crate::blobs::{Blob, Blobs, ContentError, file_name};
use crate::document::Descriptor;
use crate::progress::{Caller, Progress};
use crate::reference::Reference;
use answer::PullError;

/// The waits between the tries.
const DELAYS: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(2)];
const LONGEST_CONNECT: Duration = Duration::from_secs(10);
/// How long a registry may say nothing in the middle of an answer.
const LONGEST_SILENCE: Duration = Duration::from_secs(30);
/// How often the caller is asked whether the pull is still wanted.
const ASK_CALLER: Duration = Duration::from_millis(100);
const USER_AGENT: &str = concat!("porthole/", env!("CARGO_PKG_VERSION"));
const MANIFEST_TYPES: [&str; 4] = [
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.docker.distribution.manifest.v2+json",
];

/// One image in a registry, while it is pulled.
pub(crate) struct Remote<'a> {
    reference: &'a Reference,
    client: Client,
    runtime: Runtime,
    /// Where blobs are put.
    into: &'a Path,
    caller: Caller<'a>,
    moved: Cell<u64>,
}

// === impl Remote ===

impl<'a> Remote<'a> {
    pub(crate) fn new(
        reference: &'a Reference,
        into: &'a Path,
        caller: Caller<'a>,
    ) -> Result<Remote<'a>, PullError> {
        // Fails when another one is installed already, which is as good.
        drop(rustls::crypto::ring::default_provider().install_default());
        let protocol = if reference.is_local() { ClientProtocol::Http } else { ClientProtocol::Https };
        let config = ClientConfig {
            protocol,
            connect_timeout: Some(LONGEST_CONNECT),
            read_timeout: Some(LONGEST_SILENCE),
            user_agent: USER_AGENT,
            ..ClientConfig::default()
        };
        let client = Client::try_from(config).map_err(|e| PullError::Client(Box::new(e)))?;
        let runtime = Builder::new_current_thread().enable_all().build().map_err(PullError::Runtime)?;
        Ok(Remote { reference, client, runtime, into, caller, moved: Cell::new(0) })
    }

    /// How many bytes of blobs came.
    pub(crate) fn moved(&self) -> u64 {
        self.moved.get()
    }

    /// Gets the token that most registries want from anonymous clients too. Every request would do so by itself,
    /// but passes over what goes wrong and asks the registry in vain.
    fn introduce(&self) -> Result<(), PullError> {
        let image = self.reference.inner();
        self.tries(|| {
            let answer = self.client.auth(image, &RegistryAuth::Anonymous, RegistryOperation::Pull);
            self.wait(answer)?.map(drop).map_err(|e| PullError::of(self.reference.registry(), e))
        })
    }

    fn get(&self, manifest: &oci_client::Reference) -> Result<Vec<u8>, PullError> {
        let anonymous = RegistryAuth::Anonymous;
        self.tries(|| {
            let answer = self.client.pull_manifest_raw(manifest, &anonymous, &MANIFEST_TYPES);
            let (bytes, _) = self.wait(answer)?.map_err(|e| PullError::of(self.reference.registry(), e))?;
            Ok(bytes.to_vec())
        })
    }

    /// The stream ends with an error if what came has not the digest.
    async fn download(&self, wanted: &Descriptor, path: &Path) -> Result<u64, PullError> {
        let registry = self.reference.registry();
        let digest = wanted.digest.as_str();
        let longest = wanted.size.ok_or_else(|| PullError::NoSize(digest.to_owned()))?;
        let answer = self.client.pull_blob_stream(self.reference.inner(), digest).await;
        let mut stream = answer.map_err(|e| PullError::of(registry, e))?.stream;
        let unwritten = |source| PullError::Write { path: path.to_owned(), source };
        let mut file = File::create(path).map_err(unwritten)?;
        let mut size = 0;
        while let Some(chunk) = stream.try_next().await.map_err(|e| PullError::cut(registry, digest, e))? {
            size += chunk.len() as u64;
            if size > longest {
                return Err(PullError::TooLong { digest: digest.to_owned(), longest });
            }
            file.write_all(&chunk).map_err(unwritten)?;
        }
        Ok(size)
    }

    fn tries<T>(&self, once: impl Fn() -> Result<T, PullError>) -> Result<T, PullError> {
        for delay in DELAYS {
            match once() {
                Err(error) if error.may_pass() => {
                    let reference = self.reference.to_string();
                    (self.caller.tell)(&Progress::Retrying { reference, why: error.line(), delay });
                }
                other => return other,
            }
            self.wait(async { tokio::time::sleep(delay).await })?;
        }
        once()
    }

    /// Waits for the network, as long as the caller does.
    fn wait<F: Future>(&self, answer: F) -> Result<F::Output, PullError> {
        let lost_patience = async {
            while !(self.caller.gave_up)() {
                tokio::time::sleep(ASK_CALLER).await;
            }
        };
        self.runtime.block_on(async {
            match future::select(pin!(answer), pin!(lost_patience)).await {
                Either::Left((output, _)) => Ok(output),
                Either::Right(_) => Err(PullError::GaveUp),
            }
        })
    }

    fn path(&self, digest: &str) -> Result<PathBuf, ContentError> {
        Ok(self.into.join(file_name(digest)?))
    }
}

impl Blobs for Remote<'_> {
    type Error = PullError;

    fn root(&self) -> Result<Vec<u8>, PullError> {
        self.introduce()?;
        self.get(self.reference.inner())
    }

    fn manifest(&self, wanted: &Descriptor) -> Result<Vec<u8>, PullError> {
        file_name(&wanted.digest)?;
        self.get(&self.reference.inner().clone_with_digest(wanted.digest.clone()))
    }

    fn blob(&self, wanted: &Descriptor) -> Result<Blob, PullError> {
        let path = self.path(&wanted.digest)?;
        let size = self.tries(|| self.wait(self.download(wanted, &path))?)?;
        self.moved.set(self.moved.get() + size);
        let file = File::open(&path).map_err(|source| PullError::Write { path, source })?;
        Ok(Blob::checked(file.take(size)))
    }
}
