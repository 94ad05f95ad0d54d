//! `porthole up`, `ps`, `logs` and `doctor` on this host: real processes, real jobs.

#[expect(dead_code, reason = "what a person does besides is for the other verbs")]
mod person;
#[expect(dead_code, reason = "each kind of stage is used by its own tests")]
mod stage;
#[path = "person/window.rs"]
mod window;

use person::Person;
use stage::{Stage, eventually, plays};
use window::Window;

// proves: HP-07 twin
#[test]
fn a_pod_starts_logs_and_stops() {
    plays::a_pod_starts_logs_and_stops(&Stage::twin());
}

#[test]
fn a_pod_that_writes_without_a_pause_is_stopped_by_ctrl_c() {
    plays::a_pod_that_writes_without_a_pause_is_stopped_by_ctrl_c(&Stage::twin());
}

#[test]
fn a_long_line_stays_one_line() {
    plays::a_long_line_stays_one_line(&Stage::twin());
}

#[test]
fn once_exits_with_the_containers_code() {
    plays::once_exits_with_the_containers_code(&Stage::twin());
}

#[test]
fn once_takes_the_code_of_whoever_failed_first() {
    plays::once_takes_the_code_of_whoever_failed_first(&Stage::twin());
}

#[test]
fn a_followed_log_grows_and_ends_with_its_container() {
    plays::a_followed_log_grows_and_ends_with_its_container(&Stage::twin());
}

#[test]
fn the_example_greets() {
    plays::the_example_greets(&Stage::twin(), "hello.yaml", 10);
}

#[test]
fn an_archive_runs() {
    plays::an_archive_runs(&Stage::twin());
}

#[test]
fn a_killed_agent_loses_nothing() {
    plays::a_killed_agent_loses_nothing(&Stage::twin());
}

#[test]
fn a_pod_is_the_same_however_its_root_and_file_are_written() {
    let stage = Stage::twin();
    let file = stage.pod("web", &["graceful", "bye"]);
    let dir = stage.dir().display().to_string();
    std::fs::create_dir(stage.dir().join("x")).unwrap();
    for (to, link) in [("../root", "x/to-root"), ("../web.yaml", "x/to-web.yaml"), ("..", "x/up")] {
        std::os::unix::fs::symlink(to, stage.dir().join(link)).unwrap();
    }
    let spellings = [
        ("root/", "web.yaml"),
        ("x/../root", "./x/../web.yaml"),
        ("x/up/root", "x/up/web.yaml"),
        ("x/to-root", "x/to-web.yaml"),
        ("x/to-root/", "x/to-web.yaml"),
    ];
    let spellings = spellings.map(|(root, file)| (format!("{dir}/{root}"), format!("{dir}/{file}")));
    plays::a_pod_is_the_same_however_its_root_and_file_are_written(&stage, &file, &spellings);
}

#[test]
fn a_killed_holder_takes_its_containers_along() {
    plays::a_killed_holder_takes_its_containers_along(&Stage::twin());
}

#[test]
fn a_killed_holder_is_noticed_without_an_agent() {
    plays::a_killed_holder_is_noticed_without_an_agent(&Stage::twin());
}

// proves: HP-07 twin
#[test]
fn three_generations_end_as_one() {
    plays::three_generations_end_as_one(&Stage::twin());
}

// proves: HP-30 twin
#[test]
fn doctor_reports() {
    let report = plays::doctor_reports(&Stage::twin(), "linux");
    assert_eq!(report["twin"], true);
}

#[test]
fn a_terminal_shows_a_table_that_is_drawn_over_itself_until_ctrl_c() {
    let stage = Stage::twin();
    let file = stage.pod_with("web", &["graceful", "bye"], "  restartPolicy: Never\n");
    let text = std::fs::read_to_string(&file).unwrap();
    let ends = "  - {name: ends, image: \"dir:app\", command: [./fixture, exit, \"3\"]}\n";
    std::fs::write(&file, text + ends).unwrap();
    let mut person = Person::at_a_terminal(&stage, (100, 30), "up", &[file.to_str().unwrap()]);
    let heading = vec!["POD", "CONTAINER", "STATE", "RESTARTS", "PID", "NOTE"];
    // What was drawn before is gone: the table stands there once, and nothing else does.
    eventually("one container runs and one has ended", || {
        let (lines, pid) =
            (Window::showing(&person.seen(), 100).lines(), stage.workers().first()?.pid.to_string());
        let table: Vec<Vec<_>> = lines.iter().map(|line| line.split_whitespace().collect()).collect();
        let ends = vec!["default/web", "ends", "Exited(3)", "0", "-", "Error"];
        (table == [heading.clone(), ends, vec!["default/web", "main", "Running", "0", &pid]]).then_some(())
    });
    let said = || stage.porthole("logs", &["-c", "main", "web"]).stdout;
    eventually("it will hear the stop", || (said() == "ready\n").then_some(()));
    person.types("\x03");
    assert_eq!(person.code(), 0, "{}", person.seen());
    let (lines, last) = (
        Window::showing(&person.seen(), 100).lines(),
        vec!["default/web", "main", "Exited(0)", "0", "-", "Completed"],
    );
    let table: Vec<Vec<_>> = lines.iter().map(|line| line.split_whitespace().collect()).collect();
    let ends = vec!["default/web", "ends", "Exited(3)", "0", "-", "Error"];
    let stopping = "porthole: stopping; once more to stop at once".split_whitespace().collect();
    assert_eq!(table, [stopping, heading, ends, last], "{lines:#?}");
    // Up over the heading and two rows, and away with them: nothing else moves the cursor.
    assert_eq!(Window::showing(&person.seen(), 100).sequences(), ["[3A", "[J"]);
    stage.assert_nothing_left();
}

