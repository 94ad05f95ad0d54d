//! Volumes: those that need no cluster. Every other kind is refused by its name.

use k8s_openapi::api::core::v1::{self, PodSpec, VolumeMount};
use os::file::Kind;
use serde_json::Value;

use super::{Refused, listed};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    pub name: String,
    pub kind: VolumeKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VolumeKind {
    HostPath {
        path: String,
        kind: HostPathType,
    },
    /// A directory of the pod's own, removed with it.
    EmptyDir,
}

/// What must be at a path of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostPathType {
    /// Whatever there is; nothing is a directory that is made.
    Any,
    DirectoryOrCreate,
    Directory,
    FileOrCreate,
    File,
    Socket,
    CharDevice,
    BlockDevice,
}

/// The pod's volumes, and what is wrong with them or with their mounts.
pub(super) fn read(spec: &PodSpec, refused: &mut Vec<Refused>) -> Vec<Volume> {
    let mut volumes: Vec<Volume> = Vec::new();
    for (i, volume) in spec.volumes.iter().flatten().enumerate() {
        match kind(volume, &format!("spec.volumes[{i}]")) {
            Ok(kind) => volumes.push(Volume { name: volume.name.clone(), kind }),
            Err(e) => refused.push(e),
        }
    }
    for (_, field, container) in listed(spec) {
        for (i, mount) in container.volume_mounts.iter().flatten().enumerate() {
            let field = format!("{field}.volumeMounts[{i}]");
            refused.extend(unsupported(mount, &field));
            // One that was refused above needs no second word.
            if !spec.volumes.iter().flatten().any(|volume| volume.name == mount.name) {
                refused.push(Refused::NoVolume { field: format!("{field}.name"), name: mount.name.clone() });
            }
        }
    }
    volumes
}

fn kind(volume: &v1::Volume, field: &str) -> Result<VolumeKind, Refused> {
    if let Some(host_path) = &volume.host_path {
        let kind = HostPathType::parse(host_path.type_.as_deref().unwrap_or_default(), field)?;
        return Ok(VolumeKind::HostPath { path: host_path.path.clone(), kind });
    }
    match &volume.empty_dir {
        Some(empty) if empty.medium.as_deref().is_none_or(str::is_empty) => Ok(VolumeKind::EmptyDir),
        Some(_) => Err(Refused::Unsupported {
            field: format!("{field}.emptyDir.medium"),
            what: "media of volumes are",
        }),
        None => Err(Refused::Unsupported { field: named(volume, field), what: "volumes of this kind are" }),
    }
}

/// The field with the kind that was asked for.
fn named(volume: &v1::Volume, field: &str) -> String {
    let kinds = match serde_json::to_value(volume) {
        Ok(Value::Object(fields)) => fields.into_iter().map(|(name, _)| name).find(|name| name != "name"),
        _ => None,
    };
    kinds.map_or_else(|| field.to_owned(), |kind| format!("{field}.{kind}"))
}

fn unsupported(mount: &VolumeMount, field: &str) -> Vec<Refused> {
    let propagates = mount.mount_propagation.as_deref().is_some_and(|mode| mode != "None");
    let recursive = mount.recursive_read_only.as_deref().is_some_and(|mode| mode != "Disabled");
    let fields = [
        ("subPath", mount.sub_path.as_deref().is_some_and(|path| !path.is_empty()), "parts of volumes are"),
        ("subPathExpr", mount.sub_path_expr.is_some(), "parts of volumes are"),
        ("mountPropagation", propagates, "mounts that spread are"),
        ("recursiveReadOnly", recursive, "this is"),
    ];
    let set = fields.into_iter().filter(|(_, set, _)| *set);
    set.map(|(name, _, what)| Refused::Unsupported { field: format!("{field}.{name}"), what }).collect()
}

// === impl HostPathType ===

const TYPES: [(&str, HostPathType); 8] = [
    ("", HostPathType::Any),
    ("DirectoryOrCreate", HostPathType::DirectoryOrCreate),
    ("Directory", HostPathType::Directory),
    ("FileOrCreate", HostPathType::FileOrCreate),
    ("File", HostPathType::File),
    ("Socket", HostPathType::Socket),
    ("CharDevice", HostPathType::CharDevice),
    ("BlockDevice", HostPathType::BlockDevice),
];

impl HostPathType {
    fn parse(text: &str, field: &str) -> Result<HostPathType, Refused> {
        let known = TYPES.iter().find(|(name, _)| *name == text).map(|(_, kind)| *kind);
        known.ok_or_else(|| Refused::Value {
            field: format!("{field}.hostPath.type"),
            wanted: "Directory, File, DirectoryOrCreate, FileOrCreate, Socket, CharDevice, BlockDevice or nothing",
            found: text.to_owned(),
        })
    }

    /// For messages.
    pub fn name(self) -> &'static str {
        match self {
            HostPathType::Any => "anything",
            HostPathType::DirectoryOrCreate | HostPathType::Directory => "directory",
            HostPathType::FileOrCreate | HostPathType::File => "file",
            HostPathType::Socket => "socket",
            HostPathType::CharDevice | HostPathType::BlockDevice => "device",
        }
    }

    pub fn takes(self, found: Kind) -> bool {
        match self {
            HostPathType::Any => true,
            HostPathType::DirectoryOrCreate | HostPathType::Directory => found == Kind::Directory,
            HostPathType::FileOrCreate | HostPathType::File => found == Kind::File,
            HostPathType::Socket => found == Kind::Socket,
            HostPathType::CharDevice | HostPathType::BlockDevice => found == Kind::Other,
        }
    }
}
