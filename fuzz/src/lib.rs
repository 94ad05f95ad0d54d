//! Every parser of bytes that others wrote, as a function from bytes to nothing that must not panic.
//!
//! Most check more than that: what was read can be written again, and nothing leaves its directory.

use std::path::Path;

use enclosure::Enclosure;
use holder::log::Entry;
use holder::protocol::{self, Answer, Request};
use holder::stream;
use images::archive::Archive;
use images::blobs::{Blobs, configuration};
use images::build::dockerfile::{Dockerfile, expand};
use images::fsck::{Finding, Problem};
use images::keyring::Keyring;
use images::platform::{Host, Isolation};
use images::transfer::{self, Package};
use images::unpack::{self, Layout, Limits, Names, Unpack};
use images::{Caller, Content, Source};
use plan::quantity::Quantity;
use rules::decode::{self, Read};
use rules::pod_security::{self, Level, Version};
use rules::policy::{Asker, Decision, Policy};
use rules::{ApiOptions, Kind, Subject};
use streaming::protocol::{Codec, Version as Remote};
use streaming::resize::Resizes;
use streaming::spdy::frame::LONGEST_CONTROL;
use streaming::spdy::{Decoder, Encoder, Frame};
use streaming::status::Outcome;
use streaming::websocket::channels;

// By its file: as a dependency, the porthole crate would build its embedded holder with the fuzzer's flags.
mod enclosure;
#[path = "../../crates/porthole/src/manifest.rs"]
pub mod manifest;
mod requests;

/// One fuzz target; `corpus/NAME` holds its seeds and `regressions/NAME` the inputs that once crashed it.
#[derive(Debug)]
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
}

pub const TARGETS: &[Target] = &[
    Target { name: "check_documents", run: check_documents },
    Target { name: "cri_log", run: cri_log },
    Target { name: "cri_requests", run: requests::requests },
    Target { name: "dockerfile", run: dockerfile },
    Target { name: "holder_frame", run: holder_frame },
    Target { name: "holder_stream", run: holder_stream },
    Target { name: "image_package", run: image_package },
    Target { name: "image_reference", run: image_reference },
    Target { name: "oci_archive", run: oci_archive },
    Target { name: "oci_layer", run: oci_layer },
    Target { name: "pod_yaml", run: pod_yaml },
    Target { name: "policy", run: policy },
    Target { name: "quantity", run: quantity },
    Target { name: "registry_credentials", run: registry_credentials },
    Target { name: "registry_hosts", run: registry_hosts },
    Target { name: "spdy_frames", run: spdy_frames },
    Target { name: "websocket_channels", run: websocket_channels },
];

/// Everything that `porthole check` does with a file, but for the printing.
fn check_documents(bytes: &[u8]) {
    let Ok(text) = decode::text(bytes) else { return };
    let options = ApiOptions { allow_privileged: false, host_process: true };
    let mut last = None;
    for document in decode::documents(&text) {
        assert!(last < Some(document.index), "documents are counted up");
        last = Some(document.index);
        document.each(|object| {
            assert!(object.offset("spec.containers[0].image") <= text.len(), "a field is in the text");
            let Ok(Read::Subject { subject, unknown }) = object.read() else { return };
            let errors = rules::api(&subject, &options);
            let fields = errors.iter().map(|error| &error.field).chain(&unknown);
            fields.for_each(|field| assert!(object.offset(field) <= text.len(), "{field}"));
            rules::warnings(&subject);
            let refused = Level::ALL.map(|level| pod_security::judge(level, Version::Latest, &subject).len());
            assert!(refused[0] <= refused[1], "restricted refuses what baseline refuses");
        });
    }
}

fn cri_log(bytes: &[u8]) {
    if let Ok(entry) = Entry::parse(bytes) {
        assert!(entry.text.len() < bytes.len(), "the text is a part of the line");
    }
}

fn dockerfile(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let lines = text.lines().count().max(1);
    match Dockerfile::parse(text) {
        Ok(file) => {
            for each in &file.instructions {
                assert!((1..=lines).contains(&each.line), "line {} of {lines}", each.line);
                let expanded = expand(&each.text, file.escape, &|_| Some("x".to_owned()));
                if !each.text.contains(['$', '"', '\'', file.escape]) {
                    assert_eq!(expanded.as_ref(), Ok(&each.text), "plain text stays as it is");
                }
            }
        }
        Err(e) => assert!((1..=lines).contains(&e.line), "{e} of {lines}"),
    }
}

fn holder_frame(bytes: &[u8]) {
    if let Ok(request) = protocol::receive::<Request>(&mut &bytes[..]) {
        let frame = protocol::encode(&request).expect("what was read can be written");
        let again: Request = protocol::decode(&frame[4..]).expect("what we write we read");
        assert_eq!(again, request);
    }
    if let Ok(answer) = protocol::decode::<Answer>(bytes) {
        protocol::encode(&answer).expect("what was read can be written");
    }
}

