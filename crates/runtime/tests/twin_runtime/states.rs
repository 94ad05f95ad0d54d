//! Verbs in every state, right and wrong.

use std::time::Duration;

use holder::exit::ExitReason;
use os::job::JobLimits;
use runtime::config::ExecRequest;
use runtime::pods::Happened;
use runtime::record::State;
use runtime::{ContainerId, Runtime, RuntimeError};

use crate::world::World;

/// A verb, and the states in which it is done; in all others it is refused and the state named.
struct Row {
    name: &'static str,
    verb: fn(&Runtime, &ContainerId) -> Result<(), RuntimeError>,
    good: &'static [State],
}

use State::{Created, Exited, Running};

const ROWS: &[Row] = &[
    Row { name: "start", verb: |runtime, id| runtime.start(id).map(drop), good: &[Created] },
    Row { name: "wait", verb: |runtime, id| runtime.wait(id).map(drop), good: &[Exited] },
    Row { name: "stop", verb: |runtime, id| runtime.stop(id, Duration::ZERO), good: &[Created, Exited] },
    Row {
        name: "exec",
        verb: |runtime, id| {
            let argv = vec!["./fixture".to_owned(), "exit".into(), "0".into()];
            runtime.exec(id, &ExecRequest { argv, ..ExecRequest::default() }).map(drop)
        },
        good: &[Running],
    },
    Row { name: "attach", verb: |runtime, id| runtime.attach(id, false).map(drop), good: &[Running] },
    Row { name: "stats", verb: |runtime, id| runtime.stats(id).map(drop), good: &[Running] },
    Row { name: "reopen", verb: |runtime, id| runtime.reopen_log(id), good: &[Running] },
    Row {
        name: "update",
        verb: |runtime, id| runtime.update(id, JobLimits::default()),
        good: &[Created, Running],
    },
    Row {
        name: "status",
        verb: |runtime, id| runtime.status(id).map(drop),
        good: &[Created, Running, Exited],
    },
];

/// A container in this state, in a pod of its own.
fn container(world: &World, state: State, number: usize) -> ContainerId {
    let pod = world.pod(&format!("p{number}"));
    let id = world.create(&pod, world.config("main", &["pause"])).unwrap();
    if state != Created {
        world.runtime().start(&id).unwrap();
        world.says(&id, "ready");
    }
    if state == Exited {
        world.runtime().stop(&id, Duration::from_secs(20)).unwrap();
    }
    id
}

#[test]
fn a_verb_that_does_not_fit_the_state_is_refused_by_name() {
    let world = World::new();
    let mut number = 0;
    for state in [Created, Running, Exited] {
        // What waits for the end, or brings it, would wait or bring it.
        let tried = ROWS.iter().filter(|row| state != Running || !["wait", "stop"].contains(&row.name));
        for row in tried {
            number += 1;
            let id = container(&world, state, number);
            let done = (row.verb)(world.runtime(), &id);
            match (row.good.contains(&state), done) {
                (true, Ok(())) => {}
                (false, Err(RuntimeError::State { found, wanted, .. })) => {
                    assert_eq!(found, state, "{}", row.name);
                    assert_ne!(wanted, format!("{state:?}"), "{}", row.name);
                }
                (_, other) => panic!("{} of a container that is {state:?}: {other:?}", row.name),
            }
            let found = world.runtime().status(&id).unwrap().state;
            let expected = if row.name == "start" && state == Created { Running } else { state };
            assert_eq!(found, expected, "after {}", row.name);
        }
    }
    world.end();
}

