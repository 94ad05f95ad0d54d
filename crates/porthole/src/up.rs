//! `porthole up`: a node on this machine, without a cluster.

mod fitted;
mod metrics;
mod parts;
mod screen;
mod secrets;
mod sudo;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, anyhow};
use images::collect::Keeper;
use images::{Caller, Progress};
use os::interrupt::Interrupt;
use runtime::admit::{Admitted, admit};
use runtime::failure::FailureMode;
use runtime::pods::{Happened, RuntimeEvent};
use runtime::run::event::{Event, What};
use runtime::run::{self, Mode, PodRun, RunError};
use runtime::tenure::Tenure;
use runtime::{Node, NodeError, Runtime};

use crate::cli::{Root, UpArgs};
use crate::embedded::HOLDER;
use crate::failure::{Exit, Failure, Outcome, code};
use crate::manifest::{self, Documents};
use crate::needs::{self, Means};
use crate::root;
use crate::upkeep;
use metrics::MetricsFile;
use screen::Screen;
use secrets::Secrets;

/// How often the containers' logs are looked at for new lines.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

pub fn up(args: &UpArgs) -> Outcome {
    let files = read_all(&args.files)?;
    needs::check_build()?;
    let unlimited = check_account()?;
    let interrupts = os::interrupt::interrupts().or_environment()?;
    let runtime = Runtime::open(open(args)?);
    // For `exec`, `stop` and their kin, until the end of this function.
    let _door = admin::serve(&runtime).context("open the admin socket").or_environment()?;
    let node = runtime.node();
    let tenure = Tenure::begin(&runtime).context("note that this porthole is here").or_environment()?;
    node.remarks.iter().chain(tenure.remarks()).for_each(|remark| say(&format!("warning: {remark}")));
    let mut pods = admit_all(node, &files)?;
    if unlimited {
        pods.iter_mut().flat_map(|pod| &mut pod.containers).for_each(|c| c.limits = Default::default());
    }
    name_forgotten(node, &pods);
    // Every image before any container: a pod whose image is missing starts nothing.
    let interrupts = Mutex::new(interrupts);
    let mut metrics = MetricsFile::new(args.metrics_file.clone());
    let images = pull(node, &files, &pods, &args.root, &interrupts);
    metrics.write(runtime.counters());
    let images = images?;
    let interrupts = interrupts.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (tell, upkeep) = channel();
    let _keeper = if args.once { None } else { look_after(node, tell) };
    let mode = if args.once { Mode::Once } else { Mode::AsThePodSays };
    let mut session = Session::new(&runtime, args, interrupts, metrics, upkeep);
    for (pod, images) in pods.into_iter().zip(images) {
        session.start(pod, images, mode)?;
    }
    session.live()
}

/// Ctrl-C ends it: nothing runs yet that would have to be stopped.
fn pull(
    node: &Node,
    files: &[Manifest],
    pods: &[Admitted],
    root: &Root,
    interrupts: &Mutex<Receiver<Interrupt>>,
) -> Result<Vec<Vec<images::Image>>, Failure> {
    let tell = |progress: &Progress| match progress {
        // Pods are looked at here, not layers: `porthole image pull` shows those.
        Progress::Resolved { .. } | Progress::Layer { .. } => {}
        told => say(&told.to_string()),
    };
    let interrupted = AtomicBool::new(false);
    // Several threads ask, and the interrupt comes once: who hears it tells the others.
    let gave_up = || {
        let came = interrupts.lock().unwrap_or_else(PoisonError::into_inner).try_recv().is_ok();
        interrupted.fetch_or(came, Ordering::Relaxed) || came
    };
    let caller = Caller { tell: &tell, gave_up: &gave_up };
    let secrets = Secrets::of(files.iter().flat_map(|file| &file.documents.secrets));
    // All were admitted, in their order.
    let asked = files.iter().flat_map(|file| &file.documents.pods);
    let accesses: Vec<_> =
        asked.zip(pods).map(|(asked, pod)| secrets.access(asked, pod, root)).collect::<Result<_, _>>()?;
    let each = pods.iter().zip(&accesses);
    let pulled = each.map(|(pod, access)| run::pull(node, pod, access, caller)).collect::<Result<_, _>>();
    pulled.inspect_err(hint).map_err(|error| {
        let code = if interrupted.load(Ordering::Relaxed) { code::INTERRUPTED } else { code::NO };
        Failure::new(code, error)
    })
}

/// What can be done about an image that cannot be had.
fn hint(error: &RunError) {
    if let RunError::Image { source, .. } = error
        && let Some(mode) = FailureMode::of_image(source)
    {
        let known = mode.known();
        say(&format!("warning: {}: {}", known.code, known.hint));
    }
}

/// Layers that were unpacked in this boot reach the disk while pods start: after power loss they are not unpacked again.
pub(crate) fn settle(node: &Node) {
    let warn = |error| say(&format!("warning: {}", Failure::new(code::ENVIRONMENT, error).line()));
    node.images.content().settle_later(warn);
}

