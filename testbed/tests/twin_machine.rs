//! Machines are worlds of their own, a reboot inside one is a reboot, and nothing of them stays.

mod owner;

use std::fs;
use std::path::Path;
use std::time::Duration;

use testbed::guard::traces;
use testbed::machine::{Machine, Options};
use testbed::process::wait_for;

use owner::Owner;

const SOON: Duration = Duration::from_secs(20);

/// As a node does: a group below its root, and on version 2 all controllers for what is below.
const MAKE_CGROUP: &str = "
    for root in /sys/fs/cgroup/unified /sys/fs/cgroup; do
        [ -e $root/cgroup.controllers ] || continue
        for controller in $(cat $root/cgroup.controllers); do
            echo +$controller > $root/cgroup.subtree_control || exit 1
        done
    done
    for root in /sys/fs/cgroup/pids /sys/fs/cgroup; do
        [ -e $root/cgroup.procs ] || continue
        mkdir -p $root/a/b && echo $root/a/b && exit
    done
    exit 1";

fn machine(name: &str) -> Machine {
    Machine::start(name, Options::default()).expect("a machine")
}

/// What a shell line inside says.
fn says(machine: &Machine, line: &str) -> String {
    let output = machine.command("sh").args(["-c", line]).output().expect("started");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
}

/// How many processes of the whole host run with this argument.
fn running(argument: &str) -> usize {
    let pids = fs::read_dir("/proc").expect("/proc").flatten();
    let lines = pids.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes())).count()
}

/// Whether this runs, and not only what will become it.
fn runs(line: &[u8]) -> bool {
    let pids = fs::read_dir("/proc").expect("/proc").flatten();
    pids.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok()).any(|found| found == line)
}

