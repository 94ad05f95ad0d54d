//! How far a pull, a push, a save or a load is: a bar for each layer on a terminal, plain lines otherwise.
//!
//! Everything goes to standard error; standard output has the result and nothing else.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};

use images::progress::{Progress, Stage};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::amount::{bytes, short};
use crate::up::say;

/// Redrawn at most so often.
const FRAMES_PER_SECOND: u8 = 10;

#[derive(Debug)]
pub(super) enum Bars {
    Quiet,
    /// With the layers that had their line.
    Plain(Mutex<BTreeMap<String, Stage>>),
    Live {
        all: MultiProgress,
        layers: Mutex<BTreeMap<String, ProgressBar>>,
    },
}

// === impl Bars ===

impl Bars {
    pub(super) fn new(quiet: bool) -> Bars {
        if quiet {
            return Bars::Quiet;
        }
        if !std::io::stderr().is_terminal() {
            return Bars::Plain(Mutex::default());
        }
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(FRAMES_PER_SECOND));
        Bars::Live { all, layers: Mutex::default() }
    }

    pub(super) fn tell(&self, progress: &Progress) {
        match self {
            Bars::Quiet => {}
            Bars::Plain(told) => {
                if let Some(line) = line(progress, &mut locked(told)) {
                    say(&line);
                }
            }
            Bars::Live { all, layers } => match progress {
                Progress::Layer { digest, done, total, stage } => {
                    let mut layers = locked(layers);
                    let bar = layers
                        .entry(digest.as_str().to_owned())
                        .or_insert_with(|| all.add(bar(short(digest.as_str()), *total)));
                    show(bar, *done, *total, *stage);
                }
                other => {
                    if let Some(line) = line(other, &mut BTreeMap::new()) {
                        self.note(&line);
                    }
                }
            },
        }
    }

    /// A line of its own, above the bars.
    pub(super) fn note(&self, text: &str) {
        match self {
            Bars::Quiet => {}
            Bars::Plain(_) => say(text),
            // A terminal that is gone is no reason to stop.
            Bars::Live { all, .. } => drop(all.println(format!("porthole: {text}"))),
        }
    }

    /// Nothing more will be drawn: what follows starts on a line of its own.
    pub(super) fn close(&self) {
        if let Bars::Live { layers, .. } = self {
            locked(layers).values().filter(|bar| !bar.is_finished()).for_each(ProgressBar::abandon);
        }
    }
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

fn bar(name: &str, total: u64) -> ProgressBar {
    let template = "{prefix}  [{bar:30}] {decimal_bytes:>10}/{decimal_total_bytes:10} {msg}";
    let style = ProgressStyle::with_template(template).expect("the template is ours").progress_chars("=> ");
    ProgressBar::new(total).with_style(style).with_prefix(name.to_owned())
}

fn show(bar: &ProgressBar, done: u64, total: u64, stage: Stage) {
    bar.set_length(total);
    bar.set_position(done);
    if matches!(stage, Stage::Present | Stage::Done) {
        bar.finish_with_message(word(stage));
    } else {
        bar.set_message(word(stage));
    }
}

fn word(stage: Stage) -> &'static str {
    match stage {
        Stage::Present => "is here",
        Stage::Waiting => "waits",
        Stage::Downloading | Stage::Uploading => "moves",
        Stage::Unpacking => "unpacks",
        Stage::Done => "done",
    }
}

/// A line where there are no bars: what begins, what ends, what goes wrong; each layer once.
fn line(progress: &Progress, told: &mut BTreeMap<String, Stage>) -> Option<String> {
    match progress {
        Progress::Layer { digest, total, stage, .. } => {
            if !matches!(stage, Stage::Present | Stage::Done) || told.contains_key(digest.as_str()) {
                return None;
            }
            told.insert(digest.as_str().to_owned(), *stage);
            Some(format!("{}: {} {}", short(digest.as_str()), bytes(*total), word(*stage)))
        }
        Progress::Resolved { reference, digest, blobs } => {
            let total = blobs.iter().map(|(_, size)| size).sum();
            Some(format!("{reference} is {}, {} blobs, {}", digest.as_str(), blobs.len(), bytes(total)))
        }
        other => Some(other.to_string()),
    }
}
