//! `porthole image explain`: which entry of an image a host takes, and why.

use std::path::Path;

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use images::document::Platform;
use images::platform::builds::Version;
use images::platform::{self, Candidate, Host, Isolation, Processor, Verdict};
use images::{Access, Caller, Source, candidates};
use serde::Serialize;

use super::access::AccessArgs;
use super::platform::this_host;
use super::{show, store_if_there};
use crate::cli::{Output, Root};
use crate::failure::{Exit, Failure, Outcome, code};
use crate::table::table;
use crate::up::say;

pub(super) const EXAMPLES: &str = "Examples:
  porthole image explain registry.k8s.io/pause:3.10
  porthole image explain --host-build 10.0.26100 --isolation process oci-archive:agent.tar
  porthole image explain --host-build 20348 -o json registry.k8s.io/pause:3.10

A reference is an image of this machine, else one of its registry. Exit code 1 if the host takes none of the entries.";

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// A reference, oci-archive:PATH or dir:PATH
    #[arg(value_name = "IMAGE")]
    image: String,
    /// A Windows host of this build, as 10.0.20348.2031 or 20348 [default: this host]
    #[arg(long, value_name = "BUILD")]
    host_build: Option<String>,
    /// The host's processor [default: this host's]
    #[arg(long, value_name = "ARCHITECTURE[/VARIANT]")]
    arch: Option<Processor>,
    #[arg(long, value_enum, default_value_t)]
    isolation: Kind,
    #[arg(short, long, value_enum, default_value_t)]
    output: Output,
    #[command(flatten)]
    root: Root,
    // Last: its heading is for all that follows.
    #[command(flatten)]
    access: AccessArgs,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Kind {
    /// Takes any build, prefers the host's
    #[default]
    HostProcess,
    /// Shares the host's kernel: from the LTSC before the host's on
    Process,
    /// Brings its own kernel: any build that is not newer
    #[value(name = "hyper-v", alias = "hyperv")]
    HyperV,
}

#[derive(Debug, Serialize)]
struct Explained<'a> {
    image: &'a str,
    host: &'a Host,
    isolation: Isolation,
    candidates: Vec<Line<'a>>,
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    digest: &'a str,
    platform: Option<&'a Platform>,
    #[serde(flatten)]
    verdict: &'a Verdict,
}

pub(super) fn explain(args: &ExplainArgs) -> Outcome {
    let source = Source::parse(&args.image, Path::new("")).or_usage()?;
    let host = args.host()?;
    let isolation = args.isolation.into();
    let offered = args.offered(&source)?;
    let verdicts = platform::explain(&offered, &host, isolation);
    let lines = offered.iter().zip(&verdicts).map(|(each, verdict)| Line {
        digest: &each.digest,
        platform: each.platform.as_ref(),
        verdict,
    });
    let explained = Explained { image: &args.image, host: &host, isolation, candidates: lines.collect() };
    show(&explained, args.output, || explained.table())?;
    refusal(&offered, &host, isolation)
}

fn refusal(offered: &[Candidate], host: &Host, isolation: Isolation) -> Outcome {
    match platform::pick(offered, host, isolation) {
        Ok(_) => Ok(code::OK),
        Err(no) => {
            say(&no.to_string());
            Ok(code::NO)
        }
    }
}

// === impl ExplainArgs ===

impl ExplainArgs {
    /// An image of this machine first: what was built or loaded is in no registry.
    fn offered(&self, source: &Source) -> Result<Vec<Candidate>, Failure> {
        if let Source::Reference(reference) = source
            && let Some(store) = store_if_there(&self.root)?
            && let Some(stored) = candidates::stored(reference, store.content())
        {
            return Ok(stored);
        }
        let access = self.access(source)?;
        candidates::of(source, &access, Caller::silent()).with_context(|| self.image.clone()).or_no()
    }

    /// Files need no account.
    fn access(&self, source: &Source) -> Result<Access, Failure> {
        match source {
            Source::Reference(reference) => self.access.open(&self.root, std::slice::from_ref(reference)),
            Source::Dir(_) | Source::OciArchive(_) => Ok(Access::default()),
        }
    }

    fn host(&self) -> Result<Host, Failure> {
        let mut host = this_host()?;
        if let Some(build) = &self.host_build {
            host = Host::new("windows", &host.architecture).with_version(&version(build)?);
        }
        if let Some(Processor { architecture, variant }) = self.arch.clone() {
            host = Host { architecture, variant, ..host };
        }
        Ok(host)
    }
}

/// A build alone is one of Windows 10, as all are that run containers.
fn version(text: &str) -> Result<String, Failure> {
    let whole = if text.contains('.') { text.to_owned() } else { format!("10.0.{text}") };
    match Version::parse(&whole) {
        Some(_) => Ok(whole),
        None => {
            let error = anyhow!("--host-build: wanted 10.0.BUILD[.REVISION] or BUILD, found {text:?}");
            Err(Failure::new(code::USAGE, error))
        }
    }
}

impl From<Kind> for Isolation {
    fn from(kind: Kind) -> Isolation {
        match kind {
            Kind::HostProcess => Isolation::HostProcess,
            Kind::Process => Isolation::Process,
            Kind::HyperV => Isolation::HyperV,
        }
    }
}

// === impl Explained ===

impl Explained<'_> {
    fn table(&self) -> String {
        let rows: Vec<_> = self.candidates.iter().map(Line::row).collect();
        table(&["TAKEN", "PLATFORM", "DIGEST", "WHY"], &rows)
    }
}

// === impl Line ===

impl Line<'_> {
    fn row(&self) -> Vec<String> {
        let taken = match (self.verdict.chosen, self.verdict.fits) {
            (true, _) => "yes",
            (false, true) => "could be",
            (false, false) => "no",
        };
        let platform = self.platform.map_or_else(|| "any".to_owned(), ToString::to_string);
        let short = self.digest.chars().take("sha256:".len() + 12).collect();
        vec![taken.to_owned(), platform, short, self.verdict.why.clone()]
    }
}
