//! A registry with an image in it, and stores to pull it into.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use images::fsck::Problem;
use images::platform::{Host, Isolation};
use images::{
    Access, Caller, Files, Image, ImageError, Progress, PullPolicy, Reference, Source, Store, Wanted,
};
use testbed::image::{Image as Made, ImageBuilder, Layer};
use testbed::registry::{Auth, Options, Registry};

pub(crate) struct World {
    pub(crate) registry: Registry,
    dir: tempfile::TempDir,
}

/// What a pull told.
#[derive(Default)]
pub(crate) struct Heard(Mutex<Vec<Progress>>);

/// Bytes that gzip makes hardly smaller, other ones for each seed.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let step = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    (0..length.div_ceil(8)).flat_map(step).take(length).collect()
}

/// An image of layers that each bring one file of that many bytes, and change a file of the one before.
pub(crate) fn image_of(layers: std::ops::Range<u64>, length: usize) -> Made {
    let mut builder = ImageBuilder::new("linux", "amd64").entrypoint(["/bin/app"]).user("1000");
    for number in layers {
        let layer = Layer::new().file(&format!("data/{number}"), noise(number, length), 0o644).file(
            "etc/last",
            number.to_string(),
            0o644,
        );
        builder = builder.layer(layer);
    }
    builder.build().unwrap()
}

// === impl World ===

impl World {
    pub(crate) fn new() -> World {
        World::asking(Auth::Open)
    }

    pub(crate) fn asking(auth: Auth) -> World {
        let registry = Registry::start(Options { auth }).unwrap();
        World { registry, dir: tempfile::tempdir().unwrap() }
    }

    /// With this image as `try/app:1`.
    pub(crate) fn with(image: &Made) -> World {
        let world = World::new();
        world.registry.push(image, "try/app:1").unwrap();
        world
    }

    pub(crate) fn reference(&self, name: &str) -> Reference {
        Reference::parse(&format!("{}/{name}", self.registry.address())).unwrap()
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.dir.path().join("images")
    }

    pub(crate) fn store(&self) -> Store {
        Store::open(&self.dir()).unwrap()
    }

    pub(crate) fn pull(&self, name: &str) -> Result<Image, ImageError> {
        self.pull_telling(name, Caller::silent())
    }

    pub(crate) fn pull_telling(&self, name: &str, caller: Caller<'_>) -> Result<Image, ImageError> {
        pull(&self.store(), &self.reference(name), caller)
    }

    /// How often each blob was asked for, and how many bytes of blobs were sent.
    pub(crate) fn moved(&self) -> (BTreeMap<String, usize>, u64) {
        let (mut asked, mut bytes) = (BTreeMap::new(), 0);
        for request in self.registry.requests() {
            if let Some((_, digest)) = request.path.split_once("/blobs/")
                && request.method == "GET"
            {
                *asked.entry(digest.to_owned()).or_default() += 1;
                bytes += request.bytes;
            }
        }
        (asked, bytes)
    }

    /// Nothing in the store is damaged or half; what a failed pull brought may lie there for the next one.
    pub(crate) fn assert_sound(&self, orphans: bool) {
        let findings = self.store().content().fsck(false).unwrap();
        let bad: Vec<_> = findings
            .found
            .iter()
            .filter(|found| !(orphans && matches!(found.problem, Problem::Orphan { .. })))
            .map(|found| format!("{}: {}", found.path.display(), found.problem))
            .collect();
        assert!(bad.is_empty(), "{bad:#?}");
    }
}

pub(crate) fn pull(store: &Store, reference: &Reference, caller: Caller<'_>) -> Result<Image, ImageError> {
    pull_by(&Access::default(), store, reference, caller)
}

pub(crate) fn pull_by(
    access: &Access,
    store: &Store,
    reference: &Reference,
    caller: Caller<'_>,
) -> Result<Image, ImageError> {
    let source = Source::Reference(reference.clone());
    let (host, isolation) = (Host::new("linux", "amd64"), Isolation::HostProcess);
    let policy = Some(PullPolicy::Always);
    let wanted = Wanted { source: &source, policy, host: &host, isolation, access, pin: None };
    store.ensure(&wanted, caller)
}

pub(crate) fn total(image: &Made) -> u64 {
    image.blobs().values().map(|blob| blob.len() as u64).sum()
}

pub(crate) fn lower(image: &Image) -> &[PathBuf] {
    let Files::Layers { lower, .. } = &image.files else { panic!("{image:?}") };
    lower
}

/// What the kernel shows of an image: every path with its content, by a program of the host.
pub(crate) fn mounted(image: &Image, script: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<String> = match &image.files {
        Files::Dir(files) => vec![files.display().to_string()],
        Files::Layers { lower, .. } => lower.iter().enumerate().map(|(at, _)| at.to_string()).collect(),
    };
    // Short names, because all must fit into one page.
    if let Files::Layers { lower, .. } = &image.files {
        for (at, layer) in lower.iter().enumerate() {
            std::os::unix::fs::symlink(layer, dir.path().join(at.to_string())).unwrap();
        }
    }
    let [upper, work, target] = ["u", "w", "t"].map(|name| dir.path().join(name));
    [&upper, &work, &target].iter().for_each(|path| std::fs::create_dir(path).unwrap());
    if let Files::Layers { implied, .. } = &image.files {
        implied
            .iter()
            .for_each(|above| os::overlay::make_like(&upper.join(&above.path), &above.like).unwrap());
    }
    let script = format!(
        "cd {dir} && mount -t overlay overlay -o lowerdir={lower},upperdir=u,workdir=w t && cd t && {script}",
        dir = dir.path().display(),
        lower = names.join(":"),
    );
    let seen = Command::new("unshare").args(["-m", "sh", "-c", &script]).output().unwrap();
    assert!(seen.status.success(), "{seen:?}");
    String::from_utf8(seen.stdout).unwrap()
}

pub(crate) fn count(dir: &Path) -> usize {
    std::fs::read_dir(dir).unwrap().count()
}

// === impl Heard ===

impl Heard {
    pub(crate) fn tell(&self) -> impl Fn(&Progress) + Sync {
        |progress| self.0.lock().unwrap().push(progress.clone())
    }

    pub(crate) fn all(self) -> Vec<Progress> {
        self.0.into_inner().unwrap()
    }
}
