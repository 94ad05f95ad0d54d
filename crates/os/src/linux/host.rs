//! Facts about this Linux machine, read from /proc and /etc without a name service: the program is static.

use std::io;

use crate::host::{Account, HostFacts, architecture};

pub(crate) fn facts() -> io::Result<HostFacts> {
    let system = rustix::system::uname();
    let text = |value: &std::ffi::CStr| value.to_string_lossy().into_owned();
    let meminfo = std::fs::read_to_string("/proc/meminfo")?;
    Ok(HostFacts {
        os: "linux".to_owned(),
        os_version: format!("{}, Linux {}", distribution(), text(system.release())),
        windows_build: None,
        architecture: architecture(),
        hostname: text(system.nodename()),
        cpus: online_cpus(),
        memory_bytes: memory_bytes(&meminfo),
        boot_id: boot_id()?,
        system_drive: None,
        account: account(),
        emulator: None,
    })
}

pub(crate) fn boot_id() -> io::Result<String> {
    Ok(std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// The machine's processors, not those a limit leaves to us: the node reports the machine.
fn online_cpus() -> u32 {
    // SAFETY: a plain number.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u32::try_from(count).unwrap_or(1).max(1)
}

fn distribution() -> String {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    pretty_name(&release).unwrap_or("Linux").to_owned()
}

fn pretty_name(release: &str) -> Option<&str> {
    let value = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches(['"', '\'']))
}

fn memory_bytes(meminfo: &str) -> u64 {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

fn account() -> Account {
    let uid = rustix::process::geteuid().as_raw();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = user_name(&users, uid).map_or_else(|| uid.to_string(), str::to_owned);
    Account { name, id: uid.to_string(), elevated: crate::elevated() }
}

fn user_name(users: &str, uid: u32) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn os_release_values_lose_their_quotes() {
        assert_eq!(pretty_name("ID=debian\nPRETTY_NAME=\"Debian 12\"\n"), Some("Debian 12"));
        assert_eq!(pretty_name("ID=debian\n"), None);
    }

    #[test]
    fn memory_is_given_in_bytes() {
        assert_eq!(memory_bytes("MemTotal:       2048 kB\nMemFree: 1 kB\n"), 2048 * 1024);
    }

    #[test]
    fn a_user_is_found_by_number() {
        let users = "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n";
        assert_eq!(user_name(users, 65534), Some("nobody"));
        assert_eq!(user_name(users, 4), None);
    }

    #[test]
    fn this_machine_has_facts() {
        let facts = facts().unwrap();
        assert!(facts.cpus >= 1 && facts.memory_bytes > 1 << 20 && facts.boot_id.len() == 36, "{facts:?}");
    }
}
