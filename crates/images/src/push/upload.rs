//! One blob to a registry. Small ones go in one request; large ones in pieces, of which a failure costs one.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::atomic::Ordering;

use bytes::Bytes;
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, RANGE};
use reqwest::{Method, Response, Url};

use super::plan::Blob;
use super::{Push, PushError, sending};
use crate::progress::{Meter, Progress, Stage};
use crate::registry::answer::PullError;
use crate::registry::{Ask, Target, Tries, network};

/// As much is in memory at a time, per blob that is sent.
const PIECE: u64 = 8 << 20;
const OCTETS: &str = "application/octet-stream";

/// What an attempt to begin an upload led to.
enum Begun {
    Mounted,
    At(Url),
}

// === impl Push ===

impl Push<'_> {
    pub(super) fn blob(&self, blob: &Blob) -> Result<(), PushError> {
        let size = self.content.blob_size(&blob.digest).or(blob.size).unwrap_or_default();
        let mut meter = Meter::new(self.caller, &blob.digest, size);
        if self.has_blob(blob)? {
            self.present.fetch_add(1, Ordering::Relaxed);
            meter.stage(Stage::Present, size);
            return Ok(());
        }
        let mut file = self.content.blob(&blob.digest)?.ok_or_else(|| blob.missing())?;
        meter.stage(Stage::Uploading, 0);
        let sent = match size {
            ..=PIECE => self.at_once(blob, &mut file)?,
            _ => self.in_pieces(blob, &mut file, &mut meter)?,
        };
        meter.stage(Stage::Done, size);
        self.moved.fetch_add(if sent { size } else { 0 }, Ordering::Relaxed);
        let count = if sent { &self.sent } else { &self.mounted };
        count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn has_blob(&self, blob: &Blob) -> Result<bool, PushError> {
        self.has(&self.path(&format!("blobs/{}", blob.digest)))
    }

    /// False if it was mounted. An upload that failed is begun anew: what of it arrived is not known.
    fn at_once(&self, blob: &Blob, file: &mut File) -> Result<bool, PushError> {
        let digest = blob.digest.as_str();
        let body = piece(file, digest, 0)?;
        self.persist(digest, || async {
            match self.begin(blob).await? {
                Begun::Mounted => Ok(false),
                Begun::At(place) => self.finish(place, digest, body.clone()).await.map(|()| true),
            }
        })
    }

    fn in_pieces(&self, blob: &Blob, file: &mut File, meter: &mut Meter<'_>) -> Result<bool, PushError> {
        let digest = blob.digest.as_str();
        let Begun::At(mut place) = self.persist(digest, || self.begin(blob))? else { return Ok(false) };
        let (mut at, mut tries) = (0, Tries::default());
        loop {
            let body = piece(file, digest, at)?;
            let length = body.len() as u64;
            if length == 0 {
                break;
            }
            match self.wait(digest, self.patch(&place, at, body))? {
                Ok(next) => {
                    (place, at) = (next, at + length);
                    tries = Tries::default();
                    meter.advance(length);
                }
                Err(error) => {
                    self.pause(digest, error, &mut tries)?;
                    (place, at) = self.persist(digest, || self.resume(blob, &place))?;
                    meter.stage(Stage::Uploading, at);
                }
            }
        }
        match self.persist(digest, || self.finish(place.clone(), digest, Bytes::new())) {
            // Its answer may be what was lost: an upload that is finished is not known any more.
            Err(error) => self.has_blob(blob)?.then_some(true).ok_or(error),
            Ok(()) => Ok(true),
        }
    }

    /// An upload that may be over before it begins, where another repository has the blob.
    async fn begin(&self, blob: &Blob) -> Result<Begun, PullError> {
        let uploads = self.path("blobs/uploads/");
        let mount = blob.mount.as_ref().map(|from| format!("?mount={}&from={from}", blob.digest));
        let mut ask = Ask::new(Method::POST, uploads.clone() + mount.as_deref().unwrap_or_default());
        ask = ask.with(CONTENT_LENGTH, "0");
        let response = match self.endpoint.send(&ask).await {
            // Whoever may not read there may still write here.
            Err(error) if mount.is_some() && !error.may_pass() => {
                self.endpoint.send(&Ask::new(Method::POST, uploads).with(CONTENT_LENGTH, "0")).await?
            }
            other => other?,
        };
        match response.status().as_u16() {
            201 => Ok(Begun::Mounted),
            _ => self.endpoint.location(&response).map(Begun::At),
        }
    }

    async fn patch(&self, place: &Url, at: u64, body: Bytes) -> Result<Url, PullError> {
        let range = format!("{at}-{}", at + (body.len() as u64).saturating_sub(1));
        let mut ask = to(Method::PATCH, place.clone()).with(CONTENT_TYPE, OCTETS).with(CONTENT_RANGE, &range);
        ask.body = Some(body);
        self.endpoint.location(&self.endpoint.send(&ask).await?)
    }

    async fn finish(&self, mut place: Url, digest: &str, body: Bytes) -> Result<(), PullError> {
        place.query_pairs_mut().append_pair("digest", digest);
        let mut ask = to(Method::PUT, place).with(CONTENT_TYPE, OCTETS);
        ask.body = Some(body);
        self.endpoint.send(&ask).await.map(drop)
    }

    /// How far an upload came. One that is gone is begun again.
    async fn resume(&self, blob: &Blob, place: &Url) -> Result<(Url, u64), PullError> {
        match self.endpoint.send(&to(Method::GET, place.clone())).await {
            Ok(response) => {
                let place = self.endpoint.location(&response).unwrap_or_else(|_| place.clone());
                Ok((place, received(&response)))
            }
            Err(PullError::NotFound { .. } | PullError::Refused { .. }) => {
                // Not mounted this time: that was refused before.
                let again =
                    Blob { mount: None, digest: blob.digest.clone(), of: blob.of.clone(), size: blob.size };
                match self.begin(&again).await? {
                    Begun::At(place) => Ok((place, 0)),
                    Begun::Mounted => {
                        Err(self.endpoint.strange("it mounted what nobody asked for".to_owned()))
                    }
                }
            }
            Err(error) => Err(error),
        }
    }

    fn wait<F: Future>(&self, digest: &str, answer: F) -> Result<F::Output, PushError> {
        network::wait(self.caller, answer).map_err(|e| sending(digest, e))
    }

    fn pause(&self, digest: &str, error: PullError, tries: &mut Tries) -> Result<(), PushError> {
        let (error, delay) = tries.after(error, 0).map_err(|e| sending(digest, e))?;
        let reference = self.reference.to_string();
        (self.caller.tell)(&Progress::Retrying { reference, why: error.line(), delay });
        self.wait(digest, async { tokio::time::sleep(delay).await })
    }
}

