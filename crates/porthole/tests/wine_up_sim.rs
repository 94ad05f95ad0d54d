//! porthole.exe against simulated libraries: what a pod's volumes and account become in calls (level `sim`).

#[expect(dead_code, reason = "each kind of stage is used by its own tests")]
mod stage;

use stage::Stage;

/// A pod with a directory of the host at `C:\data`, run as the local group `operators`.
fn pod(stage: &Stage, arguments: &[&str]) -> std::path::PathBuf {
    let data = stage.dir().join("data");
    std::fs::create_dir_all(&data).unwrap();
    let data = format!("Z:{}", data.display()).replace('/', "\\");
    let spec = format!("  volumes: [{{name: data, hostPath: {{path: '{data}'}}}}]\n");
    let text = std::fs::read_to_string(stage.pod_with("web", arguments, &spec)).unwrap();
    let text = text.replace("hostProcess: true}", "hostProcess: true, runAsUserName: operators}");
    let mounts = "    volumeMounts: [{name: data, mountPath: 'C:\\data', readOnly: true}]\n";
    stage.file("web.yaml", &format!("{text}{mounts}"))
}

// proves: HP-10 sim
// proves: HP-11 sim
#[test]
fn a_pod_sees_its_volumes_and_runs_as_a_temporary_user_of_its_group() {
    let (stage, sim) = Stage::simulated();
    sim.group("operators").unwrap();
    let (code, said) = stage.up(&pod(&stage, &["print", "hello"]), &["--once"]).wait();
    let calls = sim.calls();
    assert_eq!(code, 0, "{said:#?}\n{calls:#?}");
    assert!(said.iter().any(|line| line.contains("| hello")), "{said:#?}");
    let binds: Vec<_> = calls.iter().filter(|call| call.starts_with("BfSetupFilter ")).collect();
    let bound =
        |start: &str, rest: &str| binds.iter().any(|call| call.contains(start) && call.contains(rest));
    assert!(bound(r"flags=0x4 root=C:\hpc", "-> 0x0"), "{binds:#?}");
    assert!(bound(r"flags=0x5 root=C:\data target=Z:\", r"\data exceptions=0 -> 0x0"), "{binds:#?}");
    let born: Vec<_> = calls.iter().filter(|call| call.starts_with("CreateProcessAsUserW ")).collect();
    assert!(born.len() == 1 && born[0].contains(r"account=.\"), "{calls:#?}");
    assert_eq!(
        (sim.users(), sim.members("operators")),
        (Vec::new(), Vec::new()),
        "the user is gone with its pod"
    );
    stage.assert_nothing_left();
}

/// A pod that asks for a value in the registry as this account.
fn asker(stage: &Stage, name: &str, account: &str) -> std::path::PathBuf {
    let text = std::fs::read_to_string(stage.pod(name, &[])).unwrap();
    let text = text
        .replace("hostProcess: true}", &format!("hostProcess: true, runAsUserName: '{account}'}}"))
        .replace("[\"./fixture\"]", r"[reg, query, 'HKLM\SOFTWARE\Closed', /v, Word]");
    stage.file(&format!("{name}.yaml"), &text)
}

// proves: HP-24 sim
#[test]
fn a_registry_key_closed_to_the_group_is_denied_to_its_user_and_open_to_system() {
    let (stage, sim) = Stage::simulated();
    sim.group("operators").unwrap();
    let outside = |program: &str, arguments: &[&str]| {
        stage.host.wine().run(program, arguments, stage::PATIENCE).unwrap().code
    };
    assert_eq!(outside("reg", &["add", r"HKLM\SOFTWARE\Closed", "/v", "Word", "/d", "secret", "/f"]), 0);
    let ask = |name, account| stage.up(&asker(&stage, name, account), &["--once"]).wait();
    let told = |said: &[String]| said.iter().any(|line| line.contains("secret"));
    let (code, said) = ask("before", "operators");
    assert!(code == 0 && told(&said), "it is the access list that closes it: {said:#?}");
    outside("rundll32", &["netapi32.dll,CloseKey", r"SOFTWARE\Closed"]);
    assert_eq!(sim.calls_of("CloseKey"), [r"CloseKey name=SOFTWARE\Closed -> 0x0"]);
    let (code, said) = ask("group", "operators");
    assert!(code != 0 && !told(&said), "{said:#?}");
    let (code, said) = ask("system", r"NT AUTHORITY\SYSTEM");
    assert!(code == 0 && told(&said), "{said:#?}");
    stage.assert_nothing_left();
}
