use proptest::prelude::*;

use super::*;

const ALL: [Isolation; 3] = [Isolation::HostProcess, Isolation::Process, Isolation::HyperV];

fn candidate(os: &str, architecture: &str, version: Option<&str>) -> Candidate {
    let platform = Platform { os_version: version.map(str::to_owned), ..Platform::new(os, architecture) };
    Candidate { digest: "sha256:x".to_owned(), platform: Some(platform) }
}

fn windows(versions: &[&str]) -> Vec<Candidate> {
    let version = |text: &&str| candidate("windows", "amd64", (*text != "-").then_some(text));
    versions.iter().map(version).collect()
}

fn picked(versions: &[&str], host: &str, isolation: Isolation) -> Option<usize> {
    pick(&windows(versions), &Host::new("windows", "amd64").with_version(host), isolation).ok()
}

// proves: RT-09 pure
#[test]
fn process_isolation_build_by_build() {
    let images =
        ["10.0.17763.1", "10.0.18363.1", "10.0.19042.1", "10.0.20348.1", "10.0.25398.1", "10.0.26100.1"];
    for (host, runs) in [
        ("10.0.17763.5000", [true, false, false, false, false, false]),
        ("10.0.18363.5000", [false, true, false, false, false, false]),
        ("10.0.19042.5000", [false, false, true, false, false, false]),
        ("10.0.19045.5000", [false; 6]),
        ("10.0.20348.5000", [false, false, false, true, false, false]),
        ("10.0.25398.5000", [false, false, false, true, true, false]),
        ("10.0.26100.5000", [false, false, false, true, true, true]),
        ("10.0.26200.5000", [false, false, false, true, true, true]),
    ] {
        let found: Vec<_> =
            images.iter().map(|image| picked(&[image], host, Isolation::Process).is_some()).collect();
        assert_eq!(found, runs, "{host}");
    }
}

// proves: RT-09 pure
#[test]
fn hyper_v_isolation_runs_what_is_not_newer() {
    let images = ["10.0.14393.1", "10.0.20348.1", "10.0.26100.1"];
    assert_eq!(picked(&images, "10.0.17763.1", Isolation::HyperV), Some(0));
    assert_eq!(picked(&images, "10.0.20348.1", Isolation::HyperV), Some(1));
    assert_eq!(picked(&images, "10.0.26200.1", Isolation::HyperV), Some(2));
    assert_eq!(picked(&images[1..], "10.0.17763.1", Isolation::HyperV), None);
}

// proves: HP-16 pure
#[test]
fn host_process_takes_any_and_prefers_the_nearest() {
    for (images, host, index) in [
        (vec!["10.0.17763.1", "10.0.20348.1", "-"], "10.0.20348.9", 1),
        (vec!["10.0.17763.1", "10.0.20348.1"], "10.0.26100.1", 1),
        (vec!["10.0.17763.1", "-", "10.0.26100.1"], "10.0.20348.9", 1),
        (vec!["10.0.17763.1", "10.0.19042.1", "10.0.26100.1"], "10.0.20348.9", 1),
        (vec!["10.0.26100.1", "10.0.20348.1"], "10.0.17763.1", 1),
        (vec!["nonsense", "10.0.26100.1"], "10.0.17763.1", 1),
        (vec!["nonsense"], "10.0.17763.1", 0),
        (vec!["10.0.20348.9", "10.0.20348.10"], "10.0.20348.2", 1),
    ] {
        assert_eq!(picked(&images, host, Isolation::HostProcess), Some(index), "{images:?} on {host}");
    }
}

#[test]
fn versions_are_numbers_not_text() {
    // By their text, which is how containerd sorts, 9999 would be above 10000.
    assert_eq!(picked(&["10.0.20348.9999", "10.0.20348.10000"], "10.0.20348.1", Isolation::Process), Some(1));
}

#[test]
fn entries_of_other_systems_are_passed_over_and_silent_ones_are_last() {
    let silent = Candidate { digest: "sha256:y".to_owned(), platform: None };
    let offer = [silent, candidate("linux", "arm64", None), candidate("linux", "amd64", None)];
    assert_eq!(pick(&offer, &Host::new("linux", "amd64"), Isolation::HostProcess), Ok(2));
    assert_eq!(pick(&offer[..2], &Host::new("linux", "amd64"), Isolation::HostProcess), Ok(0));
}

