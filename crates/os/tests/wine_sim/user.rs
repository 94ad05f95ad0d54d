//! Accounts: logons, temporary users, group managed accounts.

use crate::support::{Machine, place_of};

const LOGON_FAILURE: u32 = 1326;
const LOGON_TYPE_NOT_GRANTED: u32 = 1385;

// proves: HP-10 sim
#[test]
fn a_service_account_is_logged_on_as_a_service_once_for_all_its_processes() {
    let machine = Machine::new();
    for (option, user) in [
        ("as=system", "SYSTEM"),
        ("as=local-service", "LocalService"),
        ("as=network-service", "NetworkService"),
    ] {
        let mut started = machine.start(user, &[option], &["sleep", "600"]);
        started.expect("started");
        started.tell("again");
        started.expect("again");
        started.tell("terminate");
        assert_eq!(started.end(), "137");
        let calls = machine.sim.calls();
        let logons: Vec<_> = calls.iter().filter(|call| call.contains(&format!("user={user} "))).collect();
        assert_eq!(
            logons,
            [&format!("LogonUserW user={user} domain=NT AUTHORITY password=none kind=5 provider=0 -> 0x0")]
        );
        let account = format!("account=NT AUTHORITY\\{user} ");
        assert_eq!(calls.iter().filter(|call| call.contains(&account)).count(), 2, "{calls:#?}");
    }
}

// proves: HP-10 sim
#[test]
fn a_local_group_gets_a_temporary_user_that_is_removed_again() {
    let machine = Machine::new();
    machine.sim.group("operators").expect("made");
    machine.sim.user("alice", "hers").expect("made");
    assert_eq!(machine.say(&["user", "known", "Operators"]), "Group");
    assert_eq!(machine.say(&["user", "known", "alice"]), "User");
    assert_eq!(machine.say(&["user", "known", "mallory"]), "Nobody");
    let name = "0123456789abcdef0123";
    let mut started =
        machine.start("group", &[&format!("as=temporary:{name}:operators")], &["print", "hello"]);
    started.expect_output("hello");
    assert_eq!(started.end(), "0");
    let calls = machine.sim.calls();
    let added =
        place_of(&calls, &["NetUserAdd ", name, "privilege=1 flags=0x10201 password-length=32 ", "-> 0x0"]);
    let joined =
        place_of(&calls, &["NetLocalGroupAddMembers name=operators member=S-1-5-21-1-2-3-1002 -> 0x0"]);
    let logon =
        place_of(&calls, &[&format!("LogonUserW user={name} domain=. password=given kind=2 "), "-> 0x0"]);
    let born = place_of(&calls, &[&format!("CreateProcessAsUserW account=.\\{name} ")]);
    assert!(added < joined && joined < logon && logon < born, "{calls:#?}");
    assert_eq!(machine.sim.members("operators"), ["S-1-5-21-1-2-3-1002"]);
    assert_eq!(machine.say(&["user", "list"]), name);
    assert_eq!(machine.say(&["user", "remove", name]), "removed");
    assert_eq!(machine.sim.users(), ["alice"]);
    assert_eq!(machine.sim.members("operators"), [""; 0]);
    assert_eq!(machine.say(&["user", "remove", name]), "removed", "gone already is fine");
}

// proves: HP-10 sim
#[test]
fn nobody_elses_user_is_taken_or_removed() {
    let machine = Machine::new();
    machine.sim.group("operators").expect("made");
    machine.sim.user("alice", "hers").expect("made");
    for words in [&["user", "make", "alice", "operators"][..], &["user", "remove", "alice"]] {
        let said = machine.say(words);
        assert_eq!(said, "refused the user alice was not made by porthole and is left alone");
    }
    assert_eq!((machine.sim.users(), machine.sim.members("operators")), (vec!["alice".to_owned()], vec![]));
    assert!(machine.say(&["user", "by-name", "alice"]).contains("wants a password, which no pod can give"));
}

// proves: HP-10 sim
#[test]
fn a_user_that_cannot_join_its_group_is_not_left() {
    let machine = Machine::new();
    let said = machine.say(&["user", "make", "u1", "nobodys"]);
    assert_eq!(said, "refused cannot put the local user u1 into the group nobodys: there is no such group");
    assert_eq!(machine.sim.users(), [""; 0]);
    machine.sim.fault("NetUserAdd", "name=u2", 5).expect("told");
    let said = machine.say(&["user", "make", "u2", "nobodys"]);
    assert_eq!(
        said,
        "refused cannot make the local user u2: access is denied; the runtime must run as LocalSystem"
    );
}

