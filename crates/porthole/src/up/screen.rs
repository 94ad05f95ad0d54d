//! What `up` shows: a live table on a terminal; otherwise plain lines, the containers' own among them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use os::terminal::Live;
use runtime::admit::Admitted;
use runtime::ids::PodId;
use runtime::layout::{ContainerDir, Layout, PodDir};
use runtime::logs::LogReader;
use runtime::run::event::{Event, What};

use super::fitted::fitted;
use super::parts::Parts;
use crate::table::table;

#[derive(Debug)]
pub(super) struct Screen {
    /// The terminal whose lines are written over; none where lines are plain.
    live: Option<Live>,
    rows: BTreeMap<(String, String), Row>,
    /// How many lines of the table stand on the terminal.
    drawn: usize,
}

/// One container.
#[derive(Debug)]
struct Row {
    state: String,
    pid: Option<u32>,
    restarts: u32,
    note: String,
    pod: PodDir,
    name: String,
    reader: Option<LogReader>,
    parts: Parts,
}

// === impl Screen ===

impl Screen {
    pub(super) fn new(plain: bool) -> Screen {
        let live = if plain { None } else { Live::enter() };
        Screen { live, rows: BTreeMap::new(), drawn: 0 }
    }

    /// A pod that is about to be started.
    pub(super) fn expect(&mut self, pod: &Admitted, layout: &Layout) {
        for asked in &pod.containers {
            let row = Row {
                state: "Waiting".into(),
                pid: None,
                restarts: 0,
                note: String::new(),
                pod: layout.pod(&PodId::from(pod.uid)),
                name: asked.container.name.clone(),
                reader: None,
                parts: Parts::default(),
            };
            self.rows.insert((pod.full_name(), asked.container.name.clone()), row);
        }
        self.draw();
    }

    pub(super) fn show(&mut self, event: &Event) {
        if let What::Ended(_) = event.what {
            // What it wrote comes before the news of its end.
            self.follow();
            self.finish(event);
        }
        let key = (event.pod.clone(), event.container.clone().unwrap_or_default());
        if let Some(row) = self.rows.get_mut(&key) {
            row.hear(&event.what);
        }
        match event.what {
            What::Warning(_)
            | What::Lost
            | What::Replacing
            | What::StoppedByHand
            | What::RemovedByHand
            | What::CannotStart(_) => self.note(&event.to_string()),
            _ if self.live.is_some() => self.draw(),
            _ => self.line(&event.to_string()),
        }
    }

    /// A line that is no container's.
    pub(super) fn note(&mut self, text: &str) {
        self.erase();
        super::say(text);
        self.draw();
    }

    /// Prints what the containers wrote since the last look. A terminal shows the table instead.
    pub(super) fn follow(&mut self) {
        if self.live.is_some() {
            return;
        }
        let mut out = io::stdout().lock();
        for ((pod, container), row) in &mut self.rows {
            let Row { reader: Some(reader), parts, .. } = row else { continue };
            // A log that cannot be read, or an output that is closed, must not end the pods.
            drop(reader.read(|entry| match parts.line(entry) {
                Some(line) => write_line(&mut out, pod, container, &line),
                None => Ok(()),
            }));
        }
        drop(out.flush());
    }

    /// Of a container that ended, what it began and did not end.
    fn finish(&mut self, event: &Event) {
        let key = (event.pod.clone(), event.container.clone().unwrap_or_default());
        let Some(row) = self.rows.get_mut(&key) else { return };
        let mut out = io::stdout().lock();
        row.parts.rest().for_each(|line| drop(write_line(&mut out, &key.0, &key.1, &line)));
        drop(out.flush());
    }

    /// Leaves the last table standing. All of it, as nobody will erase it and there is no other place to look: the
    /// pods are gone.
    pub(super) fn close(&mut self) {
        if self.live.is_some() {
            self.erase();
            write_out(&self.table());
        }
    }

    fn line(&self, text: &str) {
        // The reader may be gone; the pods go on.
        drop(writeln!(io::stdout(), "{text}"));
    }

    fn draw(&mut self) {
        if self.live.is_none() {
            return;
        }
        self.erase();
        let text = fitted(&self.table(), os::terminal::size().ok());
        self.drawn = text.lines().count();
        write_out(&text);
    }

    fn table(&self) -> String {
        let rows: Vec<_> =
            self.rows.iter().map(|((pod, container), row)| row.cells(pod, container)).collect();
        table(&["POD", "CONTAINER", "STATE", "RESTARTS", "PID", "NOTE"], &rows)
    }

    fn erase(&mut self) {
        if self.live.is_some() && self.drawn > 0 {
            // From the first column, where the `^C` that the terminal shows does not leave it; and at once, because
            // what comes next may go another way to the same terminal.
            write_out(&format!("\r\x1b[{}A\x1b[J", self.drawn));
            self.drawn = 0;
        }
    }
}

fn write_line(out: &mut impl Write, pod: &str, container: &str, line: &[u8]) -> io::Result<()> {
    write!(out, "{pod}/{container} | ")?;
    out.write_all(line)?;
    out.write_all(b"\n")
}

/// At once; whoever reads may be gone.
fn write_out(text: &str) {
    let mut out = io::stdout().lock();
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

// === impl Row ===

impl Row {
    fn hear(&mut self, what: &What) {
        match what {
            What::Started { pid, attempt } => {
                self.runs(*pid, *attempt);
                self.reader = Some(LogReader::new(&self.dir(*attempt).log()));
            }
            What::Adopted { pid, attempt } => {
                self.runs(*pid, *attempt);
                // What it wrote before was another `up`'s to show.
                self.reader = LogReader::at_end(&self.dir(*attempt).log()).ok();
                self.note = "taken up again".into();
            }
            What::Ended(record) => {
                self.state = format!("Exited({})", record.code);
                self.pid = None;
                self.note = record.message.clone().unwrap_or_else(|| record.reason.to_string());
            }
            What::BackingOff { delay } => {
                self.note = format!("starts again in {} s; {}", delay.as_secs(), self.note)
            }
            _ => {}
        }
    }

    fn dir(&self, attempt: u32) -> ContainerDir {
        self.pod.container(&self.name, attempt)
    }

    fn runs(&mut self, pid: u32, attempt: u32) {
        self.state = "Running".into();
        self.pid = Some(pid);
        self.restarts = attempt;
        self.note.clear();
    }

    fn cells(&self, pod: &str, container: &str) -> Vec<String> {
        let pid = self.pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string());
        vec![
            pod.into(),
            container.into(),
            self.state.clone(),
            self.restarts.to_string(),
            pid,
            self.note.clone(),
        ]
    }
}
