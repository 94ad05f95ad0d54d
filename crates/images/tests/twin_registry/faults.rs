//! Everything that a registry and the way to it can do wrong.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use images::registry::answer::PullError;
use images::{Access, Caller, Reference, Remote};
use testbed::registry::{Fault, Registry, Wrong};

use crate::bench::{BLOBS, Bench, MANIFESTS, descriptor, impatient, layer};

fn blobs(wrong: Wrong) -> Fault {
    Fault::new(wrong).method("GET").path(BLOBS)
}

fn manifests(wrong: Wrong) -> Fault {
    Fault::new(wrong).method("GET").path(MANIFESTS)
}

fn pull(bench: &Bench) -> crate::bench::Pulled {
    bench.pull(&Access::default())
}

// proves: RT-09 twin
#[test]
fn an_image_comes_whole_and_each_blob_once() {
    let bench = Bench::new();
    let pulled = pull(&bench);
    bench.assert_whole(&pulled, 0);
    assert_eq!(bench.blob_requests().len(), bench.image.blobs().len(), "{:?}", bench.registry.requests());
    assert!(bench.registry.requests().iter().all(|request| request.header("Authorization").is_none()));
    assert_eq!(pulled.heard, Vec::<String>::new());
}

#[test]
fn a_large_blob_comes_in_segments_at_once_and_no_byte_twice() {
    let bench = Bench::large();
    let path = format!("*/blobs/{}", layer(&bench.image).0);
    // The first answer tells that the registry knows ranges. Behind the segment that is read, others come.
    bench.registry.fault(Fault::new(Wrong::meet(3)).path(&path).after(1).times(3));
    let pulled = pull(&bench);
    assert_eq!(pulled.heard, Vec::<String>::new(), "they came one by one");
    bench.assert_whole(&pulled, 0);
    let ranged = bench.blob_requests().into_iter().filter(|request| request.status == 206).count();
    assert!(ranged >= 5, "{:?}", bench.blob_requests());
}

// proves: RT-09 twin
#[test]
fn a_cut_anywhere_is_mended_and_costs_nothing_again() {
    let bench = Bench::new();
    let (digest, bytes) = layer(&bench.image);
    let (path, size) = (format!("*/blobs/{digest}"), bytes.len());
    for after in [0, 1, 1000, size / 2, size - 1] {
        bench.registry.clear_requests();
        bench.registry.clear_faults();
        bench.registry.fault(Fault::new(Wrong::Cut { after }).path(&path).times(1));
        let pulled = pull(&bench);
        bench.assert_whole(&pulled, 0);
        assert_eq!(bench.blob_requests().len(), bench.image.blobs().len() + 1, "after {after}");
        assert!(pulled.heard[0].contains("broke in the middle of sha256:"), "{:?}", pulled.heard);
    }
}

#[test]
fn cuts_in_many_segments_are_mended_where_they_are() {
    let bench = Bench::large();
    for after in [0, 70_000, (4 << 20) - 1] {
        bench.registry.clear_requests();
        bench.registry.clear_faults();
        bench.registry.fault(blobs(Wrong::Cut { after }).after(1).times(3));
        bench.assert_whole(&pull(&bench), 0);
    }
}

#[test]
fn a_line_that_breaks_again_and_again_is_used_as_long_as_something_comes() {
    let bench = Bench::new();
    bench.registry.fault(blobs(Wrong::Cut { after: 70_000 }).times(4));
    bench.assert_whole(&pull(&bench), 0);
    // And not when nothing does.
    bench.registry.clear_requests();
    bench.registry.clear_faults();
    bench.registry.fault(blobs(Wrong::Cut { after: 10 }));
    pull(&bench).refused(&["broke in the middle of sha256:"]);
    assert!(bench.blob_requests().len() <= 3 * bench.image.blobs().len(), "{:?}", bench.blob_requests());
}

