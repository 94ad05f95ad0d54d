use proptest::prelude::*;

use super::*;

fn launch() -> Launch {
    Launch {
        id: "main-0".into(),
        job: JobName { parent: "porthole-0".into(), id: "a".into() },
        program: "/bin/app".into(),
        argv: vec!["app".into(), "--token=hush".into()],
        command_line: "app --token=hush".into(),
        env: vec![("PASSWORD".into(), "hunter2".into())],
        cwd: "/".into(),
        overlay: None,
        limits: JobLimits::default(),
        log: "/l".into(),
        exit: "/e".into(),
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
        Request::Leave,
    ] {
        assert_eq!(there_and_back(&request), request);
    }
}

#[test]
fn the_frame_is_length_version_json() {
    let frame = encode(&Request::List).unwrap();
    assert_eq!(frame, b"\x07\0\0\0\x01\"List\"");
}

#[test]
fn what_a_launch_shows_in_a_log_holds_no_secret() {
    let shown = format!("{:?}", Request::Start(Box::new(launch())));
    assert!(shown.contains("main-0") && shown.contains("variables: 1"), "{shown}");
    assert!(!shown.contains("hunter2") && !shown.contains("hush"), "{shown}");
}

#[test]
fn fields_of_a_newer_speaker_are_passed_over() {
    let body = b"\x02{\"Stop\":{\"id\":\"a\",\"grace_ms\":5,\"colour\":\"red\"}}";
    assert_eq!(decode::<Request>(body).unwrap(), Request::Stop { id: "a".into(), grace_ms: 5 });
}

#[test]
fn a_version_too_far_away_is_named() {
    let error = decode::<Request>(b"\x09\"List\"").unwrap_err();
    assert_eq!(error.to_string(), "the other side speaks version 9, this one understands 0 to 2");
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
