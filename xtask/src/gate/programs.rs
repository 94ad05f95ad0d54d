//! The test programs of this workspace, built by as few cargos as may be.

use std::process::Command;

use anyhow::Result;
use testbed::tools::cargo::{self, Built};
use testbed::tools::progress;

use super::Gate;
use crate::tier::Tier;

// === impl Gate ===

impl Gate {
    /// Cargo is asked once for the programs of all tiers. If some do not compile, each tier asks for its own: those of
    /// the others still run.
    pub(super) fn programs_of(&self, tier: Tier) -> Result<Vec<Built>> {
        let of_tier = |built: &&Built| Tier::of_target(&built.name) == tier;
        match self.programs.get_or_init(|| self.programs_together()) {
            Some(all) => Ok(all.iter().filter(of_tier).cloned().collect()),
            None => self.build_tiers(&format!("the {} tests", tier.name()), &[tier]),
        }
    }

    fn programs_together(&self) -> Option<Vec<Built>> {
        let several = self.tiers.iter().filter(|tier| self.has_programs(**tier)).count() > 1;
        several.then(|| self.build_tiers("the tests of all tiers", &self.tiers).ok()).flatten()
    }

    pub(super) fn has_programs(&self, tier: Tier) -> bool {
        tier == Tier::Unit || !self.workspace.integration_tests(tier).is_empty()
    }

    fn build_tiers(&self, what: &str, tiers: &[Tier]) -> Result<Vec<Built>> {
        let mut command = cargo::command("test")?;
        cargo::reporting(&mut command).args(["--workspace", "--no-run"]);
        if tiers.contains(&Tier::Unit) {
            command.args(["--lib", "--bins"]);
        }
        let names = tiers.iter().flat_map(|tier| self.workspace.integration_tests(*tier));
        command.args(names.flat_map(|name| ["--test", name]));
        build(what, &mut command)
    }
}

/// The test programs that a cargo command reports.
pub(super) fn build(what: &str, command: &mut Command) -> Result<Vec<Built>> {
    let output = progress::step(&format!("build {what}"), || progress::run(command))?;
    Ok(cargo::built(&output.stdout)?.into_iter().filter(|built| built.is_test).collect())
}