#[test]
fn a_registry_without_ranges_sends_all_and_a_cut_costs_what_came_before_it() {
    let bench = Bench::large();
    bench.registry.fault(blobs(Wrong::NoRanges));
    bench.assert_whole(&pull(&bench), 0);
    let after = 3 << 20;
    bench.registry.clear_requests();
    bench.registry.clear_faults();
    let path = format!("*/blobs/{}", layer(&bench.image).0);
    bench.registry.fault(Fault::new(Wrong::Cut { after }).path(&path).times(1));
    bench.registry.fault(blobs(Wrong::NoRanges));
    bench.assert_whole(&pull(&bench), after as u64);
}

#[test]
fn what_was_there_before_is_not_asked_for_again() {
    let bench = Bench::new();
    let (digest, bytes) = layer(&bench.image);
    let reference = Reference::parse(&bench.name()).expect("a name");
    let remote = Remote::open(&reference, &Access::default(), Caller::silent()).expect("open");
    for from in [0, 1, 100_000, bytes.len() - 1, bytes.len()] {
        bench.registry.clear_requests();
        let mut rest = Vec::new();
        let mut stream = remote.blob(&descriptor(digest, bytes.len() as u64), from as u64).expect("begins");
        stream.read_to_end(&mut rest).expect("comes");
        assert!(rest == bytes[from..], "from {from}");
        let sent: u64 = bench.blob_requests().iter().map(|request| request.bytes).sum();
        assert_eq!(sent, (bytes.len() - from) as u64, "{:?}", bench.blob_requests());
    }
    let beyond = remote.blob(&descriptor(digest, 10), 11).expect_err("beyond its end");
    assert!(matches!(beyond, PullError::TooLong { .. }), "{beyond}");
}

#[test]
fn a_damaged_manifest_is_found_by_its_digest() {
    let bench = Bench::new();
    bench.registry.fault(manifests(Wrong::Flip { at: 30 }));
    pull(&bench).refused(&["it is damaged", bench.image.digest()]);
    bench.registry.clear_faults();
    // A damaged blob comes as it is: whoever stores it compares digests.
    bench.registry.fault(blobs(Wrong::Flip { at: 30 }));
    let came = pull(&bench).blobs.expect("came");
    let wanted: Vec<_> = bench.image.blobs().values().map(|bytes| bytes.to_vec()).collect();
    assert!(came != wanted && came.len() == wanted.len());
}

#[test]
fn a_cut_manifest_is_asked_for_again_and_not_for_ever() {
    let bench = Bench::new();
    for after in [0, 100] {
        bench.registry.clear_requests();
        bench.registry.clear_faults();
        bench.registry.fault(manifests(Wrong::Cut { after }).times(1));
        let pulled = pull(&bench);
        bench.assert_whole(&pulled, 0);
        assert!(pulled.heard[0].contains("broke in the middle of manifest 1"), "{:?}", pulled.heard);
    }
    bench.registry.clear_requests();
    bench.registry.fault(manifests(Wrong::Cut { after: 100 }));
    pull(&bench).refused(&["the connection to 127.0.0.1:", "broke in the middle of manifest 1"]);
    assert_eq!(bench.registry.requests().len(), 3);
}

#[test]
fn a_wrong_head_is_an_error_that_says_what_was_wrong() {
    let bench = Bench::new();
    let size = layer(&bench.image).1.len().to_string();
    for (fault, words) in [
        (blobs(Wrong::header("Content-Length", "17")), &["has 17 bytes of sha256:", "the manifest says"][..]),
        (
            manifests(Wrong::header("Docker-Content-Digest", &format!("sha256:{}", "0".repeat(64)))),
            &["it is damaged"],
        ),
        (manifests(Wrong::header("Content-Length", "999999999")), &["has 999999999 bytes, more than"]),
    ] {
        bench.registry.clear_faults();
        bench.registry.fault(fault);
        pull(&bench).refused(words);
    }
    let digest = layer(&bench.image).0;
    let reference = Reference::parse(&bench.name()).expect("a name");
    bench.registry.clear_faults();
    let remote = Remote::open(&reference, &Access::default(), Caller::silent()).expect("open");
    let mut short = Vec::new();
    let error =
        remote.blob(&descriptor(digest, 100), 0).expect("begins").read_to_end(&mut short).unwrap_err();
    let said = PullError::from_io(error).to_string();
    assert!(said.contains(&format!("has {size} bytes")) && said.contains("says 100"), "{said}");
}

