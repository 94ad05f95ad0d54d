//! The Wine tier: porthole.exe driven from Linux, and test programs that are Windows programs themselves.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use testbed::tools::cargo::Built;
use testbed::tools::windows;
use testbed::wine::Wine;

use super::Gate;
use super::program::{self, Ended};
use super::programs::build;
use crate::results::{self, Record};
use crate::tier::Tier;

/// Packages whose own tests run on Windows too: the shelf for the operating system has the same API there.
const WINDOWS_PACKAGES: &[&str] = &["os"];

/// The executable that users get: with optimisation across all of it, it takes minutes.
pub(super) fn porthole() -> Result<PathBuf> {
    windows::build_exe("porthole", "porthole", "release")
}

// === impl Gate ===

impl Gate {
    pub(super) fn wine(&self) -> Result<Vec<Record>> {
        testbed::tools::wine::ensure().context("the wine tier needs Wine")?;
        let fixture = windows::build_exe("fixture", "fixture", "dev")?;
        let env = [("PORTHOLE_EXE", porthole()?), ("FIXTURE_EXE", fixture.clone())];
        let mut records = self.suite(Tier::Wine, &env)?;
        for package in WINDOWS_PACKAGES {
            records.extend(self.windows_tests(package, &fixture)?);
        }
        Ok(records)
    }

    fn windows_tests(&self, package: &str, fixture: &Path) -> Result<Vec<Record>> {
        let mut command = windows::toolchain()?.cargo("test")?;
        command.args(["--package", package, "--no-run"]);
        let programs = build("the tests of Windows", &mut command)?;
        Ok(programs.iter().flat_map(|built| self.windows_test(package, built, fixture)).collect())
    }

    fn windows_test(&self, package: &str, built: &Built, fixture: &Path) -> Vec<Record> {
        let begun = Instant::now();
        match self.under_wine(built, fixture) {
            Ok(run) => {
                let run = Ended { seconds: begun.elapsed().as_secs_f64(), ..run };
                program::judge(&self.stamp, Tier::Wine, package, &built.name, &run)
            }
            Err(error) => {
                let record = self.stamp.record(Tier::Wine, package, &built.name, results::THE_PROGRAM);
                vec![record.failed(format!("{error:#}"))]
            }
        }
    }

    fn under_wine(&self, built: &Built, fixture: &Path) -> Result<Ended> {
        let directory =
            |path: &Path| path.parent().context("a program has a directory").map(Path::to_path_buf);
        let wine = Wine::builder().bind(directory(&built.path)?).bind(directory(fixture)?).start()?;
        let command = wine.command(&built.path).args(self.libtest_args(Tier::Wine));
        let command = command.env("FIXTURE_EXE", wine.windows_path(fixture));
        let limit: Duration = Tier::Wine.needs().limit;
        let output = command.output(limit)?;
        // Windows tests cannot use the testbed, so they have no way to skip.
        let skips = String::new();
        Ok(Ended {
            code: Some(output.code),
            seconds: 0.0,
            stdout: output.stdout,
            stderr: output.stderr,
            skips,
            left: Vec::new(),
        })
    }
}
