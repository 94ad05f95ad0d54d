//! The images that are pulled: files of Debian packages in layers, compressed as docker does it.
//!
//! They are made once and kept in the cache. The list of packages is fixed; their versions are those that the
//! machine's archive has, so figures of two machines are compared by their ratios only.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testbed::tools::cache::Entry;
use testbed::tools::progress;

use super::layer::{Blob, Layer, digest_of};

/// Bumped when what is made changes.
const CACHE: &str = "bench/pull-1";
/// Small sources first: the image of many small files is taken from the beginning.
const PACKAGES: &[&str] = &[
    "golang-1.19-src",
    "libboost1.74-dev",
    "python3-sympy",
    "python3-django",
    "vim-runtime",
    "emacs-common",
    "texlive-latex-extra",
    "fonts-noto-cjk",
    "gcc-12",
    "g++-12",
    "python3-scipy",
    "r-base-core",
    "mono-devel",
    "llvm-14-dev",
    "libreoffice-core",
    "openjdk-17-jre-headless",
    "openjdk-17-jdk-headless",
    "golang-1.19-go",
    "ghc",
    "blender",
    "inkscape",
    "libwebkit2gtk-4.1-0",
    "docker.io",
    "firefox-esr",
    "libllvm14",
];

const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const MARKER: &str = r#"{"imageLayoutVersion":"1.0.0"}"#;

const MEGABYTE: u64 = 1_000_000;
/// A layer is complete once it has so many compressed bytes. A file larger than [`Shape::largest`] would overshoot.
const SMALL_LAYER: u64 = 25 * MEGABYTE;
const LARGE_LAYER: u64 = 500 * MEGABYTE;
const MANY_LAYERS: usize = 20;
/// Ten copies of this one are unpacked at once by a peer that shares nothing: all of them must fit on a disk.
const FEW_LAYERS: usize = 4;
const SMALL_FILES: u64 = 10_000;

/// One image: an OCI layout in a directory of this name, pushed under it too.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) name: &'static str,
    layers: usize,
    /// Compressed bytes of a layer; 0 is no limit.
    bytes: u64,
    /// Files of a layer; 0 is no limit.
    files: u64,
    /// Files above are left out.
    largest: u64,
}

/// As the cases of the bench are named.
pub(super) const SHAPES: &[Shape] = &[
    Shape { name: "a", layers: MANY_LAYERS, bytes: SMALL_LAYER, files: 0, largest: 16 << 20 },
    Shape { name: "b", layers: 1, bytes: LARGE_LAYER, files: 0, largest: u64::MAX },
    Shape { name: "c", layers: 1, bytes: 0, files: SMALL_FILES, largest: 16 << 10 },
    Shape { name: "d", layers: FEW_LAYERS, bytes: SMALL_LAYER, files: 0, largest: 16 << 20 },
];

/// The directory with a layout for each shape.
pub(super) fn provide() -> Result<PathBuf> {
    Entry::new(CACHE, "make the images of the pull bench (a gigabyte)").provide(|dir| {
        let packages = dir.join("packages");
        download(&packages)?;
        std::thread::scope(|scope| {
            let made: Vec<_> =
                SHAPES.iter().map(|shape| scope.spawn(|| shape.make(dir, &packages))).collect();
            made.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
        })?;
        fs::remove_dir_all(&packages).context("remove the packages")
    })
}

/// Compressed bytes of an image.
pub(super) fn size(images: &Path, name: &str) -> Result<u64> {
    let blobs = images.join(name).join("blobs/sha256");
    let entries = fs::read_dir(&blobs).with_context(|| format!("read {}", blobs.display()))?;
    entries.map(|entry| Ok(entry?.metadata()?.len())).sum()
}

fn download(into: &Path) -> Result<()> {
    fs::create_dir_all(into).with_context(|| format!("create {}", into.display()))?;
    let mut apt = Command::new("apt-get");
    apt.arg("download").args(PACKAGES).current_dir(into);
    progress::run(&mut apt).map(drop).context("download packages of Debian 12")
}

