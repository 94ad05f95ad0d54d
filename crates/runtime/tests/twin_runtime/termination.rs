//! Last words.

use runtime::config::{ContainerConfig, Mode, Termination, TerminationPolicy};

use crate::world::World;

fn config(world: &World, name: &str, script: &str, policy: TerminationPolicy) -> ContainerConfig {
    let mut config = world.config(name, &[]);
    let path = world.path("last/words").to_str().unwrap().to_owned();
    // Below the image it is in every mode.
    let script = script.replace("FILE", &format!("$CONTAINER_SANDBOX_MOUNT_POINT{path}"));
    config.command = ["sh", "-c", &script].map(str::to_owned).to_vec();
    config.termination = Some(Termination { path, policy });
    config
}

fn message(
    world: &World,
    mode: Mode,
    number: usize,
    script: &str,
    policy: TerminationPolicy,
) -> Option<String> {
    let pod = world.pod_in(&format!("{mode:?}-{number}").to_lowercase(), mode);
    let id = world.start(&pod, config(world, "main", script, policy));
    world.runtime().wait(&id).unwrap();
    world.runtime().status(&id).unwrap().message
}

// proves: RT-07 twin
#[test]
fn last_words_come_from_the_file_or_from_the_log() {
    let world = World::new();
    let long = "x".repeat(4096);
    for mode in [Mode::Bind, Mode::Symlink] {
        for (number, (script, policy, expected)) in [
            ("echo -n all well > FILE", TerminationPolicy::File, Some("all well")),
            ("echo in the log; exit 3", TerminationPolicy::File, None),
            ("echo in the log; exit 3", TerminationPolicy::FallbackToLogsOnError, Some("in the log\n")),
            ("echo in the log; exit 0", TerminationPolicy::FallbackToLogsOnError, None),
            ("echo -n mine > FILE; echo log; exit 3", TerminationPolicy::FallbackToLogsOnError, Some("mine")),
            ("head -c 9000 /dev/zero | tr '\\0' x > FILE", TerminationPolicy::File, Some(long.as_str())),
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(
                message(&world, mode, number, script, policy).as_deref(),
                expected,
                "{mode:?}: {script}"
            );
        }
    }
    world.end();
}

// proves: RT-07 twin
#[test]
fn whoever_the_container_runs_as_may_leave_its_last_words() {
    let world = World::new();
    let pod = world.pod("p");
    let mut config = config(&world, "main", "echo -n from below > FILE", TerminationPolicy::File);
    config.user = Some("games".into());
    let id = world.start(&pod, config);
    assert_eq!(world.runtime().wait(&id).unwrap().code, 0, "{}", world.said(&id));
    assert_eq!(world.runtime().status(&id).unwrap().message.as_deref(), Some("from below"));
    world.end();
}
