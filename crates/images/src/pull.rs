//! An image on its way into the store.
//!
//! What a name means is asked first, then everything it leads to is leased, so that no collection takes what is half
//! here. Layers come side by side; each is downloaded, checked, decompressed, checked again and unpacked in one pass.
//! Whoever else wants one of them meanwhile, in whichever process, waits for it and finds it there.
//!
//! | module | what it knows |
//! |---|---|
//! | `plan` | what has to come, in which order |
//! | `crew` | several at once, and the first failure ends all |
//! | `fetch` | one blob into the store |
//! | `tee` | a blob that is unpacked while it comes |
//! | `layer` | one layer in its form for an overlay |
//! | `flat` | a whole image in one directory |
//! | `remote` | a registry as the source of blobs |

mod crew;
mod fetch;
mod flat;
mod layer;
mod plan;
mod remote;
mod tee;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use os::tree::Marks;

use crate::blobs::{Blobs, ContentError, Found, configuration, json};
use crate::content::{Content, DepotError};
use crate::digest::Digest;
use crate::document::{Configuration, Descriptor, Remarks};
use crate::lease::Lease;
use crate::platform::{Host, Isolation};
use crate::progress::{Caller, Progress};
use crate::record::{Form, Layer, Record};
use crate::stack::{Stacked, above};
use crate::store::ImageError;
use crate::unpack::Layout;

pub(crate) use crew::Halt;
pub(crate) use plan::{Part, stacked};

/// One image, from one place, into one store.
pub(crate) struct Pull<'a, B: Blobs> {
    pub(crate) content: &'a Content,
    pub(crate) blobs: &'a B,
    /// The marks that layers for an overlay have here; a host without overlays has none.
    pub(crate) marks: Option<Marks>,
    /// The image, for messages.
    pub(crate) name: &'a str,
    pub(crate) caller: Caller<'a>,
    pub(crate) halt: &'a Halt<'a>,
    pub(crate) bad: &'a (dyn Fn(B::Error) -> ImageError + Sync),
}

/// What came.
pub(crate) struct Pulled {
    pub(crate) record: Record,
    /// What the name led to: an index or the manifest.
    pub(crate) target: Digest,
    /// The indexes between that and the manifest.
    pub(crate) indexes: Vec<Digest>,
    /// Until it has a name or a user, which is the caller's to do.
    pub(crate) lease: Lease,
}

/// An image whose documents are here.
struct Known<'a> {
    id: &'a Digest,
    parts: &'a [Part],
    layout: Layout,
}

// === impl Pull ===

