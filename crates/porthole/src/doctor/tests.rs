use os::host::{Account, WindowsBuild};

use super::*;
use crate::needs::{Means, NEEDED};

fn host(build: Option<(u32, u32)>) -> HostFacts {
    HostFacts {
        os: if build.is_some() { "windows" } else { "linux" }.into(),
        os_version: "10.0".into(),
        windows_build: build.map(|(build, revision)| WindowsBuild { major: 10, minor: 0, build, revision }),
        architecture: "amd64".into(),
        hostname: "h".into(),
        cpus: 2,
        memory_bytes: 1,
        boot_id: "b".into(),
        system_drive: None,
        account: Account { name: "me".into(), id: "7".into(), elevated: false },
        emulator: None,
    }
}

fn capability(id: &'static str, found: bool) -> Capability {
    Capability { id, what: "thing", found, detail: "as seen".into(), without: "sorrow follows" }
}

fn report(build: Option<(u32, u32)>, capabilities: Vec<Capability>, limits: bool) -> Report {
    Report::new(host(build), capabilities, limits)
}

// proves: HP-35 pure
#[test]
fn a_build_too_old_is_refused() {
    let verdict = report(Some((17134, 0)), vec![], true).host_process;
    assert!(!verdict.supported && verdict.why.contains("17763"));
    let verdict = report(Some((17763, 100)), vec![], true).host_process;
    assert!(verdict.supported && verdict.why.contains("July 2022"));
    assert!(report(Some((20348, 1)), vec![], true).host_process.supported);
}

#[test]
fn where_up_would_refuse_the_answer_is_no() {
    let verdict = |id, found, Means { limits, elevated }| {
        let mut host = host(None);
        host.account.elevated = elevated;
        Report::new(host, vec![capability(id, found)], limits).host_process
    };
    let nobody = Means { limits: false, elevated: false };
    let root_alone = Means { limits: false, elevated: true };
    let root = Means { limits: true, elevated: true };
    for (id, _) in NEEDED {
        let expected = (false, "not supported: thing: sorrow follows");
        let without = verdict(id, false, nobody);
        assert_eq!((without.supported, without.why.as_str()), expected, "{id}");
        assert!(verdict(id, true, nobody).supported, "{id}");
    }
    for (id, means, supported) in [
        ("user-namespace", root, true),
        ("user-namespace", root_alone, true),
        ("pid-namespace", root, true),
        ("pid-namespace", root_alone, false),
        ("overlayfs", root, false),
        ("overlayfs", root_alone, false),
        ("bind-mount", nobody, true),
    ] {
        assert_eq!(verdict(id, false, means).supported, supported, "{id} for {means:?}");
    }
}

// proves: HP-30 pure
#[test]
fn the_account_and_what_follows_are_shown() {
    let text = report(None, vec![capability("a", true), capability("b", false)], true).render();
    assert!(text.contains("account: me (7), no administrator"), "{text}");
    assert!(text.contains("the twin"), "{text}");
    let lines: Vec<_> = text.lines().rev().take(2).collect();
    assert!(lines[0].contains("no") && lines[0].ends_with("sorrow follows"), "{text}");
    assert!(lines[1].contains("yes") && !lines[1].contains("sorrow"), "{text}");
    let json = serde_json::to_value(report(None, vec![capability("a", false)], true)).unwrap();
    assert_eq!(json["hostProcess"]["supported"], true);
    assert_eq!(json["capabilities"][0]["without"], "sorrow follows");
    assert_eq!((&json["host"]["account"]["name"], &json["twin"]), (&"me".into(), &true.into()));
}
