//! Mirrors, certificates and headers, as `certs.d` has them.

use std::path::Path;

use images::Access;
use images::hosts::Hosts;
use images::keyring::Keyring;
use testbed::registry::{Fault, Wrong};
use testbed::webhook::Ca;

use crate::bench::{BLOBS, Bench, MANIFESTS, pull};

/// `certs.d` with one directory for one registry.
pub(crate) fn certs(registry: &str, text: &str) -> (tempfile::TempDir, Access) {
    let root = tempfile::tempdir().expect("a directory");
    write(root.path(), registry, text);
    let access = Access { hosts: Hosts::default().with_dir(root.path()), ..Access::default() };
    (root, access)
}

pub(crate) fn write(root: &Path, registry: &str, text: &str) {
    let dir = root.join(format!("{}_", registry.replace(':', "_")));
    std::fs::create_dir_all(&dir).expect("made");
    std::fs::write(dir.join("hosts.toml"), text).expect("written");
}

fn mirrored(registry: &Bench, mirrors: &[&Bench]) -> (tempfile::TempDir, Access) {
    let host = |mirror: &&Bench| format!("[host.\"http://{}\"]\n", mirror.registry.address());
    certs(&registry.registry.address().to_string(), &mirrors.iter().map(host).collect::<String>())
}

// proves: RT-09 twin
#[test]
fn a_mirror_is_asked_first_and_the_registry_not_at_all() {
    let (bench, mirror) = (Bench::new(), Bench::new());
    let (_root, access) = mirrored(&bench, &[&mirror]);
    let pulled = bench.pull(&access);
    mirror.assert_whole(&pulled, 0);
    assert_eq!(bench.registry.requests(), []);
    let name = bench.registry.address().to_string().replace(':', "%3A");
    assert!(mirror.registry.requests().iter().all(|request| request.path.ends_with(&format!("?ns={name}"))));
}

// proves: RT-09 twin
#[test]
fn what_a_mirror_does_not_give_the_next_one_does() {
    let (bench, second, first) = (Bench::new(), Bench::new(), Bench::new());
    let (_root, access) = mirrored(&bench, &[&first, &second]);
    let statuses = [404, 403, 429, 500, 503].map(|code| Wrong::Status { code, headers: Vec::new() });
    for wrong in statuses.into_iter().chain([Wrong::Close, Wrong::unauthorized("Basic realm=\"x\"")]) {
        second.registry.clear_requests();
        first.registry.clear_faults();
        first.registry.fault(Fault::new(wrong.clone()));
        let pulled = bench.pull(&access);
        second.assert_whole(&pulled, 0);
        assert_eq!(pulled.heard, Vec::<String>::new(), "{wrong:?} was waited for");
    }
    // One that has the manifest and not the blobs.
    first.registry.clear_faults();
    first.registry.fault(Fault::new(Wrong::Status { code: 404, headers: Vec::new() }).path(BLOBS));
    second.registry.clear_requests();
    second.assert_whole(&bench.pull(&access), 0);
    // One whose manifest is damaged, and one that is not there.
    first.registry.clear_faults();
    first.registry.fault(Fault::new(Wrong::Flip { at: 30 }).path(MANIFESTS));
    bench.pull(&access).blobs.expect("from the second");
    first.registry.refuse();
    second.registry.clear_requests();
    second.assert_whole(&bench.pull(&access), 0);
    second.registry.refuse();
    bench.assert_whole(&bench.pull(&access), 0);
    // When nobody has it the registry's own word counts.
    bench.registry.fault(Fault::new(Wrong::Status { code: 404, headers: Vec::new() }));
    bench.pull(&access).refused(&["does not have it (404)", &bench.registry.address().to_string()]);
}

#[test]
fn a_mirror_that_breaks_in_the_middle_is_left_for_the_registry() {
    let (bench, mirror) = (Bench::new(), Bench::new());
    let (_root, access) = mirrored(&bench, &[&mirror]);
    mirror.registry.fault(Fault::new(Wrong::Cut { after: 100_000 }).path(BLOBS).times(1));
    mirror.registry.fault(Fault::new(Wrong::server_error()).path(BLOBS));
    let pulled = bench.pull(&access);
    let came = pulled.blobs.as_ref().unwrap_or_else(|e| panic!("{e} {:?}", pulled.heard));
    let wanted: Vec<_> = bench.image.blobs().values().map(|bytes| bytes.to_vec()).collect();
    assert!(*came == wanted);
    let sent = |bench: &Bench| bench.blob_requests().iter().map(|request| request.bytes).sum::<u64>();
    let size: usize = wanted.iter().map(Vec::len).sum();
    assert_eq!(sent(&bench) + sent(&mirror), size as u64, "no byte came twice");
}

#[test]
fn a_mirror_whose_answers_do_not_fit_is_left_for_the_registry() {
    let (bench, mirror) = (Bench::large(), Bench::large());
    let (_root, access) = mirrored(&bench, &[&mirror]);
    let answers = [
        Wrong::header("Content-Range", "bytes 0-99/100"),
        Wrong::header("Content-Range", "pages 1-2/3"),
        Wrong::header("Content-Length", "10"),
        Wrong::Status { code: 416, headers: Vec::new() },
    ];
    for wrong in answers {
        mirror.registry.clear_faults();
        mirror.registry.fault(Fault::new(wrong.clone()).path(BLOBS));
        bench.registry.clear_requests();
        let pulled = bench.pull(&access);
        let came = pulled.blobs.as_ref().unwrap_or_else(|e| panic!("{wrong:?}: {e} {:?}", pulled.heard));
        assert!(
            bench.image.blobs().values().map(|bytes| bytes.to_vec()).eq(came.iter().cloned()),
            "{wrong:?}"
        );
        assert_eq!(pulled.heard, Vec::<String>::new(), "{wrong:?}");
        let large = |request: &testbed::registry::Request| request.bytes > 1 << 20;
        assert!(bench.blob_requests().iter().any(large), "{wrong:?} was taken");
    }
}

