//! A registry with an image in it, and pulls from it.

use std::io::Read;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use images::document::Descriptor;
use images::registry::answer::PullError;
use images::{Access, Caller, Progress, Reference, Remote};
use testbed::image::{Image, ImageBuilder, Layer, digest};
use testbed::registry::{Auth, Options, Registry, Request};

pub(crate) const BLOBS: &str = "/v2/*/blobs/*";
pub(crate) const MANIFESTS: &str = "/v2/*/manifests/*";
/// Large enough that ranges are worth it, with an end that is no whole segment.
const LARGE: usize = (21 << 20) + 12_345;

pub(crate) struct Bench {
    pub(crate) registry: Registry,
    pub(crate) image: Image,
}

/// One pull: what came, or why not, and what the caller heard.
pub(crate) struct Pulled {
    pub(crate) blobs: Result<Vec<Vec<u8>>, PullError>,
    pub(crate) heard: Vec<String>,
    pub(crate) moved: u64,
}

// === impl Bench ===

impl Bench {
    pub(crate) fn with(auth: Auth) -> Bench {
        let registry = Registry::start(Options { auth }).expect("a registry");
        let image = sample(300_000);
        registry.push(&image, "try/app:1").expect("pushed");
        Bench { registry, image }
    }

    pub(crate) fn new() -> Bench {
        Bench::with(Auth::Open)
    }

    /// With a layer that comes in several segments.
    pub(crate) fn large() -> Bench {
        let registry = Registry::start(Options::default()).expect("a registry");
        let image = sample(LARGE);
        registry.push(&image, "try/app:1").expect("pushed");
        Bench { registry, image }
    }

    pub(crate) fn name(&self) -> String {
        format!("{}/try/app:1", self.registry.address())
    }

    pub(crate) fn pull(&self, access: &Access) -> Pulled {
        pull(&self.name(), access, &self.image)
    }

    /// Everything came as it is, and no byte of a blob more than `more` beside it was sent.
    pub(crate) fn assert_whole(&self, pulled: &Pulled, more: u64) {
        let blobs = pulled.blobs.as_ref().unwrap_or_else(|e| panic!("{e} {e:?} {:?}", pulled.heard));
        let wanted: Vec<_> = self.image.blobs().values().map(|bytes| bytes.to_vec()).collect();
        assert!(*blobs == wanted, "other bytes came");
        let size: u64 = wanted.iter().map(|bytes| bytes.len() as u64).sum();
        let sent: u64 = self.blob_requests().iter().map(|request| request.bytes).sum();
        assert!(
            sent >= size && sent <= size + more,
            "{size} bytes wanted and {more} allowed beside, {sent} sent"
        );
        assert!(pulled.moved <= sent && pulled.moved >= size, "{} counted of {sent}", pulled.moved);
    }

    pub(crate) fn assert_whole_again(&self, access: &Access) {
        self.registry.clear_requests();
        self.assert_whole(&self.pull(access), 0);
    }

    pub(crate) fn blob_requests(&self) -> Vec<Request> {
        let requests = self.registry.requests().into_iter();
        requests.filter(|request| request.path.contains("/blobs/")).collect()
    }
}

// === impl Pulled ===

impl Pulled {
    /// It failed with these words in the error or its causes, and with none of the secrets that tests use.
    pub(crate) fn refused(&self, words: &[&str]) {
        let error = self.blobs.as_ref().expect_err("refused");
        let mut said = format!("{error}");
        let mut cause = std::error::Error::source(error);
        while let Some(deeper) = cause {
            said = format!("{said}: {deeper}");
            cause = deeper.source();
        }
        let shown = format!("{said} {error:?} {:?}", self.heard);
        assert!(!shown.contains("hunter2") && !shown.contains("testbed-token"), "{shown}");
        let missing: Vec<_> = words.iter().filter(|word| !said.contains(**word)).collect();
        assert!(missing.is_empty(), "{missing:?} not in: {said}");
    }
}

/// The manifest and every blob of an image, blobs by several threads that share the remote.
pub(crate) fn pull(name: &str, access: &Access, image: &Image) -> Pulled {
    let heard = Mutex::new(Vec::new());
    let tell = |progress: &Progress| heard.lock().expect("sound").push(progress.to_string());
    let caller = Caller { tell: &tell, gave_up: &|| false };
    let mut moved = 0;
    let blobs = (|| {
        let remote = Remote::open(&Reference::parse(name).expect("a name"), access, caller)?;
        let root = remote.root()?;
        assert_eq!(root.digest.as_str(), image.digest());
        let blobs = read_all(&remote, image);
        moved = remote.moved();
        blobs
    })();
    Pulled { blobs, heard: heard.into_inner().expect("sound"), moved }
}

fn read_all(remote: &Remote<'_>, image: &Image) -> Result<Vec<Vec<u8>>, PullError> {
    let read = |(name, bytes): (&String, &std::sync::Arc<[u8]>)| {
        let mut found = Vec::new();
        let mut stream = remote.blob(&descriptor(name, bytes.len() as u64), 0)?;
        stream.read_to_end(&mut found).map_err(PullError::from_io)?;
        Ok(found)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = image.blobs().iter().map(|blob| scope.spawn(move || read(blob))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

pub(crate) fn descriptor(digest: &str, size: u64) -> Descriptor {
    serde_json::from_value(serde_json::json!({"digest": digest, "size": size})).expect("a descriptor")
}

/// An image of one layer of noise, which no compression makes smaller.
pub(crate) fn sample(size: usize) -> Image {
    let layer = Layer::new().file("noise", noise(size), 0o644);
    ImageBuilder::new("linux", "amd64").layer(layer).build().expect("made")
}

pub(crate) fn noise(size: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(next).take(size).collect()
}

/// The largest blob of an image: its layer.
pub(crate) fn layer(image: &Image) -> (&str, &[u8]) {
    let (name, bytes) = image.blobs().iter().max_by_key(|(_, bytes)| bytes.len()).expect("a layer");
    assert_eq!(digest(bytes), *name);
    (name, bytes)
}

/// A caller that gives up when told to.
pub(crate) fn impatient(gone: &AtomicBool) -> impl Fn() -> bool + Sync {
    || gone.load(Ordering::Relaxed)
}
