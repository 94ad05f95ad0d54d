use super::*;
use crate::ids::{ContainerId, PodId};
use crate::prepare::AccountRefused;

fn denied() -> io::Error {
    io::ErrorKind::PermissionDenied.into()
}

fn of_start(error: StartError) -> Option<FailureMode> {
    FailureMode::of(&RuntimeError::Start(error))
}

// proves: HP-25 pure
#[test]
fn every_mode_has_its_code_words_and_hint_at_its_own_place() {
    for (place, known) in KNOWN.iter().enumerate() {
        assert_eq!((known.mode as usize, known.mode.known()), (place, known));
        assert_eq!(known.code, format!("{:?}", known.mode));
        assert!(!known.reads.is_empty() && known.hint.len() > 30, "{known:?}");
    }
}

// proves: HP-25 pure
#[test]
fn a_logon_that_is_denied_is_not_an_account_that_is_unknown() {
    let account = |source| StartError::Account { name: "x".into(), source };
    assert_eq!(of_start(account(denied())), Some(FailureMode::LogonDenied));
    assert_eq!(of_start(account(io::ErrorKind::NotFound.into())), Some(FailureMode::AccountUnknown));
    let refused =
        |why, message: &str| StartError::Client(ClientError::Refused { why, message: message.into() });
    let said = "become the account: only root can start a process as somebody else";
    assert_eq!(of_start(refused(Refusal::Start, said)), Some(FailureMode::LogonDenied));
    assert_eq!(of_start(refused(Refusal::Start, "start program: no such file")), None);
    let unknown = PrepareError::Account(AccountRefused::Unknown("x".into()));
    let refused = RuntimeError::Refused { name: "c".into(), source: Box::new(unknown) };
    assert_eq!(FailureMode::of(&refused), Some(FailureMode::AccountUnknown));
}

#[test]
fn what_is_no_known_mode_is_not_counted() {
    let id = ContainerId::of(&PodId::parse("x").unwrap(), "x", 0);
    assert_eq!(FailureMode::of(&RuntimeError::NoContainer(id)), None);
    assert_eq!(of_start(StartError::Forgotten), None);
    assert_eq!(FailureMode::of_image(&ImageError::GaveUp { image: "x".into() }), None);
}

// proves: HP-25 pure
#[test]
fn an_image_that_is_nowhere_is_told_from_one_that_is_broken() {
    let never = ImageError::Never { reference: "example.com/x".into() };
    let no_directory = ImageError::NotADirectory { path: "x".into() };
    for error in [never, no_directory] {
        assert_eq!(FailureMode::of_image(&error), Some(FailureMode::ImageNotFound));
    }
    let disk = ImageError::Store { path: "x".into(), source: denied() };
    assert_eq!(FailureMode::of_image(&disk), None);
}

#[test]
fn the_token_in_every_spelling() {
    for path in [
        "/var/run/secrets/kubernetes.io/serviceaccount",
        "C:\\var\\run\\secrets\\kubernetes.io\\serviceaccount",
        "c:/var/run/secrets/kubernetes.io/serviceaccount/",
        "var/run/secrets/kubernetes.io/serviceaccount",
    ] {
        assert!(is_token_path(path), "{path}");
    }
    assert!(
        !is_token_path("/var/run/secrets")
            && !is_token_path("/x/var/run/secrets/kubernetes.io/serviceaccount")
    );
}

#[test]
fn counters_begin_at_nothing_and_are_told_apart() {
    let counters = Counters::default();
    counters.count(FailureMode::HolderLost);
    counters.count(FailureMode::HolderLost);
    assert_eq!(counters.of(FailureMode::HolderLost), 2);
    assert_eq!(counters.read().map(|(_, count)| count).sum::<u64>(), 2);
    let text = counters.text();
    assert!(text.contains("porthole_runtime_failures_total{mode=\"HolderLost\"} 2\n"), "{text}");
    assert!(text.contains("porthole_runtime_failures_total{mode=\"LogonDenied\"} 0\n"), "{text}");
}
