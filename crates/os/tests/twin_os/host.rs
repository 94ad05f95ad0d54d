//! What a machine says about itself depends on who asks.

use std::process::Command;

use crate::keeper::{as_nobody, as_root};

fn told(mut command: Command) -> String {
    let output = command.arg("host").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn has(told: &str, start: &str) -> bool {
    told.lines().any(|line| line.starts_with(start))
}

// proves: HP-30 twin
#[test]
fn root_may_make_cgroups_and_says_so() {
    let told = told(as_root());
    for expected in
        ["fact account 0 root", "fact elevated true", "found root", "found cgroup-writable", "found pidfd"]
    {
        assert!(has(&told, expected), "{expected}: {told}");
    }
}

// proves: HP-30 twin
#[test]
fn nobody_may_make_namespaces_and_no_cgroups() {
    let told = told(as_nobody());
    for expected in [
        "fact account 65534 nobody",
        "fact elevated false",
        "missing root",
        "missing cgroup-writable not root",
        "found user-namespace",
        "found pid-namespace",
        "found bind-mount",
        "found overlayfs",
    ] {
        assert!(has(&told, expected), "{expected}: {told}");
    }
}

#[test]
fn probing_leaves_nothing_behind() {
    let mounts = || std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let before = mounts();
    assert!(has(&told(as_root()), "found overlayfs"));
    assert_eq!(mounts(), before);
    assert_eq!(probes_of_the_dead(), [""; 0]);
}

/// Groups made for a probe by processes that have ended; those beside us may be probing right now.
fn probes_of_the_dead() -> Vec<String> {
    let trees = testbed::cgroup::hierarchies().unwrap();
    let groups = trees.iter().flat_map(|tree| std::fs::read_dir(&tree.mount).into_iter().flatten().flatten());
    let names = groups.filter_map(|group| group.file_name().into_string().ok());
    let dead = |pid: &str| !std::path::Path::new("/proc").join(pid).exists();
    names.filter(|name| name.strip_prefix("porthole-probe-").is_some_and(dead)).collect()
}
