//! `porthole check`: will Kubernetes take these manifests, and what may they do? Offline (HP-01…03, HP-19, HP-31).
//!
//! Objects are judged and printed one by one: a file may hold very many.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use rules::decode;
use rules::policy::Policy;
use rules::{ApiOptions, Reason, Violation};

use crate::cli::Output;
use crate::failure::{Exit, Failure, Outcome, code};
use crate::up::say;

pub mod args;
mod covers;
mod entry;
mod hints;
mod judge;
mod lines;
mod sources;
mod table;

use args::{CheckArgs, Switch};
use entry::{Entry, PodSecurity};
use judge::Judge;
use lines::Lines;
use sources::SourceError;
use table::{Counts, Demand};

pub fn check(args: &CheckArgs) -> Outcome {
    if args.covers {
        return covers::covers(args.output);
    }
    let judge = Judge::new(args)?;
    let mut report = Report::new(args);
    let told = report.begin().and_then(|()| report.files(&judge, args)).and_then(|()| report.end());
    match told {
        // A reader that has seen enough (`| head`) is no error.
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(Failure::new(code::ENVIRONMENT, e)),
        _ => Ok(report.code()),
    }
}

/// Where the words go, and what they have been so far.
struct Report {
    output: Output,
    demand: Demand,
    to: BufWriter<Box<dyn Write>>,
    counts: Counts,
    first: bool,
}

// === impl Judge ===

impl Judge {
    fn new(args: &CheckArgs) -> Result<Self, Failure> {
        let api = ApiOptions {
            allow_privileged: args.allow_privileged,
            host_process: args.host_process == Switch::On,
        };
        let policy = args.policy.as_deref().map(policy).transpose()?;
        Ok(Self { api, level: args.level, version: args.policy_version, policy })
    }
}

/// A policy that cannot be read whole allows nothing, and is no answer either.
fn policy(path: &Path) -> Result<Policy, Failure> {
    let bytes = sources::read(path).or_usage()?;
    let text = decode::text(&bytes).with_context(|| path.display().to_string()).or_usage()?;
    Policy::parse(&text).with_context(|| path.display().to_string()).or_usage()
}

// === impl Report ===

impl Report {
    fn new(args: &CheckArgs) -> Self {
        // Colours only where there is a terminal that shows them.
        let to: Box<dyn Write> = match args.output {
            Output::Table => Box::new(anstream::stdout()),
            Output::Json | Output::Yaml => Box::new(io::stdout()),
        };
        let demand = Demand { level: args.level, version: args.policy_version };
        let to = BufWriter::with_capacity(1 << 16, to);
        Self { output: args.output, demand, to, counts: Counts::default(), first: true }
    }

    fn begin(&mut self) -> io::Result<()> {
        if self.output == Output::Json { self.to.write_all(b"[") } else { Ok(()) }
    }

    fn files(&mut self, judge: &Judge, args: &CheckArgs) -> io::Result<()> {
        for named in &args.files {
            for path in sources::expand(named) {
                match path.and_then(|path| Ok((sources::read(&path)?, path))) {
                    Ok((bytes, path)) => self.file(judge, &path, &bytes)?,
                    Err(error) => self.unreadable(error)?,
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, judge: &Judge, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let source = path.display().to_string();
        let text = match decode::text(bytes) {
            Ok(text) => text,
            Err(error) => return self.entry(&no_text(&source, &error.to_string()), |_| 1),
        };
        let lines = Lines::new(&text);
        for document in decode::documents(&text) {
            let mut told = Ok(());
            document.each(|object| {
                if told.is_ok() {
                    let entry = judge.entry(&source, document.index, object);
                    told = self.entry(&entry, |field| lines.line(object.offset(field)));
                }
            });
            told?;
        }
        Ok(())
    }

    fn entry(&mut self, entry: &Entry<'_>, line: impl Fn(&str) -> usize) -> io::Result<()> {
        self.counts.count(entry);
        match self.output {
            Output::Table => self.to.write_all(table::block(entry, self.demand, line).as_bytes()),
            Output::Json => {
                let before: &[u8] = if std::mem::take(&mut self.first) { b"\n" } else { b",\n" };
                self.to.write_all(before)?;
                serde_json::to_writer(&mut self.to, entry).map_err(io::Error::from)
            }
            Output::Yaml => {
                self.first = false;
                let text = serde_saphyr::to_string(&[entry]).map_err(io::Error::other)?;
                self.to.write_all(text.trim_end_matches('\n').as_bytes())?;
                self.to.write_all(b"\n")
            }
        }
    }

    /// On standard error, in its place between the others.
    fn unreadable(&mut self, error: SourceError) -> io::Result<()> {
        self.to.flush()?;
        self.counts.unreadable += 1;
        say(&Failure::new(code::USAGE, error).line());
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        match self.output {
            Output::Table => self.to.write_all(self.counts.summary().as_bytes())?,
            Output::Json => self.to.write_all(b"\n]\n")?,
            Output::Yaml if self.first => self.to.write_all(b"[]\n")?,
            Output::Yaml => {}
        }
        self.to.flush()
    }

    fn code(&self) -> i32 {
        match self.counts {
            Counts { unreadable: 1.., .. } => code::USAGE,
            Counts { refused: 1.., .. } => code::NO,
            _ => code::OK,
        }
    }
}

/// The one document that a file of no text is.
fn no_text<'a>(source: &'a str, message: &str) -> Entry<'a> {
    let error = Violation {
        reason: Reason::BadRequest,
        field: String::new(),
        value: "".into(),
        message: message.to_owned(),
    };
    Entry {
        source,
        index: 0,
        item: None,
        kind: "",
        namespace: "",
        name: "",
        host_process: false,
        allowed: false,
        errors: vec![error],
        warnings: Vec::new(),
        pod_security: PodSecurity::without_a_pod(false),
        passed_over: false,
    }
}