fn to(method: Method, place: Url) -> Ask {
    Ask { to: Target::Url(place), ..Ask::new(method, String::new()) }
}

/// `Range: 0-LAST` of an upload; nothing of it before the first byte came.
fn received(response: &Response) -> u64 {
    let range = response.headers().get(RANGE).and_then(|value| value.to_str().ok());
    range.map_or(0, last)
}

fn last(range: &str) -> u64 {
    let text = range.strip_prefix("bytes=").unwrap_or(range);
    let last: Option<u64> = text.split_once('-').and_then(|(_, last)| last.trim().parse().ok());
    // Some say 0-0 of an empty upload, which one byte would be too: that byte is sent again.
    last.filter(|last| *last > 0).map_or(0, |last| last + 1)
}

fn piece(file: &mut File, digest: &str, at: u64) -> Result<Bytes, PushError> {
    let mut bytes = Vec::new();
    let read = file.seek(SeekFrom::Start(at)).and_then(|_| file.take(PIECE).read_to_end(&mut bytes));
    read.map_err(|source| PushError::Read { digest: digest.to_owned(), source })?;
    Ok(Bytes::from(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_an_upload_came() {
        for (range, bytes) in [("0-99", 100), ("bytes=0-99", 100), ("0-0", 0), ("", 0), ("x-y", 0)] {
            assert_eq!(last(range), bytes, "{range}");
        }
    }
}
