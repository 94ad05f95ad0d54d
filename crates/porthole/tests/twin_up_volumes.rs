//! `porthole up` of pods with volumes, accounts and terminals.

#[expect(dead_code, reason = "each kind of stage is used by its own tests")]
mod stage;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use stage::Stage;

/// A pod that runs a script, with more for its spec and its container.
fn pod(stage: &Stage, script: &str, spec: &str, container: &str) -> PathBuf {
    // Other accounts get to their image.
    fs::set_permissions(stage.dir(), PermissionsExt::from_mode(0o755)).unwrap();
    let text = fs::read_to_string(stage.pod_with("web", &[], spec)).unwrap();
    let text = text.replace("command: [\"./fixture\"]", &format!("command: [sh, -c, {script:?}]"));
    stage.file("web.yaml", &format!("{text}{container}"))
}

fn run(stage: &Stage, file: &std::path::Path) -> (i32, String) {
    let (code, said) = stage.up(file, &["--once"]).wait();
    stage.assert_nothing_left();
    (code, said.join("\n"))
}

// proves: HP-11 twin
#[test]
fn volumes_of_the_host_are_where_the_pod_says() {
    let stage = Stage::twin();
    let (data, made) = (stage.dir().join("data"), stage.dir().join("made"));
    fs::create_dir(&data).unwrap();
    fs::write(data.join("word"), "from the host").unwrap();
    let target = stage.dir().join("at/this/path");
    let spec = format!(
        "  volumes:\n  - {{name: data, hostPath: {{path: \"{}\", type: Directory}}}}\n\
         \x20 - {{name: made, hostPath: {{path: \"{}\", type: DirectoryOrCreate}}}}\n",
        data.display(),
        made.display()
    );
    let mounts = format!(
        "    volumeMounts:\n    - {{name: data, mountPath: \"{0}\", readOnly: true}}\n\
         \x20   - {{name: made, mountPath: \"{0}-2\"}}\n",
        target.display()
    );
    let script =
        format!("cat {0}/word; echo; touch {0}/no || echo closed; touch {0}-2/yes", target.display());
    let (code, said) = run(&stage, &pod(&stage, &script, &spec, &mounts));
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("| from the host") && said.contains("| closed"), "{said}");
    assert!(made.join("yes").exists() && !data.join("no").exists());
    assert!(!stage.dir().join("at").exists(), "what was made for the mounts is gone");
    let wrong = spec.replace("type: Directory}", "type: File}");
    let (code, said) = run(&stage, &pod(&stage, &script, &wrong, &mounts));
    assert_eq!(code, 128, "{said}");
    assert!(said.contains("is to be a file, and there is Directory"), "{said}");
}

#[test]
fn an_empty_volume_is_shared_by_a_pods_containers_and_goes_with_it() {
    let stage = Stage::twin();
    let target = stage.dir().join("shared");
    let mount = format!("volumeMounts: [{{name: tmp, mountPath: \"{}\"}}]", target.display());
    let spec = format!(
        "  volumes: [{{name: tmp, emptyDir: {{}}}}]\n  initContainers:\n\
         \x20 - {{name: first, image: \"dir:app\", command: [sh, -c, \"echo by init > {}/word\"], {mount}}}\n",
        target.display()
    );
    let script = format!("cat {}/word", target.display());
    let (code, said) = run(&stage, &pod(&stage, &script, &spec, &format!("    {mount}\n")));
    assert!(code == 0 && said.contains("default/web/main | by init"), "{code}: {said}");
    assert!(!target.exists());
}

// proves: HP-12 twin
#[test]
fn a_pod_chooses_links_by_its_annotation() {
    let stage = Stage::twin();
    let data = stage.dir().join("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("word"), "linked").unwrap();
    let spec = format!("  volumes: [{{name: data, hostPath: {{path: \"{}\"}}}}]\n", data.display());
    let mounts = "    volumeMounts: [{name: data, mountPath: /var/data-of-a-test, readOnly: true}]\n";
    let script = "readlink var/data-of-a-test; cat var/data-of-a-test/word; echo; ls /var/data-of-a-test";
    let file = pod(&stage, script, &spec, mounts);
    let text = fs::read_to_string(&file).unwrap();
    let with = |mode: &str| {
        let metadata =
            format!("metadata: {{name: web, annotations: {{porthole.dev/hostprocess-mode: {mode}}}}}");
        stage.file("web.yaml", &text.replace("metadata: {name: web}", &metadata))
    };
    let (_, said) = run(&stage, &with("symlink"));
    assert!(said.contains(&format!("| {}", data.display())) && said.contains("| linked"), "{said}");
    assert!(said.contains("cannot be made read-only") && said.contains("No such file"), "{said}");
    let (code, said) = stage.up(&with("magic"), &["--once"]).wait();
    assert_eq!(code, 3, "{said:#?}");
    assert!(
        said.iter().any(|line| line.contains("wanted bind, symlink or host, found \"magic\"")),
        "{said:#?}"
    );
}

// proves: HP-10 twin
#[test]
fn a_pod_runs_as_whom_it_says_and_its_container_may_say_otherwise() {
    let stage = Stage::twin();
    let ids = |user: &str, container: &str| {
        let file = pod(&stage, "id -u; id -g", "", container);
        let text = fs::read_to_string(&file).unwrap();
        let options = format!("hostProcess: true, runAsUserName: '{user}'}}");
        run(&stage, &stage.file("web.yaml", &text.replacen("hostProcess: true}", &options, 1)))
    };
    let (code, said) = ids("NT AUTHORITY\\SYSTEM", "");
    assert!(code == 0 && said.contains("| 0\n"), "{said}");
    let (code, said) = ids("games", "");
    assert!(code == 0 && !said.contains("| 0\n"), "{said}");
    let (code, said) = ids("games", "    securityContext: {windowsOptions: {runAsUserName: SYSTEM}}\n");
    assert!(code == 0 && said.contains("| 0\n"), "{said}");
    let (code, said) = ids("CORP\\alice", "");
    assert!(code == 128 && said.contains("an account of a domain"), "{code}: {said}");
}

#[test]
fn a_terminal_and_last_words() {
    let stage = Stage::twin();
    let last = stage.dir().join("last-words");
    let script = format!("test -t 1 && echo a terminal; echo -n good bye > {}; exit 5", last.display());
    let container = format!("    tty: true\n    terminationMessagePath: \"{}\"\n", last.display());
    let file = pod(&stage, &script, "  restartPolicy: Never\n  initContainers: []\n", &container);
    let up = stage.up(&file, &[]);
    up.wait_for("| a terminal");
    up.wait_for("ended with code 5");
    let (code, said) = up.wait();
    assert_eq!(code, 0, "{said:#?}");
    stage.assert_nothing_left();
    assert!(!last.exists());
}
