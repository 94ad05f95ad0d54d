//! Known ways to fail: each has its error, its hint and its counter.

use std::sync::mpsc::Receiver;

use runtime::config::Mode;
use runtime::failure::{FailureMode, KNOWN};
use runtime::pods::{Happened, RuntimeEvent};
use runtime::tenure::Tenure;

use crate::world::{World, eventually, mount};

const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The warnings that were told until now.
pub(crate) fn warnings(events: &Receiver<RuntimeEvent>) -> Vec<String> {
    let told = std::iter::from_fn(|| events.try_recv().ok());
    let warning = |event: RuntimeEvent| match event.what {
        Happened::Warning(text) => Some(text),
        _ => None,
    };
    told.filter_map(warning).collect()
}

/// One of the mode and of no other, its words in what was said, and its hint told.
fn assert_met(world: &World, mode: FailureMode, said: &str, told: &[String]) {
    let known = mode.known();
    assert!(known.reads.iter().any(|words| said.contains(words)), "{known:?}: {said}");
    let hint = format!("{}: {}", known.code, known.hint);
    assert!(told.contains(&hint), "{hint}: {told:#?}");
    for (other, count) in world.runtime().counters().read() {
        assert_eq!(count, u64::from(other.mode == mode), "{}", other.code);
    }
}

// proves: HP-25 twin
#[test]
fn an_account_that_nobody_knows() {
    let world = World::new();
    let events = world.runtime().events();
    let pod = world.pod("p");
    let mut config = world.config("main", &["pause"]);
    config.user = Some("no-such-account".into());
    let error = world.create(&pod, config).unwrap_err();
    assert_met(&world, FailureMode::AccountUnknown, &error.to_string(), &warnings(&events));
    world.end();
}

// proves: HP-25 twin
#[test]
fn a_program_that_is_nowhere() {
    let world = World::new();
    let events = world.runtime().events();
    let pod = world.pod("p");
    let mut config = world.config("main", &[]);
    config.command = vec!["no-such-program".into()];
    let error = world.create(&pod, config).unwrap_err();
    assert_met(&world, FailureMode::ProgramNotFound, &error.to_string(), &warnings(&events));
    world.end();
}

// proves: HP-25 twin
#[test]
fn a_socket_as_a_volume() {
    let world = World::new();
    let events = world.runtime().events();
    let socket = world.path("agent.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let pod = world.pod("p");
    let mut config = world.config("main", &["pause"]);
    config.mounts = vec![mount(&socket, std::path::Path::new("/run/agent.sock"))];
    let error = world.create(&pod, config).unwrap_err();
    assert_met(&world, FailureMode::MountRefused, &error.to_string(), &warnings(&events));
    world.end();
}

// proves: HP-25 twin
#[test]
fn a_token_that_is_not_where_clients_look_for_it() {
    let world = World::new();
    let events = world.runtime().events();
    let pod = world.pod_in("p", Mode::Symlink);
    let token = world.volume("token", "secret");
    let mut config = world.config("main", &[]);
    config.command =
        vec!["sh".into(), "-c".into(), format!("cat ${{CONTAINER_SANDBOX_MOUNT_POINT}}{TOKEN}/file")];
    config.mounts = vec![mount(&token, std::path::Path::new(TOKEN))];
    let (code, said) = world.run(&pod, config);
    assert_eq!((code, said.trim()), (0, "secret"), "where the hint says it is");
    let told = warnings(&events);
    assert_met(&world, FailureMode::TokenPathMissing, &told.join("\n"), &told);
    world.end();
}

// proves: HP-25 twin
#[test]
fn a_holder_that_is_killed() {
    let world = World::new();
    let events = world.runtime().events();
    let pod = world.pod("p");
    let id = world.start(&pod, world.config("main", &["pause"]));
    let holder = eventually("a holder", || {
        let status = world.runtime().status(&id).unwrap();
        parent_of(status.pid?)
    });
    assert!(std::process::Command::new("kill").args(["-9", &holder.to_string()]).status().unwrap().success());
    let exit = world.runtime().wait(&id).unwrap();
    let met = || world.runtime().counters().of(FailureMode::HolderLost);
    eventually("it is counted", || (met() == 1).then_some(()));
    assert_met(&world, FailureMode::HolderLost, &exit.message.unwrap(), &warnings(&events));
    world.end();
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

#[test]
fn nothing_is_counted_where_nothing_fails() {
    let world = World::new();
    let pod = world.pod("p");
    assert_eq!(world.run(&pod, world.config("main", &["print", "fine"])).0, 0);
    assert_eq!(world.runtime().counters().read().map(|(_, count)| count).sum::<u64>(), 0);
    assert_eq!(world.runtime().counters().read().count(), KNOWN.len());
    world.end();
}

// proves: HP-25 twin
#[test]
fn an_agent_that_ended_without_being_asked_to_is_told_of_unless_the_machine_went_with_it() {
    let world = World::new();
    let begin = || Tenure::begin(world.runtime()).unwrap();
    let down = || world.runtime().counters().of(FailureMode::RuntimeDown);
    drop(begin());
    assert_eq!((begin().remarks().len(), down()), (0, 0), "the first was asked to");
    // As if there had been no time to take the note away.
    std::mem::forget(begin());
    let next = begin();
    assert_met(&world, FailureMode::RuntimeDown, &next.remarks()[0], next.remarks());
    drop(next);
    let note = world.root().join("run/tenure");
    assert!(!note.exists());
    let mine = begin();
    std::fs::write(&note, "somebody else's").unwrap();
    drop(mine);
    assert!(note.exists());
    for other in ["boot another\nprocess 1\n", ""] {
        std::fs::write(&note, other).unwrap();
        assert_eq!((begin().remarks().len(), down()), (0, 1), "{other:?}");
    }
}
