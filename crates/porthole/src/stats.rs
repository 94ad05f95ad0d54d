//! `porthole stats`: what containers use now.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use admin::act::Done;
use admin::protocol::{ContainerUsage, PodUsage};
use admin::{Agent, Request};
use anyhow::anyhow;
use clap::Args;
use os::interrupt::Interrupt;
use os::terminal::Live;
use runtime::view::PodView;
use serde::Serialize;

use crate::cli::{Output, Root, print};
use crate::failure::{Exit, Failure, Outcome, code};
use crate::table::table;
use crate::{door, facts, names};

pub const EXAMPLES: &str = "Examples:
  porthole stats
  porthole stats hello --watch
  porthole stats default/hello -o json

CPU is what was used between two looks, in thousandths of a processor; MEMORY what cannot be taken away without harm,
as a kubelet counts it. With --watch, json is one line per look and yaml a document. Exit code 1 if a pod that is named does not run.";

#[derive(Debug, Args)]
pub struct StatsArgs {
    #[arg(value_name = "POD", help = names::POD_HELP)]
    pub pods: Vec<String>,
    /// Go on until Ctrl-C
    #[arg(short, long)]
    pub watch: bool,
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Output,
    #[command(flatten)]
    pub root: Root,
}

/// One container, as `-o json` prints it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    pub pod: String,
    pub container: String,
    pub id: String,
    pub cpu_millicores: u64,
    pub cpu_nanoseconds: u64,
    pub memory_working_set_bytes: u64,
    pub memory_bytes: u64,
    pub memory_peak_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    pub processes: u32,
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// Into its image, as last measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_written_bytes: Option<u64>,
}

/// What was found at one time.
struct Sample {
    at: Instant,
    pods: Vec<PodUsage>,
}

/// What `--watch` has besides.
struct Watch {
    interrupts: Receiver<Interrupt>,
    /// The terminal whose last table is written over.
    live: Option<Live>,
}

/// Between the two looks that a processor's use takes.
const FIRST: Duration = Duration::from_millis(500);
const AGAIN: Duration = Duration::from_secs(2);

pub fn stats(args: &StatsArgs) -> Outcome {
    let there = names::look(&args.root)?;
    let named = args.pods.iter().map(|pod| names::find(&there, pod)).collect::<Result<Vec<_>, _>>()?;
    if let Some(pod) = named.iter().find(|named| !names::runs(&named.pod)) {
        return Err(Failure::new(code::NO, anyhow!("{} does not run", pod.full_name())));
    }
    if there.is_empty() {
        return show(args, false, &[]);
    }
    let pods = named.iter().map(names::Named::id).collect::<Result<Vec<_>, _>>()?;
    let sample = || {
        // Asked anew each time: between two looks the lock, if it is ours, is free for others.
        let agent = door::reach(&args.root)?;
        Sample::take(&agent, Request::Stats { pods: pods.clone() })
    };
    let mut before = sample()?;
    if !args.watch {
        std::thread::sleep(FIRST);
        let now = sample()?;
        return show(args, false, &rows(&names::look(&args.root)?, &before, &now));
    }
    let watch = Watch::begin(args.output)?;
    let mut pause = FIRST;
    while watch.goes_on(pause) {
        let now = sample()?;
        show(args, watch.live.is_some(), &rows(&names::look(&args.root)?, &before, &now))?;
        (before, pause) = (now, AGAIN);
    }
    Ok(code::OK)
}

fn rows(there: &[PodView], before: &Sample, now: &Sample) -> Vec<Row> {
    let elapsed = now.at.duration_since(before.at);
    let of_pod = |pod: &PodUsage| {
        let known = there.iter().find(|known| known.id.as_ref() == Some(&pod.pod));
        let name = known.map_or_else(|| pod.pod.to_string(), names::full_name);
        let row = |it: &ContainerUsage| Row::new(&name, it, before.cpu_of(it), elapsed);
        pod.containers.iter().map(row).collect::<Vec<_>>()
    };
    let mut rows: Vec<_> = now.pods.iter().flat_map(of_pod).collect();
    rows.sort_by(|a, b| (&a.pod, &a.container).cmp(&(&b.pod, &b.container)));
    rows
}

