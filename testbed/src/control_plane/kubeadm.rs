//! Certificates, kubeconfigs and what a joining node looks for, all made by kubeadm itself.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::layout::{Layout, PODS, PORT, SERVICES};
use crate::guard::{MARK, random_uuid};
use crate::tools::go::GO_TOOLS;
use crate::tools::go_tool;
use crate::tools::progress::{run, text_of};

/// Certificates and kubeconfigs. Needs no server.
pub(super) fn credentials(layout: &Layout) -> Result<()> {
    fs::write(layout.kubeadm_config(), config(layout)?).context("write kubeadm's configuration")?;
    phase(layout, &["certs", "all"])?;
    for user in ["admin", "super-admin", "controller-manager", "scheduler"] {
        let mut command = kubeadm(layout, &["kubeconfig", user])?;
        run(command.arg("--kubeconfig-dir").arg(&layout.dir))?;
    }
    Ok(())
}

/// The token, its rights, cluster-info, kubeadm-config and kubelet-config, in a server that is up.
pub(super) fn furnish(layout: &Layout) -> Result<()> {
    for words in [&["bootstrap-token"][..], &["upload-config", "all"]] {
        let mut command = kubeadm(layout, words)?;
        run(command.arg("--kubeconfig").arg(layout.kubeconfig("super-admin")))?;
    }
    Ok(())
}

/// The kubeconfig of a node with a certificate for a year, as text.
pub(super) fn node_kubeconfig(layout: &Layout, node: &str) -> Result<String> {
    let mut command = Command::new(go_tool("kubeadm")?);
    command
        .args(["kubeconfig", "user", "--org=system:nodes"])
        .arg(format!("--client-name=system:node:{node}"));
    text_of(command.arg("--config").arg(layout.kubeadm_config()).env(MARK, &layout.guard))
}

/// A token as kubeadm's are: six and sixteen of the characters a–z and 0–9.
pub(super) fn fresh_token() -> Result<String> {
    let hex = random_uuid()?.replace('-', "");
    Ok(format!("{}.{}", &hex[..6], &hex[16..32]))
}

/// What pins the cluster's CA in a join command: `sha256:` and the hash of its public key.
pub(super) fn ca_hash(ca_key: &Path) -> Result<String> {
    let script = "openssl pkey -in \"$1\" -pubout -outform DER | openssl dgst -sha256 -r";
    let text = text_of(Command::new("sh").args(["-c", script, "ca-hash"]).arg(ca_key))?;
    let hash = text.split_whitespace().next().with_context(|| format!("no hash in {text:?}"))?;
    Ok(format!("sha256:{hash}"))
}

fn phase(layout: &Layout, words: &[&str]) -> Result<()> {
    run(&mut kubeadm(layout, words)?)?;
    Ok(())
}

fn kubeadm(layout: &Layout, words: &[&str]) -> Result<Command> {
    let mut command = Command::new(go_tool("kubeadm")?);
    command.args(["init", "phase"]).args(words).arg("--config").arg(layout.kubeadm_config());
    command.env(MARK, &layout.guard);
    Ok(command)
}

fn config(layout: &Layout) -> Result<String> {
    let tool = GO_TOOLS.iter().find(|tool| tool.name == "kube-apiserver");
    let version = tool.context("kube-apiserver is a Go tool")?.version;
    let Layout { address, token, .. } = layout;
    let pki = layout.pki("");
    let pki = pki.display();
    // A control plane on hand-started processes has no node: the socket is named only to keep kubeadm from looking
    // for one. A token that never expires serves the cluster that stays.
    Ok(format!(
        "apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
bootstrapTokens:
- token: {token}
  ttl: 0s
  usages: [signing, authentication]
  groups: [system:bootstrappers:kubeadm:default-node-token]
localAPIEndpoint: {{advertiseAddress: {address}, bindPort: {PORT}}}
nodeRegistration: {{name: control-plane, criSocket: \"unix:///run/none.sock\"}}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: {version}
certificatesDir: {pki}
controlPlaneEndpoint: {address}:{PORT}
networking: {{serviceSubnet: {SERVICES}, podSubnet: {PODS}}}
"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_kubeadms_shape() {
        let token = fresh_token().expect("random");
        let (id, secret) = token.split_once('.').expect("two parts");
        assert_eq!((id.len(), secret.len()), (6, 16));
        assert!(token.chars().all(|c| c == '.' || c.is_ascii_lowercase() || c.is_ascii_digit()), "{token}");
    }
}
