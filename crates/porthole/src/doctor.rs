//! `porthole doctor`: what this host can do, what it cannot, and what follows (HP-30, HP-35).

use os::host::HostFacts;
use os::probe::Capability;
use plan::support::Support;
use serde::Serialize;

use crate::cli::DoctorArgs;
use crate::facts::show;
use crate::failure::{Exit, Outcome, code};
use crate::needs::{self, Means};
use crate::table::table;

/// The report, as `-o json` prints it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub version: &'static str,
    pub host: HostFacts,
    /// This is the Linux build, which stands in for Windows in development.
    pub twin: bool,
    /// Whether HostProcess containers can run here.
    pub host_process: Verdict,
    pub capabilities: Vec<Capability>,
}

#[derive(Debug, Serialize)]
pub struct Verdict {
    pub supported: bool,
    pub why: String,
}

pub fn doctor(args: &DoctorArgs) -> Outcome {
    let host = os::host::facts().or_environment()?;
    let capabilities: Vec<_> = os::probe::capabilities().into_iter().chain(hcs::probe()).collect();
    let report = Report::new(host, capabilities, os::job::limits_work().is_ok());
    show(&report, args.output, || report.render())?;
    Ok(if report.host_process.supported { code::OK } else { code::NO })
}

// === impl Report ===

impl Report {
    fn new(host: HostFacts, capabilities: Vec<Capability>, limits: bool) -> Report {
        Report {
            version: env!("CARGO_PKG_VERSION"),
            twin: host.os != "windows",
            host_process: Verdict::of(&host, &capabilities, limits),
            host,
            capabilities,
        }
    }

    fn render(&self) -> String {
        let host = &self.host;
        let kind = if self.twin { " (the twin: Linux standing in for Windows)" } else { "" };
        let emulator =
            host.emulator.as_ref().map_or_else(String::new, |name| format!(", emulated by {name}"));
        let elevated = if host.account.elevated { "administrator" } else { "no administrator" };
        let head = format!(
            "porthole {} on {} {}{kind}{emulator}\naccount: {} ({}), {elevated}\nHostProcess containers: {}\n\n",
            self.version, host.os, host.os_version, host.account.name, host.account.id, self.host_process.why
        );
        let rows: Vec<_> = self.capabilities.iter().map(row).collect();
        head + &table(&["CAPABILITY", "FOUND", "DETAIL", "WHAT FOLLOWS"], &rows)
    }
}

fn row(capability: &Capability) -> Vec<String> {
    let follows = if capability.found { "" } else { capability.without };
    let found = if capability.found { "yes" } else { "no" };
    vec![capability.what.to_owned(), found.to_owned(), capability.detail.clone(), follows.to_owned()]
}

// === impl Verdict ===

impl Verdict {
    fn of(host: &HostFacts, capabilities: &[Capability], limits: bool) -> Verdict {
        let support = needs::support(host);
        if support == Support::TooOld {
            return Verdict { supported: false, why: support.sentence().to_owned() };
        }
        let means = Means { limits, elevated: host.account.elevated };
        match needs::missing(capabilities, means).first() {
            Some(missing) => Verdict {
                supported: false,
                why: format!("not supported: {}: {}", missing.what, missing.without),
            },
            None => Verdict { supported: true, why: support.sentence().to_owned() },
        }
    }
}

#[cfg(test)]
mod tests;