/// What follows an exec or attach: read to the first error, and written again the same but for the control's JSON.
fn holder_stream(bytes: &[u8]) {
    let (mut rest, mut chunk, mut again) = (bytes, Vec::new(), Vec::new());
    let mut length = 0;
    while let Ok(channel) = stream::read(&mut rest, &mut chunk) {
        assert!(chunk.len() <= stream::LONGEST_CHUNK, "a chunk of {} bytes", chunk.len());
        length += stream::HEAD + chunk.len();
        stream::write(&mut again, channel, &chunk).expect("memory takes everything");
        if channel == stream::Channel::Control
            && let Ok(control) = serde_json::from_slice::<stream::Control>(&chunk)
        {
            let json = serde_json::to_vec(&control).expect("what was read can be written");
            assert_eq!(
                serde_json::from_slice::<stream::Control>(&json).expect("what we write we read"),
                control
            );
        }
    }
    assert_eq!(again, bytes[..length], "what was read is what is written");
}

fn image_reference(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Source::parse(text, Path::new("/base")) {
        Ok(Source::Dir(path) | Source::OciArchive(path)) => assert!(path.is_absolute(), "{}", path.display()),
        Ok(Source::Reference(name)) => {
            let whole = Source::parse(&name.to_string(), Path::new("/base"));
            assert_eq!(whole, Ok(Source::Reference(name)));
        }
        Err(_) => {}
    }
}

fn oci_archive(bytes: &[u8]) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("archive.tar");
    std::fs::write(&path, bytes).expect("written");
    if let Ok(archive) = Archive::open(&path) {
        for os in ["windows", "linux"] {
            let host = Host::new(os, "amd64");
            if let Ok(found) = archive.find(&host, Isolation::HostProcess)
                && let Ok(bytes) = archive.document(&found.manifest.config)
            {
                let _ = configuration("the configuration", &bytes, &host, Isolation::HostProcess);
            }
        }
    }
}

/// What `porthole image load` does with an archive: whatever that says, what is stored then has its digest.
fn image_package(bytes: &[u8]) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Ok(package) = Package::read(bytes, "the archive", dir.path()) else { return };
    let content = Content::open(&dir.path().join("store")).expect("a store");
    let _ = transfer::import(&package, &content, Caller::silent());
    let findings = content.fsck(false).expect("looked at");
    let damaged = |finding: &Finding| matches!(finding.problem, Problem::DamagedBlob { .. });
    assert!(!findings.found.iter().any(damaged), "{:?}", findings.found);
    let beside = std::fs::read_dir(dir.path()).expect("there").count();
    assert_eq!(beside, 1, "something stands beside the store");
}

/// Flat and as a layer of its own, by the rules of both systems: nothing may appear beside the roots.
fn oci_layer(bytes: &[u8]) {
    let enclosure = Enclosure::default();
    let mut ways = vec![
        ("plain", unpack::Target::Flat, Layout::Plain, Names::of_this_host()),
        ("windows", unpack::Target::Flat, Layout::Windows, Names { windows: true, fold: true }),
    ];
    if let Ok(marks) = os::tree::overlay_marks(enclosure.outermost()) {
        ways.push(("overlay", unpack::Target::Overlay(marks), Layout::Plain, Names::of_this_host()));
    }
    let limits = Limits { bytes: 1 << 24, entries: 1000, ..Limits::default() };
    for (name, target, layout, names) in &ways {
        let root = enclosure.innermost().join(name);
        std::fs::create_dir(&root).expect("made");
        let how = Unpack { target: *target, layout: *layout, limits, names: *names, ..Unpack::default() };
        // Twice: the second time it meets its own files.
        for _ in 0..2 {
            let _ = how.run(bytes, &root);
        }
    }
    enclosure.assert_holds(&ways.iter().map(|(name, ..)| *name).collect::<Vec<_>>());
    os::file::remove_tree(enclosure.outermost()).expect("what was unpacked can be removed");
}

fn pod_yaml(bytes: &[u8]) {
    for pod in manifest::parse(Path::new("pod.yaml"), bytes).unwrap_or_default().pods {
        if let Some(spec) = &pod.spec {
            let _ = rules::host_process(spec);
        }
    }
}

fn policy(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(policy) = Policy::parse(text) else { return };
    let pod = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {
        "securityContext": {"windowsOptions": {"hostProcess": true}},
        "containers": [{"name": "c", "image": "nginx"}], "volumes": [{"name": "v", "hostPath": {"path": "C:\\x"}}]}}"#;
    let pod = Subject::decode(Kind::Pod, &mut serde_json::Deserializer::from_str(pod)).expect("a pod");
    let decision = policy.decide(&pod, &Asker { namespace: "default", user: Some("someone") });
    assert_ne!(decision, Decision::NotHostProcess);
}

