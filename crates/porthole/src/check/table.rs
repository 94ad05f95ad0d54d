//! The report for people: a line per object, and under it what is wrong, where, and what to do.
//!
//! Lines begin with `FILE:LINE:`, which editors and terminals make into links.

use std::fmt::Write;

use rules::pod_security::{self, Level, Version};

use super::entry::Entry;
use super::hints::hint;

const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const PLAIN: &str = "\x1b[0m";

/// What the summary counts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) allowed: usize,
    pub(super) refused: usize,
    pub(super) passed_over: usize,
    pub(super) warnings: usize,
    pub(super) unreadable: usize,
}

/// What was demanded beyond the API's rules.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demand {
    pub(super) level: Option<Level>,
    pub(super) version: Version,
}

/// One object's block. `line` says on which line a field is.
pub(super) fn block(entry: &Entry<'_>, demand: Demand, line: impl Fn(&str) -> usize) -> String {
    let source = clean(entry.source);
    let mut text = format!("{source}:{}: document {}", line(""), entry.index);
    let ok = &mut text;
    // Writing to a String cannot fail.
    let _ = match entry.item {
        Some(item) => write!(ok, ", item {item}: "),
        None => write!(ok, ": "),
    };
    let _ = writeln!(ok, "{}: {}", object(entry), verdict(entry));
    for error in &entry.errors {
        let at = line(&error.field);
        let field = if error.field.is_empty() { String::new() } else { format!("{}: ", clean(&error.field)) };
        let found =
            if error.value == "" { String::new() } else { format!(" (found {})", short(&error.value)) };
        let _ = writeln!(
            ok,
            "  {source}:{at}: {RED}error{PLAIN}: {field}{}{found} [{:?}]",
            clean(&error.message),
            error.reason
        );
        if let Some(hint) = hint(error) {
            let _ = writeln!(ok, "    hint: {hint}");
        }
    }
    if let Some(level) = demand.level.filter(|level| !entry.pod_security.of(*level).allowed) {
        let findings = &entry.pod_security.of(level).violations;
        if !findings.is_empty() {
            let said = pod_security::refusal(level, demand.version, findings);
            let _ = writeln!(ok, "  {source}:{}: {RED}error{PLAIN}: {}", line("spec"), clean(&said));
        }
    }
    for note in entry.warnings.iter().filter(|_| !entry.passed_over) {
        let at = line(&note.field);
        let _ = writeln!(ok, "  {source}:{at}: {YELLOW}warning{PLAIN}: {}", clean(&note.text));
    }
    text
}

fn object(entry: &Entry<'_>) -> String {
    let kind = if entry.kind.is_empty() { "unknown object" } else { entry.kind };
    let slash = if entry.namespace.is_empty() { "" } else { "/" };
    clean(&format!("{kind} {}{slash}{}", entry.namespace, entry.name)).trim_end().to_owned()
}

fn verdict(entry: &Entry<'_>) -> String {
    if entry.passed_over {
        return "passed over".to_owned();
    }
    let (colour, word) = if entry.allowed { (GREEN, "allowed") } else { (RED, "refused") };
    let read = entry.errors.iter().all(|error| error.reason != rules::Reason::BadRequest);
    let kind = if entry.host_process { ", HostProcess" } else { "" };
    let security = if read {
        format!("{kind}, Pod Security: {}", entry.pod_security.strictest())
    } else {
        String::new()
    };
    format!("{colour}{word}{PLAIN}{security}")
}

/// A value of the manifest, cut where it gets long.
fn short(value: &serde_json::Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", clean(&text[..at])),
        None => clean(&text),
    }
}

/// Without characters that would do something to a terminal.
fn clean(text: &str) -> String {
    if !text.chars().any(char::is_control) {
        return text.to_owned();
    }
    text.chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] })
        .collect()
}

// === impl Counts ===

impl Counts {
    pub(super) fn count(&mut self, entry: &Entry<'_>) {
        match (entry.passed_over, entry.allowed) {
            (true, _) => self.passed_over += 1,
            (false, true) => self.allowed += 1,
            (false, false) => self.refused += 1,
        }
        self.warnings += if entry.passed_over { 0 } else { entry.warnings.len() };
    }

    pub(super) fn summary(&self) -> String {
        let Self { allowed, refused, passed_over, warnings, unreadable } = self;
        let unreadable = match unreadable {
            0 => String::new(),
            1 => "; 1 file could not be read".to_owned(),
            many => format!("; {many} files could not be read"),
        };
        format!(
            "{allowed} allowed, {refused} refused, {passed_over} passed over, {warnings} warnings{unreadable}\n"
        )
    }
}
