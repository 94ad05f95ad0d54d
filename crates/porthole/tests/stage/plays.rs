//! What must be the same on every host: each play is a test on the twin and one under Wine.

use std::io::Read;
use std::net::TcpListener;
use std::path::Path;

use super::{Stage, accept, eventually};

/// A pod starts, what it writes can be read, Ctrl-C stops it with its grace, nothing is left (HP-07).
pub(crate) fn a_pod_starts_logs_and_stops(stage: &Stage) {
    let up = stage.up(&stage.pod("web", &["graceful", "went well"]), &[]);
    up.wait_for("default/web/main started, process");
    up.wait_for("default/web/main | ready");
    assert_eq!(stage.container()["state"], "Running");
    let logs = stage.porthole("logs", &["web"]);
    assert_eq!((logs.code, logs.stdout.trim_end()), (0, "ready"));
    assert_eq!(stage.workers().len(), 1, "{:?}", stage.host.processes());
    up.interrupt();
    let (code, said) = up.wait();
    assert_eq!(code, 0, "{said:#?}");
    assert!(said.iter().any(|line| line.contains("| went well")), "{said:#?}");
    assert!(said.iter().any(|line| line.contains("ended with code 0")), "{said:#?}");
    stage.assert_nothing_left();
}

/// Who writes without a pause must not keep `up` from hearing anything else.
pub(crate) fn a_pod_that_writes_without_a_pause_is_stopped_by_ctrl_c(stage: &Stage) {
    let up = stage.up(&stage.pod("chatty", &["lines", "0", "0"]), &[]);
    up.wait_for("default/chatty/main | line 1");
    up.interrupt();
    let (code, said) = up.wait();
    let of_porthole: Vec<_> = said.iter().filter(|line| !line.contains(" | ")).collect();
    assert_eq!(code, 0, "{of_porthole:#?}");
    stage.assert_nothing_left();
}

/// Logs keep a long line in parts; whoever looks sees it as it was written.
pub(crate) fn a_long_line_stays_one_line(stage: &Stage) {
    let long = "x".repeat(20_000);
    let (code, said) = stage.up(&stage.pod("long", &["print", &long]), &["--once"]).wait();
    assert_eq!(code, 0, "{said:#?}");
    let shown: Vec<_> = said.iter().filter(|line| line.contains(" | ")).collect();
    assert_eq!(shown, [&format!("default/long/main | {long}")]);
    stage.assert_nothing_left();
}

/// `--once` runs to the end and takes the first code that is not zero along.
pub(crate) fn once_exits_with_the_containers_code(stage: &Stage) {
    let (code, said) = stage.up(&stage.pod("job", &["exit", "7"]), &["--once"]).wait();
    assert_eq!(code, 7, "{said:#?}");
    let (code, said) = stage.up(&stage.pod("fine", &["print", "done"]), &["--once"]).wait();
    assert_eq!(code, 0, "{said:#?}");
    assert!(said.iter().any(|line| line.contains("| done")), "{said:#?}");
    stage.assert_nothing_left();
}

/// The one that fails last is the first in the file: neither the order there nor the last word counts. It waits for
/// somebody who hangs up without an answer, and that is code 1.
pub(crate) fn once_takes_the_code_of_whoever_failed_first(stage: &Stage) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let file = stage.pod("pair", &["dial", &address]);
    let text = std::fs::read_to_string(&file).unwrap();
    let early = "  - {name: early, image: \"dir:app\", command: [./fixture, exit, \"7\"]}\n";
    std::fs::write(&file, text + early).unwrap();
    let up = stage.up(&file, &["--once"]);
    let mut late = accept(&listener);
    // Who hangs up on words that nobody read is rude, and that is another code.
    late.read_exact(&mut [0; b"hello\n".len()]).unwrap();
    up.wait_for("default/pair/early ended with code 7");
    drop(late);
    up.wait_for("default/pair/main ended with code 1");
    let (code, said) = up.wait();
    assert_eq!(code, 7, "{said:#?}");
    stage.assert_nothing_left();
}

