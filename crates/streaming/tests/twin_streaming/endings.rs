//! How sessions end: by the program, by the client, by the server.

use std::sync::atomic::Ordering;
use std::time::Duration;

use streaming::Config;
use streaming::client::{Dialled, Remote};
use streaming::protocol::{Agreed, Version};
use streaming::status::Outcome;

use crate::house::{ALL, House, LONG, NEW, all, gate, streams, until};
use crate::relay::Relay;

// proves: HP-23 twin
#[tokio::test(flavor = "multi_thread")]
async fn exit_codes_arrive_on_every_protocol() {
    let house = House::open().await;
    for how in ALL {
        let has_codes =
            matches!(how, Agreed::Command(version) | Agreed::Channels(version, _) if version >= Version::V4);
        for code in [0, 1, 255, 3_221_225_786_u32] {
            let mut remote = house.exec(&format!("exit {code}"), "o", how).await;
            let (_, _, outcome) = all(&mut remote).await;
            let expected = match code {
                0 => Outcome::Succeeded,
                _ if has_codes => Outcome::Exited(code),
                _ => Outcome::Failed(format!("command terminated with non-zero exit code: {code}")),
            };
            assert_eq!(outcome, expected, "{how:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_started_or_broke_is_told() {
    let house = House::open().await;
    let table = [
        ("refuse", "no such program"),
        ("break", "the holder is gone"),
        ("vanish", "the process's streams ended before it did"),
    ];
    for how in NEW {
        for (command, why) in table {
            let (_, _, outcome) = all(&mut house.exec(command, "o", how).await).await;
            assert_eq!(outcome, Outcome::Failed(format!("Internal error occurred: {why}")), "{how:?}");
        }
    }
    let (_, _, outcome) = all(&mut house.exec("refuse", "o", Agreed::Command(Version::V2)).await).await;
    assert_eq!(outcome, Outcome::Failed("no such program".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_is_hung_up_on() {
    let house = House::open().await;
    for (count, how) in NEW.into_iter().enumerate() {
        let remote = house.exec("sleep", "io", how).await;
        house.until_running(1).await;
        drop(remote);
        house.until_running(0).await;
        assert_eq!(house.runtime.hung_up.load(Ordering::SeqCst), count + 1, "{how:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_in_the_middle_of_output_is_hung_up_on() {
    let house = House::open().await;
    for how in NEW {
        let mut remote = house.exec("produce 1000000", "o", how).await;
        remote.next().await.expect("some output");
        drop(remote);
        house.until_running(0).await;
    }
}

/// What the client sent last is still on its way when it leaves, and its end stands behind that.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_is_noticed_though_its_program_never_reads() {
    let house = House::open().await;
    for (count, how) in NEW.into_iter().enumerate() {
        let remote = house.exec(&format!("deaf {}", count + 1), "io", how).await;
        house.until_running(1).await;
        let speaker = remote.speaker();
        let much = vec![7; 64 << 20];
        let taken = tokio::time::timeout(Duration::from_secs(1), speaker.stdin(&much)).await;
        assert!(taken.is_err(), "{how:?}: nobody reads that");
        drop((speaker, remote));
        house.until_running(0).await;
        assert_eq!(house.runtime.hung_up.load(Ordering::SeqCst), count + 1, "{how:?}");
    }
}

/// And one that stays is not taken for one that has left, however often the server wonders.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_may_take_its_time_before_it_reads() {
    let relay = Relay::open();
    let config =
        Config { murmur: Duration::from_millis(20), advertise: Some(relay.name()), ..Config::default() };
    let house = House::with(config).await;
    let answers = relay.to(house.address);
    for how in NEW {
        let open = gate(&house.runtime, "late");
        let remote = house.exec("gate late", "io", how).await;
        house.until_running(1).await;
        let speaker = remote.speaker();
        let telling = tokio::spawn(async move { speaker.stdin(&vec![7; 16 << 20]).await.is_ok() });
        // Far more than it says for any other reason while nobody reads.
        let then = answers.load(Ordering::SeqCst);
        until("the server to wonder", || answers.load(Ordering::SeqCst) > then + 30).await;
        open.send(()).expect("it waits");
        assert!(tokio::time::timeout(LONG, telling).await.expect("in time").expect("no panic"), "{how:?}");
        until("all of it", || house.runtime.heard.lock().expect("unpoisoned").len() == 16 << 20).await;
        house.runtime.heard.lock().expect("unpoisoned").clear();
        drop(remote);
        house.until_running(0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_on_which_nothing_is_said_ends() {
    let house = House::with(Config { idle: Duration::from_millis(300), ..Config::default() }).await;
    for how in NEW {
        let mut remote = house.exec("sleep", "o", how).await;
        let (stdout, _, outcome) = all(&mut remote).await;
        assert!(stdout.is_empty() && outcome != Outcome::Succeeded, "{how:?}: {outcome:?}");
        house.until_running(0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_hangs_up_on_everybody() {
    let mut house = House::open().await;
    let mut remotes = Vec::new();
    for how in NEW {
        remotes.push(house.exec("sleep", "io", how).await);
    }
    house.until_running(2).await;
    house.stop();
    house.until_running(0).await;
    drop(remotes);
    let ended = tokio::time::timeout(LONG, &mut house.ended).await.expect("in time");
    assert!(ended.expect("no panic"), "every session ended in time");
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_do_not_come_in_time_end_the_connection() {
    let house =
        House::with(Config { stream_creation: Duration::from_millis(300), ..Config::default() }).await;
    let url = house.exec_url("sleep", "ioe");
    // Opens two of the four streams that the URL is for.
    let dialled = Dialled::to(&url).await.expect("reached");
    let mut remote = Remote::open(dialled, streams("o"), Agreed::Command(Version::V4)).await.expect("opened");
    let (_, _, outcome) = all(&mut remote).await;
    assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
    assert_eq!(house.runtime.running.load(Ordering::SeqCst), 0, "nothing was started");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_was_not_asked_for_is_refused() {
    let house = House::open().await;
    let url = house.exec_url("sleep", "o");
    let dialled = Dialled::to(&url).await.expect("reached");
    // The error stream is taken; an input is not part of this URL.
    let refused = Remote::open(dialled, streams("io"), Agreed::Command(Version::V4)).await;
    assert!(refused.is_err(), "{refused:?}");
    until("nothing to run", || house.runtime.running.load(Ordering::SeqCst) == 0).await;
}
