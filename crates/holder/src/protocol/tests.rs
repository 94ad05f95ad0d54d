use os::job::JobName;
use proptest::prelude::*;

use super::*;
use crate::exit::ExitReason;

fn launch() -> Launch {
    Launch {
        id: "main-0".into(),
        job: JobName { parent: "porthole-0".into(), id: "a".into() },
        program: "/bin/app".into(),
        argv: vec!["app".into(), "--token=hush".into()],
        command_line: "app --token=hush".into(),
        env: vec![("PASSWORD".into(), "hunter2".into())],
        cwd: "/".into(),
        log: "/l".into(),
        exit: "/e".into(),
        ..Launch::default()
    }
}

fn there_and_back(request: &Request) -> Request {
    receive(&mut encode(request).unwrap().as_slice()).unwrap()
}

#[test]
fn a_request_arrives_as_it_was_sent() {
    for request in [
        Request::Hello,
        Request::Start(Box::new(launch())),
        Request::Stop { id: "x".into(), grace_ms: 30_000 },
        Request::List,
        Request::AllStats,
        Request::Update { id: "x".into(), limits: JobLimits { cpu_millis: Some(5), ..JobLimits::default() } },
        Request::ReopenLog { id: "x".into() },
        Request::Exec(Box::new(Exec { container: "x".into(), timeout_ms: Some(5), ..Exec::default() })),
        Request::Attach { id: "x".into(), stdin: true },
        Request::Leave,
    ] {
        assert_eq!(there_and_back(&request), request);
    }
}

#[test]
fn the_frame_is_length_version_json() {
    let frame = encode(&Request::List).unwrap();
    assert_eq!(frame, b"\x07\0\0\0\x02\"List\"");
}

#[test]
fn what_a_launch_shows_in_a_log_holds_no_secret() {
    let shown = format!("{:?}", Request::Start(Box::new(launch())));
    assert!(shown.contains("main-0") && shown.contains("variables: 1"), "{shown}");
    assert!(!shown.contains("hunter2") && !shown.contains("hush"), "{shown}");
    let env = vec![("PASSWORD".into(), "hunter2".into())];
    let exec = Exec { id: "e".into(), argv: vec!["--token=hush".into()], env, ..Exec::default() };
    let shown = format!("{:?}", Request::Exec(Box::new(exec)));
    assert!(
        shown.contains("variables: 1") && !shown.contains("hunter2") && !shown.contains("hush"),
        "{shown}"
    );
}

/// As an agent of version 1 sends it, byte for byte.
const START_OF_VERSION_1: &[u8] = br#"{"Start":{"id":"main-0","job":{"parent":"porthole-0","id":"a"},"program":"/bin/app","argv":["app","--token=hush"],"command_line":"app --token=hush","env":[["PASSWORD","hunter2"]],"cwd":"/","overlay":{"lower":["/l1"],"upper":"/u","work":"/w","target":"/t"},"limits":{"memory_bytes":5,"cpu_millis":null,"processes":null},"log":"/l","exit":"/e"}}"#;

fn frame_of_version_1(json: &[u8]) -> Vec<u8> {
    let length = u32::try_from(json.len() + 1).unwrap().to_le_bytes();
    [&length[..], &[1], json].concat()
}

#[test]
fn a_start_of_version_1_means_what_it_meant() {
    let (version, request) = receive_from(&mut frame_of_version_1(START_OF_VERSION_1).as_slice()).unwrap();
    let Request::Start(got) = request else { panic!("{request:?}") };
    let overlay = got.overlay.clone().unwrap();
    let wanted = Launch {
        overlay: Some(overlay.clone()),
        limits: JobLimits { memory_bytes: Some(5), ..JobLimits::default() },
        ..launch()
    };
    assert_eq!((version, &*got), (1, &wanted));
    let spawn = wanted.spawn();
    assert_eq!(spawn.view.overlay, Some(overlay));
    assert!(!spawn.stdin && spawn.terminal.is_none() && spawn.identity == os::user::Identity::Own);
}