/// Somebody follows a log: what is written later comes as well, and the container's end is the end of it, though its
/// agent and the agent's other pod go on.
pub(crate) fn a_followed_log_grows_and_ends_with_its_container(stage: &Stage) {
    let other = stage.host.path(&stage.pod("other", &["graceful", "bye"]));
    let up = stage.up(&stage.pod("web", &["graceful", "went well"]), &[&other]);
    up.wait_for("default/web/main | ready");
    up.wait_for("default/other/main | ready");
    let logs = stage.start("logs", &["-f", "web"]);
    logs.wait_for("ready");
    let stopped = stage.porthole("stop", &["web"]);
    assert_eq!(stopped.code, 0, "{}", stopped.stderr);
    let (code, said) = logs.wait();
    assert_eq!((code, said), (0, vec!["ready".to_owned(), "went well".to_owned()]));
    assert_eq!(stage.workers().len(), 1, "{:?}", stage.host.processes());
    up.interrupt();
    let (code, said) = up.wait();
    assert_eq!(code, 0, "{said:#?}");
    stage.assert_nothing_left();
}

/// The example of the README does what it says.
pub(crate) fn the_example_greets(stage: &Stage, name: &str, greetings: usize) {
    let file = super::examples().join(name);
    let (code, said) = stage.up(&file, &[]).wait();
    assert_eq!(code, 0, "{said:#?}");
    let greeted = said.iter().filter(|line| line.contains("| hello from a container (")).count();
    assert_eq!(greeted, greetings, "{said:#?}");
    assert!(said.iter().any(|line| line.contains("greeter | my image is at ")), "{said:#?}");
    stage.assert_nothing_left();
}

/// An image as an OCI archive, with its own entrypoint, variables and directories.
pub(crate) fn an_archive_runs(stage: &Stage) {
    stage.archive("app.tar");
    let file = stage.pod("web", &[]);
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text
        .replace("dir:app", "oci-archive:app.tar")
        .replace("command: [\"./fixture\"]", "args: [env, FROM_IMAGE]");
    std::fs::write(&file, text).unwrap();
    let (code, said) = stage.up(&file, &["--once"]).wait();
    assert_eq!(code, 0, "{said:#?}");
    assert!(said.iter().any(|line| line.contains("| yes")), "{said:#?}");
    stage.assert_nothing_left();
    // The image stays for the next one.
    assert_eq!(std::fs::read_dir(stage.root().join("images/records")).unwrap().count(), 1);
}

/// kill -9 of the agent: the container runs and logs on, `ps` sees it, a second `up` takes it up again.
pub(crate) fn a_killed_agent_loses_nothing(stage: &Stage) {
    let file = stage.pod("web", &["lines", "0", "50"]);
    let up = stage.up(&file, &[]);
    up.wait_for("| line 3");
    let before = stage.workers();
    up.kill();
    let lines = || stage.porthole("logs", &["web"]).stdout.lines().count();
    let then = lines();
    eventually("it logs on without an agent", || (lines() > then + 5).then_some(()));
    assert_eq!((stage.workers(), stage.container()["state"].as_str()), (before.clone(), Some("Running")));
    let up = stage.up(&file, &[]);
    let line = up.wait_for("taken up again");
    assert!(line.contains("was running"), "{line}");
    assert_eq!(stage.workers(), before, "it was started again instead of adopted");
    up.interrupt();
    let (code, said) = up.wait();
    assert_eq!(code, 0, "{said:#?}");
    stage.assert_nothing_left();
}

/// kill -9, and the same pod again with its root and its file written in another way: taken up, and not a second time.
pub(crate) fn a_pod_is_the_same_however_its_root_and_file_are_written(
    stage: &Stage,
    file: &Path,
    spellings: &[(String, String)],
) {
    let up = stage.up(file, &[]);
    up.wait_for("| ready");
    up.kill();
    let (before, seen) = (stage.workers(), stage.ps());
    for (root, file) in spellings {
        let words = ["up", "--root", root, file].map(str::to_owned);
        let up = stage.begin(&words);
        up.wait_for("taken up again");
        assert_eq!((stage.workers(), stage.ps()), (before.clone(), seen.clone()), "{words:?}");
        assert!(!up.said().iter().any(|line| line.contains("left alone")), "{words:?}: {:#?}", up.said());
        up.kill();
    }
    let up = stage.up(file, &[]);
    up.wait_for("taken up again");
    up.interrupt();
    assert_eq!(up.wait().0, 0);
    stage.assert_nothing_left();
}