/// Of the images, while pods run.
fn look_after(node: &Node, tell: Sender<String>) -> Option<Keeper> {
    settle(node);
    // Who heard it may be gone already.
    upkeep::keep(node, move |line| drop(tell.send(line.to_owned())))
}

/// Pods of an earlier `up` that nobody looks after any more: they run on, and that must not go unsaid.
fn name_forgotten(node: &Node, pods: &[Admitted]) {
    let there = runtime::view::pods(&node.layout, &node.facts.boot_id).unwrap_or_default();
    for pod in there.iter().filter(|there| pods.iter().all(|pod| pod.uid.to_string() != there.uid)) {
        let name = format!("{}/{}", pod.namespace, pod.name);
        say(&format!("{name} of {} is still here from an earlier run and is left alone", pod.file.display()));
    }
}

/// What is in one file, and the path by which its pods are known.
struct Manifest {
    path: std::path::PathBuf,
    documents: Documents,
}

fn read(file: &Path) -> Result<Manifest, Failure> {
    let documents = manifest::read(file).or_usage()?;
    let path = os::path::canonical(file).or_usage()?;
    Ok(Manifest { path, documents })
}

/// Secrets alone are nothing to run.
fn read_all(files: &[std::path::PathBuf]) -> Result<Vec<Manifest>, Failure> {
    let files = files.iter().map(|file| read(file)).collect::<Result<Vec<_>, _>>()?;
    if files.iter().all(|file| file.documents.pods.is_empty()) {
        let paths: Vec<_> = files.iter().map(|file| file.path.display().to_string()).collect();
        return Err(Failure::new(code::USAGE, anyhow!("{}: wanted at least one Pod", paths.join(", "))));
    }
    Ok(files)
}

/// Where jobs cannot have limits, namespaces take the place of jobs and limits are dropped; true then.
fn check_account() -> Result<bool, Failure> {
    let Err(why) = os::job::limits_work() else { return Ok(false) };
    let capabilities = os::probe::capabilities();
    let means = Means { limits: false, elevated: os::elevated() };
    let missing: Vec<_> = needs::missing(&capabilities, means).iter().map(|known| known.id).collect();
    if !missing.is_empty() {
        let text = format!("{why}, and this host does not allow you: {}", missing.join(", "));
        if means.elevated {
            return Err(Failure::new(code::ENVIRONMENT, anyhow!(text)));
        }
        let line = sudo::line(std::env::var_os(root::VARIABLE), std::env::args_os());
        return Err(Failure::new(code::ENVIRONMENT, anyhow!("{text}; run: {line}")));
    }
    say(&format!("warning: {why}: containers run as you in namespaces of their own, without limits"));
    Ok(true)
}

/// A line for people. Whoever reads may be gone, and that is no reason to leave pods behind.
pub(crate) fn say(text: &str) {
    drop(writeln!(std::io::stderr(), "porthole: {text}"));
}

fn open(args: &UpArgs) -> Result<Node, Failure> {
    let root = args.root.path().or_environment()?;
    Node::open(&root, HOLDER).map_err(|e| match e {
        NodeError::InUse { .. } => Failure::new(code::ENVIRONMENT, e),
        other => Failure::new(code::ENVIRONMENT, anyhow::Error::new(other).context("open the node")),
    })
}

/// Every pod of every file, or everything that is wrong with any of them.
fn admit_all(node: &Node, files: &[Manifest]) -> Result<Vec<Admitted>, Failure> {
    let mut admitted: Vec<Admitted> = Vec::new();
    let mut wrong = secrets::named_twice(files);
    for file in files {
        for pod in &file.documents.pods {
            let name = pod.metadata.name.as_deref().unwrap_or("?");
            match admit(pod, &file.path, &node.layout) {
                Ok(pod) if admitted.iter().any(|other| other.uid == pod.uid) => {
                    wrong.push(format!("{}: pod {} is there twice", file.path.display(), pod.full_name()));
                }
                Ok(pod) => admitted.push(pod),
                Err(all) => {
                    wrong.extend(all.iter().map(|e| format!("{}: pod {name}: {e}", file.path.display())));
                }
            }
        }
    }
    if wrong.is_empty() {
        Ok(admitted)
    } else {
        Err(Failure::new(code::NO, anyhow!(wrong.join("\nporthole: "))))
    }
}

/// One `up`, from its first pod to its last.
struct Session<'a> {
    runtime: &'a Runtime,
    once: bool,
    pods: Vec<PodRun>,
    screen: Screen,
    interrupts: Receiver<Interrupt>,
    news: Receiver<Event>,
    events: Sender<Event>,
    /// What the runtime has to say about them.
    remarks: Receiver<RuntimeEvent>,
    /// Of what belonged to no image and went.
    upkeep: Receiver<String>,
    metrics: MetricsFile,
    first_failure: Option<u32>,
    /// The pod that this host does not let us start: the others do not go on without it.
    cannot: Option<String>,
    stops: usize,
}

// === impl Session ===

