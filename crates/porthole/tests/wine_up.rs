//! porthole.exe itself, under Wine: the same plays as on the twin, seen from outside Wine.

#[expect(dead_code, reason = "each kind of stage is used by its own tests")]
mod stage;

use stage::{Stage, plays};

// proves: HP-07 wine
#[test]
fn a_pod_starts_logs_and_stops() {
    plays::a_pod_starts_logs_and_stops(&Stage::wine());
}

// proves: HP-07 wine
#[test]
fn a_stop_ends_a_program_that_does_nothing_about_it_at_once() {
    plays::a_stop_ends_a_program_that_does_nothing_about_it_at_once(&Stage::wine());
}

/// A console of Windows obeys no escape sequence before it is told to: what is seen went through the console's own eyes.
#[test]
fn a_console_shows_a_table_that_is_drawn_over_itself() {
    let stage = Stage::wine();
    let file = stage.pod_with("web", &["print", "hello"], "  restartPolicy: Never\n");
    let (porthole, fixture) = stage.host.programs();
    let [inner, porthole, root, file] =
        [&fixture, &porthole, &stage.root(), &file].map(|path| stage.host.path(path));
    let console = ["start", "console", "terminal=100x30", "--", &inner, "in-terminal"];
    let up = [&porthole, "up", "--root", &root, &file];
    let words: Vec<_> = console.into_iter().chain(up).map(str::to_owned).collect();
    let ended = stage.host.run(&fixture, &words);
    let shown: String = ended.stdout.lines().filter_map(|line| line.strip_prefix("out ")).collect();
    assert!(ended.stdout.lines().any(|line| line == "ended 0"), "{}{}", ended.stdout, ended.stderr);
    for words in ["RESTARTS", "default/web", "Exited(0)"] {
        assert!(shown.contains(words), "{words:?} not in {shown}");
    }
    // Plain lines would have it, and a console that was not told would show the sequences themselves.
    assert!(!shown.contains("| hello") && !shown.contains("\u{2190}["), "{shown}");
    stage.assert_nothing_left();
}

#[test]
fn a_long_line_stays_one_line() {
    plays::a_long_line_stays_one_line(&Stage::wine());
}

#[test]
fn once_exits_with_the_containers_code() {
    plays::once_exits_with_the_containers_code(&Stage::wine());
}

#[test]
fn once_takes_the_code_of_whoever_failed_first() {
    plays::once_takes_the_code_of_whoever_failed_first(&Stage::wine());
}

#[test]
fn a_followed_log_grows_and_ends_with_its_container() {
    plays::a_followed_log_grows_and_ends_with_its_container(&Stage::wine());
}

#[test]
fn the_example_greets() {
    plays::the_example_greets(&Stage::wine(), "hello-windows.yaml", 3);
}

#[test]
fn an_archive_runs() {
    plays::an_archive_runs(&Stage::wine());
}

#[test]
fn a_killed_agent_loses_nothing() {
    plays::a_killed_agent_loses_nothing(&Stage::wine());
}

#[test]
fn a_pod_is_the_same_however_its_root_and_file_are_written() {
    let stage = Stage::wine();
    let file = stage.pod("web", &["graceful", "bye"]);
    let [root, path] = [&stage.root(), &file].map(|path| stage.host.path(path));
    let spellings = [
        (format!("{root}\\"), path.replace('\\', "/")),
        (root.to_lowercase(), path.to_uppercase()),
        (format!(r"{root}\..\ROOT"), format!(r"{root}\..\.\Web.yaml")),
    ];
    plays::a_pod_is_the_same_however_its_root_and_file_are_written(&stage, &file, &spellings);
}

#[test]
fn a_killed_holder_takes_its_containers_along() {
    plays::a_killed_holder_takes_its_containers_along(&Stage::wine());
}

#[test]
fn a_killed_holder_is_noticed_without_an_agent() {
    plays::a_killed_holder_is_noticed_without_an_agent(&Stage::wine());
}

// proves: HP-20 wine
#[test]
fn init_containers_come_first_and_a_failing_one_keeps_the_rest_back() {
    plays::init_containers_come_first_and_a_failing_one_keeps_the_rest_back(&Stage::wine());
}

// proves: HP-07 wine
#[test]
fn three_generations_end_as_one() {
    plays::three_generations_end_as_one(&Stage::wine());
}

/// Before Windows Server 2019 there is nothing to be done, and nothing is.
// proves: HP-35 wine
#[test]
fn a_windows_too_old_is_refused_before_anything_is_made() {
    let stage = Stage::of_build(17134);
    let file = stage.host.path(&stage.pod("web", &["print", "hello"]));
    let doctor = stage.run(&["doctor".into()]);
    let asked = [stage.porthole("up", &["--once", &file]), stage.porthole("cri", &[])];
    for (ended, code) in std::iter::once((doctor, 1)).chain(asked.map(|ended| (ended, 3))) {
        let said = ended.stdout + &ended.stderr;
        assert_eq!(ended.code, code, "{said}");
        assert!(said.contains("17134") && said.contains("Windows Server 2019 (build 17763)"), "{said}");
    }
    assert!(!stage.root().exists(), "something was made");
}

// proves: HP-30 wine
#[test]
fn doctor_reports() {
    let report = plays::doctor_reports(&Stage::wine(), "windows");
    assert_eq!(report["twin"], false);
    assert!(report["host"]["emulator"].as_str().is_some_and(|name| name.starts_with("wine")), "{report:#}");
    let found = |id: &str| {
        let all = report["capabilities"].as_array().unwrap();
        all.iter().find(|c| c["id"] == id).unwrap_or_else(|| panic!("no {id}: {report:#}"))["found"].clone()
    };
    // Seen of Wine 10: jobs are there, the bind filter is not.
    assert_eq!((found("job-objects"), found("bind-filter")), (true.into(), false.into()));
}