/// kill -9 of the holder: its containers end at once, all generations, and `ps` says why. With an agent …
pub(crate) fn a_killed_holder_takes_its_containers_along(stage: &Stage) {
    let up = stage.up(&stage.pod_with("web", &["generations", "3"], "  restartPolicy: Never\n"), &[]);
    up.wait_for("generation 3");
    assert_eq!(stage.workers().len(), 3, "{:?}", stage.host.processes());
    stage.kill_the_holder();
    let line = up.wait_for("ended with code 137");
    assert!(line.contains("(HolderDied): its holder ended first"), "{line}");
    let (code, said) = up.wait();
    assert_eq!(code, 0, "{said:#?}");
    stage.assert_nothing_left();
}

/// … and without one: `ps` finds out by itself, and the next `up` starts the container again.
pub(crate) fn a_killed_holder_is_noticed_without_an_agent(stage: &Stage) {
    let file = stage.pod("web", &["generations", "3"]);
    let up = stage.up(&file, &[]);
    up.wait_for("generation 3");
    up.kill();
    assert_eq!(stage.workers().len(), 3, "{:?}", stage.host.processes());
    stage.kill_the_holder();
    let container = stage.container();
    assert_eq!((&container["state"], &container["reason"]), (&"Exited".into(), &"HolderDied".into()));
    let table = stage.porthole("ps", &[]).stdout;
    assert!(table.contains("HolderDied: its holder ended first"), "{table}");
    let up = stage.up(&file, &[]);
    up.wait_for("started again (1)");
    up.interrupt();
    let (code, said) = up.wait();
    assert_eq!(code, 0, "{said:#?}");
    stage.assert_nothing_left();
}

/// A job of three generations is killed as one, with the exit code, when the grace period ends (HP-07).
pub(crate) fn three_generations_end_as_one(stage: &Stage) {
    let file = stage.pod("web", &["generations", "3"]);
    let text = std::fs::read_to_string(&file).unwrap();
    // Stubborn: the first generation does not react to a stop, so the grace period runs out.
    std::fs::write(&file, text.replace("PeriodSeconds: 20", "PeriodSeconds: 0")).unwrap();
    let up = stage.up(&file, &[]);
    up.wait_for("generation 3");
    assert_eq!(stage.workers().len(), 3, "{:?}", stage.host.processes());
    up.interrupt();
    let (code, said) = up.wait();
    assert_eq!(code, 0, "{said:#?}");
    assert!(said.iter().any(|line| line.contains("ended with code 137")), "{said:#?}");
    stage.assert_nothing_left();
}

/// The report is whole and the account is in it (HP-30).
/// What `doctor` looks at: other programs know the rows by these names.
const LINUX_CAPABILITIES: &[&str] = &[
    "root",
    "cgroup",
    "cgroup-writable",
    "mount-namespace",
    "user-namespace",
    "pid-namespace",
    "bind-mount",
    "overlayfs",
    "pidfd",
];
const WINDOWS_CAPABILITIES: &[&str] = &[
    "windows-build",
    "job-objects",
    "job-memory-limit",
    "job-cpu-rate",
    "silo",
    "bind-filter",
    "conpty",
    "service-logon",
    "symbolic-links",
    "long-paths",
    "containers-feature",
    "computecore",
    "computenetwork",
    "computestorage",
];