#[test]
fn a_mirror_that_always_breaks_at_once_does_not_keep_an_image_from_coming() {
    for (bench, mirror) in [(Bench::new(), Bench::new()), (Bench::large(), Bench::large())] {
        let (_root, access) = mirrored(&bench, &[&mirror]);
        mirror.registry.fault(Fault::new(Wrong::Cut { after: 10 }).path(BLOBS));
        let pulled = bench.pull(&access);
        let came = pulled.blobs.as_ref().unwrap_or_else(|e| panic!("{e} {:?}", pulled.heard));
        let wanted: Vec<_> = bench.image.blobs().values().map(|bytes| bytes.to_vec()).collect();
        assert!(*came == wanted && !pulled.heard.is_empty(), "{:?}", pulled.heard);
    }
}

#[test]
fn a_mirror_gets_its_own_login_and_headers_and_the_registry_none_of_them() {
    let (bench, mirror) = (Bench::new(), Bench::with(crate::logins::basic()));
    let (address, other) = (mirror.registry.address(), bench.registry.address());
    let text = format!(
        "[host.\"http://{address}\"]\ncapabilities = [\"pull\"]\n[host.\"http://{address}\".header]\nX-Who = \"porthole\"\n"
    );
    let (_root, access) = certs(&other.to_string(), &text);
    let keyring = Keyring::default().with_password(&address.to_string(), "jane", "hunter2");
    let pulled = bench.pull(&Access { keyring, ..access });
    // Beside the blobs only what the refusals say, before the login.
    mirror.assert_whole(&pulled, 200);
    assert!(mirror.registry.requests().iter().all(|request| request.header("x-who") == Some("porthole")));
    // What a tag means only those may say who can resolve.
    assert_eq!(bench.registry.requests().len(), 1, "{:?}", bench.registry.requests());
    let asked = &bench.registry.requests()[0];
    assert_eq!((asked.header("x-who"), asked.header("Authorization")), (None, None));
    assert!(asked.path.ends_with("/manifests/1"), "{}", asked.path);
}

// proves: RT-09 twin
#[test]
fn a_certificate_is_trusted_when_its_authority_is_named_and_not_otherwise() {
    let bench = Bench::new();
    let ca = Ca::new().expect("an authority");
    let front = bench.registry.with_tls(&ca).expect("TLS");
    let address = front.address().to_string();
    let name = format!("{address}/try/app:1");
    let (root, access) = certs(&address, &format!("server = \"https://{address}\"\nca = \"ca.pem\"\n"));
    let dir = root.path().join(format!("{}_", address.replace(':', "_")));
    pull(&name, &access, &bench.image).refused(&["ca.pem"]);
    std::fs::write(dir.join("ca.pem"), "nothing").expect("written");
    pull(&name, &access, &bench.image).refused(&["ca.pem", "there is none in it"]);
    std::fs::write(dir.join("ca.pem"), Ca::new().expect("another").pem()).expect("written");
    let words = ["not one that this host trusts", "hosts.toml", "invalid peer certificate"];
    pull(&name, &access, &bench.image).refused(&words);
    assert_eq!(bench.registry.requests(), []);
    std::fs::write(dir.join("ca.pem"), ca.pem()).expect("written");
    bench.assert_whole(&pull(&name, &access, &bench.image), 0);

    write(root.path(), &address, &format!("server = \"https://{address}\"\n"));
    pull(&name, &access, &bench.image).refused(&words);
    write(root.path(), &address, &format!("server = \"https://{address}\"\nskip_verify = true\n"));
    bench.registry.clear_requests();
    bench.assert_whole(&pull(&name, &access, &bench.image), 0);
    // As docker has it: only a certificate.
    std::fs::remove_file(dir.join("hosts.toml")).expect("removed");
    std::fs::rename(dir.join("ca.pem"), dir.join("ca.crt")).expect("renamed");
    bench.registry.clear_requests();
    bench.assert_whole(&pull(&name, &access, &bench.image), 0);
}

#[test]
fn a_path_of_its_own_is_used_as_it_is() {
    let (bench, mirror) = (Bench::new(), Bench::new());
    let address = mirror.registry.address();
    let text = format!("[host.\"http://{address}/v2/proxy\"]\noverride_path = true\n");
    let (_root, access) = certs(&bench.registry.address().to_string(), &text);
    mirror.registry.push(&mirror.image, "proxy/try/app:1").expect("pushed");
    mirror.assert_whole(&bench.pull(&access), 0);
    assert!(mirror.registry.requests().iter().all(|request| request.path.starts_with("/v2/proxy/try/app/")));
}

#[test]
fn a_file_that_is_wrong_is_named() {
    let bench = Bench::new();
    let (_root, access) = certs(&bench.registry.address().to_string(), "server = 7\n");
    bench.pull(&access).refused(&["hosts.toml", "server of", "wanted a text"]);
}