#[test]
fn every_other_request_of_version_1_is_understood() {
    let cases = [
        (&b"\"Hello\""[..], Request::Hello),
        (br#"{"Stop":{"id":"a","grace_ms":5}}"#, Request::Stop { id: "a".into(), grace_ms: 5 }),
        (br#"{"Wait":{"id":"a"}}"#, Request::Wait { id: "a".into() }),
        (b"\"List\"", Request::List),
        (br#"{"Stats":{"id":"a"}}"#, Request::Stats { id: "a".into() }),
        (b"\"Leave\"", Request::Leave),
    ];
    for (json, wanted) in cases {
        let request = receive::<Request>(&mut frame_of_version_1(json).as_slice()).unwrap();
        assert_eq!(request, wanted);
        // And the other way round: these words are still ours.
        assert_eq!(&encode(&request).unwrap()[5..], json);
    }
}

#[test]
fn every_answer_of_version_1_is_understood() {
    let record = r#"{"v":1,"id":"a","code":7,"reason":"Error","started":"s","finished":"f"}"#;
    let held = format!(r#"{{"id":"a","pid":5,"started":"s","stopping":false,"exit":{record}}}"#);
    let stats = r#"{"cpu_user_ns":1,"cpu_kernel_ns":2,"memory_bytes":3,"memory_peak_bytes":4,"processes":5}"#;
    let cases = [
        r#"{"Hello":{"version":1,"pid":5}}"#.to_owned(),
        r#"{"Started":{"pid":5}}"#.to_owned(),
        "\"Stopping\"".to_owned(),
        format!(r#"{{"Ended":{record}}}"#),
        "\"StillRunning\"".to_owned(),
        format!(r#"{{"Containers":[{held}]}}"#),
        "\"Left\"".to_owned(),
        r#"{"Refused":{"why":"State","message":"m"}}"#.to_owned(),
    ];
    for json in cases {
        let answer = receive::<Answer>(&mut frame_of_version_1(json.as_bytes()).as_slice()).unwrap();
        // What we answer to such a question reads as it always did.
        let again = encode(&answer.in_words_of(1)).unwrap();
        assert_eq!(String::from_utf8_lossy(&again[5..]), json);
    }
    let json = format!(r#"{{"Stats":{stats}}}"#);
    let answer = receive::<Answer>(&mut frame_of_version_1(json.as_bytes()).as_slice()).unwrap();
    assert!(matches!(answer, Answer::Stats(stats) if stats.processes == 5));
}

#[test]
fn an_agent_of_version_1_hears_no_word_it_cannot_know() {
    let record = |reason| ExitRecord {
        v: 1,
        id: "a".into(),
        code: 137,
        signal: None,
        reason,
        started: "s".into(),
        finished: "f".into(),
        message: None,
    };
    let killed = Answer::Ended(record(ExitReason::OomKilled));
    assert_eq!(killed.clone().in_words_of(1), Answer::Ended(record(ExitReason::Error)));
    assert_eq!(killed.clone().in_words_of(2), killed);
    let held = |reason| {
        let exit = Some(record(reason));
        Answer::Containers(vec![Held { id: "a".into(), pid: 1, started: "s".into(), stopping: false, exit }])
    };
    assert_eq!(held(ExitReason::OomKilled).in_words_of(1), held(ExitReason::Error));
}

#[test]
fn when_it_was_started_is_said_to_those_who_know_to_ask() {
    let said = Answer::Started(Started { pid: 5, started: Some("s".into()) });
    let text = |answer: Answer| String::from_utf8(encode(&answer).unwrap()[5..].to_vec()).unwrap();
    assert_eq!(text(said.clone().in_words_of(2)), r#"{"Started":{"pid":5,"started":"s"}}"#);
    assert_eq!(text(said.in_words_of(1)), r#"{"Started":{"pid":5}}"#);
    // An agent reads either.
    let older: Answer = decode(b"\x02{\"Started\":{\"pid\":5}}").unwrap();
    assert_eq!(older, Answer::Started(Started { pid: 5, started: None }));
}

#[test]
fn fields_of_a_newer_speaker_are_passed_over() {
    let body = b"\x02{\"Stop\":{\"id\":\"a\",\"grace_ms\":5,\"colour\":\"red\"}}";
    assert_eq!(decode::<Request>(body).unwrap(), Request::Stop { id: "a".into(), grace_ms: 5 });
}

#[test]
fn a_version_too_far_away_is_named() {
    let error = decode::<Request>(b"\x09\"List\"").unwrap_err();
    assert_eq!(error.to_string(), "the other side speaks version 9, this one understands 0 to 3");
}

#[test]
fn a_closed_connection_differs_from_a_cut_frame() {
    assert!(matches!(receive::<Request>(&mut &b""[..]), Err(FrameError::Closed)));
    for cut in 1..10 {
        let frame = encode(&Request::List).unwrap();
        let error = receive::<Request>(&mut &frame[..cut]).unwrap_err();
        assert!(matches!(error, FrameError::Io(_)), "{cut}: {error}");
    }
}

#[test]
fn lengths_are_bounded_before_anything_is_read() {
    let too_long = (LONGEST_FRAME + 1).to_le_bytes();
    assert!(
        matches!(receive::<Request>(&mut &too_long[..]), Err(FrameError::TooLong(n)) if n == LONGEST_FRAME + 1)
    );
    assert!(matches!(receive::<Request>(&mut &[0u8; 4][..]), Err(FrameError::Empty)));
    assert!(matches!(decode::<Request>(b""), Err(FrameError::Empty)));
    let huge = Request::Wait { id: "x".repeat(LONGEST_FRAME as usize) };
    assert!(matches!(encode(&huge), Err(FrameError::TooLong(_))));
    let longest = Request::Wait { id: "x".repeat(LONGEST_FRAME as usize - 19) };
    assert_eq!(encode(&longest).unwrap().len() - 4, LONGEST_FRAME as usize);
    assert_eq!(there_and_back(&longest), longest);
}

proptest! {
    #[test]
    fn foreign_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        drop(receive::<Request>(&mut bytes.as_slice()));
        drop(decode::<Answer>(&bytes));
    }

    #[test]
    fn any_stop_survives_the_wire(id in ".*", grace_ms in any::<u64>()) {
        let request = Request::Stop { id, grace_ms };
        prop_assert_eq!(there_and_back(&request), request);
    }
}
