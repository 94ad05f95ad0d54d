//! A pull as small as one can be, with everything of the store in it: what the processes of these tests do, and what
//! must be there afterwards.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use images::content::{Content, DepotError, Key, Note};
use images::digest::Digest;
use images::document::{Platform, Runs};
use images::names::Named;
use images::record::{Form, Layer, Record};
use images::reference::Reference;

/// How a pull goes, for those who count or stop it.
pub(crate) trait Watch: Sync {
    /// A blob is loaded from this byte on.
    fn loading(&self, _layer: &str, _from: u64) {}
    /// A part of it has come.
    fn part(&self, _layer: &str, _offset: u64) {}
    fn unpacking(&self, _layer: &str) {}
}

/// An image and its layers, all made up from its name.
pub(crate) struct Scene<'a> {
    pub(crate) image: &'a str,
    pub(crate) layers: &'a [&'a str],
    /// Unpacked layer by layer, or whole.
    pub(crate) form: Form,
}

pub(crate) const PARTS: usize = 4;
const PART: usize = 16 << 10;

pub(crate) const APP: Scene<'static> =
    Scene { image: "app", layers: &["base", "middle", "top"], form: Form::Layers };
/// Shares two layers with the other.
pub(crate) const COUSIN: Scene<'static> =
    Scene { image: "cousin", layers: &["base", "middle", "hat"], form: Form::Layers };
/// Shares nothing with any.
pub(crate) const ALONE: Scene<'static> = Scene { image: "alone", layers: &["alone"], form: Form::Layers };
/// As all images are on Windows.
pub(crate) const WHOLE: Scene<'static> =
    Scene { image: "whole", layers: &["base", "middle", "top"], form: Form::Flat };

/// The bytes of a layer; "packed" they are another blob of the same length.
fn body(layer: &str, packed: bool) -> Vec<u8> {
    let seed = Digest::of(format!("{layer} {packed}").as_bytes());
    seed.as_str().bytes().cycle().take(PARTS * PART).collect()
}

pub(crate) fn blob(layer: &str) -> Digest {
    Digest::of(&body(layer, true))
}

pub(crate) fn diff_id(layer: &str) -> Digest {
    Digest::of(&body(layer, false))
}

// === impl Scene ===