impl<B: Blobs> Pull<'_, B> {
    /// Brings the image for this host, and unpacks it if that is asked for.
    pub(crate) fn run(&self, host: &Host, isolation: Isolation, unpack: bool) -> Result<Pulled, ImageError> {
        let found = self.blobs.find(host, isolation).map_err(self.bad)?;
        let (manifest, target) = (found.digest(), found.target());
        let mut named: Vec<Digest> = found.way.iter().map(|root| Digest::of(&root.bytes)).collect();
        let indexes = match named.as_slice() {
            [_, between @ .., _] => between.to_vec(),
            _ => Vec::new(),
        };
        for blob in found.manifest.layers.iter().chain([&found.manifest.config]) {
            named.push(self.digest(blob)?);
        }
        let mut lease = self.content.hold(&named)?;
        for document in &found.way {
            self.content.put(&document.bytes)?;
        }
        let (id, configuration, remarks) = self.configuration(&found, host, isolation)?;
        let parts = plan::parts(&found.manifest, &configuration).map_err(|e| (self.bad)(e.into()))?;
        lease.add(&parts.iter().map(|part| part.diff_id.clone()).collect::<Vec<Digest>>())?;
        let sizes = parts.iter().map(|part| Ok((part.digest.clone(), self.size(&part.blob)?)));
        let sizes = sizes.collect::<Result<Vec<_>, ImageError>>()?;
        let (reference, digest, blobs) = (self.name.to_owned(), target.clone(), sizes.clone());
        (self.caller.tell)(&Progress::Resolved { reference, digest, blobs });
        let layout = if configuration.platform.os == "windows" { Layout::Windows } else { Layout::Plain };
        // Who asks again after a try of hours finds what it brought, however early that came.
        let form = self
            .bring(&Known { id: &id, parts: &parts, layout }, unpack)
            .inspect_err(|_| parts.iter().for_each(|part| self.renew(&part.digest)))?;
        let last = found.way.last();
        let record = Record {
            config_size: self.size(&found.manifest.config)?,
            manifest,
            manifest_size: last.map_or(0, |root| root.bytes.len() as u64),
            media_type: last.and_then(|root| root.media_type.clone()),
            layers: parts.iter().zip(&sizes).map(|(part, (_, size))| part.recorded(*size)).collect(),
            platform: configuration.platform,
            runs: configuration.config,
            labels: remarks.labels(),
            created: configuration.created,
            pulled: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            form,
            id,
        };
        self.content.put_record(&record)?;
        if record.form == Form::Flat {
            self.content.drop_layers(&record, &mut lease)?;
        }
        Ok(Pulled { record, target, indexes, lease })
    }

    /// Unpacks an image whose blobs are here.
    pub(crate) fn unpack(&self, record: &Record) -> Result<Form, ImageError> {
        let layout = if record.platform.os == "windows" { Layout::Windows } else { Layout::Plain };
        let parts: Vec<Part> = record.layers.iter().map(Part::of).collect();
        let image = Known { id: &record.id, parts: &parts, layout };
        if record.form == Form::Flat {
            // That its layers cannot be stacked was found out before.
            self.flat(&image)?;
            return Ok(Form::Flat);
        }
        self.bring(&image, true)
    }

    fn configuration(
        &self,
        found: &Found,
        host: &Host,
        isolation: Isolation,
    ) -> Result<(Digest, Configuration, Remarks), ImageError> {
        let config = &found.manifest.config;
        let id = self.digest(config)?;
        crate::blobs::small(id.as_str(), self.size(config)?).map_err(|e| (self.bad)(e.into()))?;
        self.fetch(config, &id)?;
        let missing = || (self.bad)(ContentError::Missing(id.to_string()).into());
        let bytes = self.content.document(&id)?.ok_or_else(missing)?;
        let parsed = configuration(id.as_str(), &bytes, host, isolation);
        let parsed = parsed.map_err(|e| (self.bad)(e.into()))?;
        let remarks = json(id.as_str(), &bytes).map_err(|e| (self.bad)(e.into()))?;
        Ok((id, parsed, remarks))
    }

    fn bring(&self, image: &Known<'_>, unpack: bool) -> Result<Form, ImageError> {
        if !unpack || self.content.flat(image.id)?.is_some() {
            self.fetch_all(image.parts)?;
            return Ok(self.form_here(image)?);
        }
        let stackable = image.layout == Layout::Plain && plan::can_be_stacked(image.parts);
        if let Some(marks) = self.marks.filter(|_| stackable)
            && self.layers(image, marks)?
        {
            return Ok(Form::Layers);
        }
        self.flat(image)?;
        Ok(Form::Flat)
    }

    /// Brings each layer by itself; false if these layers cannot be stacked.
    fn layers(&self, image: &Known<'_>, marks: Marks) -> Result<bool, ImageError> {
        let stackable = AtomicBool::new(true);
        crew::all(plan::in_order(image.parts), here_at_once(), self.halt, |part| {
            if !self.layer(part, marks)? {
                stackable.store(false, Ordering::Relaxed);
            }
            Ok::<(), ImageError>(())
        })?;
        Ok(stackable.into_inner() && self.form_here(image)? == Form::Layers)
    }

    /// As what the image stands here already.
    fn form_here(&self, image: &Known<'_>) -> Result<Form, DepotError> {
        if self.content.flat(image.id)?.is_some() {
            return Ok(Form::Flat);
        }
        let mut layers = Vec::new();
        for part in stacked(image.parts) {
            match self.content.layer(&part.diff_id)? {
                Some(layer) => layers.push(layer),
                None => return Ok(Form::Packed),
            }
        }
        let seen: Vec<_> =
            layers.iter().map(|layer| (layer.files.as_path(), layer.note.implied.as_slice())).collect();
        match above(&seen) {
            Ok(Stacked::With(_)) if !layers.is_empty() => Ok(Form::Layers),
            Ok(_) => Ok(Form::Packed),
            Err(source) => Err(DepotError::File {
                what: "look at the layers in",
                path: self.content.dir().to_owned(),
                source,
            }),
        }
    }

    fn digest(&self, blob: &Descriptor) -> Result<Digest, ImageError> {
        Digest::parse(&blob.digest).map_err(|e| (self.bad)(e.into()))
    }

    fn size(&self, blob: &Descriptor) -> Result<u64, ImageError> {
        self.blobs.size(blob).map_err(self.bad)
    }
}

fn here_at_once() -> usize {
    plan::at_once(std::thread::available_parallelism().map_or(1, usize::from))
}

// === impl Part ===

impl Part {
    pub(crate) fn of(layer: &Layer) -> Part {
        let (size, media_type) = (Some(layer.size), layer.media_type.clone());
        let (digest, urls) = (layer.digest.to_string(), layer.urls.clone());
        let blob = Descriptor { digest, size, platform: None, media_type, urls };
        Part { blob, digest: layer.digest.clone(), diff_id: layer.diff_id.clone() }
    }

    fn recorded(&self, size: u64) -> Layer {
        let (digest, diff_id) = (self.digest.clone(), self.diff_id.clone());
        let (media_type, urls) = (self.blob.media_type.clone(), self.blob.urls.clone());
        Layer { digest, diff_id, size, media_type, urls }
    }
}