// proves: HP-10 sim
#[test]
fn a_user_left_by_a_crash_is_listed_and_can_be_had_again() {
    let machine = Machine::new();
    machine.sim.group("operators").expect("made");
    let said = machine.say(&["user", "make", "left", "operators"]);
    assert!(said.contains("Local") && said.contains("left") && !said.contains("password: \""), "{said}");
    assert_eq!(machine.say(&["user", "list"]), "left");
    let started = machine.start("left", &["as=temporary:left:operators"], &["print", "x"]);
    assert_eq!(started.end(), "0");
    let calls = machine.sim.calls();
    assert_eq!(calls.iter().filter(|call| call.starts_with("NetUserAdd ")).count(), 1, "{calls:#?}");
    place_of(&calls, &["LogonUserW user=left domain=. password=given kind=2 provider=0 -> 0x0"]);
    assert_eq!(machine.sim.members("operators").len(), 1);
}

// proves: HP-10 sim
#[test]
fn a_user_who_may_not_log_on_locally_logs_on_as_a_batch_job_or_is_refused_with_the_rights() {
    let machine = Machine::new();
    machine.sim.group("operators").expect("made");
    machine.sim.fault("LogonUserW", "kind=2", LOGON_TYPE_NOT_GRANTED).expect("told");
    let identity = "as=temporary:batch:operators";
    assert_eq!(machine.start("batch", &[identity], &["print", "x"]).end(), "0");
    let calls = machine.sim.calls();
    place_of(&calls, &["LogonUserW user=batch ", "kind=2 provider=0 -> 0x569"]);
    place_of(&calls, &["LogonUserW user=batch ", "kind=4 provider=0 -> 0x0"]);
    machine.sim.fault("LogonUserW", "domain=.", LOGON_TYPE_NOT_GRANTED).expect("told");
    let said = machine.start("never", &[identity], &["print", "x"]).expect("refused ");
    assert!(
        said.starts_with("become the account: failed to logon user batch: it may log on neither"),
        "{said}"
    );
    assert!(said.contains("SeInteractiveLogonRight, SeBatchLogonRight or SeServiceLogonRight"), "{said}");
}

// proves: HP-25 sim
#[test]
fn a_runtime_that_is_not_the_system_reads_so_in_the_error() {
    let machine = Machine::new();
    machine.sim.fault("LogonUserW", "user=SYSTEM", 5).expect("told");
    let said = machine.start("admin", &["as=system"], &["print", "x"]).expect("refused ");
    assert_eq!(
        said,
        "become the account: failed to logon user: Access is denied (NT AUTHORITY\\SYSTEM; the runtime must run as LocalSystem to start processes as another account)"
    );
    machine.sim.fault("CreateProcessAsUserW", "LocalService", 1314).expect("told");
    let said = machine.start("admin2", &["as=local-service"], &["print", "x"]).expect("refused ");
    assert!(said.starts_with("start program: ") && said.contains("must run as LocalSystem"), "{said}");
}

// proves: HP-21 sim
#[test]
fn a_group_managed_account_is_used_on_a_joined_host() {
    let machine = Machine::new();
    machine.sim.join_domain("CORP", &["web$"]).expect("joined");
    assert_eq!(machine.start("gmsa", &["as=gmsa:CORP\\web$"], &["print", "x"]).end(), "0");
    let calls = machine.sim.calls();
    place_of(&calls, &["LogonUserW user=web$ domain=CORP password=managed kind=5 provider=0 -> 0x0"]);
    place_of(&calls, &["CreateProcessAsUserW account=CORP\\web$ "]);
    let said = machine.start("other", &["as=gmsa:CORP\\other$"], &["print", "x"]).expect("refused ");
    assert!(said.contains("failed to logon group managed account CORP\\other$: "), "{said}");
    assert!(said.contains("PrincipalsAllowedToRetrieveManagedPassword"), "{said}");
    place_of(&machine.sim.calls(), &["user=other$", &format!("-> {LOGON_FAILURE:#x}")]);
}

// proves: HP-21 sim
#[test]
fn a_group_managed_account_is_refused_on_a_host_without_a_domain() {
    let machine = Machine::new();
    let said = machine.start("lone", &["as=gmsa:CORP\\web$"], &["print", "x"]).expect("refused ");
    assert_eq!(
        said,
        "become the account: the group managed account CORP\\web$ needs a host that is joined to its domain; this one is joined to none (its workgroup is WORKGROUP)"
    );
    assert_eq!(machine.sim.calls_of("LogonUserW"), [""; 0]);
}

// proves: HP-10 sim
#[test]
fn the_environment_is_the_accounts_own_and_nothing_of_ours() {
    let machine = Machine::new();
    let told = machine.say(&["user", "environment", "local-service"]);
    assert!(
        told.lines().any(|line| line.to_ascii_lowercase().starts_with("systemroot=c:\\windows")),
        "{told}"
    );
    assert!(!told.contains("WINEDLLOVERRIDES="), "{told}");
    let calls = machine.sim.calls();
    place_of(&calls, &["CreateEnvironmentBlock account=NT AUTHORITY\\LocalService inherit=0 -> 0x0"]);
}

#[test]
fn a_service_that_is_not_us_stays_itself() {
    let machine = Machine::new();
    assert_eq!(machine.say(&["user", "service", "network-service"]), "Service(NetworkService)");
}
