//! Where tokens are given things go wrong too: asked again where that can help, else named in an error without a secret.

use std::time::{Duration, Instant};

use images::Access;
use testbed::registry::{Fault, TOKEN_PATH, Wrong};

use crate::bench::{Bench, Pulled};
use crate::logins::{access, jane, token};

fn bench() -> (Bench, Access) {
    let bench = Bench::with(token(Duration::from_secs(600)));
    let access = access(jane(&bench.registry));
    (bench, access)
}

/// How those who asked for a token were answered.
fn answers(bench: &Bench) -> Vec<u16> {
    let asked = bench.registry.requests().into_iter();
    asked.filter(|request| request.path.starts_with(TOKEN_PATH)).map(|request| request.status).collect()
}

fn refused(pulled: &Pulled, bench: &Bench, words: &str) {
    let place = format!("{}{TOKEN_PATH}", bench.registry.address());
    pulled.refused(&[&place, words]);
    let mut requests = bench.registry.requests().into_iter();
    let given = requests.find(|request| request.path.starts_with("/v2/") && request.status != 401);
    assert_eq!(given, None, "{words}");
}

#[test]
fn what_passes_is_waited_for() {
    let (bench, access) = bench();
    for (wrong, first, least, words) in [
        (Wrong::server_error(), 500, 300, "answered 500"),
        (Wrong::too_many_requests(Duration::from_secs(2)), 429, 2000, "(429) and asks to wait 2 s"),
        (Wrong::Cut { after: 10 }, 200, 300, "broke in the middle of a token"),
        (Wrong::Close, 0, 300, "could not be asked"),
    ] {
        bench.registry.clear_requests();
        bench.registry.clear_faults();
        bench.registry.fault(Fault::new(wrong).path(TOKEN_PATH).times(1));
        let begun = Instant::now();
        let pulled = bench.pull(&access);
        bench.assert_whole(&pulled, 0);
        assert!(begun.elapsed() >= Duration::from_millis(least), "{words}: {:?}", begun.elapsed());
        assert_eq!(answers(&bench), [first, 200], "{words}");
        let said = format!("{}{TOKEN_PATH}", bench.registry.address());
        let [heard] = pulled.heard.as_slice() else { panic!("{words}: {:?}", pulled.heard) };
        assert!(heard.contains(&said) && heard.contains(words) && heard.contains("again in"), "{heard}");
        assert!(!heard.contains("hunter2") && !heard.contains("testbed-token"), "{heard}");
    }
}

#[test]
fn one_that_is_slow_is_waited_for() {
    let (bench, access) = bench();
    bench.registry.fault(Fault::new(Wrong::Slow { bytes_per_second: 60 }).path(TOKEN_PATH));
    let begun = Instant::now();
    let pulled = bench.pull(&access);
    bench.assert_whole(&pulled, 0);
    assert!(begun.elapsed() >= Duration::from_secs(1), "it was not slow: {:?}", begun.elapsed());
    assert_eq!((answers(&bench), pulled.heard), (vec![200], Vec::new()));
}

#[test]
fn what_will_not_change_is_said_at_once() {
    let (bench, access) = bench();
    let says = |text: &str| Wrong::Says(text.to_owned());
    let missing = Wrong::Status { code: 404, headers: Vec::new() };
    for (wrong, words) in [
        (says("<html>jane:hunter2, log in"), "it gave no token"),
        (says("{\"token\":[\"hunter2\"]}"), "it gave no token"),
        (says("{\"token\":\"\"}"), "it gave no token"),
        (says("{\"token\":\"testbed-token\\n\"}"), "it gave no token"),
        (says(""), "it gave no token"),
        (missing, "it gave no token (404)"),
    ] {
        bench.registry.clear_requests();
        bench.registry.clear_faults();
        bench.registry.fault(Fault::new(wrong).path(TOKEN_PATH));
        refused(&bench.pull(&access), &bench, words);
        assert_eq!(answers(&bench).len(), 1, "{words}");
    }
    bench.registry.clear_faults();
    bench.assert_whole_again(&access);
}

#[test]
fn what_does_not_pass_is_said_after_three_tries() {
    let limit = Wrong::Status { code: 429, headers: Vec::new() };
    let cases = [
        (Wrong::server_error(), "answered 500"),
        (limit, "no more requests from here now (429)"),
        (Wrong::Cut { after: 10 }, "broke in the middle of a token"),
        (Wrong::Close, "could not be asked"),
    ];
    let one = |wrong: Wrong, words: &str| {
        let (bench, access) = bench();
        bench.registry.fault(Fault::new(wrong).path(TOKEN_PATH));
        refused(&bench.pull(&access), &bench, words);
        assert_eq!(answers(&bench).len(), 3, "{words}");
        bench.registry.clear_faults();
        bench.assert_whole_again(&access);
    };
    // At once, because nearly all of it is waiting.
    std::thread::scope(|scope| {
        for (wrong, words) in cases {
            scope.spawn(move || one(wrong, words));
        }
    });
}