impl Scene<'_> {
    pub(crate) fn reference(&self) -> Reference {
        Reference::parse(&format!("example.com/{}:1", self.image)).unwrap()
    }

    fn config(&self) -> Vec<u8> {
        format!("configuration of {}", self.image).into_bytes()
    }

    fn manifest(&self) -> Vec<u8> {
        format!("manifest of {}", self.image).into_bytes()
    }

    pub(crate) fn record(&self) -> Record {
        let layer = |name: &&str| Layer {
            digest: blob(name),
            diff_id: diff_id(name),
            size: (PARTS * PART) as u64,
            media_type: None,
            urls: Vec::new(),
        };
        Record {
            id: Digest::of(&self.config()),
            config_size: self.config().len() as u64,
            manifest: Digest::of(&self.manifest()),
            manifest_size: self.manifest().len() as u64,
            media_type: None,
            layers: self.layers.iter().map(layer).collect(),
            platform: Platform::new("linux", "amd64"),
            runs: Runs::default(),
            labels: std::collections::BTreeMap::new(),
            created: None,
            pulled: 1_000_000_000,
            form: self.form,
        }
    }

    /// The order of a pull: lease, layers in parallel, record, name. `then` happens before the lease ends.
    pub(crate) fn pull(
        &self,
        content: &Content,
        watch: &dyn Watch,
        then: impl FnOnce(&Content) -> Result<(), DepotError>,
    ) -> Result<(), DepotError> {
        let record = self.record();
        let lease = content.hold(&record.digests())?;
        content.put(&self.manifest())?;
        content.put(&self.config())?;
        match self.form {
            Form::Flat => self.flat(content, watch)?,
            _ => self.stack(content, watch)?,
        }
        content.put_record(&record)?;
        let named = Named { id: record.id, target: record.manifest, indexes: Vec::new() };
        content.names().set(&self.reference(), &named)?;
        then(content)?;
        drop(lease);
        Ok(())
    }

    fn stack(&self, content: &Content, watch: &dyn Watch) -> Result<(), DepotError> {
        std::thread::scope(|scope| {
            let layer = |name| scope.spawn(move || one_layer(content, name, watch));
            let threads: Vec<_> = self.layers.iter().map(|name| layer(*name)).collect();
            threads.into_iter().try_for_each(|thread| thread.join().unwrap())
        })
    }

    fn flat(&self, content: &Content, watch: &dyn Watch) -> Result<(), DepotError> {
        let id = self.record().id;
        let _flight = content.flight(Key::Flat(id.clone()), &|| false)?;
        if content.flat(&id)?.is_some() {
            return Ok(());
        }
        let unfinished = content.new_flat(&id)?;
        for name in self.layers {
            load(content, name, watch)?;
            watch.unpacking(name);
            std::fs::write(unfinished.files().join(name), body(name, false)).unwrap();
        }
        let entries = self.layers.len() as u64;
        unfinished.commit(Note { size: entries * (PARTS * PART) as u64, entries, ..Note::default() })?;
        Ok(())
    }

    /// Panics unless the image is here and every byte of it is right.
    pub(crate) fn verify(&self, content: &Content) {
        let record = self.record();
        let named = content.names().get(&self.reference()).unwrap().expect("a name");
        assert_eq!(named.id, record.id);
        assert_eq!(*content.record(&record.id).unwrap().expect("a record"), record);
        for (digest, size) in record.blobs() {
            let mut bytes = Vec::new();
            content.blob(digest).unwrap().expect("a blob").read_to_end(&mut bytes).unwrap();
            assert_eq!((Digest::of(&bytes), bytes.len() as u64), (digest.clone(), size));
        }
        for layer in self.layers {
            let path = match self.form {
                Form::Flat => content.flat(&record.id).unwrap().expect("a flat image").files.join(layer),
                _ => content.layer(&diff_id(layer)).unwrap().expect("a layer").files.join("body"),
            };
            assert!(std::fs::read(path).unwrap() == body(layer, false), "layer {layer}");
        }
    }
}

fn one_layer(content: &Content, name: &str, watch: &dyn Watch) -> Result<(), DepotError> {
    let diff = diff_id(name);
    let _flight = content.flight(Key::Layer(diff.clone()), &|| false)?;
    if content.layer(&diff)?.is_some() {
        return Ok(());
    }
    load(content, name, watch)?;
    watch.unpacking(name);
    let unfinished = content.new_layer(&diff)?;
    std::fs::write(unfinished.files().join("body"), body(name, false)).unwrap();
    unfinished.commit(Note { size: (PARTS * PART) as u64, entries: 1, ..Note::default() })?;
    Ok(())
}

fn load(content: &Content, name: &str, watch: &dyn Watch) -> Result<File, DepotError> {
    let (digest, bytes) = (blob(name), body(name, true));
    let _flight = content.flight(Key::Blob(digest.clone()), &|| false)?;
    if let Some(file) = content.blob(&digest)? {
        return Ok(file);
    }
    let mut ingest = content.ingest(&digest, bytes.len() as u64)?;
    watch.loading(name, ingest.offset());
    let from = usize::try_from(ingest.offset()).unwrap();
    for part in bytes[from..].chunks(PART) {
        ingest.append(part)?;
        watch.part(name, ingest.offset());
    }
    ingest.commit()
}

/// Counts in a file that all processes append to.
pub(crate) struct Counted<'a>(pub(crate) &'a Path);

impl Counted<'_> {
    fn line(&self, text: &str) {
        let mut file = File::options().append(true).create(true).open(self.0).unwrap();
        file.write_all(format!("{text}\n").as_bytes()).unwrap();
    }
}

impl Watch for Counted<'_> {
    fn loading(&self, layer: &str, from: u64) {
        self.line(&format!("load {layer} {from}"));
    }

    fn unpacking(&self, layer: &str) {
        self.line(&format!("unpack {layer}"));
    }
}
