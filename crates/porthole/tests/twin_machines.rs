//! Two machines on one host, each with a porthole of its own: nothing collides, and a reboot is a reboot.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use testbed::guard::Resource;
use testbed::machine::{Machine, Options};

const PATIENCE: Duration = Duration::from_secs(60);
/// A word that the containers' programs have and no other on this host; there is no such file.
const MARK: &str = "mark-of-a-container";

/// A directory that both machines see, with an image and a pod in it.
struct Share {
    dir: tempfile::TempDir,
}

impl Share {
    fn new() -> Share {
        let dir = tempfile::tempdir().unwrap();
        let fixture = std::env::var_os("PORTHOLE_FIXTURE").expect("PORTHOLE_FIXTURE: run `cargo xtask test`");
        std::fs::create_dir(dir.path().join("app")).unwrap();
        std::fs::copy(fixture, dir.path().join("app/fixture")).unwrap();
        std::fs::copy(env!("CARGO_BIN_EXE_porthole"), dir.path().join("porthole")).unwrap();
        let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  hostNetwork: true\n\
                   \x20 securityContext: {windowsOptions: {hostProcess: true}}\n\
                   \x20 containers:\n  - {name: main, image: 'dir:app', command: [./fixture, lines, '0', '50', MARK]}\n";
        let mark = dir.path().join(MARK);
        std::fs::write(dir.path().join("pod.yaml"), pod.replace("MARK", mark.to_str().unwrap())).unwrap();
        Share { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A machine that takes the pod up at every boot, with the default root.
    fn machine(&self, name: &str) -> Machine {
        let up = ["up".to_owned(), self.path("pod.yaml").display().to_string()];
        let options = Options::default().share(self.dir.path());
        Machine::start(name, options.on_boot(self.path("porthole").display().to_string(), up)).unwrap()
    }

    /// The containers' own processes in all machines, as the host sees them.
    fn containers(&self) -> Vec<Resource> {
        let pids = seen_from_outside(&self.path(MARK));
        // With its start: another process may get the number.
        pids.into_iter().filter_map(|pid| Resource::process(pid).ok()).collect()
    }

    fn ps(&self, machine: &Machine) -> Value {
        let output = machine.command(self.path("porthole")).args(["ps", "-o", "json"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
    }

    /// The one container of the one pod, once it runs with at least so many restarts.
    fn running(&self, machine: &Machine, restarts: u64) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let container = self.ps(machine)[0]["containers"][0].clone();
            if container["state"] == "Running" && container["restarts"].as_u64() >= Some(restarts) {
                return container;
            }
            assert!(Instant::now() < deadline, "{} never ran it: {container}", machine.name());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The host's process ids of programs with this path among their words, in whatever namespace.
fn seen_from_outside(path: &Path) -> Vec<u32> {
    let pids = std::fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok());
    let runs = |pid: &u32| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| holds(&line, path));
    pids.filter(runs).collect()
}

fn holds(line: &[u8], path: &Path) -> bool {
    let text = path.to_str().unwrap().as_bytes();
    line.windows(text.len()).any(|window| window == text)
}

#[test]
fn two_machines_do_not_collide_and_a_reboot_ends_only_its_own() {
    let share = Share::new();
    let (one, two) = (share.machine("one"), share.machine("two"));
    let (first, second) = (share.running(&one, 0), share.running(&two, 0));
    assert_eq!((&first["restarts"], &second["restarts"]), (&0.into(), &0.into()));
    // The same root path, pod and names in both; each sees one pod and one holder.
    for machine in [&one, &two] {
        assert_eq!(share.ps(machine).as_array().unwrap().len(), 1);
        let holders = machine.command("pgrep").args(["-c", "^hold-[0-9a-f]*$"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&holders.stdout).trim(), "1");
    }
    let agents = seen_from_outside(&share.path("porthole"));
    assert_eq!(agents.len(), 2, "{agents:?}");
    let containers = share.containers();
    assert_eq!(containers.len(), 2, "{containers:?}");

    let generation = one.generation();
    one.command("reboot").status().unwrap();
    one.wait_booted(generation + 1, PATIENCE).unwrap();
    let again = share.running(&one, 1);
    assert_eq!(again["restarts"], 1, "{again}");
    // The other one noticed nothing.
    assert_eq!(share.running(&two, 0), second);
    let now = seen_from_outside(&share.path("porthole"));
    assert_eq!(now.len(), 2, "{now:?}");
    assert_eq!(now.iter().filter(|pid| agents.contains(pid)).count(), 1, "{agents:?} {now:?}");
    // Nor did its container; the other's process ended with the boot, and the restart is a new one.
    let left = share.containers();
    assert_eq!(left.len(), 2, "{left:?}");
    assert_eq!(left.iter().filter(|one| containers.contains(one)).count(), 1, "{containers:?} {left:?}");
}

#[test]
fn after_a_reboot_ps_says_that_the_machine_was_restarted() {
    let share = Share::new();
    let machine = Machine::start("one", Options::default().share(share.dir.path())).unwrap();
    let mut up =
        machine.command(share.path("porthole")).arg("up").arg(share.path("pod.yaml")).spawn().unwrap();
    share.running(&machine, 0);
    machine.reboot().unwrap();
    up.wait().unwrap();
    let container = share.ps(&machine)[0]["containers"][0].clone();
    assert_eq!(
        (&container["state"], &container["message"]),
        (&"Exited".into(), &"the machine was restarted".into())
    );
}