pub(crate) fn doctor_reports(stage: &Stage, os: &str) -> serde_json::Value {
    let output = stage.run(&["doctor".into(), "-o".into(), "json".into()]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    let report: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(report["host"]["os"], os);
    assert_eq!(report["hostProcess"]["supported"], true, "{report:#}");
    assert!(!report["host"]["account"]["name"].as_str().unwrap().is_empty());
    let capabilities = report["capabilities"].as_array().unwrap();
    let ids: Vec<_> = capabilities.iter().map(|capability| capability["id"].as_str().unwrap()).collect();
    assert_eq!(ids, if os == "windows" { WINDOWS_CAPABILITIES } else { LINUX_CAPABILITIES });
    for capability in capabilities {
        assert!(!capability["without"].as_str().unwrap().is_empty(), "{capability}");
    }
    let table = stage.run(&["doctor".into()]);
    assert!(table.stdout.contains("account: "), "{}", table.stdout);
    report
}

pub(crate) fn init_containers_come_first_and_a_failing_one_keeps_the_rest_back(stage: &Stage) {
    let init = |code: &str| {
        format!(
            "  restartPolicy: Never\n  initContainers:\n  - {{name: first, image: \"dir:app\", command: [./fixture, exit, \"{code}\"]}}\n"
        )
    };
    let (code, said) =
        stage.up(&stage.pod_with("good", &["print", "main ran"], &init("0")), &["--once"]).wait();
    let place = |words: &str| said.iter().position(|line| line.contains(words));
    assert_eq!(code, 0, "{said:#?}");
    assert!(place("good/first ended") < place("good/main started"), "{said:#?}");
    let (code, said) =
        stage.up(&stage.pod_with("bad", &["print", "main ran"], &init("4")), &["--once"]).wait();
    assert_eq!(code, 4, "{said:#?}");
    assert!(!said.iter().any(|line| line.contains("main ran")), "{said:#?}");
    stage.assert_nothing_left();
}

/// A program without a handler of its own ends by the event alone: nobody waits for the grace period, which is longer
/// than any test. The holder must not have made its containers deaf to it.
pub(crate) fn a_stop_ends_a_program_that_does_nothing_about_it_at_once(stage: &Stage) {
    let file = stage.pod("web", &["sleep", "100000"]);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("PeriodSeconds: 20", "PeriodSeconds: 100000")).unwrap();
    let up = stage.up(&file, &[]);
    up.wait_for("default/web/main started, process");
    up.interrupt();
    let (code, said) = up.wait();
    assert_eq!(code, 0, "{said:#?}");
    assert!(!said.iter().any(|line| line.contains("ended with code 137")), "{said:#?}");
    stage.assert_nothing_left();
}

/// Output, errors and codes of commands come back as they are; the container does not notice.
pub(crate) fn exec_gives_what_the_command_says_and_its_code(stage: &Stage) {
    let exec = |words: &[&str]| stage.porthole("exec", &[&["web", "--", "./fixture"], words].concat());
    let said = exec(&["print", "hello", "a b"]);
    assert_eq!((said.code, said.stdout.trim_end()), (0, "hello a b"), "{}", said.stderr);
    let said = exec(&["stderr", "oh dear"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, ""));
    assert!(said.stderr.contains("oh dear"), "{}", said.stderr);
    assert_eq!(exec(&["exit", "7"]).code, 7);
    let seen = stage.container();
    assert_eq!((&seen["state"], &seen["restarts"]), (&"Running".into(), &0.into()));
}

/// `porthole stats -o json` of these pods.
pub(crate) fn stats(stage: &Stage, pods: &[&str]) -> serde_json::Value {
    let output = stage.porthole("stats", &[pods, &["-o", "json"]].concat());
    assert_eq!(output.code, 0, "{}", output.stderr);
    serde_json::from_str(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", output.stdout))
}

/// The agent of a running pod `web` is gone: exec, stats, stop and rm take its place, and nothing is left.
pub(crate) fn without_an_agent_the_verbs_do_it_themselves(stage: &Stage) {
    let said = stage.porthole("exec", &["web", "--", "./fixture", "print", "still here"]);
    assert_eq!((said.code, said.stdout.trim_end()), (0, "still here"), "{}", said.stderr);
    assert_eq!(stats(stage, &[])[0]["pod"], "default/web");
    let refused = stage.porthole("rm", &["web"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    let stopped = stage.porthole("stop", &["web"]);
    assert_eq!((stopped.code, stopped.stdout.trim_end()), (0, "default/web stopped"), "{}", stopped.stderr);
    let seen = stage.container();
    assert_eq!((&seen["state"], &seen["exitCode"]), (&"Exited".into(), &0.into()), "{seen}");
    assert_eq!(stage.porthole("stats", &["web"]).code, 1);
    let removed = stage.porthole("rm", &["web"]);
    assert_eq!((removed.code, removed.stdout.trim_end()), (0, "default/web removed"), "{}", removed.stderr);
    stage.assert_a_note_is_left();
}
