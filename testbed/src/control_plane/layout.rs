//! Where a control plane's files are and which programs use them.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// The API server's port; the namespace is the cluster's alone, so it need not be searched for.
pub(super) const PORT: u16 = 6443;
/// Services and pods live in the benchmarking range (RFC 2544), as nothing real does.
pub(super) const SERVICES: &str = "198.18.0.0/16";
pub(super) const PODS: &str = "198.19.0.0/16";

/// A control plane's directory and address.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) dir: PathBuf,
    pub(super) address: Ipv4Addr,
    pub(super) token: String,
    /// The guard's id: helpers that are at work when their owner dies must end too.
    pub(super) guard: String,
}

// === impl Layout ===

impl Layout {
    pub(super) fn pki(&self, file: &str) -> PathBuf {
        self.dir.join("pki").join(file)
    }

    pub(super) fn kubeconfig(&self, user: &str) -> PathBuf {
        self.dir.join(format!("{user}.conf"))
    }

    pub(super) fn kubeadm_config(&self) -> PathBuf {
        self.dir.join("kubeadm.yaml")
    }

    pub(super) fn logs(&self) -> PathBuf {
        self.dir.join("logs")
    }

    pub(super) fn token_id(&self) -> &str {
        self.token.split('.').next().unwrap_or_default()
    }

    /// etcd in words of a command line. Without fsync: nobody needs this data after a crash.
    pub(super) fn etcd(&self) -> Vec<String> {
        let client = "http://127.0.0.1:2379";
        vec![
            path_flag("--data-dir", &self.dir.join("etcd")),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            "--listen-peer-urls=http://127.0.0.1:2380".to_owned(),
            "--unsafe-no-fsync".to_owned(),
        ]
    }

    pub(super) fn apiserver(&self, extra: &[String]) -> Vec<String> {
        let mut args: Vec<String> = APISERVER.iter().map(|arg| (*arg).to_owned()).collect();
        args.push(format!("--advertise-address={}", self.address));
        args.push(format!("--secure-port={PORT}"));
        args.push(format!("--service-cluster-ip-range={SERVICES}"));
        args.extend(APISERVER_FILES.iter().map(|(flag, file)| path_flag(flag, &self.pki(file))));
        args.extend_from_slice(extra);
        args
    }

    pub(super) fn controller_manager(&self) -> Vec<String> {
        let mut args = self.client_of_itself("controller-manager");
        args.extend(CONTROLLER_MANAGER.iter().map(|arg| (*arg).to_owned()));
        args.push(format!("--cluster-cidr={PODS}"));
        args.push(format!("--service-cluster-ip-range={SERVICES}"));
        args.extend(CONTROLLER_MANAGER_FILES.iter().map(|(flag, file)| path_flag(flag, &self.pki(file))));
        args
    }

    pub(super) fn scheduler(&self) -> Vec<String> {
        self.client_of_itself("scheduler")
    }

    fn client_of_itself(&self, user: &str) -> Vec<String> {
        let kubeconfig = self.kubeconfig(user);
        let flags = ["--kubeconfig", "--authentication-kubeconfig", "--authorization-kubeconfig"];
        let own = flags.iter().map(|flag| path_flag(flag, &kubeconfig));
        own.chain(["--leader-elect=false".to_owned(), "--bind-address=127.0.0.1".to_owned()]).collect()
    }
}

const APISERVER: &[&str] = &[
    "--etcd-servers=http://127.0.0.1:2379",
    "--bind-address=0.0.0.0",
    "--authorization-mode=Node,RBAC",
    "--enable-admission-plugins=NodeRestriction",
    "--enable-bootstrap-token-auth=true",
    // HostProcess containers are privileged ones; the server's own default forbids them.
    "--allow-privileged=true",
    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    // Nodes of the testbed have no DNS names.
    "--kubelet-preferred-address-types=InternalIP,Hostname",
    "--requestheader-allowed-names=front-proxy-client",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-username-headers=X-Remote-User",
];

const APISERVER_FILES: &[(&str, &str)] = &[
    ("--client-ca-file", "ca.crt"),
    ("--tls-cert-file", "apiserver.crt"),
    ("--tls-private-key-file", "apiserver.key"),
    ("--kubelet-client-certificate", "apiserver-kubelet-client.crt"),
    ("--kubelet-client-key", "apiserver-kubelet-client.key"),
    ("--service-account-key-file", "sa.pub"),
    ("--service-account-signing-key-file", "sa.key"),
    ("--requestheader-client-ca-file", "front-proxy-ca.crt"),
    ("--proxy-client-cert-file", "front-proxy-client.crt"),
    ("--proxy-client-key-file", "front-proxy-client.key"),
];

const CONTROLLER_MANAGER: &[&str] = &[
    // The signer puts the JWS into cluster-info that a joining node checks.
    "--controllers=*,bootstrap-signer-controller,token-cleaner-controller",
    "--use-service-account-credentials=true",
    "--allocate-node-cidrs=true",
];

const CONTROLLER_MANAGER_FILES: &[(&str, &str)] = &[
    ("--client-ca-file", "ca.crt"),
    ("--root-ca-file", "ca.crt"),
    ("--requestheader-client-ca-file", "front-proxy-ca.crt"),
    ("--cluster-signing-cert-file", "ca.crt"),
    ("--cluster-signing-key-file", "ca.key"),
    ("--service-account-private-key-file", "sa.key"),
];

fn path_flag(flag: &str, path: &Path) -> String {
    format!("{flag}={}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        Layout {
            dir: "/d".into(),
            address: Ipv4Addr::new(192, 0, 2, 2),
            token: "abc.def".to_owned(),
            guard: String::new(),
        }
    }

    #[test]
    fn a_callers_flag_comes_last_and_so_wins() {
        let args = layout().apiserver(&["--allow-privileged=false".to_owned()]);
        assert_eq!(args.last().map(String::as_str), Some("--allow-privileged=false"));
        assert!(args.contains(&"--client-ca-file=/d/pki/ca.crt".to_owned()));
    }

    #[test]
    fn the_token_id_is_what_stands_before_the_dot() {
        assert_eq!(layout().token_id(), "abc");
    }
}
