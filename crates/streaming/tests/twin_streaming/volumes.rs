//! Much, and to those who do not read. One test after the other: they measure this process's memory.

use std::sync::atomic::Ordering;
use std::time::Duration;

use streaming::client::Heard;
use streaming::protocol::{Agreed, Codec, Version};
use streaming::status::Outcome;
use tokio::sync::Mutex;

use crate::house::{House, LONG, NEW, all, forget_peak, gate, peak_kib, until};

/// Tests of this program run at the same time; those that measure do not.
static SCALE: Mutex<()> = Mutex::const_new(());

/// What all the rest of this program's tests may need meanwhile.
const ROOM_KIB: usize = 64 << 10;

/// Reads a producer's output to the end without keeping it: how many bytes, and whether they were the right ones.
async fn measure(house: &House, chunks: usize, how: Agreed) -> usize {
    let mut remote = house.exec(&format!("produce {chunks}"), "o", how).await;
    let mut total = 0;
    loop {
        match tokio::time::timeout(LONG, remote.next()).await.expect("in time").expect("an end") {
            Heard::Stdout(bytes) => {
                let expected = u8::try_from(total % 256).expect("a byte");
                assert_eq!(bytes[0], expected, "at {total}");
                total += bytes.len();
            }
            Heard::Ended(outcome) => {
                assert_eq!(outcome, Outcome::Succeeded);
                return total;
            }
            Heard::Stderr(_) => panic!("nothing was said there"),
        }
    }
}

// proves: HP-23 twin
#[tokio::test(flavor = "multi_thread")]
async fn a_gigabyte_on_spdy_and_64_mebibytes_on_websockets_need_no_memory() {
    let _alone = SCALE.lock().await;
    let house = House::open().await;
    for (how, mebibytes) in [
        (Agreed::Command(Version::V4), 1024),
        (Agreed::Channels(Version::V5, Codec::Binary), 64),
        (Agreed::Channels(Version::V4, Codec::Base64), 16),
    ] {
        forget_peak();
        let before = peak_kib();
        let begin = std::time::Instant::now();
        assert_eq!(measure(&house, mebibytes * 16, how).await, mebibytes << 20);
        let grown = peak_kib().saturating_sub(before);
        println!("{how:?}: {mebibytes} MiB in {:?}, {grown} KiB more", begin.elapsed());
        assert!(grown < ROOM_KIB, "{how:?}: {grown} KiB");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn much_input_arrives_whole() {
    let house = House::open().await;
    for how in NEW {
        let mut remote = house.exec("consume", "io", how).await;
        let speaker = remote.speaker();
        let piece = vec![7; 1 << 20];
        for _ in 0..64 {
            speaker.stdin(&piece).await.expect("taken");
        }
        speaker.close().await.expect("taken");
        let (stdout, _, outcome) = all(&mut remote).await;
        assert_eq!((stdout, outcome), ((64 << 20).to_string().into_bytes(), Outcome::Succeeded), "{how:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_stops_the_program() {
    let _alone = SCALE.lock().await;
    for how in NEW {
        let house = House::open().await;
        forget_peak();
        let before = peak_kib();
        let mut remote = house.exec("produce 100000", "o", how).await;
        // Until no more goes in: sockets hold a few megabytes, and nobody else anything.
        let produced = || house.runtime.produced.load(Ordering::SeqCst);
        let mut last = usize::MAX;
        while last != produced() {
            last = produced();
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        assert!(last < 32 << 20, "{how:?}: {last} bytes left a program that nobody listens to");
        assert!(peak_kib().saturating_sub(before) < ROOM_KIB, "{how:?}");
        // And it goes on where it stopped.
        remote.next().await.expect("output");
        let mut read = 0;
        while read < 2 * last + (1 << 20) {
            let Some(Heard::Stdout(bytes)) = remote.next().await else { panic!("{how:?}: more output") };
            read += bytes.len();
        }
        assert!(produced() > last, "{how:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_does_not_read_stops_the_client() {
    let _alone = SCALE.lock().await;
    for how in NEW {
        let house = House::open().await;
        let open = gate(&house.runtime, "g");
        forget_peak();
        let before = peak_kib();
        let remote = house.exec("gate g", "io", how).await;
        let speaker = remote.speaker();
        let piece: Vec<u8> = (0..=255).cycle().take(64 << 10).collect();
        let mut sent = 0;
        while tokio::time::timeout(Duration::from_millis(500), speaker.stdin(&piece)).await.is_ok() {
            sent += piece.len();
            assert!(sent < 64 << 20, "{how:?}: a program that does not read takes for ever");
        }
        assert!(peak_kib().saturating_sub(before) < ROOM_KIB, "{how:?}");
        open.send(()).expect("it waits");
        // The piece that was cut short in the middle is this test's own doing: the frame never ended.
        until("what was sent", || house.runtime.heard.lock().expect("unpoisoned").len() >= sent).await;
        let heard = house.runtime.heard.lock().expect("unpoisoned").clone();
        assert!(heard.iter().zip((0..=255u8).cycle()).all(|(is, should)| *is == should), "{how:?}");
        drop(remote);
        house.until_running(0).await;
    }
}

// proves: HP-23 twin
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn five_hundred_sessions_at_once_are_bounded() {
    let _alone = SCALE.lock().await;
    let house = House::open().await;
    forget_peak();
    let before = peak_kib();
    let mut remotes = Vec::new();
    for i in 0..500 {
        remotes.push(house.exec("cat", "io", NEW[i % 2]).await);
    }
    house.until_running(500).await;
    for remote in &remotes {
        remote.speaker().stdin(b"are you there").await.expect("heard");
    }
    for remote in &mut remotes {
        let heard = tokio::time::timeout(LONG, remote.next()).await.expect("in time");
        assert_eq!(heard, Some(Heard::Stdout("are you there".into())));
    }
    let grown = peak_kib().saturating_sub(before);
    println!("500 sessions, both ends and their programs: {grown} KiB");
    assert!(grown < 500 * 400, "{grown} KiB");
    drop(remotes);
    house.until_running(0).await;
}