#[test]
fn two_machines_do_not_see_each_other() {
    let (one, two) = (machine("one"), machine("two"));
    for (machine, name) in [(&one, "one"), (&two, "two")] {
        assert_eq!(says(machine, "hostname; cat /etc/hostname"), format!("{name}\n{name}"));
        let inside = says(machine, "cat /proc/sys/kernel/random/boot_id");
        assert_eq!(inside, machine.boot_id().expect("up"));
        assert_eq!(says(machine, "cat /proc/1/cmdline | tr '\\0' ' ' | cut -d' ' -f1"), "sh");
        assert_eq!(says(machine, "ls /sys/class/net"), "lo");
        let groups = says(machine, "cut -d: -f3 /proc/self/cgroup | sort -u");
        assert!(
            groups.lines().all(|group| ["/", "/init"].contains(&group)),
            "it is at its own root: {groups}"
        );
        says(machine, "echo mine > /run/file; mkdir /var/lib/state; echo mine > /var/log/file");
    }
    assert_ne!(one.boot_id().expect("up"), two.boot_id().expect("up"));
    let host = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("the host's");
    assert_ne!(one.boot_id().expect("up"), host.trim());
    assert_ne!(says(&one, "cat /etc/machine-id"), says(&two, "cat /etc/machine-id"));
    assert_ne!(one.init_pid().expect("up"), two.init_pid().expect("up"));
    let mut sleeper = one.command("sleep").arg("86301").spawn().expect("sleep");
    let sees = |machine| says(machine, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").contains("86301");
    // On the host it is there before it is inside.
    wait_for("the sleeper", SOON, || Ok(sees(&one).then_some(()))).expect("it runs");
    assert!(!sees(&two));
    drop(one);
    assert!(!sleeper.wait().expect("it ended with its machine").success());
    assert!(
        !Path::new("/run/file").exists() && !Path::new("/var/log/file").exists(),
        "the host is untouched"
    );
}

#[test]
fn a_reboot_from_inside_ends_everything_and_starts_again() {
    let options = Options::default().on_boot("sh", ["-c", "echo booted >> /var/lib/boots; sleep 86302"]);
    let machine = Machine::start("phoenix", options).expect("a machine");
    let before = machine.boot_id().expect("up");
    says(
        &machine,
        "echo kept > /var/lib/kept; echo kept > /etc/porthole-kept; echo lost > /run/lost; echo lost > /tmp/lost",
    );
    let group = says(&machine, MAKE_CGROUP);
    let mut holder =
        machine.command("sh").args(["-c", "sleep 86303 & setsid sleep 86303 & wait"]).spawn().expect("sh");
    wait_for("three sleepers", SOON, || Ok((running("86303") >= 2 && running("86302") >= 1).then_some(())))
        .expect("they run");

    let _ = machine.command("reboot").status().expect("reboot starts");
    machine.wait_booted(2, SOON).expect("it boots again");

    holder.wait().expect("its parent on the host ended");
    assert_eq!(running("86303"), 0, "processes of the boot before");
    let after = machine.boot_id().expect("up");
    assert_ne!(after, before);
    assert_eq!(says(&machine, "cat /proc/sys/kernel/random/boot_id"), after);
    assert_eq!(says(&machine, "cat /etc/porthole-kept"), "kept");
    assert!(!Path::new("/etc/porthole-kept").exists(), "the host's /etc is untouched");
    assert_eq!(says(&machine, "cat /var/lib/kept; ls /run/lost /tmp/lost 2> /dev/null | wc -l"), "kept\n0");
    assert_eq!(says(&machine, &format!("ls {group} 2>/dev/null | wc -l")), "0", "cgroups end with the boot");
    wait_for("the second start", SOON, || {
        Ok((fs::read_to_string(machine.var_lib().join("boots"))? == "booted\nbooted\n").then_some(()))
    })
    .expect("on_boot ran twice");
    assert_eq!(machine.reboot().expect("the reset button"), 3);
    assert_ne!(machine.boot_id().expect("up"), after);
}

#[test]
fn a_poweroff_from_inside_stays_off() {
    let machine = machine("off");
    let _ = machine.command("poweroff").status().expect("poweroff starts");
    wait_for("the end", SOON, || Ok(machine.is_off().then_some(()))).expect("off");
    assert!(machine.boot_id().is_err());
    assert!(!machine.command("true").status().expect("nsenter starts").success());
}

#[test]
fn a_command_ends_when_its_child_is_killed() {
    let machine = machine("killed");
    let mut child = machine.command("sleep").arg("86304").spawn().expect("sleep");
    // From then on it ends with whoever started it.
    wait_for("the sleeper", SOON, || Ok(runs(b"sleep\x0086304\0").then_some(()))).expect("it runs");
    child.kill().expect("killed");
    child.wait().expect("reaped");
    wait_for("its end", SOON, || Ok((running("86304") == 0).then_some(()))).expect("nobody is left");
}

#[test]
fn orphans_are_reaped_by_process_1() {
    let machine = machine("reaper");
    // Each sleeper's parent is gone at once, so that it is process 1 who must take its end.
    says(&machine, "for i in 1 2 3 4 5; do (setsid sleep 0.5306 > /dev/null 2>&1 &); done");
    wait_for("the orphans to end", SOON, || Ok((running("0.5306") == 0).then_some(()))).expect("ended");
    let zombies = "cat /proc/[0-9]*/stat 2> /dev/null | grep -c ') Z '; true";
    wait_for("no zombies", SOON, || Ok((says(&machine, zombies) == "0").then_some(()))).expect("reaped");
}

#[test]
fn a_shared_directory_is_seen_through_the_private_ones() {
    let dir = std::env::temp_dir().join(format!("porthole-shared-{}", std::process::id()));
    fs::create_dir_all(&dir).expect("made");
    fs::write(dir.join("file"), "from the host").expect("written");
    let machine = Machine::start("sharing", Options::default().share(&dir)).expect("a machine");
    assert_eq!(says(&machine, &format!("cat {}/file", dir.display())), "from the host");
    drop(machine);
    assert!(dir.join("file").exists(), "what is shared is not the machine's to remove");
    fs::remove_dir_all(dir).expect("removed");
}

#[test]
fn nothing_is_left_after_drop() {
    let machine = machine("gone");
    let (id, dir) = machine.guard();
    let (id, dir) = (id.to_owned(), dir.to_owned());
    says(&machine, "setsid sleep 86305 > /dev/null 2>&1 & mount -t tmpfs tmpfs /var/lib");
    let seen = traces(&id, &dir);
    for kind in ["process", "mount", "cgroup", "directory"] {
        assert!(seen.iter().any(|line| line.starts_with(kind)), "no {kind} in {seen:#?}");
    }
    drop(machine);
    assert_eq!(traces(&id, &dir), Vec::<String>::new());
}

/// Somebody else must remove it all: the owner has no time left to.
fn nothing_is_left_after(signal: &str) {
    let mut owner = Owner::of("machine");
    let held = owner.holding();
    owner.end(signal);
    held.wait_until_gone(SOON);
}

#[test]
fn nothing_is_left_when_the_owner_is_killed() {
    nothing_is_left_after("KILL");
}

#[test]
fn nothing_is_left_when_the_owner_is_interrupted() {
    nothing_is_left_after("INT");
}

#[test]
fn nothing_is_left_when_the_owner_panics() {
    let mut owner = Owner::of("machine");
    let held = owner.holding();
    owner.panic();
    assert_eq!(held.traces(), [""; 0], "it was to wait for that before it ended");
}