#[test]
fn limits_and_failures_pass_and_what_is_asked_for_is_waited() {
    let bench = Bench::new();
    let dated = || {
        let date = httpdate::fmt_http_date(std::time::SystemTime::now() + Duration::from_secs(4));
        Wrong::Status { code: 503, headers: vec![("Retry-After".into(), date)] }
    };
    let limited = || Wrong::too_many_requests(Duration::from_secs(2));
    let wrongs: [(&dyn Fn() -> Wrong, _, _); 4] = [
        (&limited, 2000, "(429) and asks to wait 2 s"),
        (&dated, 1500, "answered 503 and asks to wait"),
        (&Wrong::server_error, 300, "answered 500"),
        (&|| Wrong::Close, 300, "could not be asked"),
    ];
    for (wrong, least, word) in wrongs {
        for with in [manifests, blobs] {
            let fault = with(wrong());
            bench.registry.clear_faults();
            bench.registry.clear_requests();
            bench.registry.fault(fault.times(1));
            let begun = Instant::now();
            let pulled = pull(&bench);
            bench.assert_whole(&pulled, 0);
            assert!(begun.elapsed() >= Duration::from_millis(least), "{:?} {word}", begun.elapsed());
            assert!(
                pulled.heard[0].contains(word) && pulled.heard[0].contains("again in"),
                "{:?}",
                pulled.heard
            );
        }
    }
}

#[test]
fn what_does_not_pass_is_said_after_three_tries_and_what_will_not_change_after_one() {
    let bench = Bench::new();
    for (wrong, tries, words) in [
        (
            Wrong::Status { code: 404, headers: Vec::new() },
            1,
            &["does not have it (404)", "check the name"][..],
        ),
        (Wrong::Status { code: 403, headers: Vec::new() }, 1, &["refused it (403", "private image"]),
        (
            Wrong::unauthorized("Basic realm=\"x\""),
            1,
            &["wants a login (401)", "no credentials for it are known here"],
        ),
        (Wrong::Status { code: 401, headers: Vec::new() }, 1, &["wants a login but not how"]),
        (Wrong::server_error(), 3, &["answered 500"]),
        (Wrong::Status { code: 503, headers: Vec::new() }, 3, &["answered 503"]),
        (Wrong::Status { code: 429, headers: Vec::new() }, 3, &["(429)", "try again later"]),
    ] {
        bench.registry.clear_faults();
        bench.registry.clear_requests();
        bench.registry.fault(manifests(wrong));
        pull(&bench).refused(words);
        assert_eq!(bench.registry.requests().len(), tries, "{words:?}");
    }
    bench.registry.clear_faults();
    bench.registry.refuse();
    pull(&bench).refused(&["could not be asked", "onnection refused"]);
}

#[test]
fn another_host_that_has_the_blobs_is_not_given_our_login() {
    let store = Bench::new();
    let auth = crate::logins::basic();
    let bench = Bench::with(auth);
    let (digest, _) = layer(&bench.image);
    let place = format!("http://{}/v2/try/app/blobs/{digest}", store.registry.address());
    bench.registry.fault(Fault::new(Wrong::redirect(&place)).path(&format!("*/blobs/{digest}")));
    let access = Access { keyring: crate::logins::jane(&bench.registry), ..Access::default() };
    let pulled = bench.pull(&access);
    let came = pulled.blobs.as_ref().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(came.len(), bench.image.blobs().len());
    let asked = store.registry.requests();
    assert!(
        !asked.is_empty() && asked.iter().all(|request| request.header("Authorization").is_none()),
        "{asked:?}"
    );
    assert!(bench.registry.requests().iter().any(|request| request.header("Authorization").is_some()));
}