// proves: RT-09 pure
#[test]
fn a_refusal_names_the_build_and_what_is_on_offer() {
    let offer = windows(&["10.0.17763.1", "10.0.26100.1"]);
    let host = Host::new("windows", "amd64").with_version("10.0.20348.2031");
    let error = pick(&offer, &host, Isolation::Process).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no image for windows/amd64 10.0.20348.2031 with process isolation: \
         it offers windows/amd64 10.0.17763.1, windows/amd64 10.0.26100.1"
    );
    let linux = [candidate("linux", "amd64", None)];
    let error = pick(&linux, &host, Isolation::HostProcess).unwrap_err();
    assert_eq!(error.to_string(), "no image for windows/amd64 10.0.20348.2031: it offers linux/amd64");
    assert!(pick(&[], &host, Isolation::HostProcess).unwrap_err().to_string().ends_with("it offers nothing"));
}

#[test]
fn every_candidate_gets_a_sentence() {
    let host = Host::new("windows", "amd64").with_version("10.0.26100.1");
    let offer =
        [windows(&["10.0.17763.1", "10.0.20348.1", "10.0.29000.1"]), vec![candidate("linux", "amd64", None)]];
    let why: Vec<_> =
        explain(&offer.concat(), &host, Isolation::Process).into_iter().map(|verdict| verdict.why).collect();
    assert_eq!(
        why,
        [
            "10.0.17763.1 (Server 2019) is older than 20348, the oldest build that the host's \
             10.0.26100.1 (Server 2025) runs",
            "10.0.20348.1 (Server 2022) is between 20348 and the host's 10.0.26100.1 (Server 2025)",
            "10.0.29000.1 is newer than the host's 10.0.26100.1 (Server 2025)",
            "it is for linux, the host is windows",
        ]
    );
}

fn any_candidate() -> impl Strategy<Value = Candidate> {
    let os = prop_oneof![Just("windows"), Just("linux")];
    let architecture = prop_oneof![Just("amd64"), Just("arm64")];
    let build =
        prop_oneof![Just(17763_u32), Just(19042), Just(20348), Just(25398), Just(26100), 14000_u32..30000];
    let version =
        prop::option::of((build, 0_u32..9000).prop_map(|(build, rev)| format!("10.0.{build}.{rev}")));
    (os, architecture, version)
        .prop_map(|(os, architecture, version)| candidate(os, architecture, version.as_deref()))
}

proptest! {
    // proves: RT-09 pure
    #[test]
    fn one_is_chosen_if_any_fits_and_it_fits(
        offer in prop::collection::vec(any_candidate(), 0..12),
        build in 14000_u32..30000,
    ) {
        let host = Host::new("windows", "amd64").with_version(&format!("10.0.{build}.7"));
        for isolation in ALL {
            let verdicts = explain(&offer, &host, isolation);
            let chosen: Vec<_> = verdicts.iter().filter(|verdict| verdict.chosen).collect();
            prop_assert_eq!(chosen.len(), usize::from(verdicts.iter().any(|verdict| verdict.fits)));
            prop_assert!(chosen.iter().all(|verdict| verdict.fits));
            prop_assert_eq!(pick(&offer, &host, isolation).ok(), verdicts.iter().position(|verdict| verdict.chosen));
        }
    }

    // proves: HP-16 pure
    #[test]
    fn each_isolation_takes_what_the_stricter_one_takes(candidate in any_candidate(), build in 14000_u32..30000) {
        let host = Host::new("windows", "amd64").with_version(&format!("10.0.{build}.7"));
        let fits = |isolation| explain(std::slice::from_ref(&candidate), &host, isolation)[0].fits;
        prop_assert!(!fits(Isolation::Process) || fits(Isolation::HyperV));
        prop_assert!(!fits(Isolation::HyperV) || fits(Isolation::HostProcess));
        let platform = candidate.platform.as_ref().unwrap();
        prop_assert_eq!(fits(Isolation::HostProcess), platform.os == "windows" && platform.architecture == "amd64");
    }

    #[test]
    fn the_order_of_the_index_does_not_change_the_version(
        offer in prop::collection::vec(any_candidate(), 1..8),
        build in 14000_u32..30000,
    ) {
        let host = Host::new("windows", "amd64").with_version(&format!("10.0.{build}.7"));
        let backwards: Vec<_> = offer.iter().rev().cloned().collect();
        for isolation in ALL {
            let version = |offer: &[Candidate]| pick(offer, &host, isolation).ok().map(|i| offer[i].platform.clone());
            prop_assert_eq!(version(&offer), version(&backwards));
        }
    }
}
