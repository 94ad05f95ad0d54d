//! Bytes both ways on every protocol.

use streaming::Size;
use streaming::client::Heard;
use streaming::protocol::{Agreed, Codec, Version};
use streaming::status::Outcome;

use crate::house::{ALL, House, NEW, all, until};

// proves: HP-23 twin
#[tokio::test(flavor = "multi_thread")]
async fn outputs_arrive_on_every_protocol_each_on_its_own_stream() {
    let house = House::open().await;
    for how in ALL {
        let mut remote = house.exec("say", "oe", how).await;
        let said = all(&mut remote).await;
        assert_eq!(said, (b"to stdout".to_vec(), b"to stderr".to_vec(), Outcome::Succeeded), "{how:?}");
        assert_eq!(remote.next().await, None, "the end comes once");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_that_was_not_asked_for_is_dropped() {
    let house = House::open().await;
    for how in NEW {
        let mut remote = house.exec("say", "e", how).await;
        assert_eq!(all(&mut remote).await, (vec![], b"to stderr".to_vec(), Outcome::Succeeded), "{how:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn input_is_echoed_and_its_end_ends_the_program() {
    let house = House::open().await;
    // Channels before version 5 cannot say that input has ended.
    let can_end = |how: &Agreed| !matches!(how, Agreed::Channels(version, _) if *version < Version::V5);
    for how in ALL.into_iter().filter(can_end) {
        let mut remote = house.exec("cat", "io", how).await;
        let speaker = remote.speaker();
        speaker.stdin(b"hello ").await.expect("heard");
        assert_eq!(remote.next().await, Some(Heard::Stdout("hello ".into())), "{how:?}");
        speaker.stdin(b"world").await.expect("heard");
        speaker.close().await.expect("heard");
        assert_eq!(all(&mut remote).await, (b"world".to_vec(), vec![], Outcome::Succeeded), "{how:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn old_channels_carry_input_until_the_client_leaves() {
    let house = House::open().await;
    for codec in [Codec::Binary, Codec::Base64] {
        let how = Agreed::Channels(Version::V4, codec);
        let mut remote = house.exec("cat", "io", how).await;
        remote.speaker().stdin(b"\x00\xff both").await.expect("heard");
        assert_eq!(remote.next().await, Some(Heard::Stdout((&b"\x00\xff both"[..]).into())));
        drop(remote);
        house.until_running(0).await;
    }
}

// proves: HP-23 twin
#[tokio::test(flavor = "multi_thread")]
async fn a_terminals_window_sizes_reach_the_program() {
    for how in [
        Agreed::Command(Version::V4),
        Agreed::Command(Version::V3),
        Agreed::Channels(Version::V5, Codec::Binary),
        Agreed::Channels(Version::V4, Codec::Base64),
    ] {
        let house = House::open().await;
        let remote = house.exec("sleep", "iot", how).await;
        let sizes = [Size { columns: 80, rows: 24 }, Size { columns: 200, rows: 50 }];
        for size in sizes {
            remote.speaker().resize(size).await.expect("heard");
            until("the size", || house.runtime.sizes.lock().expect("unpoisoned").last() == Some(&size)).await;
        }
        assert_eq!(*house.runtime.sizes.lock().expect("unpoisoned"), sizes, "{how:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attaching_follows_a_container() {
    let house = House::open().await;
    for how in NEW {
        let streams = crate::house::streams("o");
        let request = streaming::AttachRequest { container: "web".to_owned(), streams };
        let url = house.tickets.attach(request).expect("a ticket");
        let dialled = streaming::client::Dialled::to(&url).await.expect("reached");
        let mut remote = streaming::client::Remote::open(dialled, streams, how).await.expect("opened");
        assert_eq!(
            all(&mut remote).await,
            (b"attached to web".to_vec(), vec![], Outcome::Succeeded),
            "{how:?}"
        );
    }
}