/// Layers that their registry may not hand out, as those of Windows once were.
#[test]
fn a_foreign_layer_comes_from_where_its_descriptor_says_and_without_our_login() {
    let store = Bench::new();
    let bench = Bench::with(crate::logins::basic());
    let (digest, bytes) = layer(&bench.image);
    bench.registry.fault(
        Fault::new(Wrong::Status { code: 404, headers: Vec::new() }).path(&format!("*/blobs/{digest}")),
    );
    let access = Access { keyring: crate::logins::jane(&bench.registry), ..Access::default() };
    let reference = Reference::parse(&bench.name()).expect("a name");
    let remote = Remote::open(&reference, &access, Caller::silent()).expect("open");
    let place = format!("http://{}/v2/try/app/blobs/{digest}", store.registry.address());
    let read = |urls: &[&str]| {
        let mut foreign = descriptor(digest, bytes.len() as u64);
        foreign.urls = urls.iter().map(|url| (*url).to_owned()).collect();
        let mut found = Vec::new();
        remote.blob(&foreign, 0)?.read_to_end(&mut found).map(|_| found).map_err(PullError::from_io)
    };
    store.registry.fault(Fault::new(Wrong::Cut { after: 100_000 }).path(BLOBS).times(1));
    assert!(read(&["http://127.0.0.1:1/gone", &place]).expect("came") == bytes);
    let asked = store.registry.requests();
    assert_eq!(asked.iter().map(|request| request.bytes).sum::<u64>(), bytes.len() as u64);
    assert!(asked.iter().all(|request| request.header("Authorization").is_none()), "{asked:?}");
    assert!(matches!(read(&["file:///etc/passwd"]), Err(PullError::ForeignUrl { .. })));
    assert!(matches!(read(&[]), Err(PullError::NotFound { .. })));
}

#[test]
fn a_registry_does_not_send_us_in_circles() {
    let bench = Bench::new();
    bench.registry.fault(manifests(Wrong::redirect("/v2/try/app/manifests/1")));
    pull(&bench).refused(&["sends on more than 10 times"]);
    bench.registry.clear_faults();
    bench.registry.fault(manifests(Wrong::redirect("file:///etc/passwd")));
    pull(&bench).refused(&["sends on to", "file"]);
}

fn slow(registry: &Registry) {
    registry.fault(blobs(Wrong::Slow { bytes_per_second: 20_000 }));
}

#[test]
fn who_gives_up_waits_no_longer_than_a_moment() {
    let bench = Bench::new();
    slow(&bench.registry);
    let (digest, bytes) = layer(&bench.image);
    let gone = AtomicBool::new(false);
    let gave_up = impatient(&gone);
    let caller = Caller { tell: &|_| {}, gave_up: &gave_up };
    let reference = Reference::parse(&bench.name()).expect("a name");
    let remote = Remote::open(&reference, &Access::default(), caller).expect("open");
    let mut stream = remote.blob(&descriptor(digest, bytes.len() as u64), 0).expect("begins");
    let mut first = [0; 10];
    stream.read_exact(&mut first).expect("the first bytes");
    assert!(first == bytes[..10]);
    gone.store(true, Ordering::Relaxed);
    let begun = Instant::now();
    let error = stream.read_to_end(&mut Vec::new()).expect_err("given up");
    assert!(matches!(PullError::from_io(error), PullError::GaveUp));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    drop(stream);
    // The wait between tries ends as well.
    bench.registry.clear_faults();
    bench.registry.fault(manifests(Wrong::too_many_requests(Duration::from_secs(50))));
    let begun = Instant::now();
    assert!(matches!(remote.root(), Err(PullError::GaveUp)));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn a_slow_registry_is_waited_for() {
    let bench = Bench::new();
    bench.registry.fault(blobs(Wrong::Slow { bytes_per_second: 200_000 }));
    bench.assert_whole(&pull(&bench), 0);
}