impl<'a> Session<'a> {
    fn new(
        runtime: &'a Runtime,
        args: &UpArgs,
        interrupts: Receiver<Interrupt>,
        metrics: MetricsFile,
        upkeep: Receiver<String>,
    ) -> Session<'a> {
        let (events, news) = channel();
        Session {
            runtime,
            remarks: runtime.events(),
            upkeep,
            metrics,
            once: args.once,
            pods: Vec::new(),
            screen: Screen::new(args.plain),
            interrupts,
            news,
            events,
            first_failure: None,
            cannot: None,
            stops: 0,
        }
    }

    fn start(&mut self, pod: Admitted, images: Vec<images::Image>, mode: Mode) -> Result<(), Failure> {
        for warning in &pod.warnings {
            self.screen.note(&format!("{}: {warning}", pod.full_name()));
        }
        self.screen.expect(&pod, &self.runtime.node().layout);
        let started = run::start(self.runtime, pod, images, mode, &self.events);
        match started {
            Ok(pod) => self.pods.push(pod),
            Err(e) => {
                self.stop();
                self.finish()?;
                return Err(Failure::new(code::ENVIRONMENT, e));
            }
        }
        Ok(())
    }

    /// Shows what happens until everything has ended, by itself or because it was asked to.
    fn live(mut self) -> Outcome {
        while !self.pods.iter().all(PodRun::is_over) {
            if let Ok(event) = self.news.recv_timeout(LOOK_AGAIN) {
                self.hear(&event);
            }
            if self.interrupts.try_recv().is_ok() {
                self.stop();
            }
            self.show_remarks();
            self.screen.follow();
        }
        self.finish()?;
        if let Some(pod) = self.cannot {
            return Err(Failure::new(
                code::ENVIRONMENT,
                anyhow!("{pod} cannot start and is left as it is; the others were stopped"),
            ));
        }
        let failed = self.first_failure.map(|code| i32::from_ne_bytes(code.to_ne_bytes()));
        Ok(match (self.once, failed) {
            (true, Some(code)) => code,
            // What was to run once did not come to its end.
            (true, None) if self.stops > 0 => code::INTERRUPTED,
            _ => code::OK,
        })
    }

    fn hear(&mut self, event: &Event) {
        self.screen.show(event);
        match &event.what {
            What::Ended(record) if record.code != 0 => {
                self.first_failure.get_or_insert(record.code);
            }
            What::CannotStart(_) if self.cannot.is_none() => {
                self.cannot = Some(event.pod.clone());
                if !self.pods.iter().all(PodRun::is_over) {
                    self.stop();
                }
            }
            _ => {}
        }
    }

    /// The first request gives the pods their grace period, the second none.
    fn stop(&mut self) {
        self.stops += 1;
        let at_most = (self.stops > 1).then_some(Duration::ZERO);
        self.pods.iter().for_each(|pod| pod.stop(at_most));
        self.screen.note(if at_most.is_none() {
            "stopping; once more to stop at once"
        } else {
            "stopping at once"
        });
    }

    /// Takes every pod off the host; what could not be taken off is said, and the rest still goes.
    fn finish(&mut self) -> Result<(), Failure> {
        self.drain();
        let mut failures = BTreeMap::new();
        for pod in self.pods.drain(..) {
            let name = pod.full_name();
            if let Err(e) = pod.remove() {
                failures.insert(name, Failure::new(code::ENVIRONMENT, e).line());
            }
        }
        self.drain();
        self.screen.close();
        if failures.is_empty() {
            return Ok(());
        }
        let list: Vec<_> = failures.iter().map(|(pod, why)| format!("{pod}: {why}")).collect();
        Err(Failure::new(code::ENVIRONMENT, anyhow!("clean up: {}", list.join("; "))))
    }

    /// Of what the runtime tells, the rest is told by the pods themselves.
    fn show_remarks(&mut self) {
        self.metrics.write(self.runtime.counters());
        while let Ok(line) = self.upkeep.try_recv() {
            self.screen.note(&line);
        }
        while let Ok(remark) = self.remarks.try_recv() {
            match remark.what {
                Happened::Warning(text) => {
                    let container = remark.container_name.map_or_else(String::new, |name| format!("/{name}"));
                    self.screen.note(&format!("warning: {}{container}: {text}", remark.pod_name));
                }
                Happened::Stopped | Happened::Removed if remark.container.is_none() => {
                    self.look_again(&remark);
                }
                _ => {}
            }
        }
    }

    /// A verb, or the pod itself in place of the one before, took it off: who waits to start it again looks whether it may.
    fn look_again(&mut self, remark: &RuntimeEvent) {
        let Some(pod) = self.pods.iter().find(|pod| *pod.id() == remark.pod) else { return };
        pod.look_again();
        if remark.what == Happened::Removed && pod.is_over() {
            self.screen.note(&format!("{} was removed by hand", remark.pod_name));
        }
    }

    fn drain(&mut self) {
        self.show_remarks();
        while let Ok(event) = self.news.try_recv() {
            self.hear(&event);
        }
        self.screen.follow();
    }
}
