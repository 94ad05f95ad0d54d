//! What a kubelet on Windows is told, and what it reads of its host.

use std::net::Ipv4Addr;

use super::PIPE;
use crate::wine::WineBuilder;

pub(super) const FLAGS: &[&str] = &[
    r"--config=C:\node\kubelet.yaml",
    // Not by the token: a kubelet keeps a certificate that it was issued behind a link, and Wine makes none.
    r"--kubeconfig=C:\node\kubelet.conf",
    r"--root-dir=C:\var\lib\kubelet",
    r"--cert-dir=C:\var\lib\kubelet\pki",
    "--v=2",
];

/// What a kubelet reads of a host that every Windows has and Wine does not: key, name, value.
const NUMBERS: &[(&str, &str, u32)] = &[
    (r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion", "UBR", 4046),
    (
        r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters",
        "BootId",
        1,
    ),
];
const SYSTEM_UUID: (&str, &str, &str) =
    (r"HKLM\SYSTEM\HardwareConfig", "LastConfig", "{706f7274-686f-4c65-8000-000000000001}");

pub(super) fn as_a_host(builder: WineBuilder) -> WineBuilder {
    let (key, name, value) = SYSTEM_UUID;
    let builder = builder.registry(key, name, value);
    NUMBERS.iter().fold(builder, |builder, (key, name, value)| builder.registry(key, name, *value))
}

/// Nothing is evicted for a full disk of the host.
pub(super) fn config(address: Ipv4Addr) -> String {
    format!(
        r#"apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: {PIPE}
staticPodPath: 'C:\node\manifests'
address: {address}
healthzBindAddress: {address}
cgroupsPerQOS: false
enforceNodeAllocatable: []
evictionHard: {{memory.available: "1Ki", nodefs.available: "0%", imagefs.available: "0%"}}
imageGCHighThresholdPercent: 100
syncFrequency: 5s
fileCheckFrequency: 2s
nodeStatusUpdateFrequency: 5s
authentication: {{anonymous: {{enabled: false}}, webhook: {{enabled: true}}, x509: {{clientCAFile: 'C:\node\ca.crt'}}}}
authorization: {{mode: Webhook}}
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kubelet_serves_at_the_clusters_address_only() {
        let text = config(Ipv4Addr::new(192, 0, 2, 1));
        assert!(text.contains("\naddress: 192.0.2.1\nhealthzBindAddress: 192.0.2.1\n"), "{text}");
        assert!(!text.contains("0.0.0.0"), "{text}");
    }
}
