//! Records and names: whether they can be read, and whether what they speak of is there.

use std::path::Path;

use os::lock::{Held, Mode};

use super::{Findings, Outcome, Problem, line};
use crate::collect::Survey;
use crate::content::{At, Content, DepotError, INDEX_LOCK, INGEST, Key, RECORDS};
use crate::digest::Digest;
use crate::record::Record;

// === impl Content ===

impl Content {
    /// First of all: with a record that cannot be read, nothing else can be said.
    pub(super) fn check_files(&self, repair: bool, findings: &mut Findings) -> Result<(), DepotError> {
        let dir = self.room(RECORDS);
        for entry in std::fs::read_dir(&dir).at("list", &dir)? {
            let path = entry.at("list", &dir)?.path();
            let hex = path.file_stem().and_then(|stem| stem.to_str());
            let Some(id) = hex.and_then(Digest::from_hex) else { continue };
            if let Err(error) = self.record(&id) {
                self.unreadable(&path, &error, repair, findings)?;
            }
        }
        if let Err(error) = self.names().all() {
            self.unreadable(self.names().path(), &error, repair, findings)?;
        }
        Ok(())
    }

    /// Removed unless a newer porthole wrote it, which can read it.
    fn unreadable(
        &self,
        path: &Path,
        error: &DepotError,
        repair: bool,
        findings: &mut Findings,
    ) -> Result<(), DepotError> {
        let outcome = match error {
            DepotError::Json { .. } if repair => {
                let lock = self.lock_path(INDEX_LOCK);
                let _held = Held::take(&lock, Mode::Exclusive).at("lock", &lock)?;
                os::file::remove(path).at("remove", path)?;
                Outcome::Removed
            }
            _ => Outcome::Left,
        };
        findings.add(path.to_owned(), Problem::Unreadable { why: line(error) }, outcome);
        Ok(())
    }

    pub(super) fn check_images(&self, repair: bool, findings: &mut Findings) -> Result<(), DepotError> {
        let _moment = self.collection()?;
        let Some(survey) = Survey::of_readable(self)? else { return Ok(()) };
        for record in &survey.records {
            findings.images += 1;
            let missing = self.missing(record);
            if missing.is_empty() {
                continue;
            }
            let outcome = if repair { self.drop_record(&survey, record)? } else { Outcome::Left };
            let problem = Problem::Incomplete { image: record.id.clone(), missing };
            findings.add(self.record_path(&record.id), problem, outcome);
        }
        self.check_pins(&survey, findings);
        self.check_names(repair, findings)
    }

    /// Containers whose image has lost its record run on, and what is here stays for them.
    fn check_pins(&self, survey: &Survey, findings: &mut Findings) {
        for image in &survey.lost {
            let by = survey.users.get(image).cloned().unwrap_or_default();
            let why = "nothing goes until the image is pulled again".to_owned();
            let problem = Problem::NoRecord { image: image.clone(), by };
            findings.add(self.record_path(image), problem, Outcome::Kept { why });
        }
    }

    fn check_names(&self, repair: bool, findings: &mut Findings) -> Result<(), DepotError> {
        for (name, named) in self.names().all()? {
            if self.record(&named.id)?.is_some() {
                continue;
            }
            if repair {
                self.names().forget(std::slice::from_ref(&name))?;
            }
            let outcome = if repair { Outcome::Removed } else { Outcome::Left };
            findings.add(self.names().path().to_owned(), Problem::Dangling { name }, outcome);
        }
        Ok(())
    }

    fn missing(&self, record: &Record) -> Vec<Digest> {
        let blobs = record.blobs().into_iter();
        blobs
            .filter(|(digest, _)| self.blob_size(digest).is_none())
            .map(|(digest, _)| digest.clone())
            .collect()
    }

    /// The next pull writes it again; the parts that are there wait for that until a collection comes. A layer whose
    /// blob is missing goes too: a pull would find it and not look for the blob.
    fn drop_record(&self, survey: &Survey, record: &Record) -> Result<Outcome, DepotError> {
        if let Err(error) = survey.must_be_free(&record.id) {
            return Outcome::in_use(error);
        }
        for path in [self.record_path(&record.id), self.used_path(&record.id)] {
            os::file::remove(&path).at("remove", &path)?;
        }
        for layer in record.layers.iter().filter(|layer| self.blob_size(&layer.digest).is_none()) {
            let key = Key::Layer(layer.diff_id.clone());
            if survey.part_must_be_free(&key).is_ok() {
                self.discard_part(&key)?;
            }
        }
        Ok(Outcome::Removed)
    }

    /// What no image and nobody under way needs. With a record that nobody can read, that cannot be told.
    pub(super) fn check_orphans(&self, repair: bool, findings: &mut Findings) -> Result<(), DepotError> {
        let moment = self.collection()?;
        let Some(survey) = Survey::of_readable(self)? else { return Ok(()) };
        let wanted = survey.wanted();
        let outcome = if repair { Outcome::Removed } else { Outcome::Left };
        for part in survey.parts.iter().filter(|part| !survey.keeps(&part.key, &wanted)) {
            let problem = Problem::Orphan { bytes: part.size };
            findings.add(self.path_of(&part.key), problem, outcome.clone());
        }
        for digest in self.names_in(INGEST)?.into_iter().filter(|digest| !survey.held.contains(digest)) {
            let path = self.ingest_path(&digest);
            let bytes = std::fs::metadata(&path).map_or(0, |found| found.len());
            findings.add(path, Problem::Orphan { bytes }, outcome.clone());
        }
        drop(moment);
        if repair { self.sweep().map(drop) } else { Ok(()) }
    }
}
