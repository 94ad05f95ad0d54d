//! Images: list, look, pull, remove, and the disk they take.

use ::images::platform::Isolation;
use ::images::{Access, Caller, DepotError, Progress, PullPolicy, Source, Wanted};

use super::Inner;
use crate::api::*;
use crate::deadline::Patience;
use crate::error::CriError;
use crate::{told, wire};

// === impl Inner ===

impl Inner {
    pub(super) fn list_images(
        &self,
        request: ListImagesRequest,
        _: &Patience,
    ) -> Result<ListImagesResponse, CriError> {
        Ok(ListImagesResponse { images: self.listed_images(request.filter)? })
    }

    pub(super) fn stream_images(
        &self,
        request: StreamImagesRequest,
        _: &Patience,
    ) -> Result<StreamImagesResponse, CriError> {
        Ok(StreamImagesResponse { images: self.listed_images(request.filter)? })
    }

    fn listed_images(&self, filter: Option<ImageFilter>) -> Result<Vec<Image>, CriError> {
        let store = &self.runtime.node().images;
        let named = filter.and_then(|filter| filter.image).filter(|image| !image.image.is_empty());
        Ok(match &named {
            Some(image) => {
                store.status(&wire::image_name(Some(image))?)?.iter().map(told::image::image).collect()
            }
            None => store.list()?.iter().map(told::image::image).collect(),
        })
    }

    pub(super) fn image_status(
        &self,
        request: ImageStatusRequest,
        _: &Patience,
    ) -> Result<ImageStatusResponse, CriError> {
        let status = self.runtime.node().images.status(&wire::image_name(request.image.as_ref())?)?;
        let info = status.as_ref().filter(|_| request.verbose).map(told::image::info).unwrap_or_default();
        Ok(ImageStatusResponse { image: status.as_ref().map(told::image::image), info })
    }

    /// Given up as soon as the caller has: a kubelet that asks again finds what came so far.
    pub(super) fn pull_image(
        &self,
        request: PullImageRequest,
        patience: &Patience,
    ) -> Result<PullImageResponse, CriError> {
        let wire::Pull { reference, login } = wire::pull(&request)?;
        let mut access = Access { keyring: self.access.keyring.clone(), hosts: self.access.hosts.clone() };
        if let Some(login) = login {
            let image = reference.to_string();
            access.keyring = login
                .keyring(&reference, access.keyring)
                .map_err(|source| CriError::Login { image, source })?;
        }
        let source = Source::Reference(reference.clone());
        let wanted = Wanted {
            source: &source,
            policy: Some(PullPolicy::Always),
            host: &self.host,
            isolation: Isolation::HostProcess,
            access: &access,
            pin: None,
        };
        let count = |progress: &Progress| {
            if let Progress::Pulled { bytes, .. } = progress {
                self.metrics.pulled(*bytes);
            }
        };
        let caller = Caller { tell: &count, gave_up: &|| patience.is_lost() };
        let record = self.runtime.node().images.pull(&reference, &wanted, true, caller)?;
        self.settle();
        Ok(PullImageResponse { image_ref: record.id.to_string() })
    }

    /// What was unpacked reaches the disk while nobody waits for it: after a reboot it counts only then. That it could
    /// not is no failure of who asked, and the next one tries again.
    pub(super) fn settle(&self) {
        self.runtime.node().images.content().settle_later(drop);
    }

    /// Whatever it is called by, the image goes with all its names. What is not here is removed.
    pub(super) fn remove_image(
        &self,
        request: RemoveImageRequest,
        _: &Patience,
    ) -> Result<RemoveImageResponse, CriError> {
        let store = &self.runtime.node().images;
        if let Some(status) = store.status(&wire::image_name(request.image.as_ref())?)? {
            match store.remove(status.id.as_str(), true) {
                Err(DepotError::NoImage(_)) => {}
                other => drop(other?),
            }
        }
        Ok(RemoveImageResponse {})
    }

    pub(super) fn image_fs_info(
        &self,
        _: ImageFsInfoRequest,
        _: &Patience,
    ) -> Result<ImageFsInfoResponse, CriError> {
        let node = self.runtime.node();
        let usage = node.images.content().usage()?;
        let of = |path: std::path::PathBuf, bytes, inodes| FilesystemUsage {
            timestamp: told::time::now(),
            fs_id: Some(FilesystemIdentifier { mountpoint: path.to_string_lossy().into_owned() }),
            used_bytes: Some(UInt64Value { value: bytes }),
            inodes_used: Some(UInt64Value { value: inodes }),
        };
        let measured = self.runtime.all_stats();
        let written: Vec<_> =
            measured.iter().flat_map(|pod| &pod.containers).filter_map(|each| each.writable).collect();
        let (bytes, files) =
            written.iter().fold((0, 0), |sum, each| (sum.0 + each.bytes, sum.1 + each.files));
        Ok(ImageFsInfoResponse {
            image_filesystems: vec![of(node.layout.images(), usage.bytes, usage.inodes)],
            container_filesystems: vec![of(node.layout.pods(), bytes, files)],
        })
    }
}