fn show(args: &StatsArgs, live: bool, rows: &[Row]) -> Outcome {
    if !args.watch {
        return facts::show(rows, args.output, || render(rows));
    }
    print(&match args.output {
        Output::Json => serde_json::to_string(rows).or_environment()? + "\n",
        // Or two looks would be one list.
        Output::Yaml => format!("---\n{}", facts::yaml(rows)?),
        // The last one is written over.
        Output::Table if live => format!("\x1b[H\x1b[J{}", render(rows)),
        Output::Table => render(rows),
    })
}

fn render(rows: &[Row]) -> String {
    let cells = |row: &Row| {
        vec![
            row.pod.clone(),
            row.container.clone(),
            format!("{}m", row.cpu_millicores),
            size(row.memory_working_set_bytes),
            row.memory_limit_bytes.map_or_else(|| "-".to_owned(), size),
            row.processes.to_string(),
            size(row.read_bytes),
            size(row.written_bytes),
        ]
    };
    let heading = ["POD", "CONTAINER", "CPU", "MEMORY", "LIMIT", "PROCESSES", "READ", "WRITTEN"];
    table(&heading, &rows.iter().map(cells).collect::<Vec<_>>())
}

/// As Kubernetes writes sizes, in whole units: small ones in kibibytes.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{}Ki", bytes / 1024),
        _ => format!("{}Mi", bytes >> 20),
    }
}

// === impl Watch ===

impl Watch {
    /// From now on Ctrl-C ends the watching and not the process, which has the terminal to put back.
    fn begin(output: Output) -> Result<Watch, Failure> {
        let interrupts = os::interrupt::interrupts().or_environment()?;
        let live = if output == Output::Table { Live::enter() } else { None };
        Ok(Watch { interrupts, live })
    }

    /// Waits; whether nobody asked for the end meanwhile.
    fn goes_on(&self, pause: Duration) -> bool {
        self.interrupts.recv_timeout(pause) == Err(RecvTimeoutError::Timeout)
    }
}

// === impl Sample ===

impl Sample {
    fn take(agent: &Agent, request: Request) -> Result<Sample, Failure> {
        match door::ask(agent, request)? {
            Done::Stats(pods) => Ok(Sample { at: Instant::now(), pods }),
            other => Err(Failure::new(code::ENVIRONMENT, anyhow!("wanted counters, found {other:?}"))),
        }
    }

    /// What a container had used then; one that was not there has used what it has since.
    fn cpu_of(&self, container: &ContainerUsage) -> u64 {
        let mut all = self.pods.iter().flat_map(|pod| &pod.containers);
        all.find(|known| known.id == container.id).map_or(0, cpu)
    }
}

fn cpu(of: &ContainerUsage) -> u64 {
    of.job.cpu_user_ns.saturating_add(of.job.cpu_kernel_ns)
}

// === impl Row ===

impl Row {
    fn new(pod: &str, of: &ContainerUsage, before: u64, elapsed: Duration) -> Row {
        let used = u128::from(cpu(of).saturating_sub(before)) * 1000;
        let millicores = used / elapsed.as_nanos().max(1);
        Row {
            pod: pod.to_owned(),
            container: of.name.clone(),
            id: of.id.to_string(),
            cpu_millicores: u64::try_from(millicores).unwrap_or(u64::MAX),
            cpu_nanoseconds: cpu(of),
            memory_working_set_bytes: of.job.working_set_bytes,
            memory_bytes: of.job.memory_bytes,
            memory_peak_bytes: of.job.memory_peak_bytes,
            memory_limit_bytes: of.job.memory_limit_bytes,
            processes: of.job.processes,
            read_bytes: of.job.read_bytes,
            written_bytes: of.job.write_bytes,
            image_written_bytes: of.writable_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use os::job::JobStats;
    use runtime::{ContainerId, PodId};

    use super::*;

    #[test]
    fn a_processor_for_half_a_second_is_a_thousand_millicores() {
        let id = ContainerId::of(&PodId::parse("p").unwrap(), "main", 0);
        let job = JobStats {
            cpu_user_ns: 600_000_000,
            working_set_bytes: 5 << 20,
            processes: 2,
            ..JobStats::default()
        };
        let of = ContainerUsage { id, name: "main".into(), job, writable_bytes: None };
        let row = Row::new("default/web", &of, 100_000_000, Duration::from_millis(500));
        assert_eq!(row.cpu_millicores, 1000);
        let words: Vec<_> =
            render(&[row]).lines().nth(1).unwrap().split_whitespace().map(str::to_owned).collect();
        assert_eq!(words, ["default/web", "main", "1000m", "5Mi", "-", "2", "0Ki", "0Ki"]);
    }
}
