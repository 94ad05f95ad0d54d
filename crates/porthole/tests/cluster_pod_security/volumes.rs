//! A volume of every kind, each complete enough for the API server.

use serde_json::{Value, json};

use crate::dice::Dice;
use crate::pod::push;

/// Source and its fields. The first is hostPath.
#[rustfmt::skip]
pub(crate) const REFUSED: &[(&str, &str)] = &[
    ("hostPath", r#"{"path": "/"}"#),
    ("gcePersistentDisk", r#"{"pdName": "x"}"#),
    ("awsElasticBlockStore", r#"{"volumeID": "x"}"#),
    ("gitRepo", r#"{"repository": "x"}"#),
    ("nfs", r#"{"server": "x", "path": "/x"}"#),
    ("iscsi", r#"{"targetPortal": "x", "iqn": "iqn.2001-04.com.example:x", "lun": 0}"#),
    ("glusterfs", r#"{"endpoints": "x", "path": "x"}"#),
    ("rbd", r#"{"monitors": ["x"], "image": "x"}"#),
    ("flexVolume", r#"{"driver": "x"}"#),
    ("cinder", r#"{"volumeID": "x"}"#),
    ("cephfs", r#"{"monitors": ["x"]}"#),
    ("flocker", r#"{"datasetName": "x"}"#),
    ("fc", r#"{"wwids": ["x"]}"#),
    ("azureFile", r#"{"secretName": "x", "shareName": "x"}"#),
    ("vsphereVolume", r#"{"volumePath": "x"}"#),
    ("quobyte", r#"{"registry": "localhost:1", "volume": "x"}"#),
    ("azureDisk", r#"{"diskName": "x", "diskURI": "https://x.blob.core.windows.net/x/x.vhd"}"#),
    ("photonPersistentDisk", r#"{"pdID": "x"}"#),
    ("portworxVolume", r#"{"volumeID": "x"}"#),
    ("scaleIO", r#"{"gateway": "x", "system": "x", "secretRef": {"name": "x"}, "volumeName": "x"}"#),
    ("storageos", r#"{"volumeName": "x"}"#),
];

#[rustfmt::skip]
pub(crate) const ALLOWED: &[(&str, &str)] = &[
    ("configMap", r#"{"name": "x"}"#),
    ("csi", r#"{"driver": "x"}"#),
    ("downwardAPI", r#"{"items": [{"path": "x", "fieldRef": {"fieldPath": "metadata.name"}}]}"#),
    ("emptyDir", r#"{}"#),
    ("ephemeral", r#"{"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}}}"#),
    ("image", r#"{"reference": "x"}"#),
    ("persistentVolumeClaim", r#"{"claimName": "x"}"#),
    ("projected", r#"{"sources": [{"configMap": {"name": "x"}}]}"#),
    ("secret", r#"{"secretName": "x"}"#),
];

/// One more volume, of one of these; with no source if its name is empty.
pub(crate) fn add(pod: &mut Value, dice: &mut Dice, from: &[(&str, &str)]) {
    let (source, fields) = *dice.pick(from);
    let volumes = &mut pod["spec"]["volumes"];
    // Names that are not in the order in which they come.
    let name = format!("v{}", 9 - volumes.as_array().map_or(0, Vec::len));
    let mut volume = json!({"name": name});
    if !source.is_empty() {
        volume[source] = serde_json::from_str(fields).expect("JSON");
    }
    push(volumes, volume);
}
