//! Checks of a running world, one after the other, and what they found.

use std::time::Instant;

use anyhow::Result;
use serde::Serialize;

use super::{Claim, Trial};

/// One thing that is looked at. Later ones may need what earlier ones made.
pub(super) struct Check<T> {
    pub(super) name: &'static str,
    pub(super) run: fn(&T) -> Result<()>,
}

/// What the checks found, in their order.
#[derive(Debug, Default, Serialize)]
pub(super) struct Found {
    checks: Vec<Checked>,
}

#[derive(Debug, Serialize)]
struct Checked {
    part: &'static str,
    name: &'static str,
    pass: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    said: String,
}

// === impl Found ===

impl Found {
    pub(super) fn check<T>(&mut self, part: &'static str, checks: &[Check<T>], subject: &T) {
        for check in checks {
            let begun = Instant::now();
            let end = (check.run)(subject);
            let word = if end.is_ok() { "ok" } else { "FAILED" };
            println!("{part}: {} … {word} ({:.1} s)", check.name, begun.elapsed().as_secs_f64());
            self.part(part, check.name, end);
        }
    }

    pub(super) fn part(&mut self, part: &'static str, name: &'static str, end: Result<()>) {
        let said = end.err().map(|error| format!("{error:#}")).unwrap_or_default();
        if !said.is_empty() {
            println!("{part}: {name}: {said}");
        }
        self.checks.push(Checked { part, name, pass: said.is_empty(), said });
    }

    pub(super) fn conclude(&self, trial: &Trial, proves: &[Claim]) -> Result<bool> {
        let passed = self.checks.iter().filter(|check| check.pass).count();
        let pass = passed == self.checks.len();
        println!("{passed} of {} checks passed", self.checks.len());
        trial.record(pass, proves, self)?;
        Ok(pass)
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn a_check_that_fails_is_told_and_the_next_one_runs() {
        let mut found = Found::default();
        let checks = [
            Check { name: "fails", run: |_: &()| bail!("no") },
            Check { name: "passes", run: |_: &()| Ok(()) },
        ];
        found.check("part", &checks, &());
        let told: Vec<_> = found.checks.iter().map(|check| (check.pass, check.said.as_str())).collect();
        assert_eq!(told, [(false, "no"), (true, "")]);
    }
}