fn quantity(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(amount) = Quantity::parse(text) else { return };
    if let (Some(milli), Some(whole)) = (amount.milli(), amount.whole()) {
        assert_eq!(whole, milli.div_ceil(1000), "{text}");
    }
}

/// Pull secrets are written by tenants, and so are the hosts they are tried for: here whatever stands in quotes.
fn registry_credentials(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for kind in ["kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg"] {
        match Keyring::default().with_pull_secrets([("secret", kind, bytes)]) {
            Ok(keyring) => {
                for host in text.split('"').take(100) {
                    keyring.is_for(host, "team/app");
                }
            }
            Err(e) => assert!(!e.to_string().contains('\n'), "{e:?}"),
        }
    }
}

fn registry_hosts(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for registry in ["docker.io", "127.0.0.1:5000"] {
        let _ = images::hosts::check(text, registry);
    }
}

/// The first byte says where the rest is cut: that must change nothing. What was read is written and read again.
fn spdy_frames(bytes: &[u8]) {
    let Some((&cut, bytes)) = bytes.split_first() else { return };
    let (frames, failed) = spdy_decode(bytes, bytes.len().max(1));
    let (again, failed_again) = spdy_decode(bytes, usize::from(cut).max(1));
    assert_eq!((&frames, failed), (&again, failed_again), "cut every {cut} bytes");
    let (mut encoder, mut written) = (Encoder::default(), bytes::BytesMut::new());
    frames.iter().for_each(|frame| encoder.encode(frame, &mut written));
    let (read, failed) = spdy_decode(&written, written.len().max(1));
    // Stored headers are longer than deflated ones were: some no longer fit into a control frame.
    assert!(failed || read == frames, "what we write we read");
}

/// All frames, those of one stream's data joined, and whether an error ended them.
fn spdy_decode(bytes: &[u8], cut: usize) -> (Vec<Frame>, bool) {
    let (mut decoder, mut frames) = (Decoder::default(), Vec::new());
    for piece in bytes.chunks(cut) {
        decoder.input().extend_from_slice(piece);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => spdy_join(&mut frames, frame),
                Ok(None) => break,
                Err(_) => return (frames, true),
            }
        }
        assert!(decoder.input().len() < LONGEST_CONTROL + 8, "{} bytes are kept", decoder.input().len());
    }
    (frames, false)
}

fn spdy_join(frames: &mut Vec<Frame>, frame: Frame) {
    if let Frame::Data { id, fin, bytes } = &frame
        && let Some(Frame::Data { id: last, fin: ended, bytes: before }) = frames.last_mut()
        && last == id
        && !*ended
    {
        *before = [&before[..], bytes].concat().into();
        *ended = *fin;
        return;
    }
    frames.push(frame);
}

/// A client's message on a channel, a window's size, and a server's last word.
fn websocket_channels(bytes: &[u8]) {
    let Some((&how, bytes)) = bytes.split_first() else { return };
    let codec = if how & 1 == 0 { Codec::Binary } else { Codec::Base64 };
    let version = if how & 2 == 0 { Remote::V4 } else { Remote::V5 };
    let message = bytes::Bytes::copy_from_slice(bytes);
    if let Ok(channels::Said::Bytes { channel, bytes }) = channels::read(message, codec, version)
        && channel <= channels::RESIZE
    {
        let again = channels::read(channels::write(channel, &bytes, codec), codec, version);
        assert_eq!(again, Ok(channels::Said::Bytes { channel, bytes }), "what we write we read");
    }
    let whole = Resizes::default().push(bytes);
    let mut resizes = Resizes::default();
    let cut = bytes.chunks(usize::from(how).max(1)).filter_map(|piece| resizes.push(piece)).last();
    assert!(bytes.len() > 1000 || whole == cut, "{whole:?} {cut:?}");
    Outcome::read(version, bytes);
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    fn inputs(kind: &str, target: &Target) -> Vec<PathBuf> {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(kind).join(target.name);
        let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
        entries.map(|entry| entry.expect("readable").path()).collect()
    }

    fn replay(kind: &str) -> usize {
        let mut count = 0;
        for target in TARGETS {
            for path in inputs(kind, target) {
                println!("{} on {}", target.name, path.display());
                (target.run)(&fs::read(&path).expect("readable"));
                count += 1;
            }
        }
        count
    }

    #[test]
    fn what_once_crashed_does_not_crash_again() {
        replay("regressions");
    }

    #[test]
    fn the_corpus_passes() {
        assert!(replay("corpus") >= TARGETS.len());
    }

    #[test]
    fn every_target_has_a_corpus_and_every_corpus_a_target() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        let entries = fs::read_dir(dir).expect("there");
        let mut found: Vec<_> =
            entries.map(|entry| entry.expect("readable").file_name().into_string().expect("UTF-8")).collect();
        found.sort();
        let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        assert_eq!(found, names);
    }
}
