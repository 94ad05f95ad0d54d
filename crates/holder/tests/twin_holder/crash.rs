//! A holder that dies at each of its fail points: nothing of its containers lives on, and the next start works.

use std::process::Stdio;
use std::time::Duration;

use holder::client::{Client, ClientError};
use holder::exit::ExitRecord;
use holder::fail::POINTS;
use holder::protocol::{Launch, Rotate};
use os::job::{JobLimits, JobName};

use crate::support::{Program, World, eventually, shell_in};

/// What a life that ends by itself does not come by; the runtime's matrix has them all.
const BEYOND: [&str; 4] = ["hold-listening", "hold-stop-asked", "hold-killed", "hold-leaving"];

/// A life that comes by every other point: start, exec, attach, update, reopen, a full log, an end.
fn live(world: &World) -> Result<ExitRecord, ClientError> {
    let mut client = Client::connect(&world.endpoint)?;
    let script = "trap '' HUP; sleep 600 & for i in 1 2 3 4 5 6 7 8 9; do echo line $i; done; \
                  while [ ! -e done ]; do sleep 0.01; done; exit 7";
    let rotate = Some(Rotate { max_bytes: 200, files: 9 });
    client.start(Launch { rotate, cwd: world.dir.path().into(), ..world.shell("a", script) })?;
    let (reader, _writer) = Client::connect(&world.endpoint)?.exec(shell_in("a", "echo hi"))?.split();
    for heard in reader {
        heard?;
    }
    drop(Client::connect(&world.endpoint)?.attach("a", false)?);
    client.update("a", JobLimits { processes: Some(50), ..JobLimits::default() })?;
    client.reopen_log("a")?;
    std::fs::write(world.path("done"), "").unwrap();
    client.wait("a")
}

// proves: HP-07 twin
#[test]
fn a_holder_that_dies_anywhere_leaves_no_process_and_no_job() {
    for point in POINTS.iter().filter(|point| !BEYOND.contains(&point.name)) {
        let mut program = Program::start_failing(Stdio::inherit(), &failpoint::setting(point.name, 1));
        let lived = live(&program.world);
        assert!(program.died(), "{} was not passed: {lived:?}", point.name);
        let world = &program.world;
        let job = JobName { parent: world.job_parent.clone(), id: "a".into() };
        eventually(point.name, || !os::job::holds_processes(&job).unwrap());
        eventually(point.name, || !os::job::sweep(&job).unwrap());
        // The end is told only after it is on disk.
        if let Ok(record) = lived {
            assert_eq!(world.record("a"), Some(record), "{}", point.name);
        }
        let written = POINTS.iter().position(|point| point.name == "hold-exit-written").unwrap();
        let at = POINTS.iter().position(|known| known.name == point.name).unwrap();
        assert_eq!(world.record("a").is_some(), at >= written, "{}", point.name);
    }
}

/// The same life without a fail point, so that what dies above dies of its point.
#[test]
fn a_holder_that_does_not_die_lives_through_all_of_it() {
    let mut program = Program::start_failing(Stdio::inherit(), "hold-spawn=abort:99");
    assert_eq!(live(&program.world).unwrap().code, 7);
    assert!(holder::log::files(&program.world.path("a.log")).unwrap().len() > 1);
    assert_eq!(program.child.try_wait().unwrap(), None);
    let mut client = program.world.client();
    client.leave().unwrap();
    drop(client);
    eventually("it leaves", || program.child.try_wait().unwrap().is_some());
}

impl Program {
    /// Whether it dies within a moment.
    fn died(&mut self) -> bool {
        let deadline = std::time::Instant::now() + Duration::from_secs(5);
        while std::time::Instant::now() < deadline {
            if self.child.try_wait().unwrap().is_some() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }
}
