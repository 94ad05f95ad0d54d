//! `hostPathVolumes` and `restrictedVolumes`: baseline refuses the host's own paths, restricted every source that
//! an administrator has not prepared.

use k8s_openapi::api::core::v1::Volume;

use super::pod::Pod;
use super::words::{Refusal, Values, plural, quoted, refusal, uses};

pub(super) fn host_path(pod: &Pod<'_>) -> Option<Refusal> {
    let names: Vec<_> = volumes(pod).filter(|v| v.host_path.is_some()).map(|v| v.name.as_str()).collect();
    let detail = || format!("{} {}", plural("volume", names.len()), quoted(&names));
    (!names.is_empty()).then(|| refusal("hostPath volumes", detail()))
}

pub(super) fn restricted(pod: &Pod<'_>) -> Option<Refusal> {
    let bad: Vec<_> = volumes(pod).filter(|volume| !is_allowed(volume)).collect();
    let kinds: Values<_> = bad.iter().map(|volume| kind(volume)).collect();
    (!bad.is_empty()).then(|| {
        let (who, names) = (plural("volume", bad.len()), quoted(bad.iter().map(|volume| &volume.name)));
        let what = plural("restricted volume type", kinds.len());
        let detail = format!("{who} {names} {} {what} {}", uses(bad.len()), quoted(kinds));
        refusal("restricted volume types", detail)
    })
}

fn volumes<'a>(pod: &Pod<'a>) -> impl Iterator<Item = &'a Volume> + use<'a> {
    pod.spec.volumes.iter().flatten()
}

fn is_allowed(volume: &Volume) -> bool {
    volume.config_map.is_some()
        || volume.csi.is_some()
        || volume.downward_api.is_some()
        || volume.empty_dir.is_some()
        || volume.ephemeral.is_some()
        || volume.image.is_some()
        || volume.persistent_volume_claim.is_some()
        || volume.projected.is_some()
        || volume.secret.is_some()
}

#[rustfmt::skip]
fn kind(volume: &Volume) -> &'static str {
    let sources = [
        ("hostPath", volume.host_path.is_some()),
        ("gcePersistentDisk", volume.gce_persistent_disk.is_some()),
        ("awsElasticBlockStore", volume.aws_elastic_block_store.is_some()),
        ("gitRepo", volume.git_repo.is_some()),
        ("nfs", volume.nfs.is_some()),
        ("iscsi", volume.iscsi.is_some()),
        ("glusterfs", volume.glusterfs.is_some()),
        ("rbd", volume.rbd.is_some()),
        ("flexVolume", volume.flex_volume.is_some()),
        ("cinder", volume.cinder.is_some()),
        ("cephfs", volume.cephfs.is_some()),
        ("flocker", volume.flocker.is_some()),
        ("fc", volume.fc.is_some()),
        ("azureFile", volume.azure_file.is_some()),
        ("vsphereVolume", volume.vsphere_volume.is_some()),
        ("quobyte", volume.quobyte.is_some()),
        ("azureDisk", volume.azure_disk.is_some()),
        ("photonPersistentDisk", volume.photon_persistent_disk.is_some()),
        ("portworxVolume", volume.portworx_volume.is_some()),
        ("scaleIO", volume.scale_io.is_some()),
        ("storageos", volume.storageos.is_some()),
    ];
    sources.into_iter().find(|(_, set)| *set).map_or("unknown", |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod_security::tests::details;

    #[test]
    fn baseline_minds_host_paths_only() {
        details(
            host_path,
            &[
                ("spec: {containers: []}", ""),
                ("spec: {containers: [], volumes: [{name: a, nfs: {server: s, path: /}}]}", ""),
                ("spec: {containers: [], volumes: [{name: a, hostPath: {path: /}}]}", r#"volume "a""#),
                (
                    "spec: {containers: [], volumes: [{name: b, hostPath: {path: /}}, {name: c}, {name: a, hostPath: {path: /}}]}",
                    r#"volumes "b", "a""#,
                ),
            ],
        );
    }

    #[test]
    fn restricted_takes_only_sources_of_the_clusters_own() {
        let all = [
            "configMap",
            "csi",
            "downwardAPI",
            "emptyDir",
            "ephemeral",
            "image",
            "persistentVolumeClaim",
            "projected",
            "secret",
        ];
        for source in all {
            let pod = format!("spec: {{containers: [], volumes: [{{name: a, {source}: {{}}}}]}}");
            details(restricted, &[(&pod, "")]);
        }
    }

    #[test]
    fn restricted_names_every_other_source() {
        let all = [
            "awsElasticBlockStore",
            "azureDisk",
            "azureFile",
            "cephfs",
            "cinder",
            "fc",
            "flexVolume",
            "flocker",
            "gcePersistentDisk",
            "gitRepo",
            "glusterfs",
            "hostPath",
            "iscsi",
            "nfs",
            "photonPersistentDisk",
            "portworxVolume",
            "quobyte",
            "rbd",
            "scaleIO",
            "storageos",
            "vsphereVolume",
        ];
        for source in all {
            let pod = format!("spec: {{containers: [], volumes: [{{name: a, {source}: {{}}}}]}}");
            details(restricted, &[(&pod, &format!("volume \"a\" uses restricted volume type \"{source}\""))]);
        }
        details(
            restricted,
            &[(
                "spec: {containers: [], volumes: [{name: z, nfs: {}}, {name: y, hostPath: {}}, {name: x, nfs: {}}, {name: w}]}",
                r#"volumes "z", "y", "x", "w" use restricted volume types "hostPath", "nfs", "unknown""#,
            )],
        );
    }
}
