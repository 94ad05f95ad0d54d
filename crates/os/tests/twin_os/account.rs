//! Processes under another account: they have its rights and none of ours.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use os::job::Job;
use os::process::{Child, Spawn, SpawnStep, is_running};
use os::terminal::Size;
use os::user::{self, Identity, Known, Service};

use crate::keeper::{Keeper, as_nobody, as_root, fixture_for_all};
use crate::support::{eventually, exit_of, lines, request, run_in, unique};

/// The program is where everybody may run it, and so is the working directory.
fn as_whom(identity: Identity, args: &[&str]) -> Spawn {
    Spawn { program: fixture_for_all().into(), cwd: "/".into(), identity, ..request(args) }
}

fn service(service: Service) -> Identity {
    user::resolve_service(service).unwrap()
}

fn status(child: &Child, field: &str) -> String {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let value = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    value.unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn running(job: &Job, identity: Identity) -> Child {
    let mut child = job.spawn(&as_whom(identity, &["pause"])).unwrap();
    assert_eq!(lines(&mut child.stdout).next().unwrap().unwrap(), "ready");
    child
}

fn directory_for_all() -> tempfile::TempDir {
    tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o755)).tempdir().unwrap()
}

fn only_for_us(path: &Path) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap();
}

// proves: HP-24 twin
#[test]
fn a_file_closed_to_an_account_is_denied_to_it_and_open_to_system() {
    let dir = directory_for_all();
    let file = dir.path().join("closed");
    std::fs::write(&file, "for us").unwrap();
    only_for_us(&file);
    let file = file.display().to_string();
    for who in [Service::LocalService, Service::NetworkService] {
        let job = Job::create(&unique()).unwrap();
        for args in [&["read", &file][..], &["write", &file, "x"]] {
            let (_, errors, exit) = run_in(&job, &as_whom(service(who), args));
            assert!(exit.code == 2 && errors.contains("Permission denied"), "{who:?}: {errors}");
        }
    }
    let job = Job::create(&unique()).unwrap();
    let (said, errors, _) = run_in(&job, &as_whom(service(Service::System), &["read", &file]));
    assert_eq!(said, "for us\n", "{errors}");
    assert_eq!(run_in(&job, &as_whom(Identity::Own, &["read", &file])).0, "for us\n");
}

// proves: HP-24 twin
#[test]
fn a_socket_closed_to_an_account_is_denied_to_it_and_open_to_system() {
    let dir = directory_for_all();
    let socket = dir.path().join("a.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    only_for_us(&socket);
    let serving = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        connection.read_exact(&mut [0; 6]).unwrap();
        connection.write_all(b"welcome\n").unwrap();
    });
    let socket = socket.display().to_string();
    let job = Job::create(&unique()).unwrap();
    let (_, errors, exit) = run_in(&job, &as_whom(service(Service::LocalService), &["connect", &socket]));
    assert!(exit.code == 2 && errors.contains("Permission denied"), "{errors}");
    let (said, errors, _) = run_in(&job, &as_whom(service(Service::System), &["connect", &socket]));
    assert_eq!(said, "welcome\n", "{errors}");
    serving.join().unwrap();
}

#[test]
fn a_process_has_the_numbers_of_its_account_and_no_capability() {
    let job = Job::create(&unique()).unwrap();
    let child = running(&job, Identity::Ids { uid: 1234, gid: 2345, groups: vec![2345, 3456] });
    assert_eq!(status(&child, "Uid"), "1234 1234 1234 1234");
    assert_eq!(status(&child, "Gid"), "2345 2345 2345 2345");
    assert_eq!(status(&child, "Groups"), "2345 3456");
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(status(&child, set), "0000000000000000", "{set}");
    }
    job.terminate(137).unwrap();
    exit_of(&child);
}

/// The change of the uid takes away all but those a keeper was told to hand down.
#[test]
fn a_process_of_another_account_is_handed_down_no_capability() {
    let mut command = Command::new("setpriv");
    command.args(["--inh-caps", "+chown,+kill", "--"]).arg(fixture_for_all()).current_dir("/");
    let mut keeper = Keeper::start(command, &unique(), &["user=daemon".to_owned()], &["pause"]);
    let pid = keeper.expect("held");
    keeper.expect("out ready");
    let inherited = |pid: &str| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        status.lines().find_map(|line| line.strip_prefix("CapInh:\t").map(str::to_owned)).unwrap()
    };
    assert_ne!(inherited(&keeper.id().to_string()), "0000000000000000");
    assert_eq!(inherited(&pid), "0000000000000000");
}

#[test]
fn service_accounts_stand_for_users_of_this_host() {
    let job = Job::create(&unique()).unwrap();
    for (who, name) in
        [(Service::System, "root"), (Service::LocalService, "daemon"), (Service::NetworkService, "nobody")]
    {
        let Identity::Ids { uid, gid, .. } = user::by_name(name).unwrap() else { panic!("numbers") };
        let child = running(&job, Identity::Service(who));
        assert_eq!(status(&child, "Uid"), format!("{uid} {uid} {uid} {uid}"));
        assert_eq!(status(&child, "Gid"), format!("{gid} {gid} {gid} {gid}"));
        child.kill().unwrap();
        exit_of(&child);
    }
}

