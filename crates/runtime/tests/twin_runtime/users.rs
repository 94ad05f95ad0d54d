//! As whom containers run, and what that opens and closes to them.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use runtime::RuntimeError;
use runtime::config::{Options, RunAs};
use runtime::record::State;

use crate::world::{World, eventually};

/// User and group of a container that runs as this one.
fn ids(world: &World, name: &str, user: Option<&str>) -> String {
    let pod = world.pod(name);
    let mut config = world.config("main", &[]);
    config.command = ["sh", "-c", "id -u; id -g; id -G"].map(str::to_owned).to_vec();
    config.user = user.map(str::to_owned);
    let (code, said) = world.run(&pod, config);
    assert_eq!(code, 0, "{said}");
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn id_of(database: &str, name: &str) -> String {
    let text = std::fs::read_to_string(database).unwrap();
    let line = text.lines().find(|line| line.starts_with(&format!("{name}:"))).unwrap();
    line.split(':').nth(2).unwrap().to_owned()
}

// proves: HP-10 twin
#[test]
fn service_accounts_are_accounts_of_this_host() {
    let world = World::new();
    assert_eq!(ids(&world, "p1", None).split(' ').next(), Some("0"), "our own");
    for (number, name) in ["NT AUTHORITY\\SYSTEM", "nt authority\\system", "root"].into_iter().enumerate() {
        assert!(ids(&world, &format!("s{number}"), Some(name)).starts_with("0 0"), "{name}");
    }
    let daemon = id_of("/etc/passwd", "daemon");
    for (number, name) in ["NT AUTHORITY\\Local Service", "LocalService"].into_iter().enumerate() {
        assert!(ids(&world, &format!("l{number}"), Some(name)).starts_with(&format!("{daemon} ")), "{name}");
    }
    let nobody = id_of("/etc/passwd", "nobody");
    assert!(ids(&world, "n", Some("NT AUTHORITY\\NetworkService")).starts_with(&format!("{nobody} ")));
    world.end();
}

// proves: HP-10 twin
#[test]
fn a_local_group_gives_a_temporary_user_that_goes_with_the_container() {
    let world = World::new();
    let pod = world.pod("p");
    let mut config = world.config("main", &[]);
    config.command = ["sh", "-c", "id -u; id -g; exec sleep 600"].map(str::to_owned).to_vec();
    config.user = Some("games".into());
    let id = world.start(&pod, config);
    world.says(&id, "\n");
    let layout = &world.runtime().node().layout;
    let user = layout.temporary_user(&id);
    assert!(os::user::temporary().unwrap().contains(&user));
    let said = eventually("it says both", || Some(world.said(&id)).filter(|said| said.lines().count() == 2));
    let (uid, gid) = said.trim().split_once('\n').unwrap();
    assert_eq!(gid, id_of("/etc/group", "games"));
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap();
    assert!(!passwd.lines().any(|line| line.split(':').nth(2) == Some(uid)), "{uid} is somebody");
    world.runtime().stop(&id, std::time::Duration::ZERO).unwrap();
    eventually("the user goes", || (!os::user::temporary().unwrap().contains(&user)).then_some(()));
    world.end();
}

// proves: HP-24 twin
#[test]
fn what_is_closed_to_the_account_is_closed_to_the_container_and_open_to_system() {
    let world = World::new();
    let file = world.volume("closed", "secret").join("file");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    let socket = world.path("closed.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    std::fs::set_permissions(&socket, PermissionsExt::from_mode(0o600)).unwrap();
    for (number, (user, good)) in
        [("games", false), ("LocalService", false), ("SYSTEM", true)].into_iter().enumerate()
    {
        let pod = world.pod(&format!("p{number}"));
        for (name, word, path) in [("a", "read", &file), ("b", "write", &file), ("c", "connect", &socket)] {
            let mut config = world.config(name, &[word, path.to_str().unwrap(), "secret"]);
            config.user = Some(user.into());
            if word == "connect" {
                // Connecting is what is closed; nobody answers.
                config.command =
                    ["sh", "-c", "test -w \"$0\"", path.to_str().unwrap()].map(str::to_owned).to_vec();
            }
            let (code, said) = world.run(&pod, config);
            assert_eq!(code == 0, good, "{user} {word}: {said}");
        }
    }
    // What it makes is its own.
    let shared = world.path("shared");
    std::fs::create_dir(&shared).unwrap();
    std::fs::set_permissions(&shared, PermissionsExt::from_mode(0o777)).unwrap();
    let pod = world.pod("own");
    let mut config = world.config("main", &["write", shared.join("new").to_str().unwrap(), "x"]);
    config.user = Some("games".into());
    assert_eq!(world.run(&pod, config).0, 0);
    let made = std::fs::metadata(shared.join("new")).unwrap();
    assert_eq!(made.gid().to_string(), id_of("/etc/group", "games"));
    assert_ne!(made.uid(), 0, "its effects outlive it, as its account's");
    world.end();
}

// proves: HP-10 twin
#[test]
fn accounts_that_cannot_be_had_are_refused_with_a_hint_and_nothing_is_left() {
    let world = World::new();
    let pod = world.pod("p");
    let before = world.listing("root/pods");
    for user in ["CORP\\alice", "alice@corp.example", "no-such-account", "NT SERVICE\\x", ""] {
        let mut config = world.config("main", &["pause"]);
        config.user = Some(user.into());
        let error = world.create(&pod, config).unwrap_err();
        assert!(matches!(error, RuntimeError::Refused { .. }), "{error}");
        assert!(error.to_string().contains("wanted"), "{error}");
    }
    assert_eq!(world.listing("root/pods"), before);
    world.end();
}

#[test]
fn a_user_whose_pod_is_gone_is_swept_at_the_next_start() {
    let mut world = World::new();
    let pod = world.pod("p");
    let mut config = world.config("main", &["pause"]);
    config.user = Some("games".into());
    let kept = world.start(&pod, config);
    let layout = world.runtime().node().layout.clone();
    let gone = runtime::ContainerId::of(&pod, "never", 0);
    let users = [layout.temporary_user(&kept), layout.temporary_user(&gone)];
    os::user::make_temporary(&users[1], "games").unwrap();
    world.reopen();
    let there = os::user::temporary().unwrap();
    assert!(there.contains(&users[0]) && !there.contains(&users[1]), "{there:?}");
    assert_eq!(world.runtime().status(&kept).unwrap().state, State::Running);
    world.end();
}

#[test]
fn with_inherit_everybody_is_ourselves_and_it_is_said() {
    let world = World::with(Options { run_as: RunAs::Inherit });
    assert!(ids(&world, "p", Some("games")).starts_with("0 0"));
    let status = world.runtime().pod_status(&runtime::PodId::parse("p").unwrap()).unwrap();
    assert!(status.containers[0].warnings.iter().any(|line| line.contains("inherit")), "{status:?}");
    world.end();
}