#[test]
fn what_is_so_already_is_no_error() {
    let world = World::new();
    let pod = world.pod("p");
    let runtime = world.runtime();
    assert_eq!(world.pod("p"), pod, "the same again is the same");
    let config = world.config("main", &["pause"]);
    let id = world.create(&pod, config.clone()).unwrap();
    assert_eq!(world.create(&pod, config.clone()).unwrap(), id);
    let other = world.create(&pod, world.config("main", &["exit", "0"])).unwrap_err();
    assert!(matches!(other, RuntimeError::Taken { .. }), "{other}");
    runtime.start(&id).unwrap();
    assert_eq!(world.create(&pod, config).unwrap(), id, "also when it runs");
    for _ in 0..2 {
        runtime.stop(&id, Duration::ZERO).unwrap();
    }
    for _ in 0..2 {
        runtime.remove(&id).unwrap();
        assert!(matches!(runtime.status(&id), Err(RuntimeError::NoContainer(_))));
        runtime.stop(&id, Duration::ZERO).expect("what is not there does not run");
    }
    for _ in 0..2 {
        runtime.stop_pod(&pod).unwrap();
    }
    let error = world.create(&pod, world.config("main", &["pause"])).unwrap_err();
    assert!(matches!(error, RuntimeError::PodState { .. }), "{error}");
    assert!(matches!(runtime.run_pod(world.pod_config("p")), Err(RuntimeError::PodState { .. })));
    for _ in 0..2 {
        runtime.remove_pod(&pod).unwrap();
        runtime.stop_pod(&pod).unwrap();
        assert!(matches!(runtime.pod_status(&pod), Err(RuntimeError::NoPod(_))));
    }
    assert!(matches!(world.create(&pod, world.config("main", &["pause"])), Err(RuntimeError::NoPod(_))));
    world.end();
}

#[test]
fn a_start_that_fails_is_an_end_that_a_kubelet_understands() {
    let world = World::new();
    let pod = world.pod("p");
    let id = world.create(&pod, world.config("main", &["pause"])).unwrap();
    // What was there when the container was made is not there any more.
    std::fs::remove_file(world.path("app/fixture")).unwrap();
    let error = world.runtime().start(&id).unwrap_err().to_string();
    assert!(error.contains("\"./fixture\" was not found"), "{error}");
    let status = world.runtime().status(&id).unwrap();
    let exit = status.exit.unwrap();
    assert_eq!((status.state, exit.code, exit.reason), (Exited, 128, ExitReason::StartError));
    assert_eq!(exit.message, Some(error));
    assert_eq!(world.runtime().wait(&id).unwrap().code, 128);
    world.end();
}

#[test]
fn a_program_that_the_system_refuses_is_a_start_error_too() {
    let world = World::new();
    let pod = world.pod("p");
    std::fs::write(world.path("app/text"), "not a program").unwrap();
    let mut config = world.config("main", &[]);
    config.command = vec!["./text".into()];
    let id = world.create(&pod, config).unwrap();
    let error = world.runtime().start(&id).unwrap_err().to_string();
    assert!(error.contains("start program"), "{error}");
    assert_eq!(world.runtime().status(&id).unwrap().exit.unwrap().code, 128);
    world.end();
}

#[test]
fn a_stop_gives_the_whole_grace_period_and_then_kills() {
    let world = World::new();
    let pod = world.pod("p");
    let polite = world.start(&pod, world.config("polite", &["graceful", "bye"]));
    let deaf = world.start(&pod, world.config("deaf", &["stubborn"]));
    for id in [&polite, &deaf] {
        world.says(id, "ready");
    }
    let runtime = world.runtime();
    runtime.stop(&polite, Duration::from_secs(20)).unwrap();
    assert_eq!(runtime.status(&polite).unwrap().exit.unwrap().code, 0);
    assert!(world.said(&polite).contains("bye"));
    let begun = std::time::Instant::now();
    runtime.stop(&deaf, Duration::from_millis(700)).unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(700), "{:?}", begun.elapsed());
    assert_eq!(runtime.status(&deaf).unwrap().exit.unwrap().code, 137);
    world.end();
}