#[test]
fn a_terminal_that_obeys_no_sequences_gets_plain_lines() {
    let stage = Stage::twin();
    let file = stage.pod_with("web", &["print", "hello"], "  restartPolicy: Never\n");
    let mut person = Person::at("dumb", &stage, (90, 30), "up", &[file.to_str().unwrap()]);
    assert_eq!(person.code(), 0, "{}", person.seen());
    assert!(person.has_seen("default/web/main | hello"), "{}", person.seen());
    assert!(!person.has_seen("\x1b") && !person.has_seen("RESTARTS"), "{:?}", person.seen());
    stage.assert_nothing_left();
}

#[test]
fn what_stays_on_a_small_terminal_is_the_whole_table() {
    let stage = Stage::twin();
    let text = std::fs::read_to_string(stage.pod_with("web", &["exit", "1"], "  restartPolicy: Never\n"));
    let more = (2..=5).map(|number| {
        format!("  - {{name: no{number}, image: \"dir:app\", command: [./fixture, exit, \"{number}\"]}}\n")
    });
    let file = stage.file("web.yaml", &(text.unwrap() + &more.collect::<String>()));
    let mut person = Person::at_a_terminal(&stage, (40, 4), "up", &[file.to_str().unwrap()]);
    assert_eq!(person.code(), 0, "{}", person.seen());
    let seen = person.seen();
    assert!(seen.contains("… and 4 more: porthole ps"), "it was too small: {seen}");
    let last = seen.rsplit("\x1b[J").next().unwrap();
    let table: Vec<Vec<_>> = last.lines().map(|line| line.split_whitespace().collect()).collect();
    let row = |name, state| vec!["default/web", name, state, "0", "-", "Error"];
    let heading = vec!["POD", "CONTAINER", "STATE", "RESTARTS", "PID", "NOTE"];
    let [main, two, three, four, five] = [1, 2, 3, 4, 5].map(|code| format!("Exited({code})"));
    let rows =
        [row("main", &main), row("no2", &two), row("no3", &three), row("no4", &four), row("no5", &five)];
    assert_eq!(table, [vec![heading], rows.into()].concat(), "{seen}");
}

#[test]
fn a_changed_file_replaces_the_pod_that_runs() {
    let stage = Stage::twin();
    let up = stage.up(&stage.pod("web", &["lines", "0", "50"]), &[]);
    up.wait_for("| line 1");
    up.kill();
    let before = stage.workers();
    let up = stage.up(&stage.pod("web", &["graceful", "bye"]), &[]);
    up.wait_for("default/web has changed");
    up.wait_for("| ready");
    assert!(stage.workers().iter().all(|seen| !before.contains(seen)));
    up.interrupt();
    assert_eq!(up.wait().0, 0);
    stage.assert_nothing_left();
}

#[test]
fn a_machine_that_is_renamed_keeps_the_pods_that_run() {
    let stage = Stage::twin();
    let file = stage.pod("web", &["graceful", "bye"]);
    let up = stage.up(&file, &[]);
    up.wait_for("| ready");
    up.kill();
    let before = stage.workers();
    let pods = std::fs::read_dir(stage.root().join("pods")).unwrap();
    let path = pods.flatten().next().unwrap().path().join("pod.json");
    let mut record: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    record["config"]["hostname"] = "its-name-before".into();
    std::fs::write(&path, record.to_string()).unwrap();

    let up = stage.up(&file, &[]);
    up.wait_for("taken up again");
    assert_eq!(stage.workers(), before);
    up.interrupt();
    let (code, said) = up.wait();
    assert_eq!(code, 0, "{said:#?}");
    stage.assert_nothing_left();
}

