//! Answers that begin and then stop, with the connection open: a silence is waited for so long, and then is a cut.

use std::time::{Duration, Instant};

use images::Access;
use images::hosts::Hosts;
use testbed::registry::{Fault, Wrong};

use crate::bench::{Bench, MANIFESTS, layer};

/// Longer than a busy machine takes to say something. Nearly all of these tests is waiting, so those that wait for it
/// once are one test, which does them at once.
const SILENCE: Duration = Duration::from_secs(9);

fn access() -> Access {
    Access { hosts: Hosts::default().with_silence(SILENCE), ..Access::default() }
}

fn stall(bench: &Bench, after: usize) -> Fault {
    Fault::new(Wrong::Stall { after }).path(&format!("*/blobs/{}", layer(&bench.image).0))
}

/// What is said of a silence after this many bytes.
fn silent_after(byte: usize) -> String {
    format!("nothing came for {SILENCE:?} after byte {byte}")
}

#[test]
fn what_stalls_once_goes_on_and_costs_nothing_again() {
    std::thread::scope(|scope| {
        scope.spawn(a_blob_that_stalls_goes_on_where_it_stopped);
        scope.spawn(a_segment_that_stalls_does_not_cost_the_others);
        a_manifest_that_stalls_is_asked_for_again();
    });
}

fn a_blob_that_stalls_goes_on_where_it_stopped() {
    let bench = Bench::new();
    bench.registry.fault(stall(&bench, 100_000).times(1));
    let begun = Instant::now();
    let pulled = bench.pull(&access());
    assert!(begun.elapsed() >= SILENCE, "it was not waited for: {:?}", begun.elapsed());
    bench.assert_whole(&pulled, 0);
    let said = format!("{} of {}", silent_after(100_000), layer(&bench.image).1.len());
    assert!(pulled.heard[0].contains(&said), "{:?}", pulled.heard);
    let last = bench.blob_requests().into_iter().rfind(|request| request.range.is_some());
    assert_eq!(last.and_then(|request| request.range).as_deref(), Some("bytes=100000-"));
}

fn a_segment_that_stalls_does_not_cost_the_others() {
    let bench = Bench::large();
    bench.registry.fault(stall(&bench, 70_000).after(2).times(1));
    let pulled = bench.pull(&access());
    bench.assert_whole(&pulled, 0);
    let stalls = pulled.heard.iter().filter(|line| line.contains("nothing came for ")).count();
    assert_eq!(stalls, 1, "{:?}", pulled.heard);
}

fn a_manifest_that_stalls_is_asked_for_again() {
    let bench = Bench::new();
    bench.registry.fault(Fault::new(Wrong::Stall { after: 100 }).path(MANIFESTS).times(1));
    let pulled = bench.pull(&access());
    bench.assert_whole(&pulled, 0);
    let said = format!("in the middle of manifest 1: {}", silent_after(100));
    assert!(pulled.heard[0].contains(&said), "{:?}", pulled.heard);
}

#[test]
fn what_always_stalls_is_given_up_with_what_had_come() {
    let [blob, manifest] = [Bench::new(), Bench::new()];
    blob.registry.fault(stall(&blob, 1000));
    manifest.registry.fault(Fault::new(Wrong::Stall { after: 100 }).path(MANIFESTS));
    let came = format!("{} of {}", silent_after(3000), layer(&blob.image).1.len());
    let refused = |bench: &Bench, after: u64, words: &[&str]| {
        bench.pull(&access()).refused(words);
        let stalled = bench.registry.requests().into_iter().filter(|request| request.bytes == after);
        assert_eq!(stalled.count(), 3, "{words:?}");
        bench.registry.clear_faults();
        bench.assert_whole_again(&access());
    };
    // At once, because nearly all of it is waiting.
    std::thread::scope(|scope| {
        scope.spawn(|| refused(&blob, 1000, &["broke in the middle of sha256:", &came]));
        refused(&manifest, 100, &["broke in the middle of manifest 1", &silent_after(100)]);
    });
}