#[test]
fn everything_that_happens_is_told_in_order() {
    let world = World::new();
    let events = world.runtime().events();
    let pod = world.pod("p");
    let (code, _) = world.run(&pod, world.config("main", &["exit", "3"]));
    assert_eq!(code, 3);
    world.runtime().remove_pod(&pod).unwrap();
    let told: Vec<_> = std::iter::from_fn(|| events.recv_timeout(Duration::from_secs(5)).ok())
        .take_while({
            let mut over = false;
            move |event| {
                let before = over;
                over = event.what == Happened::Removed && event.container.is_none();
                !before
            }
        })
        .take(7)
        .map(|event| {
            assert_eq!((event.pod.as_str(), event.pod_name.as_str()), ("p", "default/p"));
            let what = match event.what {
                Happened::Started { pid } => format!("Started {}", pid > 0),
                Happened::Exited(exit) => format!("Exited {}", exit.code),
                other => format!("{other:?}"),
            };
            format!("{} {what}", event.container_name.unwrap_or_default())
        })
        .collect();
    let expected = [
        " Ready",
        "main Created",
        "main Started true",
        "main Exited 3",
        " Stopped",
        "main Removed",
        " Removed",
    ];
    assert_eq!(told, expected);
}

#[test]
fn filters_take_what_they_say() {
    use runtime::pods::{ContainerFilter, PodFilter};
    let world = World::new();
    let (one, two) = (world.pod("one"), world.pod("two"));
    let running = world.start(&one, world.config("main", &["pause"]));
    world.create(&two, world.config("main", &["pause"])).unwrap();
    let runtime = world.runtime();
    let labelled =
        PodFilter { labels: [("app".to_owned(), "two".to_owned())].into(), ..PodFilter::default() };
    assert_eq!(runtime.pods(&labelled).iter().map(|pod| &pod.id).collect::<Vec<_>>(), [&two]);
    let found = |filter: ContainerFilter| runtime.containers(&filter).len();
    assert_eq!(found(ContainerFilter::default()), 2);
    assert_eq!(found(ContainerFilter { state: Some(Running), ..ContainerFilter::default() }), 1);
    assert_eq!(found(ContainerFilter { id: Some(running), ..ContainerFilter::default() }), 1);
    assert_eq!(
        found(ContainerFilter { pod: Some(two), state: Some(Running), ..ContainerFilter::default() }),
        0
    );
    world.end();
}

/// A kubelet that were told of an end without its code would take it for a success.
#[test]
fn whoever_sees_that_a_container_has_ended_sees_how() {
    const LIVES: usize = 60;
    let world = World::new();
    let pod = world.pod("web");
    for number in 0..LIVES {
        let id = world.create(&pod, world.config(&format!("c{number}"), &["exit", "3"])).unwrap();
        std::thread::scope(|threads| {
            let watch = || {
                loop {
                    let seen = world.runtime().status(&id).unwrap();
                    if seen.state == Exited {
                        return (seen.exit.map(|exit| exit.code), seen.pid);
                    }
                }
            };
            let watchers = [(); 3].map(|()| threads.spawn(watch));
            world.runtime().start(&id).unwrap();
            for watcher in watchers {
                assert_eq!(watcher.join().unwrap(), (Some(3), None), "life {number}");
            }
        });
    }
    world.end();
}

/// A record says `Running` before the holder is asked, for whoever comes after a crash; a kubelet that were told so then
/// would find a container that runs since 1970.
#[test]
fn whoever_sees_that_a_container_runs_sees_as_what_and_since_when() {
    const LIVES: usize = 30;
    let world = World::new();
    let pod = world.pod("web");
    for number in 0..LIVES {
        let id = world.create(&pod, world.config(&format!("c{number}"), &["pause"])).unwrap();
        std::thread::scope(|threads| {
            let watch = || {
                loop {
                    let seen = world.runtime().status(&id).unwrap();
                    match seen.state {
                        Created => assert_eq!((seen.pid, seen.started), (None, None), "life {number}"),
                        Running => return (seen.pid, seen.started),
                        Exited => panic!("it goes on until it is stopped"),
                    }
                }
            };
            let watchers = [(); 3].map(|()| threads.spawn(watch));
            let pid = world.runtime().start(&id).unwrap();
            let seen = watchers.map(|watcher| watcher.join().unwrap());
            let started = world.runtime().status(&id).unwrap().started;
            assert!(started.is_some(), "life {number}");
            assert_eq!(seen, [(); 3].map(|()| (Some(pid), started.clone())), "life {number}");
        });
        world.runtime().stop(&id, Duration::ZERO).unwrap();
    }
    world.end();
}
