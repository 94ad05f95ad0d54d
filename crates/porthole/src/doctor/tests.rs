use os::host::{Account, WindowsBuild};

use super::*;

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

// proves: HP-35 pure
#[test]
fn a_build_too_old_is_refused() {
    let report = Report::new(host(Some((17134, 0))), vec![]);
    assert!(!report.host_process.supported && report.host_process.why.contains("17763"));
    let report = Report::new(host(Some((17763, 100))), vec![]);
    assert!(report.host_process.supported && report.host_process.why.contains("July 2022"));
    assert!(Report::new(host(Some((20348, 1))), vec![]).host_process.supported);
}

#[test]
fn what_everything_needs_decides_the_verdict() {
    for id in NEEDED {
        let verdict = Report::new(host(None), vec![capability(id, false)]).host_process;
        assert_eq!(
            (verdict.supported, verdict.why.as_str()),
            (false, "not supported: thing: sorrow follows")
        );
    }
    assert!(Report::new(host(None), vec![capability("overlayfs", false)]).host_process.supported);
    assert!(Report::new(host(None), vec![capability("pidfd", true)]).host_process.supported);
}

// proves: HP-30 pure
#[test]
fn the_account_and_what_follows_are_shown() {
    let text = Report::new(host(None), vec![capability("a", true), capability("b", false)]).render();
    assert!(text.contains("account: me (7), no administrator"), "{text}");
    assert!(text.contains("the twin"), "{text}");
    let lines: Vec<_> = text.lines().rev().take(2).collect();
    assert!(lines[0].contains("no") && lines[0].ends_with("sorrow follows"), "{text}");
    assert!(lines[1].contains("yes") && !lines[1].contains("sorrow"), "{text}");
    let json = serde_json::to_value(Report::new(host(None), vec![capability("a", false)])).unwrap();
    assert_eq!(json["hostProcess"]["supported"], true);
    assert_eq!(json["capabilities"][0]["without"], "sorrow follows");
    assert_eq!((&json["host"]["account"]["name"], &json["twin"]), (&"me".into(), &true.into()));
}
