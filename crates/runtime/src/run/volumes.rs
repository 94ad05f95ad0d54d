//! A pod's volumes: directories of the host, and empty ones of the pod's own.

use std::io;
use std::path::Path;

use k8s_openapi::api::core::v1::Container;
use os::file::Kind;
use plan::drive::Root;

use super::RunError;
use crate::admit::Admitted;
use crate::admit::volumes::{HostPathType, Volume, VolumeKind};
use crate::config::MountConfig;
use crate::layout::PodDir;

#[derive(Debug, thiserror::Error)]
pub(super) enum VolumeError {
    #[error("volume {name:?}: {path} is to be a {wanted}, and there is {found:?}")]
    Type { name: String, path: String, wanted: &'static str, found: Kind },
    #[error("volume {name:?}: look at {path}")]
    Look { name: String, path: String, source: io::Error },
    #[error("volume {name:?}: make {path}")]
    Make { name: String, path: String, source: io::Error },
    #[error("no volume {0:?}")]
    None(String),
}

/// Makes the pod's own directories. They go with the pod's.
pub(super) fn make(pod: &Admitted, dir: &PodDir) -> Result<(), RunError> {
    for volume in pod.volumes.iter().filter(|volume| volume.kind == VolumeKind::EmptyDir) {
        let made = make_open(&dir.volume(&volume.name));
        made.map_err(|source| RunError::Volume { pod: pod.full_name(), name: volume.name.clone(), source })?;
    }
    Ok(())
}

/// Whoever a container runs as may write there: the way to it is closed.
fn make_open(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)?;
    let mut permissions = std::fs::metadata(path)?.permissions();
    #[expect(
        clippy::permissions_set_readonly_false,
        reason = "everybody may write: the way there is closed"
    )]
    permissions.set_readonly(false);
    std::fs::set_permissions(path, permissions)
}

/// A container's mounts, with what their volumes promise looked at.
pub(super) fn resolve(
    pod: &Admitted,
    container: &Container,
    dir: &PodDir,
    root: Root<'_>,
) -> Result<Vec<MountConfig>, VolumeError> {
    let mounts = container.volume_mounts.iter().flatten();
    let resolved = mounts.map(|mount| {
        let volume = pod.volumes.iter().find(|volume| volume.name == mount.name);
        let volume = volume.ok_or_else(|| VolumeError::None(mount.name.clone()))?;
        Ok(MountConfig {
            host_path: source(volume, dir, root)?,
            container_path: mount.mount_path.clone(),
            readonly: mount.read_only == Some(true),
            ..MountConfig::default()
        })
    });
    resolved.collect()
}

fn source(volume: &Volume, dir: &PodDir, root: Root<'_>) -> Result<String, VolumeError> {
    match &volume.kind {
        VolumeKind::EmptyDir => Ok(dir.volume(&volume.name).to_string_lossy().into_owned()),
        VolumeKind::HostPath { path, kind } => {
            let path = root.place(path);
            check(&volume.name, &path, *kind)?;
            Ok(path)
        }
    }
}

/// As a kubelet: what is to be made is made, what is to be there must be.
fn check(name: &str, path: &str, kind: HostPathType) -> Result<(), VolumeError> {
    if kind == HostPathType::Any {
        return Ok(());
    }
    let at = |source| VolumeError::Look { name: name.to_owned(), path: path.to_owned(), source };
    let found = os::file::kind(Path::new(path)).map_err(at)?;
    let made = match (kind, found) {
        (HostPathType::DirectoryOrCreate, Kind::Missing) => std::fs::create_dir_all(path),
        (HostPathType::FileOrCreate, Kind::Missing) => std::fs::File::create_new(path).map(drop),
        _ if kind.takes(found) => Ok(()),
        _ => {
            let (name, path) = (name.to_owned(), path.to_owned());
            return Err(VolumeError::Type { name, path, wanted: kind.name(), found });
        }
    };
    made.map_err(|source| VolumeError::Make { name: name.to_owned(), path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_path_is_what_its_type_says_or_is_made_so() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(at("file"), "").unwrap();
        for (name, kind, good) in [
            ("", HostPathType::Directory, true),
            ("file", HostPathType::File, true),
            ("file", HostPathType::FileOrCreate, true),
            ("file", HostPathType::Directory, false),
            ("file", HostPathType::DirectoryOrCreate, false),
            ("none", HostPathType::Directory, false),
            ("none", HostPathType::File, false),
            ("none", HostPathType::Any, true),
            ("none", HostPathType::Socket, false),
        ] {
            assert_eq!(check("v", &at(name), kind).is_ok(), good, "{name} {kind:?}");
        }
        assert!(!Path::new(&at("none")).exists());
        check("v", &at("a/b"), HostPathType::DirectoryOrCreate).unwrap();
        check("v", &at("a/f"), HostPathType::FileOrCreate).unwrap();
        assert!(Path::new(&at("a/b")).is_dir() && Path::new(&at("a/f")).is_file());
        let said = check("v", &at("file"), HostPathType::Directory).unwrap_err().to_string();
        assert!(said.contains("is to be a directory, and there is File"), "{said}");
    }
}
