//! Registries that ask for a certificate of their clients.

use std::path::{Path, PathBuf};

use images::Access;
use testbed::registry::Front;
use testbed::webhook::{Ca, Pair};

use crate::bench::{Bench, Pulled, pull};
use crate::hosts::{certs, write};

/// A registry behind TLS that knows its clients, and `certs.d` for it.
struct Gate {
    bench: Bench,
    front: Front,
    clients: Ca,
    root: tempfile::TempDir,
    access: Access,
}

// === impl Gate ===

impl Gate {
    fn new() -> Gate {
        let (bench, ca, clients) = (Bench::new(), Ca::new().expect("made"), Ca::new().expect("made"));
        let front = bench.registry.with_tls_for(&ca, &clients).expect("TLS");
        let (root, access) = certs(&front.address().to_string(), "");
        let gate = Gate { bench, front, clients, root, access };
        std::fs::write(gate.dir().join("ca.pem"), ca.pem()).expect("written");
        gate
    }

    fn dir(&self) -> PathBuf {
        self.root.path().join(format!("{}_", self.front.address().to_string().replace(':', "_")))
    }

    /// A pull as the file says who we are.
    fn pull_as(&self, client: &str) -> Pulled {
        let address = self.front.address().to_string();
        let text = format!("server = \"https://{address}\"\nca = \"ca.pem\"\n{client}\n");
        write(self.root.path(), &address, &text);
        self.pull()
    }

    fn pull(&self) -> Pulled {
        self.bench.registry.clear_requests();
        pull(&format!("{}/try/app:1", self.front.address()), &self.access, &self.bench.image)
    }
}

fn keep(pair: &Pair, dir: &Path, name: &str) {
    let write = |ending: &str, text: &str| std::fs::write(dir.join(format!("{name}.{ending}")), text);
    write("cert", &pair.certificate).expect("written");
    write("key", &pair.key).expect("written");
    write("pem", &format!("{}{}", pair.certificate, pair.key)).expect("written");
}

// proves: RT-09 twin
#[test]
fn a_registry_that_knows_its_clients_is_shown_who_we_are() {
    let gate = Gate::new();
    let pair = gate.clients.issue(&["node"]).expect("issued");
    keep(&pair, &gate.dir(), "me");
    for client in [
        "client = \"me.pem\"",
        "client = [\"me.pem\"]",
        "client = [\"me.cert\", \"me.key\"]",
        "client = [[\"me.cert\", \"me.key\"]]",
        "client = [[\"me.pem\", \"\"]]",
        "client = [[\"me.pem\", \"me.pem\"]]",
    ] {
        gate.bench.assert_whole(&gate.pull_as(client), 0);
    }
    // Its last line need not be ended.
    std::fs::write(gate.dir().join("bare.cert"), pair.certificate.trim_end()).expect("written");
    gate.bench.assert_whole(&gate.pull_as("client = [[\"bare.cert\", \"me.key\"]]"), 0);
    std::fs::remove_file(gate.dir().join("bare.cert")).expect("removed");
    // As docker has it: only certificates.
    std::fs::remove_file(gate.dir().join("hosts.toml")).expect("removed");
    std::fs::rename(gate.dir().join("ca.pem"), gate.dir().join("ca.crt")).expect("renamed");
    gate.bench.assert_whole(&gate.pull(), 0);
}

// proves: RT-09 twin
#[test]
fn a_client_that_the_registry_does_not_know_is_told_to_show_a_certificate() {
    let gate = Gate::new();
    keep(&Ca::new().expect("another").issue(&["node"]).expect("issued"), &gate.dir(), "stranger");
    for client in ["", "client = \"stranger.pem\""] {
        let pulled = gate.pull_as(client);
        pulled.refused(&[
            "wants to see a certificate of its clients",
            "`client`",
            "hosts.toml",
            "fatal alert",
        ]);
        // A connection may be gone before its request is written: then nobody knows yet why.
        let knew = |line: &String| line.contains("certificate");
        assert!(!pulled.heard.iter().any(knew), "it was asked again: {:?}", pulled.heard);
        assert_eq!(gate.bench.registry.requests(), [], "{client}");
    }
}

#[test]
fn a_pair_that_is_none_is_named_before_anybody_is_asked() {
    let gate = Gate::new();
    for name in ["me", "other"] {
        keep(&gate.clients.issue(&["node"]).expect("issued"), &gate.dir(), name);
    }
    std::fs::write(gate.dir().join("empty.pem"), "nothing").expect("written");
    for (client, words) in [
        ("client = \"gone.pem\"", ["read", "gone.pem"]),
        ("client = \"empty.pem\"", ["empty.pem", "there is none in it"]),
        ("client = \"me.cert\"", ["me.cert", "there is no key in it"]),
        ("client = [\"me.cert\", \"empty.pem\"]", ["empty.pem", "there is no key in it"]),
        ("client = [\"me.cert\", \"other.key\"]", ["me.cert", "its key does not do"]),
        // Two clients, as containerd reads a list of files.
        ("client = [\"me.pem\", \"other.pem\"]", ["me.pem", "wanted one client"]),
        (
            "client = [[\"me.cert\", \"me.key\"], [\"other.cert\", \"other.key\"]]",
            ["hosts.toml", "or one pair"],
        ),
    ] {
        gate.pull_as(client).refused(&words);
        assert_eq!(gate.bench.registry.requests(), [], "{client}");
    }
}