#[test]
fn a_pod_whose_record_is_damaged_is_left_as_it_is_and_the_others_stop() {
    let stage = Stage::twin();
    let web = stage.pod("web", &["graceful", "bye"]);
    let up = stage.up(&web, &[]);
    up.wait_for("| ready");
    up.kill();
    let before = stage.workers();
    let pods = std::fs::read_dir(stage.root().join("pods")).unwrap();
    let record = pods.flatten().next().unwrap().path().join("pod.json");
    let good = std::fs::read(&record).unwrap();
    std::fs::write(&record, "{").unwrap();

    let other = stage.pod("other", &["graceful", "bye"]);
    let (code, said) = stage.up(&web, &[other.to_str().unwrap()]).wait();
    assert_eq!(code, 3, "{said:#?}");
    // Of two streams, either may be the last to be read.
    let told = |words: &str| said.iter().any(|line| line.contains(words));
    assert!(told("default/web cannot start and is left as it is"), "{said:#?}");
    assert_eq!(stage.workers(), before, "{said:#?}");

    std::fs::write(&record, good).unwrap();
    let up = stage.up(&web, &[]);
    up.wait_for("taken up again");
    up.interrupt();
    assert_eq!(up.wait().0, 0);
    stage.assert_nothing_left();
}

#[test]
fn an_interrupt_is_heard_while_a_changed_pod_is_replaced() {
    let stage = Stage::twin();
    let up = stage.up(&stage.pod("web", &["stubborn"]), &[]);
    up.wait_for("started");
    eventually("it runs", || (stage.workers().len() == 1).then_some(()));
    up.kill();
    let up = stage.up(&stage.pod("web", &["graceful", "bye"]), &[]);
    up.wait_for("default/web has changed");
    let begun = std::time::Instant::now();
    up.interrupt();
    up.wait_for("once more to stop at once");
    up.interrupt();
    let (code, said) = up.wait();
    assert_eq!(code, 0, "{said:#?}");
    assert!(!said.iter().any(|line| line.contains("started")), "{said:#?}");
    // The grace period of the pod that ran is 20 s.
    assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{:?}", begun.elapsed());
    stage.assert_nothing_left();
}

#[test]
fn a_container_that_ends_is_started_again_and_the_one_before_can_be_read() {
    let stage = Stage::twin();
    let up = stage.up(&stage.pod("web", &["exit", "3"]), &[]);
    up.wait_for("started again (1)");
    up.wait_for("starts again in 10 s");
    let seen = stage.container();
    assert_eq!((&seen["restarts"], &seen["reason"]), (&1.into(), &"CrashLoopBackOff".into()));
    assert_eq!(stage.porthole("logs", &["--previous", "web"]).code, 0);
    up.interrupt();
    let (code, said) = up.wait();
    assert_eq!(code, 0, "{said:#?}");
    stage.assert_nothing_left();
}

#[test]
fn what_there_is_can_be_read_as_yaml_too() {
    let stage = Stage::twin();
    let up = stage.up(&stage.pod("web", &["graceful", "bye"]), &[]);
    up.wait_for("default/web/main | ready");
    let said = |format| stage.porthole("ps", &["-o", format]).stdout;
    let yaml: serde_json::Value = serde_saphyr::from_str(&said("yaml")).unwrap();
    assert_eq!(yaml, serde_json::from_str::<serde_json::Value>(&said("json")).unwrap());
    assert_eq!(yaml[0]["containers"][0]["name"], "main");
    up.interrupt();
    assert_eq!(up.wait().0, 0);
}

#[test]
fn once_says_that_it_was_interrupted_although_all_ended_well() {
    let stage = Stage::twin();
    let up = stage.up(&stage.pod("web", &["graceful", "went well"]), &["--once"]);
    up.wait_for("default/web/main | ready");
    up.interrupt();
    let (code, said) = up.wait();
    assert_eq!(code, 130, "{said:#?}");
    assert!(said.iter().any(|line| line.contains("ended with code 0")), "{said:#?}");
    stage.assert_nothing_left();
}

// proves: HP-20 twin
#[test]
fn init_containers_come_first_and_a_failing_one_keeps_the_rest_back() {
    plays::init_containers_come_first_and_a_failing_one_keeps_the_rest_back(&Stage::twin());
}

#[test]
fn what_a_container_writes_stays_out_of_its_image() {
    let stage = Stage::twin();
    let (code, said) = stage.up(&stage.pod("w", &["write", "new-file", "text"]), &["--once"]).wait();
    assert_eq!(code, 0, "{said:#?}");
    assert!(!stage.dir().join("app/new-file").exists());
}