/// The kernel forgets a child's death signal when its account changes.
#[test]
fn a_process_of_another_account_dies_with_its_keeper() {
    let name = unique();
    let mut command = as_root();
    command.current_dir("/");
    let mut keeper = Keeper::start(command, &name, &["user=daemon".to_owned()], &["pause"]);
    let pid: u32 = keeper.expect("held").parse().unwrap();
    keeper.expect("out ready");
    assert!(std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap().contains("Uid:\t1\t1\t1\t1"));
    keeper.kill();
    eventually("it died with its keeper", || !is_running(pid));
}

#[test]
fn a_shell_of_another_account_may_open_its_own_stdout() {
    let job = Job::create(&unique()).unwrap();
    let argv = ["sh", "-c", "echo out > /dev/stdout && echo err > /dev/stderr"].map(str::to_owned).to_vec();
    let shell = Spawn { program: "/bin/sh".into(), argv, ..as_whom(service(Service::NetworkService), &[]) };
    let (said, errors, exit) = run_in(&job, &shell);
    assert_eq!((said.as_str(), errors.as_str(), exit.code), ("out\n", "err\n", 0));
}

#[test]
fn a_terminal_belongs_to_the_account_that_sits_at_it() {
    let job = Job::create(&unique()).unwrap();
    let argv = ["sh", "-c", "echo out > /dev/tty && stat -c %u \"$(tty)\""].map(str::to_owned).to_vec();
    let identity = Identity::Service(Service::LocalService);
    let size = Size { columns: 80, rows: 24 };
    let shell = Spawn { program: "/bin/sh".into(), argv, terminal: Some(size), ..as_whom(identity, &[]) };
    let mut child = job.spawn(&shell).unwrap();
    // The other end's closing is an error here, after everything was read.
    let said: Vec<String> = lines(&mut child.stdout).map_while(Result::ok).collect();
    let said: Vec<&str> = said.iter().map(|line| line.trim_end()).collect();
    assert_eq!((said, exit_of(&child).code), (vec!["out", "1"], 0));
}

#[test]
fn a_directory_that_an_account_may_not_enter_is_refused_at_that_step() {
    let dir = tempfile::Builder::new().permissions(PermissionsExt::from_mode(0o700)).tempdir().unwrap();
    let job = Job::create(&unique()).unwrap();
    let mut wanted = as_whom(service(Service::LocalService), &["exit", "0"]);
    wanted.cwd = dir.path().to_owned();
    let error = job.spawn(&wanted).unwrap_err();
    assert_eq!((error.step, error.source.kind()), (SpawnStep::Chdir, ErrorKind::PermissionDenied));
}

/// Removes what a failed test leaves.
struct Temporary(String);

impl Drop for Temporary {
    fn drop(&mut self) {
        user::remove_temporary(&self.0).unwrap();
    }
}

#[test]
fn a_temporary_user_of_a_group_is_one_of_its_own_until_it_is_removed() {
    let name = Temporary(format!("os-test-{}", std::process::id()));
    let identity = user::make_temporary(&name.0, "daemon").unwrap();
    assert_eq!(user::make_temporary(&name.0, "daemon").unwrap(), identity);
    let Identity::Ids { uid, gid, groups } = &identity else { panic!("numbers") };
    assert!(*uid >= 2_000_000_000 && (*gid, groups.as_slice()) == (1, &[1][..]), "{identity:?}");
    assert!(user::temporary().unwrap().contains(&name.0));
    let variables = user::environment(&identity).unwrap();
    assert!(variables.contains(&("USER".to_owned(), name.0.clone())), "{variables:?}");
    assert!(!std::fs::read_to_string("/etc/passwd").unwrap().contains(&name.0));
    let job = Job::create(&unique()).unwrap();
    let child = running(&job, identity.clone());
    assert_eq!(status(&child, "Uid").split(' ').next(), Some(uid.to_string().as_str()));
    user::remove_temporary(&name.0).unwrap();
    user::remove_temporary(&name.0).unwrap();
    assert!(!user::temporary().unwrap().contains(&name.0));
    assert!(is_running(child.id()));
    job.terminate(137).unwrap();
    exit_of(&child);
}

#[test]
fn a_user_of_a_group_that_is_not_there_is_not_made() {
    let error = user::make_temporary("os-test-nobody", "no-such-group-here").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("no-such-group-here"), "{error}");
    assert!(!user::temporary().unwrap().contains(&"os-test-nobody".to_owned()));
}

#[test]
fn a_name_that_is_a_group_and_a_user_is_the_group() {
    assert_eq!(user::known("daemon").unwrap(), Known::Group);
    assert_eq!(user::known("nogroup").unwrap(), Known::Group);
    assert_eq!(user::known("nobody").unwrap(), Known::User);
}

#[test]
fn without_root_nobody_becomes_somebody_else() {
    let name = unique();
    let fixture = fixture_for_all();
    let mut hold = as_nobody();
    hold.args(["hold", &name.parent, &name.id, "user=daemon", "--", &fixture, "exit", "0"]);
    let refused = hold.output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("become the account") && said.contains("only root"), "{said}");
    let mut keeper = Keeper::start(as_nobody(), &name, &["user=nobody".to_owned()], &["exit", "7"]);
    assert_eq!(keeper.expect("ended"), "7 None");
}
