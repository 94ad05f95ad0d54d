//! How fast manifests are judged: `porthole check` beside kubeconform, which knows only their schemas, and beside
//! the API server's own dry run, which is what `check` stands in for.
//!
//! Ours and kubeconform have one core, and kubeconform one worker. The API server and the client that feeds it have
//! the whole machine and 32 requests in flight: the most it can do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use testbed::api::{Api, Call};
use testbed::control_plane::{ControlPlane, Options};
use testbed::guard::Guard;
use testbed::tools::go_tool;

use super::{Goal, Measured, ROUNDS, released_porthole};

mod documents;
mod schemas;

pub(super) const GOALS: &[Goal] = &[
    Goal { ours: "yaml", peer: "kubeconform", times: 3.0 },
    Goal { ours: "yaml", peer: "dry-run", times: 10.0 },
    Goal { ours: "json", peer: "dry-run", times: 20.0 },
];

const DOCUMENTS: usize = 10_000;
/// A file of manifests may have 16 MiB.
const PER_FILE: usize = 1_000;

struct Field {
    porthole: PathBuf,
    kubeconform: PathBuf,
    api: Api,
    calls: Vec<Call>,
    yaml: Vec<PathBuf>,
    json: Vec<PathBuf>,
    schemas: PathBuf,
}

pub(super) fn run() -> Result<Measured> {
    let guard = Guard::new("bench")?;
    let control_plane = ControlPlane::start(Options::default())?;
    let field = Field::new(guard.dir(), &control_plane)?;
    let mut measured = Measured::default();
    for round in 1..=ROUNDS {
        for (name, rate) in field.round()? {
            println!("round {round}: {name} {rate:.0} documents/s");
            measured.add(name, rate);
        }
    }
    let of = |name: &str| measured.series.get(name).cloned().unwrap_or_default();
    (measured.ours, measured.peer) = (of(GOALS[0].ours), of(GOALS[0].peer));
    control_plane.stop()?;
    Ok(measured)
}

// === impl Field ===

impl Field {
    fn new(dir: &Path, control_plane: &ControlPlane) -> Result<Self> {
        let documents: Vec<Value> = (0..DOCUMENTS).map(documents::document).collect();
        let api = Api::connect(&control_plane.kubeconfig())?;
        api.wait_for_account("default")?;
        let schemas = dir.join("schemas");
        schemas::write(&api.send(&Call::get("/openapi/v2"))?.body, &schemas)?;
        let [yaml, json] = write(dir, &documents)?;
        Ok(Self {
            porthole: released_porthole()?,
            kubeconform: go_tool("kubeconform")?,
            calls: documents.iter().map(Call::create).collect::<Result<_>>()?,
            api,
            yaml,
            json,
            schemas,
        })
    }

    fn round(&self) -> Result<[(&'static str, f64); 4]> {
        Ok([
            ("yaml", self.ours(&self.yaml)?),
            ("kubeconform", self.kubeconform()?),
            ("json", self.ours(&self.json)?),
            ("dry-run", self.dry_run()?),
        ])
    }

    fn ours(&self, files: &[PathBuf]) -> Result<f64> {
        rate(one_core(&self.porthole).args(["check", "-o", "json"]).args(files), &[0, 1])
    }

    fn kubeconform(&self) -> Result<f64> {
        let location = format!("{}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json", self.schemas.display());
        let mut command = one_core(&self.kubeconform);
        rate(
            command.args(["-n", "1", "-output", "json", "-schema-location", &location]).args(&self.yaml),
            &[0],
        )
    }

    /// The verdicts count too: a server that answers without judging would be no peer.
    fn dry_run(&self) -> Result<f64> {
        let begun = Instant::now();
        let answers = self.api.send_all(&self.calls)?;
        let rate = per_second(begun);
        let refused = answers.iter().filter(|answer| answer.code == 422).count();
        if let Some(other) = answers.iter().find(|answer| ![201, 422].contains(&answer.code)) {
            bail!("dry run answered {}: {}", other.code, other.message());
        }
        ensure!(refused == documents::refused(DOCUMENTS), "the API server refused {refused} documents");
        Ok(rate)
    }
}

fn one_core(program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", "0"]).arg(program);
    command
}

fn rate(command: &mut Command, codes: &[i32]) -> Result<f64> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let begun = Instant::now();
    let output = command.output().with_context(|| format!("run {command:?}"))?;
    let rate = per_second(begun);
    let code = output.status.code();
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(code.is_some_and(|code| codes.contains(&code)), "{command:?} ended with {code:?}: {said}");
    Ok(rate)
}

#[expect(clippy::cast_precision_loss, reason = "ten thousand is exact")]
fn per_second(begun: Instant) -> f64 {
    DOCUMENTS as f64 / begun.elapsed().as_secs_f64()
}

fn write(dir: &Path, documents: &[Value]) -> Result<[Vec<PathBuf>; 2]> {
    let (mut yaml, mut json) = (Vec::new(), Vec::new());
    for (number, part) in documents.chunks(PER_FILE).enumerate() {
        let at = |ending: &str| dir.join(format!("manifests-{number}.{ending}"));
        let texts: Vec<_> = part.iter().map(documents::yaml).collect();
        fs::write(at("yaml"), texts.join("---\n")).context("write manifests")?;
        let texts: Vec<_> = part.iter().map(|document| format!("{document:#}\n")).collect();
        fs::write(at("json"), texts.concat()).context("write manifests")?;
        yaml.push(at("yaml"));
        json.push(at("json"));
    }
    Ok([yaml, json])
}