#[test]
fn a_program_that_is_not_there_is_a_start_error() {
    let stage = Stage::twin();
    let file = stage.pod("web", &[]);
    let text = std::fs::read_to_string(&file).unwrap().replace("./fixture", "./missing");
    std::fs::write(&file, text).unwrap();
    let (code, said) = stage.up(&file, &["--once"]).wait();
    assert_eq!(code, 128, "{said:#?}");
    assert!(said.iter().any(|line| line.contains("(StartError): \"./missing\" was not found")), "{said:#?}");
    stage.assert_nothing_left();
}

#[test]
fn a_second_interrupt_does_not_wait_for_the_grace_period() {
    let stage = Stage::twin();
    let up = stage.up(&stage.pod("web", &["stubborn"]), &[]);
    up.wait_for("started");
    eventually("it runs", || (stage.workers().len() == 1).then_some(()));
    up.interrupt();
    up.wait_for("once more to stop at once");
    eventually("it was asked", || (stage.container()["state"] == "Stopping").then_some(()));
    up.interrupt();
    let begun = std::time::Instant::now();
    assert_eq!(up.wait().0, 0);
    assert!(begun.elapsed().as_secs() < 15, "it waited for the grace period of 20 s");
    stage.assert_nothing_left();
}

#[test]
fn the_same_root_is_not_used_twice() {
    let stage = Stage::twin();
    let file = stage.pod("web", &["graceful", "x"]);
    let up = stage.up(&file, &[]);
    up.wait_for("| ready");
    let (code, said) = stage.up(&file, &[]).wait();
    assert_eq!(code, 3, "{said:#?}");
    assert!(said.iter().any(|line| line.contains("in use by another porthole, process")), "{said:#?}");
    up.interrupt();
    assert_eq!(up.wait().0, 0);
}

#[test]
fn a_directory_of_others_does_not_become_a_root() {
    use std::os::unix::fs::PermissionsExt;
    let stage = Stage::twin();
    let file = stage.pod("web", &["print", "ran"]);
    let open = std::fs::Permissions::from_mode(0o1777);
    std::fs::create_dir_all(stage.root().join("letters")).unwrap();
    std::fs::set_permissions(stage.root(), open).unwrap();
    let (code, said) = stage.up(&file, &["--once"]).wait();
    assert_eq!(code, 3, "{said:#?}");
    assert!(said.iter().any(|line| line.contains("holds the directory letters")), "{said:#?}");
    let mode = std::fs::metadata(stage.root()).unwrap().permissions().mode();
    assert_eq!((mode & 0o7777, std::fs::read_dir(stage.root()).unwrap().count()), (0o1777, 1));
}

// proves: HP-04 twin
#[test]
fn a_pod_that_breaks_the_rules_starts_nothing() {
    let stage = Stage::twin();
    let file = stage.pod("web", &["print", "ran"]);
    let text = std::fs::read_to_string(&file).unwrap().replace("hostNetwork: true", "hostNetwork: false");
    std::fs::write(&file, text).unwrap();
    let (code, said) = stage.up(&file, &[]).wait();
    assert_eq!(code, 1, "{said:#?}");
    assert!(
        said.iter().any(|line| line.contains("pod web: spec.hostNetwork: FieldValueInvalid")),
        "{said:#?}"
    );
    stage.assert_nothing_left();
}

#[test]
fn two_secrets_of_one_name_start_nothing() {
    let stage = Stage::twin();
    let file = stage.pod("web", &["print", "ran"]);
    let secret = |data| {
        let text = format!(
            "{{kind: Secret, apiVersion: v1, metadata: {{name: pull}}, stringData: {{a: {data}}}}}\n"
        );
        stage.file(&format!("{data}.yaml"), &text).display().to_string()
    };
    let [first, second] = ["one", "two"].map(secret);
    let (code, said) = stage.up(&file, &["--once", &first, &second]).wait();
    let expected = format!("porthole: {second}: the Secret default/pull is there, and in {first} too");
    assert_eq!((code, said), (1, vec![expected]));
    stage.assert_nothing_left();
}

#[test]
fn bad_input_is_named() {
    let stage = Stage::twin();
    for (text, code, words) in
        [("kind: [", 2, "bad.yaml"), ("kind: Service\napiVersion: v1\n", 2, "found kind \"Service\"")]
    {
        let (found, said) = stage.up(&stage.file("bad.yaml", text), &[]).wait();
        assert_eq!(found, code, "{said:#?}");
        assert!(said.iter().any(|line| line.contains(words)), "{said:#?}");
    }
    let logs = stage.porthole("logs", &["nobody"]);
    assert_eq!((logs.code, logs.stderr.trim()), (1, "porthole: no pod nobody; there is none"));
}