fn package(dir: &Path, name: &str) -> Result<PathBuf> {
    let prefix = format!("{name}_");
    for entry in fs::read_dir(dir).with_context(|| format!("read {}", dir.display()))? {
        let path = entry?.path();
        if path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(&prefix)) {
            return Ok(path);
        }
    }
    anyhow::bail!("apt-get downloaded no {name}")
}

// === impl Shape ===

impl Shape {
    fn make(&self, dir: &Path, packages: &Path) -> Result<()> {
        let layout = dir.join(self.name);
        let blobs = layout.join("blobs/sha256");
        fs::create_dir_all(&blobs).with_context(|| format!("create {}", blobs.display()))?;
        let layers = self.layers(&blobs, packages)?;
        ensure!(layers.len() == self.layers, "the packages fill {} layers of {self:?}", layers.len());
        write_documents(&layout, self.name, &layers)
    }

    fn layers(&self, blobs: &Path, packages: &Path) -> Result<Vec<Blob>> {
        let mut done = Vec::new();
        let mut layer = Layer::begin(blobs)?;
        for name in PACKAGES {
            let mut reader = Package::open(&package(packages, name)?)?;
            let mut archive = tar::Archive::new(&mut reader.tar);
            for entry in archive.entries().with_context(|| format!("read {name}"))? {
                let mut entry = entry.with_context(|| format!("read {name}"))?;
                if entry.size() <= self.largest {
                    layer.add(&mut entry).with_context(|| format!("add a file of {name}"))?;
                }
                if self.is_full(&layer) {
                    done.push(layer.finish()?);
                    if done.len() == self.layers {
                        return Ok(done);
                    }
                    layer = Layer::begin(blobs)?;
                }
            }
        }
        Ok(done)
    }

    fn is_full(&self, layer: &Layer) -> bool {
        (self.bytes > 0 && layer.compressed() >= self.bytes)
            || (self.files > 0 && layer.files() >= self.files)
    }
}

/// The files of a package, as dpkg hands them out.
struct Package {
    child: std::process::Child,
    tar: std::process::ChildStdout,
}

// === impl Package ===

impl Package {
    fn open(path: &Path) -> Result<Self> {
        let mut command = Command::new("dpkg-deb");
        command.arg("--fsys-tarfile").arg(path).stdin(Stdio::null()).stdout(Stdio::piped());
        // It complains when we have enough and close the pipe.
        let mut child = command.stderr(Stdio::null()).spawn().context("start dpkg-deb")?;
        let tar = child.stdout.take().context("output of dpkg-deb")?;
        Ok(Self { child, tar })
    }
}

impl Drop for Package {
    fn drop(&mut self) {
        // It may wait for a reader.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn write_documents(layout: &Path, name: &str, layers: &[Blob]) -> Result<()> {
    let ids: Vec<&str> = layers.iter().map(|layer| layer.diff_id.as_str()).collect();
    let config = json!({
        "architecture": "amd64",
        "os": "linux",
        "config": {"Cmd": ["/bin/sh"]},
        "rootfs": {"type": "layers", "diff_ids": ids},
    });
    let layers: Vec<Value> =
        layers.iter().map(|layer| descriptor(LAYER, &layer.digest, layer.size)).collect();
    let config = document(layout, CONFIG, &config)?;
    let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers});
    let mut manifest = document(layout, MANIFEST, &manifest)?;
    manifest["annotations"] = json!({"org.opencontainers.image.ref.name": name});
    let index = json!({"schemaVersion": 2, "manifests": [manifest]});
    write(&layout.join("index.json"), index.to_string().as_bytes())?;
    write(&layout.join("oci-layout"), MARKER.as_bytes())
}

fn document(layout: &Path, media_type: &str, value: &Value) -> Result<Value> {
    let bytes = value.to_string().into_bytes();
    let digest = digest_of(&bytes);
    write(&layout.join("blobs/sha256").join(digest.trim_start_matches("sha256:")), &bytes)?;
    Ok(descriptor(media_type, &digest, bytes.len() as u64))
}

fn descriptor(media_type: &str, digest: &str, size: u64) -> Value {
    json!({"mediaType": media_type, "digest": digest, "size": size})
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("write {}", path.display()))
}
