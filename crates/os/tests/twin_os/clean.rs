//! A new process starts clean: what its starter had open, blocked or ignored is not its own.

use std::path::PathBuf;

use os::job::Job;
use os::process::{Child, Spawn};

use crate::support::{eventually, exit_of, unique};

fn sleeper(job: &Job) -> Child {
    let argv = ["sleep", "600"].map(str::to_owned).to_vec();
    let env = vec![("ONLY".to_owned(), "this".to_owned())];
    let child = job.spawn(&Spawn { program: "/bin/sleep".into(), argv, env, ..Spawn::default() }).unwrap();
    eventually("it is the program", || read(&child, "comm") == "sleep\n");
    child
}

fn proc(child: &Child, file: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{}/{file}", child.id()))
}

fn read(child: &Child, file: &str) -> String {
    std::fs::read_to_string(proc(child, file)).unwrap()
}

#[test]
fn a_program_inherits_three_descriptors_and_no_more() {
    // Opened on purpose without the close-on-exec flag, as a careless library would.
    let careless = std::fs::File::open("/dev/null").unwrap();
    rustix::io::fcntl_setfd(&careless, rustix::io::FdFlags::empty()).unwrap();
    let job = Job::create(&unique()).unwrap();
    let child = sleeper(&job);
    let mut open: Vec<String> = std::fs::read_dir(proc(&child, "fd"))
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    open.sort();
    assert_eq!(open, ["0", "1", "2"]);
    job.terminate(137).unwrap();
    exit_of(&child);
}

#[test]
fn a_program_blocks_and_ignores_no_signal() {
    let job = Job::create(&unique()).unwrap();
    let child = sleeper(&job);
    let status = read(&child, "status");
    for set in ["SigBlk", "SigIgn", "SigCgt"] {
        let value = status.lines().find_map(|line| line.strip_prefix(&format!("{set}:\t"))).unwrap();
        assert_eq!(value, "0000000000000000", "{set}");
    }
    job.terminate(137).unwrap();
    exit_of(&child);
}

#[test]
fn a_program_leads_its_own_session_with_its_own_environment_at_the_root() {
    let job = Job::create(&unique()).unwrap();
    let child = sleeper(&job);
    let stat = read(&child, "stat");
    let session = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(3).unwrap();
    assert_eq!(session, child.id().to_string());
    assert_eq!(read(&child, "environ"), "ONLY=this\0");
    assert_eq!(std::fs::read_link(proc(&child, "cwd")).unwrap(), std::path::Path::new("/"));
    job.terminate(137).unwrap();
    exit_of(&child);
}
