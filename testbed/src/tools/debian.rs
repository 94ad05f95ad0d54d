//! Programs that Debian packages: installed when they are missing, after saying what will come.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};

use super::{cache_dir, may_install, progress};

/// The package lists are fetched at most once per process: they are megabytes.
static UPDATED: AtomicBool = AtomicBool::new(false);

/// Sees to it that the named packages are installed.
///
/// ```no_run
/// testbed::tools::debian::ensure(&["skopeo"])?;
/// # anyhow::Ok(())
/// ```
pub fn ensure(packages: &[&str]) -> Result<()> {
    let missing = missing_of(packages)?;
    if missing.is_empty() {
        return Ok(());
    }
    check_allowed(&missing, may_install(), rustix::process::geteuid().is_root())?;
    let _lock = lock()?;
    // Another test process may have installed them while we waited.
    let missing = missing_of(packages)?;
    if !missing.is_empty() {
        progress::step(&format!("install {}", missing.join(" ")), || install(&missing))?;
    }
    Ok(())
}

/// The address of the Debian archive that this machine's apt uses for its own release.
pub fn mirror() -> Result<String> {
    let release = fs::read_to_string("/etc/os-release").context("read /etc/os-release")?;
    let codename = codename(&release).context("/etc/os-release has no VERSION_CODENAME")?;
    let format = "$(REPO_URI) $(RELEASE) $(COMPONENT)";
    let targets = progress::text_of(Command::new("apt-get").args(["indextargets", "--format", format]))?;
    let found = archive_of(&targets, &codename);
    found.with_context(|| format!("apt's configuration names no archive for Debian {codename} main"))
}

/// The proxy that this machine's apt uses, for programs that fetch packages beside apt.
pub fn proxy() -> Result<Option<String>> {
    let format = ["shell", "PROXY", "Acquire::http::Proxy"];
    let line = progress::text_of(Command::new("apt-config").args(format))?;
    let value = line.strip_prefix("PROXY='").and_then(|rest| rest.strip_suffix('\''));
    Ok(value.filter(|value| !value.is_empty()).map(str::to_owned))
}

fn missing_of<'a>(packages: &[&'a str]) -> Result<Vec<&'a str>> {
    let mut missing = Vec::new();
    for package in packages {
        let output = Command::new("dpkg-query")
            .args(["--show", "--showformat", "${db:Status-Abbrev}", package])
            .output()
            .context("start dpkg-query (is this Debian?)")?;
        if !output.stdout.starts_with(b"ii") {
            missing.push(*package);
        }
    }
    Ok(missing)
}

fn check_allowed(missing: &[&str], may_install: bool, root: bool) -> Result<()> {
    let line = format!("apt-get install -y --no-install-recommends {}", missing.join(" "));
    if !may_install {
        bail!("missing Debian packages; PORTHOLE_NO_INSTALL forbids installing them; run: {line}");
    }
    if !root {
        bail!("missing Debian packages; run: sudo {line}");
    }
    Ok(())
}

fn lock() -> Result<File> {
    let dir = cache_dir();
    fs::create_dir_all(&dir).with_context(|| format!("create {}", dir.display()))?;
    let path: PathBuf = dir.join("apt.lock");
    let file = File::create(&path).with_context(|| format!("create {}", path.display()))?;
    file.lock().with_context(|| format!("lock {}", path.display()))?;
    Ok(file)
}

fn install(missing: &[&str]) -> Result<()> {
    let plan = match simulate(missing) {
        Ok(plan) => plan,
        // A fresh machine has no lists at all, or a package is newer than they are.
        Err(_) => {
            update()?;
            simulate(missing)?
        }
    };
    eprintln!("apt will install: {}", plan.join(" "));
    let first = progress::run(apt_install(missing).arg("-y"));
    if first.is_err() && !UPDATED.load(Ordering::SeqCst) {
        // Lists that are too old name versions that the archive has dropped.
        update()?;
        progress::run(apt_install(missing).arg("-y"))?;
        return Ok(());
    }
    first.map(drop)
}

fn simulate(missing: &[&str]) -> Result<Vec<String>> {
    Ok(planned(&progress::text_of(apt_install(missing).arg("--simulate"))?))
}

fn apt_install(packages: &[&str]) -> Command {
    let mut apt = Command::new("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive");
    apt.args(["install", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"]).args(packages);
    apt
}

fn update() -> Result<()> {
    if !UPDATED.swap(true, Ordering::SeqCst) {
        progress::run(Command::new("apt-get").arg("update"))?;
    }
    Ok(())
}

fn planned(simulated: &str) -> Vec<String> {
    let steps = simulated.lines().filter_map(|line| line.strip_prefix("Inst "));
    steps.filter_map(|step| step.split_whitespace().next()).map(str::to_owned).collect()
}

fn codename(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="))?;
    Some(value.trim_matches('"').to_owned())
}

fn archive_of(targets: &str, codename: &str) -> Option<String> {
    targets.lines().find_map(|line| {
        let mut words = line.split(' ');
        let address = words.next()?;
        let fits = words.next() == Some(codename) && words.next() == Some("main");
        fits.then(|| address.trim_end_matches('/').to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_apt_plans_is_read_from_its_simulation() {
        let text =
            "NOTE: simulation\nInst libx (1.0 Debian:12/stable [amd64])\nInst skopeo (1.9)\nConf libx (1.0)";
        assert_eq!(planned(text), ["libx", "skopeo"]);
    }

    #[test]
    fn the_archive_is_the_one_of_this_release() {
        let targets = "http://other.test/apt/ nodistro main\n\
                       http://one.test/debian-security/ trixie-security main\n\
                       http://one.test/debian/ trixie contrib\n\
                       http://one.test/debian/ trixie main\n\
                       http://two.test/debian/ trixie main";
        assert_eq!(archive_of(targets, "trixie").as_deref(), Some("http://one.test/debian"));
        assert_eq!(archive_of(targets, "bookworm"), None);
    }

    #[test]
    fn quotes_around_the_codename_do_not_matter() {
        assert_eq!(codename("NAME=x\nVERSION_CODENAME=\"trixie\"\n").as_deref(), Some("trixie"));
        assert_eq!(codename("VERSION_CODENAME=bookworm").as_deref(), Some("bookworm"));
        assert_eq!(codename("NAME=x"), None);
    }

    #[test]
    fn a_refusal_names_the_packages_and_the_command() {
        let line = "apt-get install -y --no-install-recommends skopeo busybox-static";
        let forbidden = check_allowed(&["skopeo", "busybox-static"], false, true).expect_err("forbidden");
        assert!(forbidden.to_string().ends_with(&format!("run: {line}")), "{forbidden}");
        let user = check_allowed(&["skopeo", "busybox-static"], true, false).expect_err("not root");
        assert!(user.to_string().ends_with(&format!("run: sudo {line}")), "{user}");
        check_allowed(&["skopeo"], true, true).expect("root may");
    }

    #[test]
    fn dpkg_itself_is_installed_and_nonsense_is_not() {
        assert_eq!(missing_of(&["dpkg", "no-such-package-here"]).expect("asked"), ["no-such-package-here"]);
    }
}
